# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate flanneld.exe, with its command line, its HNS network and its subnet file.

The `flannel_network` module creates the network, and the `flannel_leases` module keeps the routes to other nodes up to
date while flanneld runs. The network's type is L2Bridge for the host-gw backend, and Overlay for the vxlan backend.

Source of the flags: flannel-io/flannel main.go 0.28.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import STRATEGIC, ApiError, Client, KubeconfigError
from simulator.kubernetes_node.cni.flannel_leases import Leases, unreachable
from simulator.kubernetes_node.cni.flannel_network import (
    NAT,
    Backend,
    FlannelError,
    Log,
    attach_host,
    backend_of,
    ensure,
)
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.windows.networking.network import interfaces

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_TEXT = (
    "etcd-endpoints", "etcd-prefix", "etcd-keyfile", "etcd-certfile", "etcd-cafile", "etcd-username", "etcd-password",
    "iface", "iface-regex", "iface-can-reach", "subnet-file", "public-ip", "public-ipv6", "subnet-lease-renew-margin",
    "kube-api-url", "kubeconfig-file", "kube-annotation-prefix", "net-config-path", "healthz-ip", "healthz-port",
    "iptables-resync", "charon-executable-path", "charon-vici-uri", "v", "vmodule", "log_dir", "log_file",
    "stderrthreshold", "log_backtrace_at",
)  # fmt: skip
_BOOL = ("kube-subnet-mgr", "ip-masq", "version", "ip-blackhole-route", "iptables-forward-rules",
         "set-node-network-unavailable", "logtostderr", "alsologtostderr", "help", "h")  # fmt: skip


class _UsageError(Exception):
    pass


