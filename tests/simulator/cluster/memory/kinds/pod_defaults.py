# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Set the default values in a pod's spec.

Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from ..resources import Object

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod_spec(spec: Object) -> None:
    """Set the default values of the fields that the spec of a pod or pod template lacks."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if "serviceAccount" in spec and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    for volume in spec.get("volumes") or []:
        _default_volume(volume)
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        _default_container(container, bool(spec.get("hostNetwork")))


def _default_volume(volume: Object) -> None:
    for kind in ("configMap", "secret", "projected", "downwardAPI"):
        if isinstance(volume.get(kind), dict):
            volume[kind].setdefault("defaultMode", 0o644)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def _default_container(container: Object, host_network: bool) -> None:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition(":")[2]
    always = "@" not in image and tag in ("", "latest")
    container.setdefault("imagePullPolicy", "Always" if always else "IfNotPresent")
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
        if host_network and "containerPort" in port:
            port.setdefault("hostPort", port["containerPort"])
    for variable in container.get("env") or []:
        if field := (variable.get("valueFrom") or {}).get("fieldRef"):
            field.setdefault("apiVersion", "v1")
    for probe in filter(None, (container.get(name) for name in _PROBES)):
        defaults = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
        for name, value in defaults.items():
            probe.setdefault(name, value)
        if "httpGet" in probe:
            probe["httpGet"].setdefault("scheme", "HTTP")
            probe["httpGet"].setdefault("path", "/")
