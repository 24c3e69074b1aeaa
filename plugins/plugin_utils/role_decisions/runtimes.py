# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for several roles, such as kubernetes_node, the values that depend on the container runtime."""

from __future__ import annotations

import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ..node_resources.downloads import Proxy
from ..node_resources.services import DOCKER_RUNTIMES
from ..node_resources.variables import Variables
from ..pod_networks.addresses import kubespray_dns, reachable_dns
from ..windows import node_paths

_NODELOCALDNS = "169.254.25.10"
"""kubespray's default value of nodelocaldns_ip. Source: roles/kubespray_defaults/defaults/main/main.yml."""
_PAUSE = "registry.k8s.io/pause:3.10.2"
_HOST_PROCESS = (
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image"
    "@sha256:b4c9637e032f667c52d1eccfa31ad8c63f1b035e8639f3f48a510536bf34032b"
)


def cri_socket(runtime: str) -> str:
    """Return the endpoint on which the container runtime serves the kubelet.

    Args:
        runtime: value of `container_runtime`.
    """
    return node_paths.CRI_DOCKERD_PIPE if runtime in DOCKER_RUNTIMES else node_paths.CONTAINERD_PIPE


def base_images(store: str, pause: str, host_process: str) -> list[str]:
    """Return the container images that every node needs.

    Args:
        store: `containerd` or `docker`, the runtime whose image store contains the images.
        pause: reference of the pause image.
        host_process: base image of HostProcess containers, which only containerd can run.
    """
    return [pause, host_process] if store == "containerd" else [pause]


def needs_buildkit(store: str, builds: bool) -> bool:
    """Return whether BuildKit must be installed. Without it, containerd cannot build images.

    Args:
        store: `containerd` or `docker`, the runtime in whose image store the image is built.
        builds: whether an image is built on the node.
    """
    return store == "containerd" and builds


def _cluster_dns(host: Variables) -> list[str]:
    """Return the DNS addresses that replace kubeadm's addresses on this node.

    The result is an empty list if the node keeps kubeadm's addresses.

    The addresses come from the cluster's configuration. If no cluster was queried, they come from kubespray's
    variables, which show what the configuration will be.
    """
    if host.has("winkube_cluster", "cluster_dns"):
        configured = host.part("winkube_cluster", "cluster_dns")
        return reachable_dns(configured, str(host.part("winkube_cluster", "dns_service", default="")))
    of_cluster = host.templates.of_cluster
    if not to_bool(of_cluster("enable_nodelocaldns", False)):
        return []
    address = str(of_cluster("nodelocaldns_ip", _NODELOCALDNS))
    return reachable_dns([address], kubespray_dns(str(of_cluster("kube_service_addresses"))))


def _base_images(host: Variables) -> list[str]:
    store = str(host.value("image_cache_runtime"))
    images = base_images(
        store,
        str(host.optional("container_runtime_sandbox_image", _PAUSE)),
        str(host.optional("cni_host_process_image", _HOST_PROCESS)),
    )
    return [*images, *(host.optional("cni_network_images", []) if store == "containerd" else [])]


def kubelet_service(of_play: str, *, has_launcher: bool) -> str:
    """Return the default of `kubernetes_node_kubelet_service`, which selects what runs the kubelet.

    The kubelet launcher is a program of this collection that lets machines join on their own when they start from an
    image. A machine that has the launcher keeps it.

    Args:
        of_play: the value that the playbook sets; empty if it sets none.
        has_launcher: whether the machine has the kubelet launcher.
    """
    return of_play or ("launcher" if has_launcher else "native")


def _kubelet_service(host: Variables) -> str:
    has_launcher = host.part("winkube_node_information", "kubelet_launcher", default=False)
    return kubelet_service(str(host.optional("winkube_kubelet_service")), has_launcher=has_launcher is True)


def _needs_buildkit(host: Variables) -> bool:
    builds = bool(host.value("image_cache_nano_server_name") or host.value("image_cache_test_images"))
    return needs_buildkit(str(host.value("image_cache_runtime")), builds)


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "kubernetes_node_cluster_dns": _cluster_dns,
        "kubernetes_node_default_kubelet_service": _kubelet_service,
        "kubernetes_node_cri_socket": lambda host: cri_socket(host.runtime),
        "container_runtime_service_environment": lambda host: host.read(Proxy, "container_runtime").environment,
        "image_cache_base_images": _base_images,
        "image_cache_needs_buildkit": _needs_buildkit,
    }
)
