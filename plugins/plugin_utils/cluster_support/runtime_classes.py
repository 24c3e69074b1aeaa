# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One RuntimeClass for each version of Windows: pods with this class run only on nodes with the version's build.

kubernetes.io: Guide for Running Windows Containers in Kubernetes, "Handling multiple Windows versions in the same
cluster". The kubelet itself labels its node with the build.
"""

from __future__ import annotations

from ..pod_networks.settings import KubernetesObject
from .catalogue import support_catalogue
from .settings import SupportSettings

BUILD_LABEL = "node.kubernetes.io/windows-build"


def runtime_classes(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the RuntimeClasses.

    Args:
        settings: the settings.
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
