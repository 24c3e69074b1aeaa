# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the objects that run Azure's cloud-node-manager on Windows nodes.

The program sets a node's addresses, provider ID and labels. It also removes the taint that a kubelet sets if its cloud
provider is external. The upstream DaemonSet starts a PowerShell script that completes a kubeconfig. Here, the pod's own
projected volume contains the kubeconfig. cloud-controller-manager is not built here: it runs on Linux nodes and comes
with the upstream chart. Source: kubernetes-sigs/cloud-provider-azure v1.36.5, pkg/nodemanager and
helm/cloud-provider-azure.
"""

from __future__ import annotations

from ..pod_networks.manifests import POD_VOLUME, config_map, container, environment, pod_kubeconfig, service_account
from ..pod_networks.manifests import host_process_pod as pod_with_kubeconfig
from ..pod_networks.settings import KubernetesObject
from .catalogue import support_catalogue
from .parts import MOUNT, binding, cluster_role, resources, rolling_daemon_set
from .settings import SupportSettings

_NAMESPACE, _ACCOUNT, _NAME = "kube-system", "cloud-node-manager", "cloud-node-manager-windows"
NODE_MANAGER = "cloud_node_manager"
"""Name of both cloud-node-manager and its image in `cluster_support_images`."""
_RULES = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["watch", "list", "get", "update", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
)


def node_manager(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the Kubernetes objects of cloud-node-manager.

    Args:
        settings: settings of the cluster_support role.

    Raises:
        ValueError: there is no image for the cluster's version of Kubernetes.
    """
    own = (settings.images.get(NODE_MANAGER) or {}).get(NODE_MANAGER)
    image = str(own or support_catalogue().cloud_node_manager.image(settings.kubernetes_version))
    manager = container(
        _ACCOUNT,
        image,
        imagePullPolicy="IfNotPresent",
        command=[f"{MOUNT}/cloud-node-manager.exe"],
        args=[
            "--node-name=$(NODE_NAME)",
            "--use-instance-metadata=true",
            f"--kubeconfig={POD_VOLUME}\\kubeconfig.conf",
        ],
        env=environment("POD_UID", "NODE_NAME"),
        resources=resources("50m", "50Mi", "512Mi"),
    )
    pod = pod_with_kubeconfig(_ACCOUNT, [manager], config_map=_NAME)
    # A node needs its addresses and must lose its taint, whether its network runs as pods or as services.
    del pod["affinity"]
    return [
        service_account(f"{_NAMESPACE}/{_ACCOUNT}"),
        cluster_role(_ACCOUNT, _RULES),
        binding(_ACCOUNT, _ACCOUNT, _NAMESPACE, _ACCOUNT),
        config_map(f"{_NAMESPACE}/{_NAME}", {"kubeconfig.conf": pod_kubeconfig(settings.api_server)}),
        rolling_daemon_set(_NAMESPACE, _NAME, pod, server=settings.api_server),
    ]
