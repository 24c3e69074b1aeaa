# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the objects that run CSI drivers on Windows nodes, as HostProcess DaemonSets.

Since 2025, all drivers of this module run as HostProcess containers by default and need no csi-proxy. The objects have
the names of the upstream manifests, so a driver that is already installed is not installed twice. The
controllers of the drivers are not built here: they run on Linux nodes and come with the upstream manifests.
Sources: kubernetes-csi/csi-driver-smb#904 and kubernetes-sigs/azuredisk-csi-driver, deploy/install-driver.sh.
"""

from __future__ import annotations

import typing as t

from ..pod_networks.manifests import service_account
from ..pod_networks.settings import KubernetesObject
from .catalogue import CsiDriver, support_catalogue
from .parts import MOUNT, binding, cluster_role, field_variable, host_process, resources, rolling_daemon_set
from .settings import SupportSettings

_NAMESPACE = "kube-system"
_PLUGINS = "C:\\var\\lib\\kubelet\\plugins"
_REGISTRY = "C:\\var\\lib\\kubelet\\plugins_registry"


def csi_driver(settings: SupportSettings, name: str) -> list[KubernetesObject]:
    """Return the objects of a CSI driver for Windows nodes.

    Args:
        settings: settings of the cluster_support role.
        name: name of the driver in data/cluster_support.yml.

    Raises:
        ValueError: `cluster_support_images` names an image that the driver does not have.
    """
    driver = support_catalogue().csi_drivers[name]
    rights = []
    for role, known in driver.roles.items():
        rights += [cluster_role(role, known.rules), binding(known.binding, role, _NAMESPACE, driver.account)]
    images = settings.program(driver.program).images
    return [
        service_account(f"{_NAMESPACE}/{driver.account}"),
        *rights,
        _registration(driver),
        rolling_daemon_set(_NAMESPACE, driver.daemon_set, _pod(driver, images)),
    ]


def _registration(driver: CsiDriver) -> KubernetesObject:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": driver.driver},
        "spec": _plain(driver.spec),
    }


def _plain(value: t.Any) -> t.Any:
    """Return a value with its nested mappings and sequences converted to dicts and lists."""
    if isinstance(value, t.Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _pod(driver: CsiDriver, images: t.Mapping[str, str]) -> KubernetesObject:
    folder = f"{_PLUGINS}\\{driver.driver}"
    prepare = {
        "name": "make-folder",
        "image": images["driver"],
        "command": ["cmd.exe"],
        "args": ["/c", f"if not exist {folder} mkdir {folder}"],
    }
    # The upstream manifests write addresses of sockets with double backslashes.
    socket = f"{folder}\\csi.sock".replace("\\", "\\\\")
    return host_process(
        [_registrar(images["registrar"], socket), _driver(driver, images["driver"], socket)],
        serviceAccountName=driver.account,
        initContainers=[prepare],
    )


def _registrar(image: str, socket: str) -> KubernetesObject:
    return {
        "name": "node-driver-registrar",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"{MOUNT}/csi-node-driver-registrar.exe"],
        "args": [
            "--v=2",
            f"--csi-address=unix://{socket}",
            f"--kubelet-registration-path={socket}",
            f"--plugin-registration-path={_REGISTRY}".replace("\\", "\\\\"),
        ],
        "env": [field_variable("KUBE_NODE_NAME", "spec.nodeName")],
        "resources": resources("30m", "40Mi", "150Mi"),
    }


def _driver(driver: CsiDriver, image: str, socket: str) -> KubernetesObject:
    env = [field_variable("KUBE_NODE_NAME", "spec.nodeName")]
    if driver.credentials:
        reference = {"name": "azure-cred-file", "key": "path-windows", "optional": True}
        env.append({"name": "AZURE_CREDENTIAL_FILE", "valueFrom": {"configMapKeyRef": reference}})
    port = {"name": "metrics", "containerPort": driver.metrics_port, "protocol": "TCP"}
    hook = {"preStop": {"exec": {"command": [f"{MOUNT}/{driver.executable}", driver.pre_stop]}}}
    return {
        "name": driver.container,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"{MOUNT}/{driver.executable}"],
        "args": ["--v=5", f"--endpoint=unix://{socket}", "--nodeid=$(KUBE_NODE_NAME)", *driver.arguments],
        "env": env,
        "resources": resources("10m", "40Mi", driver.memory),
        **({"ports": [{**port, "hostPort": driver.metrics_port}]} if driver.metrics_port else {}),
        **({"lifecycle": hook} if driver.pre_stop else {}),
    }
