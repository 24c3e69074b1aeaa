# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the objects of the log shipper: Fluent Bit as a HostProcess DaemonSet for each version of Windows.

Fluent Bit ships the logs of programs and the event logs. Its configuration is in a Secret, because outputs may contain
passwords. It stores how far it has read each log in a folder on the node, so a new pod continues where the old pod
stopped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import typing as t

from ..pod_networks.settings import KubernetesObject
from .catalogue import support_catalogue
from .parts import MOUNT, field_variable, host_process, resources, rolling_daemon_set
from .runtime_classes import BUILD_LABEL
from .settings import SupportSettings

SHIPPER = "windows-logs"
_STATE = "C:\\var\\lib\\kubelet\\winkube-logs"
"""Folder in which Fluent Bit stores how far it has read each log. It is below the kubelet's folder, because only
administrators can write there (role kubernetes_node), and because resetting a node empties that folder."""


def configuration(outputs: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return Fluent Bit's configuration.

    Source: docs.fluentbit.io, the YAML configuration and the tail and winevtlog inputs.

    Args:
        outputs: outputs in Fluent Bit's format. If an output does not set `match`, it gets all logs.
    """
    logs = support_catalogue().logs
    files = [
        {
            "name": "tail",
            "tag": f"file.{name}",
            "path": ",".join(paths),
            "path_key": "file",
            "db": f"{_STATE}\\{name}.db",
            "skip_long_lines": "on",
            # A folder may appear later, for example when a program is installed.
            "refresh_interval": 30,
        }
        for name, paths in logs.files.items()
    ]
    events = [
        {
            "name": "winevtlog",
            "tag": f"event.{name}",
            "channels": ",".join(channels),
            "db": f"{_STATE}\\event-{name}.db",
            "interval_sec": 5,
            # The logs of HNS and of Hyper-V exist only if the feature is installed.
            "ignore_missing_channels": "true",
        }
        for name, channels in logs.event_logs.items()
    ]
    node = {"name": "modify", "match": "*", "add": "node ${NODE_NAME}"}
    return {
        "service": {"flush": 5, "log_level": "info"},
        "pipeline": {
            "inputs": [*files, *events],
            "filters": [node],
            "outputs": [{"match": "*", **output} for output in outputs],
        },
    }


def log_shipper(settings: SupportSettings) -> list[KubernetesObject]:
    """Return the Secret with the configuration, and a DaemonSet for each version of Windows.

    Args:
        settings: settings of the cluster_support role.

    Raises:
        ValueError: there are no outputs, an output has no name, or `cluster_support_images` names an image that
            Fluent Bit does not have.
    """
    _check(settings)
    # JSON is valid YAML.
    text = json.dumps(configuration(settings.log_outputs), indent=1)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": SHIPPER, "namespace": settings.namespace},
        "data": {"fluent-bit.yaml": base64.b64encode(text.encode()).decode()},
    }
    images = settings.program("fluent_bit").images_by_build
    digest = hashlib.sha256(text.encode()).hexdigest()
    return [secret, *(_daemon_set(settings, build, images[build], digest) for build in settings.log_builds)]


def _check(settings: SupportSettings) -> None:
    if not settings.log_outputs:
        raise ValueError(
            "cluster_support_log_outputs: expected at least one output of Fluent Bit, got none. Set for example "
            "[{name: forward, host: logs.example.com, port: 24224}], or set cluster_support_log_shipper: false."
        )
    for number, output in enumerate(settings.log_outputs):
        if not output.get("name"):
            raise ValueError(f"cluster_support_log_outputs[{number}].name: expected the name of an output, got nothing")


def _daemon_set(settings: SupportSettings, build: str, image: str, digest: str) -> KubernetesObject:
    # mkdir also creates the folders above, and fails if the folder exists.
    prepare = {
        "name": "make-folder",
        "image": image,
        "command": ["cmd.exe"],
        "args": ["/c", f"if not exist {_STATE} mkdir {_STATE}"],
    }
    container = {
        "name": "fluent-bit",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"{MOUNT}/fluent-bit/bin/fluent-bit.exe"],
        "args": ["-c", f"{MOUNT}/winkube/fluent-bit.yaml"],
        "env": [field_variable("NODE_NAME", "spec.nodeName")],
        "resources": resources("50m", "64Mi", "512Mi"),
        "volumeMounts": [{"name": "configuration", "mountPath": "/winkube", "readOnly": True}],
    }
    pod = host_process(
        [container],
        automountServiceAccountToken=False,
        nodeSelector={BUILD_LABEL: support_catalogue().builds[build]},
        initContainers=[prepare],
        volumes=[{"name": "configuration", "secret": {"secretName": SHIPPER}}],
    )
    return rolling_daemon_set(settings.namespace, f"{SHIPPER}-{build}", pod, configuration=digest)
