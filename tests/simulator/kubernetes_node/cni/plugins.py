# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CNI: the configuration that containerd loads, the availability of its plugins, and adding a pod to the network.

Files follow libcni's rules (names in order, `.conf`, `.conflist`, `.json`; the first `max_conf_num`). The plugins' use
of HNS: https://github.com/containernetworking/plugins/tree/main/plugins/main/windows and flannel-io/cni-plugin.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
HOST_LOCAL = r"C:\var\lib\cni\networks"
SUBNET_FILE = r"C:\run\flannel\subnet.env"


class CniError(Exception):
    """CNI is not ready, or a plugin failed. The text is containerd's message."""


@dataclass
class NetworkConfig:
    """A network configuration: its file, its name and its plugins, with the folders of their executables."""

    path: str
    name: str
    version: str
    plugins: list[dict[str, Any]]
    bin_dirs: list[str] = field(default_factory=list)


def load(machine: Machine, conf_dir: str, bin_dirs: list[str]) -> NetworkConfig:
    """Return the configuration that containerd loads.

    Raises:
        CniError: there is no valid configuration.
    """
    if not machine.files.is_directory(conf_dir):
        raise CniError(f"no network config found in {conf_dir}: cni plugin not initialized")
    problem = ""
    for entry in machine.files.listing(conf_dir):
        if entry.is_directory or not entry.name.casefold().endswith((".conf", ".conflist", ".json")):
            continue
        try:
            return _read(machine, entry.path, bin_dirs)
        except (ValueError, TypeError, KeyError) as error:
            # containerd logs the error, and continues with the next file.
            problem = f"failed to load CNI config file {entry.path}: {error}"
    raise CniError(problem or f"no network config found in {conf_dir}: cni plugin not initialized")


def _read(machine: Machine, path: str, bin_dirs: list[str]) -> NetworkConfig:
    document = json.loads(machine.files.read_text(path))
    if not isinstance(document, dict):
        raise ValueError("error parsing configuration: json: cannot unmarshal into Go value of type types.NetConf")
    several = path.casefold().endswith(".conflist")
    plugins = document.get("plugins") if several else [document]
    if several and not isinstance(plugins, list):
        raise ValueError("error parsing configuration list: no 'plugins' key")
    if not plugins:
        raise ValueError("error parsing configuration list: no plugins in list")
    if not document.get("name"):
        raise ValueError("error parsing configuration: missing 'name'")
    for plugin in plugins or []:
        if not isinstance(plugin, dict) or not plugin.get("type"):
            raise ValueError("error parsing configuration: missing 'type'")
    version = str(document.get("cniVersion") or "0.1.0")
    if version not in VERSIONS:
        raise ValueError(f"unsupported CNI version {version}")
    return NetworkConfig(path, str(document["name"]), version, list(plugins or []), bin_dirs)


def plugin_path(machine: Machine, name: str, bin_dirs: list[str]) -> str:
    """Return the path of a plugin's executable.

    Raises:
        CniError: the executable does not exist.
    """
    for folder in bin_dirs:
        for path in (f"{folder}\\{name}.exe", f"{folder}\\{name}"):
            if machine.files.is_file(path):
                return path
    raise CniError(f'failed to find plugin "{name}" in path [{" ".join(bin_dirs)}]')


def ready(machine: Machine, conf_dir: str, bin_dirs: list[str]) -> NetworkConfig:
    """Return the configuration if the network is ready.

    Raises:
        CniError: it is not ready. The text is the message of NetworkReady=false.
    """
    try:
        config = load(machine, conf_dir, bin_dirs)
    except CniError as error:
        raise CniError("cni plugin not initialized") from error
    for plugin in config.plugins:
        plugin_path(machine, str(plugin["type"]), bin_dirs)
    return config


@dataclass(frozen=True)
class Attachment:
    """The address and the HNS endpoint of a pod."""

    address: str
    endpoint: str


def add(machine: Machine, config: NetworkConfig, sandbox: str, namespace: str) -> Attachment:
    """Add a pod to the network.

    Raises:
        CniError: a plugin fails. The text may contain the text of an hns.HnsError.
    """
    plugin = config.plugins[0]
    plugin_path(machine, str(plugin["type"]), config.bin_dirs)
    if plugin["type"] == "flannel":
        plugin = _flannel_delegate(machine, plugin)
        plugin_path(machine, str(plugin["type"]), config.bin_dirs)
    ipam = plugin.get("ipam") or {}
    if ipam.get("type"):
        plugin_path(machine, str(ipam["type"]), config.bin_dirs)
    if not namespace and plugin.get("apiVersion") == 2:
        # Docker's containers have no HCN namespace: plugins/main/windows/win-bridge/win-bridge_windows.go cmdHcnAdd.
        raise CniError(
            f"plugin type={plugin['type']!r} failed (add): error while adding HostComputeEndpoint: failed to add "
            f"endpoint to namespace none: the network namespace is not valid (apiVersion 2 needs containerd)"
        )
    store = hns.store(machine)
    kind = {"win-bridge": "L2Bridge", "sdnbridge": "L2Bridge", "win-overlay": "Overlay", "sdnoverlay": "Overlay",
            "nat": "NAT"}.get(str(plugin["type"]))  # fmt: skip
    network = store.network_named(config.name)
    if network is None:
        raise CniError(f"plugin type={plugin['type']!r} failed (add): network {config.name} not found")
    if kind and network.kind != kind:
        raise CniError(f"plugin failed (add): network {config.name} is of an unexpected type: {network.kind}")
    subnet = _subnet(ipam) or network.subnet
    if not subnet:
        raise CniError("plugin failed (add): no subnet for the pod's address")
    address = _allocate(machine, config.name, subnet, sandbox)
    try:
        endpoint = store.add_endpoint(
            endpoint_name(str(plugin["type"]), config.name, sandbox),
            network.id,
            address,
            container=sandbox,
            namespace=namespace,
        )
    except hns.HnsError as error:
        raise CniError(f"plugin failed (add): {error}") from error
    return Attachment(address, endpoint.id)


