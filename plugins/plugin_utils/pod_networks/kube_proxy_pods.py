# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kube-proxy in the cluster: its DaemonSet for Windows, and the account of nodes on which it is a service."""

from __future__ import annotations

import typing as t

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
from .settings import ClusterSettings, KubernetesObject

ACCOUNT = "kube-system/kube-proxy-windows"
"""The account of kube-proxy as a service. kube-proxy in a pod has the account of kube-proxy on Linux."""
DAEMON_SET = "kube-system/kube-proxy-windows"
_LABELS = {"k8s-app": "kube-proxy-windows"}


def objects(cluster: ClusterSettings, network_name: str) -> list[KubernetesObject]:
    """Return kube-proxy's DaemonSet and its ConfigMap.

    Args:
        cluster: the cluster.
        network_name: name of the pods' HNS network, which is in kube-proxy's configuration on each node.
    """
    own_image = cluster.images.get("kube_proxy_image", "")
    pod = _with_own_image(own_image) if own_image else _with_cached_program(cluster)
    files = {"kubeconfig.conf": pod_kubeconfig(cluster.api_server)}
    read = [cluster.api_server, network_name, dict(cluster.kube_proxy_configuration)]
    return [config_map(DAEMON_SET, files), daemon_set(DAEMON_SET, _LABELS, pod, *read)]


def account_objects() -> list[KubernetesObject]:
    """Return the account of kube-proxy as a service, its rights and its token."""
    return [service_account(ACCOUNT), cluster_role_binding("system:node-proxier", ACCOUNT), token_secret(ACCOUNT)]


def _with_own_image(image: str) -> dict[str, t.Any]:
    proxy = container("kube-proxy", image, env=environment("NODE_NAME"))
    return host_process_pod("kube-proxy", [proxy], config_map="kube-proxy-windows")


def _with_cached_program(cluster: ClusterSettings) -> dict[str, t.Any]:
    """Return a pod that runs the node's own kube-proxy.exe.

    kube-proxy's configuration is a file on the node, so the path in it to the volume must be the same for every pod.
    """
    folder, image = f"{cluster.install_dir}\\kube-proxy", cluster.images["host_process_image"]
    known = environment("POD_UID", "NODE_NAME")
    # The paths have no quotes. `cd` accepts spaces without quotes, and quotes would reach cmd.exe with a backslash
    # before each.
    link = f"cd /d {folder}&& rmdir access & cd /d {folder}&& mklink /J access {POD_VOLUME}"
    return host_process_pod(
        "kube-proxy",
        [
            container(
                "kube-proxy",
                image,
                command=[f"{cluster.install_dir}\\kube-proxy.exe"],
                args=[f"--config={folder}\\config.yaml"],
                env=known,
            )
        ],
        config_map="kube-proxy-windows",
        init_containers=[container("link-access", image, command=["cmd.exe"], args=["/c", link], env=known)],
    )