def parse(argv: list[str]) -> dict[str, str]:
    """Parse a command line as Go's flag package does, and return the flags' values by name.

    If the command line is invalid, raise an error with Go's message.
    """
    found: dict[str, str] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            break
        name, given, value = word.lstrip("-").partition("=")
        if name in _BOOL:
            found[name] = value if given else "true"
        elif name in _TEXT:
            if not given and not words:
                raise _UsageError(f"flag needs an argument: -{name}")
            found[name] = value if given else words.pop(0)
        else:
            raise _UsageError(f"flag provided but not defined: -{name}")
    return found


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate flanneld.exe, which runs until it is stopped."""
    try:
        flags = parse(invocation.argv)
    except _UsageError as error:
        return ProgramResult(2, "", f"{error}\nUsage: flanneld.exe [OPTION]...\n")
    if "help" in flags or "h" in flags:
        return ProgramResult(0, "", "Usage: flanneld.exe [OPTION]...\n")
    if flags.get("version") == "true":
        return ProgramResult(0, "", f"v{invocation.version}\n")
    log = machine.part(Log)
    log.lines.clear()
    try:
        _serve(machine, invocation, flags, log)
    except (FlannelError, KubeconfigError, OSError, hns.HnsError) as error:
        log.write("E", f"main.go:359] {error}")
        return ProgramResult(1, "", log.text())
    log.write("I", "main.go:470] stopped")
    return ProgramResult(0, "", log.text())


def _serve(machine: Machine, invocation: Invocation, flags: Mapping[str, str], log: Log) -> None:
    """Create the HNS network, and then keep the routes to other nodes up to date until flanneld is stopped."""
    if flags.get("kube-subnet-mgr") != "true":
        raise FlannelError("Failed to create SubnetManager: the simulator does not model etcd (use -kube-subnet-mgr)")
    try:
        access = cluster_access.access_of(
            machine, invocation, flags.get("kubeconfig-file", ""), flags.get("kube-api-url", "")
        )
    except KubeconfigError as error:
        raise FlannelError(f"Failed to create SubnetManager: fail to create kubernetes config: {error}") from error
    client = Client(machine, access)
    try:
        name = _node_name(client, invocation)
        settings = network_settings(machine, flags)
        node = _node(client, name)
        address = _interface(machine, flags)
        backend = backend_of(settings)
        if flags.get("public-ip", address) != address and not backend.vni:
            raise FlannelError(f"Error fetching backend: {NAT}")
        subnet = _subnet(node)
        ensure(machine, backend, subnet, log)
        _wait_for_link(machine, invocation)
        attach_host(machine, backend, subnet, log)
        _annotate(client, name, backend, flags, address)
        _write_subnet_file(machine, flags, settings, subnet, backend)
        Leases(machine, backend, name, log).follow(client, invocation.stop)
    finally:
        client.close()


def _wait_for_link(machine: Machine, invocation: Invocation) -> None:
    """Wait for the node to regain its IP address, which is lost while the new virtual switch takes over the adapter.

    Source: hostgw_windows.go.
    """
    if invocation.stop.wait(0.5):
        raise FlannelError("stopped")
    while not machine.network.is_up:
        if invocation.stop.wait(0.1):
            raise FlannelError("stopped")


def _interface(machine: Machine, flags: Mapping[str, str]) -> str:
    wanted = flags.get("iface", "")
    cards = interfaces(machine)
    if not wanted:
        return cards[0].address
    for card in cards:
        if wanted in (card.alias, card.address):
            return card.address
    raise FlannelError("Failed to find interface to use that matches the interfaces and/or regexes provided")


def _node_name(client: Client, invocation: Invocation) -> str:
    name = invocation.variable("NODE_NAME")
    if name:
        return name
    pod, namespace = invocation.variable("POD_NAME"), invocation.variable("POD_NAMESPACE")
    if not pod or not namespace:
        raise FlannelError("Failed to create SubnetManager: env variables POD_NAME and POD_NAMESPACE must be set")
    try:
        return str(client.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")["spec"]["nodeName"])
    except ApiError as error:
        message = f"error retrieving pod spec for '{namespace}/{pod}': {error}"
        raise FlannelError(f"Failed to create SubnetManager: {message}") from error


def _node(client: Client, name: str) -> dict[str, Any]:
    """Return the Kubernetes node with the given name.

    Raises:
        FlannelError: the node cannot be read. The message is flanneld's timeout error, but the simulator does not wait.
    """
    try:
        return client.get(f"/api/v1/nodes/{name}")
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            message = f'timeout contacting kube-api, failed to patch node "{name}". Error: context deadline exceeded'
            raise FlannelError(f"Error registering network: failed to acquire lease: {message}") from error
        message = "error waiting for nodeController to sync state: context deadline exceeded"
        raise FlannelError(f"Failed to create SubnetManager: {message}") from error


def network_settings(machine: Machine, flags: Mapping[str, str]) -> dict[str, Any]:
    """Return flannel's network settings, which are the contents of net-conf.json.

    Raises:
        FlannelError: the settings are missing or invalid.
    """
    path = drive(flags.get("net-config-path") or "/etc/kube-flannel/net-conf.json")
    if not machine.files.is_file(path):
        message = f"failed to read net conf: open {path}: The system cannot find the file specified."
        raise FlannelError(f"Failed to create SubnetManager: {message}")
    try:
        found = json.loads(machine.files.read_text(path))
        ipaddress.ip_network(found["Network"])
    except (ValueError, KeyError, TypeError) as error:
        raise FlannelError(f"Failed to create SubnetManager: error parsing subnet config: {error}") from error
    return dict(found)


def _subnet(node: Mapping[str, Any]) -> ipaddress.IPv4Network:
    text = (node.get("spec") or {}).get("podCIDR")
    if not text:
        name = node["metadata"]["name"]
        raise FlannelError(f'Error registering network: failed to acquire lease: node "{name}" pod cidr not assigned')
    return ipaddress.IPv4Network(text)


def _annotate(client: Client, name: str, backend: Backend, flags: Mapping[str, str], address: str) -> None:
    prefix = flags.get("kube-annotation-prefix") or "flannel.alpha.coreos.com"
    data = json.dumps({"VNI": backend.vni, "VtepMAC": "00:15:5d:00:00:01"}) if backend.vni else "null"
    annotations = {
        f"{prefix}/backend-data": data,
        f"{prefix}/backend-type": "vxlan" if backend.vni else "host-gw",
        f"{prefix}/kube-subnet-manager": "true",
        f"{prefix}/public-ip": flags.get("public-ip") or address,
    }
    try:
        client.patch(f"/api/v1/nodes/{name}/status", {"metadata": {"annotations": annotations}}, STRATEGIC)
    except ApiError as error:
        raise FlannelError(f"Error registering network: failed to acquire lease: {error}") from error


def _write_subnet_file(
    machine: Machine,
    flags: Mapping[str, str],
    settings: Mapping[str, Any],
    subnet: ipaddress.IPv4Network,
    backend: Backend,
) -> None:
    path = drive(flags.get("subnet-file") or "/run/flannel/subnet.env")
    mtu = interfaces(machine)[0].mtu - (50 if backend.vni else 0)
    lines = (
        f"FLANNEL_NETWORK={settings['Network']}",
        f"FLANNEL_SUBNET={subnet[1]}/{subnet.prefixlen}",
        f"FLANNEL_MTU={mtu}",
        f"FLANNEL_IPMASQ={flags.get('ip-masq', 'false')}",
    )
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_text(path, "".join(line + "\n" for line in lines))


def _status(machine: Machine) -> object:
    """Return the log of flanneld's last run, and the subnets that the node cannot reach."""
    return {"log": list(machine.part(Log).lines), "unreachable": unreachable(machine)}


PROGRAMS: Mapping[str, Program] = {"flanneld": run}
STATUS: Mapping[str, Callable[[Machine], object]] = {"flanneld": _status}