def endpoints_of(machine: Machine, sandbox: str) -> list[tuple[str, str]]:
    """Return the endpoints of a sandbox as (address, name of the network)."""
    store = hns.store(machine)
    names = {item.id: item.name for item in store.networks()}
    return [(item.address, names.get(item.network, "")) for item in store.endpoints_of(sandbox)]


def endpoint_name(plugin: str, network: str, sandbox: str) -> str:
    """Return the name that a plugin gives to a pod's endpoint.

    win-bridge, win-overlay, Calico: ConstructEndpointName in containernetworking/plugins pkg/hns.
    azure-vnet: the first 8 digits of the id (Azure/azure-container-networking#283 shows one).
    """
    return f"{sandbox[:8]}-eth0" if plugin.startswith("azure") else f"{sandbox}_{network}"


def remove(machine: Machine, config_name: str, sandbox: str) -> None:
    """Remove a pod from the network: its HNS endpoint, namespace and address.

    Raises:
        CniError: a plugin fails.
    """
    store = hns.store(machine)
    for endpoint in store.endpoints_of(sandbox):
        try:
            store.remove_endpoint(endpoint.id)
        except hns.HnsError as error:
            raise CniError(f"plugin failed (delete): {error}") from error
        store.leave_namespace(endpoint.namespace)
    folder = f"{HOST_LOCAL}\\{config_name}"
    if machine.files.is_directory(folder):
        for entry in machine.files.listing(folder):
            if not entry.is_directory and machine.files.read_text(entry.path).startswith(sandbox):
                machine.files.delete(entry.path)


def _flannel_delegate(machine: Machine, plugin: Mapping[str, Any]) -> dict[str, Any]:
    path = str(plugin.get("subnetFile") or SUBNET_FILE)
    if not machine.files.is_file(path):
        raise CniError(
            f'plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open {path}: The system cannot find '
            f"the file specified."
        )
    values = dict(line.split("=", 1) for line in machine.files.read_text(path).split() if "=" in line)
    network = ipaddress.ip_interface(values.get("FLANNEL_SUBNET", "0.0.0.0/32")).network
    delegate = dict(plugin.get("delegate") or {})
    delegate.setdefault("type", "win-bridge")
    delegate["ipam"] = {**(delegate.get("ipam") or {}), "type": "host-local", "subnet": str(network)}
    return delegate


def _subnet(ipam: Mapping[str, Any]) -> str:
    if ipam.get("subnet"):
        return str(ipam["subnet"])
    for ranges in ipam.get("ranges") or []:
        for item in ranges:
            return str(item.get("subnet", ""))
    return ""


def _allocate(machine: Machine, network: str, subnet: str, sandbox: str) -> str:
    """Reserve an address in a file, as host-local does. .1 is the gateway, .2 the endpoint of the bridge."""
    folder = f"{HOST_LOCAL}\\{network}"
    machine.files.make_directory(folder)
    taken = {entry.name for entry in machine.files.listing(folder)}
    for host in list(ipaddress.ip_network(subnet, strict=False).hosts())[2:]:
        if str(host) not in taken:
            machine.files.write_text(f"{folder}\\{host}", f"{sandbox}\r\neth0")
            return str(host)
    raise CniError(
        f"plugin failed (add): failed to allocate for range 0: no IP addresses available in range set: {subnet}"
    )


def _about(name: str) -> Program:
    def run(machine: Machine, invocation: Invocation) -> ProgramResult:
        """Return the output of a plugin that is called manually."""
        command = invocation.variable("CNI_COMMAND")
        if command == "VERSION" or not command:
            supported = json.dumps({"cniVersion": VERSIONS[-1], "supportedVersions": list(VERSIONS)})
            text = f"CNI {name} plugin v{invocation.version}\nCNI protocol versions supported: {', '.join(VERSIONS)}\n"
            return ProgramResult(0, supported) if command else ProgramResult(0, "", text)
        error = {
            "code": 4,
            "msg": f"required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing ({command})",
        }
        return ProgramResult(1, json.dumps(error))

    return run


PROGRAMS: Mapping[str, Program] = {
    name: _about(name)
    for name in ("flannel", "host-local", "win-bridge", "win-overlay", "nat", "sdnbridge", "sdnoverlay", "azure-vnet",
                 "azure-vnet-ipam", "azure-vnet-telemetry", "calico", "calico-ipam")
}  # fmt: skip
