# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build workloads that show that the cluster runs Windows containers, and that services reach them.

`win-webserver` runs agnhost, the program of Kubernetes' own tests, which exists for all versions of Windows and returns
the pod's name. For each requested version of Windows, another workload runs IIS. Source: kubernetes/kubernetes v1.36.3,
test/images/agnhost/serve-hostname.
"""

from __future__ import annotations

import typing as t

from ..pod_networks.settings import KubernetesObject
from .catalogue import support_catalogue
from .parts import namespace
from .runtime_classes import BUILD_LABEL
from .settings import SupportSettings

WEB_SERVER = "win-webserver"


def demo_services(settings: SupportSettings) -> list[str]:
    """Return the names of the demo's Deployments, which are also the names of their services.

    Args:
        settings: settings of the cluster_support role.
    """
    return [WEB_SERVER, *(f"iis-{build}" for build in settings.demo_builds)]


def demo(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the Kubernetes objects of the demo: its namespace, Deployments and services.

    Args:
        settings: settings of the cluster_support role.

    Raises:
        ValueError: `cluster_support_images` names an image that the demo does not have.
    """
    builds, program = support_catalogue().builds, settings.program("demo")
    # agnhost's other web server, netexec, runs any command that it gets over HTTP.
    web = {"image": program.images["web_server"], "args": ["serve-hostname", "--port=80"]}
    objects = [namespace(settings.demo_namespace, "baseline"), *_workload(settings, WEB_SERVER, web, {})]
    for build in settings.demo_builds:
        iis = {"image": program.images_by_build[build]}
        objects += _workload(settings, f"iis-{build}", iis, {BUILD_LABEL: builds[build]})
    return objects


def _workload(
    settings: SupportSettings, name: str, container: t.Mapping[str, t.Any], selector: t.Mapping[str, str]
) -> list[KubernetesObject]:
    labels = {"app": name}
    metadata = {"name": name, "namespace": settings.demo_namespace, "labels": labels}
    ready = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5, "timeoutSeconds": 5}
    pod = {
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows", **selector},
        "tolerations": [dict(one) for one in settings.tolerations],
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "web",
                **container,
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "readinessProbe": ready,
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "800Mi"}},
            }
        ],
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "type": "NodePort",
                "selector": labels,
                "ports": [{"name": "http", "port": 80, "targetPort": 80, "protocol": "TCP"}],
            },
        },
    ]
