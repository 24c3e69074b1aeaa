# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The objects of CNI, such as network configurations and plugin calls, and the functions that all plugins share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.programs.versions import version_of

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")


class CniError(Exception):
    """Raised if CNI is not ready or a plugin fails. The message is that of the plugin, libcni or containerd."""


@dataclass
class NetworkConfig:
    """A CNI network configuration: its file, name, version and plugins, and the folders of the plugins' executables."""

    path: str
    name: str
    version: str
    plugins: list[dict[str, Any]]
    bin_dirs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Attachment:
    """The address and the HNS endpoint of a pod."""

    address: str
    endpoint: str


@dataclass(frozen=True)
class PluginCall:
    """A call of one CNI plugin.

    Args:
        machine: the node.
        conf: the plugin's configuration.
        name: the name of the network.
        version: the version of the CNI specification that the configuration names.
        container: the id of the pod's sandbox.
        namespace: the id of the sandbox's network namespace, or an empty string for a Docker container.
        bin_dirs: the folders with the plugins' executables.
        pod_namespace: the pod's Kubernetes namespace.
        pod: the pod's name.
        ports: the port mappings, each in the form `{"hostPort": 80, "containerPort": 8080, "protocol": "tcp"}`.
    """

    machine: Machine
    conf: Mapping[str, Any]
    name: str
    version: str
    container: str
    namespace: str
    bin_dirs: Sequence[str]
    pod_namespace: str = "default"
    ports: Sequence[Mapping[str, Any]] = ()
    pod: str = ""

    @property
    def kind(self) -> str:
        """The plugin's name, without the extension of its executable."""
        return str(self.conf["type"]).removesuffix(".exe")

    @property
    def endpoint(self) -> str:
        """The name of the pod's HNS endpoint.

        Source: ConstructEndpointName in containernetworking/plugins pkg/hns.
        """
        return f"{self.container}_{self.name}"

    def get(self, name: str) -> Any:
        """Return a value of the plugin's configuration, or None if it is missing.

        As in Go, the case of the key is ignored.
        """
        wanted = name.casefold()
        return next((value for key, value in self.conf.items() if key.casefold() == wanted), None)

    def delegate(self, conf: Mapping[str, Any]) -> PluginCall:
        """Return the call that this plugin makes to another plugin, whose configuration is `conf`."""
        return replace(self, conf=conf)

    def program_version(self) -> str:
        """Return the version of the plugin's executable."""
        return version_of(self.machine, plugin_path(self.machine, str(self.conf["type"]), self.bin_dirs))

    def require_version(self, supported: Sequence[str]) -> None:
        """Raise CniError if the plugin does not support the CNI version of the configuration.

        Source: pkg/version/reconcile.go in libcni.
        """
        if self.version not in supported:
            known = " ".join(f'"{item}"' for item in supported)
            raise CniError(f'incompatible CNI versions; config is "{self.version}", plugin supports [{known}]')


def plugin_path(machine: Machine, name: str, bin_dirs: Sequence[str]) -> str:
    """Return the path of a CNI plugin's executable.

    Raises:
        CniError: the executable does not exist.
    """
    for folder in bin_dirs:
        for path in (f"{folder}\\{name}.exe", f"{folder}\\{name}"):
            if machine.files.is_file(path):
                return path
    raise CniError(f'failed to find plugin "{name}" in path [{" ".join(bin_dirs)}]')


def attach(call: PluginCall, network: hns.Network, address: str, wiring: hns.Wiring, name: str = "") -> Attachment:
    """Create a pod's endpoint in HNS, and return the pod's address and the endpoint's id.

    Raises:
        hns.HnsError: HNS refuses the endpoint.
    """
    endpoint = hns.store(call.machine).add_endpoint(
        name or call.endpoint,
        network.id,
        address,
        container=call.container,
        namespace=call.namespace,
        wiring=wiring,
    )
    return Attachment(address, endpoint.id)
