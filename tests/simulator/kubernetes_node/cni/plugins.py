# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Add pods to a network by calling its CNI plugins in the order of the configuration, and remove pods from a network.

The plugins are modelled in separate modules: `win_plugins` (flannel, win-bridge, win-overlay), `sdn_plugins`,
`azure_vnet`, `calico` and `host_local`. Errors have libcni's format: `plugin type="flannel" name="cbr0" failed (add):
…`.

Source: containernetworking/cni libcni/api.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cni import azure_vnet, host_local, sdn_plugins, win_plugins
from simulator.kubernetes_node.cni.calico import plugin as calico
from simulator.kubernetes_node.cni.configuration import load, load_status, ready
from simulator.kubernetes_node.cni.objects import (
    VERSIONS,
    Attachment,
    CniError,
    NetworkConfig,
    PluginCall,
    plugin_path,
)
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

HOST_LOCAL = host_local.FOLDER
FLANNEL_DATA = r"C:\var\lib\cni\flannel"
__all__ = ["Attachment", "CniError", "NetworkConfig", "add", "endpoint_name", "endpoints_of", "load", "load_status",
           "plugin_path", "ready", "remove"]  # fmt: skip

PLUGINS: Mapping[str, Callable[[PluginCall], Attachment]] = {
    **win_plugins.PLUGINS,
    **sdn_plugins.PLUGINS,
    **azure_vnet.PLUGINS,
    **calico.PLUGINS,
}


def add(
    machine: Machine,
    config: NetworkConfig,
    sandbox: str,
    namespace: str,
    *,
    pod_namespace: str = "default",
    pod: str = "",
    ports: Sequence[Mapping[str, Any]] = (),
) -> Attachment:
    """Add a pod to a network, and return its address and its HNS endpoint.

    Args:
        machine: the node.
        config: the CNI network configuration.
        sandbox: the id of the pod's sandbox.
        namespace: the id of the sandbox's network namespace, or an empty string for a Docker container.
        pod_namespace: the pod's Kubernetes namespace.
        pod: the pod's name.
        ports: the port mappings, for plugins with the `portMappings` capability.

    Raises:
        CniError: a plugin fails. The message may include that of an hns.HnsError.
    """
    found: Attachment | None = None
    for conf in config.plugins:
        plugin_path(machine, str(conf["type"]), config.bin_dirs)
        capable = bool((conf.get("capabilities") or {}).get("portMappings"))
        call = PluginCall(
            machine, conf, config.name, config.version, sandbox, namespace, config.bin_dirs, pod_namespace,
            ports if capable else (), pod,
        )  # fmt: skip
        try:
            found = _called(call) or found
        except CniError as error:
            remove(machine, config.name, sandbox)
            where = f'plugin type="{conf["type"]}" name="{config.name}"'
            raise CniError(f"{where} failed (add): {error}") from error
    if found is None:
        raise CniError(f"no plugin in the configuration {config.name} creates an endpoint")
    return found


def _called(call: PluginCall) -> Attachment | None:
    plugin = PLUGINS.get(call.kind)
    if plugin is None:
        raise CniError(f"the simulator does not model the plugin {call.kind}")
    attachment = plugin(call)
    if call.kind == "flannel":
        # flannel keeps the delegate's configuration for the pod's removal.
        call.machine.files.make_directory(FLANNEL_DATA)
        call.machine.files.write_text(f"{FLANNEL_DATA}\\{call.container}", json.dumps(call.get("delegate") or {}))
    return attachment


def endpoints_of(machine: Machine, sandbox: str) -> list[tuple[str, str]]:
    """Return the HNS endpoints of a pod sandbox, as pairs of an address and a network name."""
    store = hns.store(machine)
    names = {item.id: item.name for item in store.networks()}
    return [(item.address, names.get(item.network, "")) for item in store.endpoints_of(sandbox)]


def endpoint_name(plugin: str, network: str, sandbox: str) -> str:
    """Return the name that a CNI plugin gives to a pod's HNS endpoint.

    With azure-vnet, the name begins with the first 8 digits of the sandbox's id. With other plugins, it consists of
    the sandbox's id and the network's name.

    Sources: ConstructEndpointName in containernetworking/plugins pkg/hns, and an example for azure-vnet in
    Azure/azure-container-networking#283.
    """
    return azure_vnet.endpoint_name(sandbox) if plugin.startswith("azure") else f"{sandbox}_{network}"


def remove(machine: Machine, config_name: str, sandbox: str) -> None:
    """Remove a pod from the network: delete its HNS endpoint and network namespace, and release its address.

    Raises:
        CniError: a CNI plugin fails.
    """
    call = calico.cached(machine, sandbox)
    if call is not None:
        calico.check(call)
    store = hns.store(machine)
    for endpoint in store.endpoints_of(sandbox):
        try:
            store.remove_endpoint(endpoint.id)
        except hns.HnsError as error:
            raise CniError(f"plugin failed (delete): {error}") from error
        store.leave_namespace(endpoint.namespace)
    host_local.release(machine, config_name, sandbox)
    azure_vnet.remove(machine, sandbox)
    if call is not None:
        calico.release(call)
    scratch = f"{FLANNEL_DATA}\\{sandbox}"
    if machine.files.is_file(scratch):
        machine.files.delete(scratch)


def _about(name: str) -> Program:
    supported = sdn_plugins.VERSIONS if name in sdn_plugins.TYPES else VERSIONS

    def run(machine: Machine, invocation: Invocation) -> ProgramResult:
        """Return the output of a CNI plugin that is called manually, not by a container runtime."""
        command = invocation.variable("CNI_COMMAND")
        if command == "VERSION" or not command:
            answer = json.dumps({"cniVersion": VERSIONS[-1], "supportedVersions": list(supported)})
            text = f"CNI {name} plugin v{invocation.version}\nCNI protocol versions supported: {', '.join(supported)}\n"
            return ProgramResult(0, answer) if command else ProgramResult(0, "", text)
        error = {
            "code": 4,
            "msg": f"required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing ({command})",
        }
        failure = ProgramResult(1, json.dumps(error))
        return host_local.run(machine, invocation, failure) if name == "host-local" else failure

    return run


PROGRAMS: Mapping[str, Program] = {
    name: _about(name)
    for name in ("flannel", "host-local", "win-bridge", "win-overlay", "nat", "sdnbridge", "sdnoverlay", "azure-vnet",
                 "azure-vnet-ipam", "azure-vnet-telemetry", "calico-ipam")
}  # fmt: skip
