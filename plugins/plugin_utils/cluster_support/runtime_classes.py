# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build a RuntimeClass for each version of Windows. Pods with this class run only on nodes with that version.

The RuntimeClass selects nodes by the label with the Windows build, which the kubelet sets. Source: kubernetes.io,
"Guide for Running Windows Containers in Kubernetes", section "Handling multiple Windows versions in the same cluster".
"""

from __future__ import annotations

from ..pod_networks.settings import KubernetesObject
from .catalogue import support_catalogue
from .settings import SupportSettings

BUILD_LABEL = "node.kubernetes.io/windows-build"


def runtime_classes(settings: SupportSettings) -> list[KubernetesObject]:
    """Return a RuntimeClass for each version of Windows.

    Args:
        settings: settings of the cluster_support role.
    """
    return [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": settings.runtime_handler,
            "scheduling": {
                "nodeSelector": {"kubernetes.io/os": "windows", BUILD_LABEL: build},
                "tolerations": [dict(one) for one in settings.tolerations],
            },
        }
        for name, build in support_catalogue().builds.items()
    ]
