# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the objects of windows_exporter: a HostProcess DaemonSet, and alerting rules that use its metrics.

The DaemonSet is based on prometheus-community/windows_exporter v0.31.8, kubernetes/windows-exporter-daemonset.yaml.
Unlike in that manifest, settings are flags, the image has a fixed version, and the firewall rule is removed when the
pod ends.
"""

from __future__ import annotations

import functools
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..pod_networks.settings import KubernetesObject
from ..values.versions import DATA
from .parts import MOUNT, host_process, resources, rolling_daemon_set
from .settings import SupportSettings

EXPORTER = "windows-exporter"
MONITORING = "monitoring.coreos.com/v1"
_RULE = "winkube-windows-exporter"
"""Name of the firewall rule that opens the exporter's port on a node."""


def exporter(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the DaemonSet of windows_exporter.

    Args:
        settings: settings of the cluster_support role.

    Raises:
        ValueError: `cluster_support_images` names an image that windows_exporter does not have.
    """
    image, port = settings.program("windows_exporter").images["windows_exporter"], settings.windows_exporter_port
    container = {
        "name": EXPORTER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"{MOUNT}/windows_exporter.exe"],
        "args": [
            f"--web.listen-address=:{port}",
            f"--collectors.enabled={settings.windows_exporter_collectors}",
        ],
        "ports": [{"name": "http", "containerPort": port, "hostPort": port, "protocol": "TCP"}],
        "resources": resources("50m", "64Mi", "256Mi"),
        **(_close() if settings.windows_exporter_open_port else {}),
    }
    first = {"initContainers": [_open(image, port)]} if settings.windows_exporter_open_port else {}
    pod = host_process([container], automountServiceAccountToken=False, **first)
    return [rolling_daemon_set(settings.namespace, EXPORTER, pod)]


def _open(image: str, port: int) -> KubernetesObject:
    """Return the init container that opens windows_exporter's port in the firewall, and replaces any older rule."""
    rule = f"netsh.exe advfirewall firewall delete rule name={_RULE}"
    added = f"netsh.exe advfirewall firewall add rule name={_RULE} dir=in action=allow protocol=TCP localport={port}"
    # The first command fails if there is no such rule.
    return {"name": "open-port", "image": image, "command": ["cmd.exe"], "args": ["/c", f"{rule} & {added}"]}


def _close() -> KubernetesObject:
    command = ["netsh.exe", "advfirewall", "firewall", "delete", "rule", f"name={_RULE}"]
    return {"lifecycle": {"preStop": {"exec": {"command": command}}}}


@functools.cache
def alert_groups() -> tuple[t.Mapping[str, t.Any], ...]:
    """Return the groups of alerting rules in data/alert_rules.yml."""
    return tuple(yaml_load((DATA / "alert_rules.yml").read_text(encoding="utf-8"))["groups"])


def prometheus(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the PodMonitor for windows_exporter's metrics, and the PrometheusRule with the alerting rules.

    Args:
        settings: settings of the cluster_support role.
    """
    metadata = {"name": EXPORTER, "namespace": settings.namespace, "labels": dict(settings.prometheus_labels)}
    # The label `node` is in the alerts' texts.
    relabel = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node", "action": "replace"}
    return [
        {
            "apiVersion": MONITORING,
            "kind": "PodMonitor",
            "metadata": metadata,
            "spec": {
                "jobLabel": "app",
                "selector": {"matchLabels": {"app": EXPORTER}},
                "podMetricsEndpoints": [{"port": "http", "relabelings": [relabel]}],
            },
        },
        {
            "apiVersion": MONITORING,
            "kind": "PrometheusRule",
            "metadata": {**metadata, "name": "windows-nodes"},
            "spec": {"groups": [dict(group) for group in alert_groups()]},
        },
    ]
