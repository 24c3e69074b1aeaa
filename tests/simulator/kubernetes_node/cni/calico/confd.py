# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate confd-service.ps1, which starts confd.

confd reads BGP peers and address blocks, and starts config-bgp.ps1, which configures Windows' BGP router. It starts
the script only when a peer or block has changed, and cmdlet errors do not count as failures. Therefore, if
config-bgp.ps1 cannot configure the router, it does not run again until the next change or a restart of confd. BGP
sessions and peers with selectors are not modelled.

Sources: node/windows-packaging/CalicoWindows/confd/confd-service.ps1, and config-bgp.psm1 and templates in
confd/windows-packaging of v3.31.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api.client import Client, KubeconfigError
from simulator.kubernetes_node.cni.calico.datastore import Datastore, DatastoreError
from simulator.kubernetes_node.cni.calico.environment import Output, StoppedError, in_cluster, pause
from simulator.kubernetes_node.cni.calico.initialisation import wait_for_calico
from simulator.kubernetes_node.cni.calico.releases import CalicoRelease
from simulator.machine import commands
from simulator.machine.objects import CmdletError, Invocation, ProgramResult, PSObject, items

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_PREFIX = "projectcalico.org"
_DEFAULT_ASN = 64512
_PERIOD = 10.0
_STOPPED = ProgramResult(0xC000013A)


@dataclass(frozen=True)
class BgpConfiguration:
    """The node's BGP configuration. Each of its `peers` consists of a name, an address and an AS number."""

    address: str
    asn: int
    peers: tuple[tuple[str, str, int], ...]
    blocks: tuple[str, ...]


def confd_service(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate confd-service.ps1, which runs until it is stopped."""
    output = Output(machine, run, "confd")
    try:
        if run.variable("CALICO_NETWORKING_BACKEND") != "windows-bgp":
            output.write("Windows BGP is disabled, not running confd.")
            while True:
                pause(machine, run, _PERIOD)
        wait_for_calico(machine, run, output)
        output.write("Windows BGP is enabled, running confd...")
        _serve(machine, run, output)
    except StoppedError:
        return _STOPPED
    return ProgramResult(1, output.text())


def _serve(machine: Machine, run: Invocation, output: Output) -> None:
    release, applied = CalicoRelease(run.version), None
    while True:
        if release.has("confd_template"):
            error = 'template: peerings.ps1.template: function "getenv" not defined'
            output.log("ERROR", "Unable to process template", error=error)
        elif release.has("confd_idle"):
            output.log("INFO", "Waiting for the datastore to be in sync")
        else:
            try:
                rendered = _rendered(machine, run)
            except (DatastoreError, KubeconfigError, OSError) as error:
                output.log("ERROR", "Unable to read the datastore", error=error)
                rendered = applied
            if rendered is not None and rendered != applied:
                _Router(machine, output).configure(rendered)
                applied = rendered
        pause(machine, run, _PERIOD)


def _rendered(machine: Machine, run: Invocation) -> BgpConfiguration | None:
    """Return the BGP configuration of the node, or None while the node has no address.

    Raises:
        DatastoreError, KubeconfigError, OSError: Calico's objects cannot be read from the API server.
    """
    name = run.variable("NODENAME")
    datastore = Datastore(Client(machine, in_cluster(machine, run), timeout=5.0))
    default = datastore.find("bgpconfigurations", "default") or {}
    spec = default.get("spec") or {}
    asn = int(spec.get("asNumber") or _DEFAULT_ASN)
    nodes = datastore.request("GET", "/api/v1/nodes", "NodeList").get("items") or []
    known = {str(item["metadata"]["name"]): item["metadata"].get("annotations") or {} for item in nodes}
    own = known.get(name) or {}
    address = _address(own)
    if not address:
        return None
    mesh = known.values() if spec.get("nodeToNodeMeshEnabled", True) else ()
    peers = [_peer("Mesh", _address(other), _asn(other, asn)) for other in mesh if _address(other) not in ("", address)]
    for item in datastore.all("bgppeers"):
        peers += _of_object(item["spec"], name, address)
    blocks = [item["spec"] for item in datastore.all("blockaffinities")]
    confirmed = [item["cidr"] for item in blocks if item["node"] == name and item.get("state") == "confirmed"]
    return BgpConfiguration(address, _asn(own, asn), tuple(sorted(peers)), tuple(sorted(confirmed)))


def _address(annotations: dict[str, str]) -> str:
    return str(annotations.get(f"{_PREFIX}/IPv4Address", "")).partition("/")[0]


def _asn(annotations: dict[str, str], default: int) -> int:
    return int(annotations.get(f"{_PREFIX}/ASNumber") or default)


def _peer(kind: str, address: str, asn: int) -> tuple[str, str, int]:
    return f"{kind}_{address.replace('.', '_')}", address, asn


def _of_object(spec: dict[str, Any], name: str, own: str) -> list[tuple[str, str, int]]:
    """Return the peer that a BGPPeer object defines, as a list.

    The list is empty if the object has a node selector or no address, is for another node, or names this node as the
    peer.
    """
    address = str(spec.get("peerIP") or "").partition(":")[0]
    if not address or address == own or spec.get("nodeSelector") or spec.get("node", name) != name:
        return []
    return [_peer("Node" if spec.get("node") else "Global", address, int(spec["asNumber"]))]


class _Router:
    """A simulation of config-bgp.psm1, which configures the BGP router."""

    def __init__(self, machine: Machine, output: Output) -> None:
        self._machine, self._output = machine, output

    def configure(self, expected: BgpConfiguration) -> None:
        self._output.write("Start to reconfigure BGP")
        self._router(expected)
        self._blocks(expected)
        self._peers(expected)
        self._output.write("Reconfigure BGP completed")

    def _run(self, command: str, **parameters: object) -> list[PSObject]:
        """Run a cmdlet, and return its objects. As in a script, an error is only written to the output."""
        try:
            result = commands.run(self._machine, command, parameters)
        except CmdletError as error:
            self._output.write(f"{command} : {error.message}")
            return []
        return [item for item in result.objects if isinstance(item, PSObject)]

    def _router(self, expected: BgpConfiguration) -> None:
        found = [(str(item.get("BgpIdentifier")), item.get("LocalASN")) for item in self._run("Get-BgpRouter")]
        if (expected.address, expected.asn) in found:
            return
        self._run("Remove-BgpRouter", Force=True)
        self._run("Add-BgpRouter", BgpIdentifier=expected.address, LocalASN=expected.asn)

    def _blocks(self, expected: BgpConfiguration) -> None:
        found = [str(name) for item in self._run("Get-BgpCustomRoute") for name in items(item.get("Network"))]
        for block in expected.blocks:
            if block not in found:
                self._run("Add-BgpCustomRoute", Network=block)
        for block in found:
            if block not in expected.blocks:
                self._run("Remove-BgpCustomRoute", Network=block, Force=True)

    def _peers(self, expected: BgpConfiguration) -> None:
        keys = ("PeerName", "PeerIPAddress", "PeerASN")
        found = {tuple(item.get(key) for key in keys) for item in self._run("Get-BgpPeer")}
        for name, _address, _asn in found - set(expected.peers):
            self._run("Remove-BgpPeer", Name=name, Force=True)
        for name, address, asn in expected.peers:
            if (name, address, asn) not in found:
                peer = {"LocalIPAddress": expected.address, "PeerIPAddress": address, "PeerASN": asn}
                self._run("Add-BgpPeer", Name=name, **peer)
