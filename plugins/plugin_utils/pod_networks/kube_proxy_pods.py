# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kube-proxy's DaemonSet for Windows, and the service account for nodes on which kube-proxy runs as a service."""

from __future__ import annotations

import typing as t

from . import cni_setup, kube_proxy, kube_proxy_setup, node_batch
from .catalogue import Mode
from .manifests import (
    POD_VOLUME,
    cluster_role_binding,
    config_map,
    container,
    daemon_set,
    environment,
    host_process_pod,
    pod_kubeconfig,
    service_account,
    token_secret,
)
from .settings import ClusterSettings, KubernetesObject, NetworkFile

ACCOUNT = "kube-system/kube-proxy-windows"
"""The service account that kube-proxy's Windows service uses. In a pod, kube-proxy uses the same account as on
Linux."""
DAEMON_SET = "kube-system/kube-proxy-windows"
_LABELS = {"k8s-app": "kube-proxy-windows"}


def objects(
    cluster: ClusterSettings, mode: Mode, kubernetes: str, cni: NetworkFile | None = None
) -> list[KubernetesObject]:
    """Return kube-proxy's DaemonSet and its ConfigMap.

    Args:
        cluster: the cluster.
        mode: the network's mode.
        kubernetes: version of Kubernetes on the nodes; empty if unknown.
        cni: the CNI configuration that the pod writes on the node, as in `cni_setup`, or None if the pod writes none.
    """
    own_image = cluster.images.get("kube_proxy_image", "")
    setup = _setup(cluster, None if own_image else mode, kubernetes, cni)
    pod = _pod(cluster, own_image, cni, configures=bool(setup))
    files = {"kubeconfig.conf": pod_kubeconfig(cluster.api_server), **setup}
    read = [cluster.api_server, mode.hns_network, dict(cluster.kube_proxy_configuration), setup]
    return [config_map(DAEMON_SET, files), daemon_set(DAEMON_SET, _LABELS, pod, *read)]


def account_objects() -> list[KubernetesObject]:
    """Return the service account of kube-proxy's Windows service, and the account's rights and token."""
    return [service_account(ACCOUNT), cluster_role_binding("system:node-proxier", ACCOUNT), token_secret(ACCOUNT)]


def _setup(cluster: ClusterSettings, mode: Mode | None, kubernetes: str, cni: NetworkFile | None) -> dict[str, str]:
    """Return the contents, by name, of the files with which kube-proxy's pod prepares the node.

    The batch file writes the CNI configuration before kube-proxy's configuration. While kube-proxy's source address is
    unknown, kube-proxy's configuration cannot be written, and the batch file fails. `mode` is None if the user's image
    configures kube-proxy.
    """
    parts = [] if cni is None else [cni_setup.lines(cni)]
    parts += [] if mode is None else [kube_proxy_setup.lines(mode, cluster.install_dir)]
    if not parts:
        return {}
    return {
        node_batch.SCRIPT: node_batch.batch(cluster.install_dir, *parts),
        **({} if cni is None else cni_setup.files(cni)),
        **({} if mode is None else _kube_proxy_files(cluster, mode, kubernetes)),
    }


def _kube_proxy_files(cluster: ClusterSettings, mode: Mode, kubernetes: str) -> dict[str, str]:
    """Return the contents, by name, of the files from which the batch file creates kube-proxy's configuration."""
    configuration = kube_proxy.configuration(
        # The batch file adds the name and the source address of the node.
        name="",
        kubeconfig=f"{cluster.install_dir}\\kube-proxy\\access\\kubeconfig.conf",
        cluster_cidr=cluster.cluster_cidr,
        gates=kube_proxy.feature_gates(mode, kubernetes),
        winkernel={} if mode.kube_proxy is None else kube_proxy.winkernel_of_cluster(mode),
        given=_of_all_nodes(cluster.kube_proxy_configuration),
    )
    head, tail = kube_proxy_setup.parts(kube_proxy.to_text(configuration))
    files = {kube_proxy_setup.HEAD: head, kube_proxy_setup.TAIL: tail}
    reserves = mode.kube_proxy is not None and mode.kube_proxy.source_vip == "host-local"
    return {**files, **({kube_proxy_setup.RESERVED: kube_proxy.RESERVATION} if reserves else {})}


def _of_all_nodes(given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the user's settings of kube-proxy without the keys that the batch file adds for each node.

    If these keys were included, they would occur twice in the configuration, which YAML does not allow.
    """
    own = {name: value for name, value in given.items() if name != "hostnameOverride"}
    if isinstance(section := own.get("winkernel"), t.Mapping):
        own["winkernel"] = {name: value for name, value in section.items() if name != "sourceVip"}
    return own


def _pod(cluster: ClusterSettings, own_image: str, cni: NetworkFile | None, *, configures: bool) -> dict[str, t.Any]:
    """Return kube-proxy's pod, which runs the node's kube-proxy.exe or the user's image.

    If `configures` is true, the pod first runs the batch file that prepares the node.
    """
    setup = [_setup_container(cluster, cni)] if configures else []
    proxy = container("kube-proxy", own_image, env=environment("NODE_NAME")) if own_image else _cached_program(cluster)
    return host_process_pod("kube-proxy", [proxy], config_map="kube-proxy-windows", init_containers=setup)


def _setup_container(cluster: ClusterSettings, cni: NetworkFile | None) -> dict[str, t.Any]:
    """Return the container that runs the batch file that prepares the node."""
    address = ["HOST_IP"] if cni is not None and cni_setup.needs_address(cni) else []
    known = environment("POD_UID", "NODE_NAME", *address)
    # Use a batch file, because quotes in an argument would reach cmd.exe with a backslash before each.
    arguments = ["/c", f"{POD_VOLUME}\\{node_batch.SCRIPT}"]
    return container("configure", cluster.images["host_process_image"], command=["cmd.exe"], args=arguments, env=known)


def _cached_program(cluster: ClusterSettings) -> dict[str, t.Any]:
    """Return the container that runs the node's kube-proxy.exe.

    kube-proxy's configuration is a file on the node, so the kubeconfig's path in it must be the same for every pod.
    """
    return container(
        "kube-proxy",
        cluster.images["host_process_image"],
        command=[f"{cluster.install_dir}\\kube-proxy.exe"],
        args=[f"--config={cluster.install_dir}\\kube-proxy\\config.yaml"],
        env=environment("POD_UID", "NODE_NAME"),
    )
