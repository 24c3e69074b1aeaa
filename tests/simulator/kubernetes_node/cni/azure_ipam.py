# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate azure-vnet-ipam, which assigns the secondary addresses of the virtual machine's network interface to pods.

The plugin reads the addresses from Azure's WireServer, 168.63.129.16. The node's entry in the fleet file says whether
the machine has a WireServer:

    azure:
      subnet: 10.240.0.0/16
      primary: 10.240.0.4
      secondary: [10.240.0.5, 10.240.0.6]     # the addresses for pods

Without `azure`, the machine is not in Azure: the request fails, the plugin only logs the failure, and no address space
exists.

Sources: Azure/azure-container-networking ipam/azure.go, ipam/manager.go, cni/ipam/ipam.go.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.objects import CniError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# The working directory of a service, and so of the plugins that containerd runs (containerd/containerd#4928).
FOLDER = r"C:\Windows\System32"
STATE = rf"{FOLDER}\azure-vnet-ipam.json"
LOG = rf"{FOLDER}\azure-vnet-ipam.log"
_SPACE = "LocalDefaultAddressSpace"
_QUERY = "http://168.63.129.16/machine/plugins?comp=nmagent&type=getinterfaceinfov1"


@dataclass(frozen=True)
class AddressLease:
    """An address that was assigned to a pod, with its subnet."""

    address: str
    subnet: str

    @property
    def gateway(self) -> str:
        """The gateway of the subnet, which in Azure is its first usable address."""
        return str(ipaddress.ip_network(self.subnet)[1])


@dataclass
class Boot:
    """The boot during which the IPAM state was last written. A reboot releases all addresses."""

    time: str = ""


def allocate(machine: Machine, container: str, version: str) -> AddressLease:
    """Assign an address to a container, and return it with its subnet.

    Raises:
        CniError: there is no address space or no free address, or the state file is invalid.
    """
    state = read_state(machine, STATE, "IPAM")
    spaces: dict[str, Any] = state.setdefault("AddressSpaces", {})
    _refresh(machine, spaces)
    if _SPACE not in spaces:
        raise CniError("Failed to allocate pool: Invalid address space")
    pools = spaces[_SPACE]["Pools"]
    _release_after_reboot(machine, pools)
    for subnet, pool in pools.items():
        for address, record in sorted(pool["Addresses"].items(), key=lambda item: ipaddress.ip_address(item[0])):
            if not record["InUse"]:
                record.update(ID=container, InUse=True)
                _save(machine, state, version)
                return AddressLease(address, subnet)
    raise CniError("Failed to allocate address: No available addresses")


def release(machine: Machine, container: str) -> None:
    """Release a container's address. It is not an error if the container has no address.

    Raises:
        CniError: the state file is invalid.
    """
    if not machine.files.is_file(STATE):
        return
    state = read_state(machine, STATE, "IPAM")
    for space in (state.get("AddressSpaces") or {}).values():
        for pool in space["Pools"].values():
            for record in pool["Addresses"].values():
                if record["ID"] == container:
                    record.update(ID="", InUse=False)
    _save(machine, state, str(state.get("Version", "")))


def read_state(machine: Machine, path: str, key: str) -> dict[str, Any]:
    """Return the contents of a plugin's state file, or an empty mapping if the file does not exist.

    Raises:
        CniError: the file is invalid, for example after a loss of power (Azure/azure-container-networking#306).
    """
    if not machine.files.is_file(path):
        return {}
    text = machine.files.read_text(path)
    try:
        return dict(json.loads(text).get(key) or {})
    except (ValueError, AttributeError) as error:
        plugin = "IPAM" if key == "IPAM" else "network"
        first = "'\\x00'" if text[:1] in ("", "\0") else repr(text[0])
        message = f"invalid character {first} looking for beginning of value"
        raise CniError(f"Failed to start {plugin} plugin, err:{message}.") from error


def _refresh(machine: Machine, spaces: dict[str, Any]) -> None:
    """Update the pool with the addresses that WireServer reports. Addresses in use are kept even if it omits them."""
    about = machine.settings.option("azure")
    if not isinstance(about, Mapping):
        _log(machine, f'[ipam] wireserver call failed with: Get "{_QUERY}": dial tcp 168.63.129.16:80: i/o timeout')
        return
    subnet = str(ipaddress.ip_network(str(about["subnet"])))
    space = spaces.setdefault(_SPACE, {"Id": _SPACE, "Scope": 0, "Pools": {}})
    pool = space["Pools"].setdefault(subnet, {"Id": subnet, "IfName": "Ethernet", "Addresses": {}, "Priority": 0})
    addresses = [str(item) for item in about.get("secondary") or ()]
    for address in addresses:
        pool["Addresses"].setdefault(address, {"ID": "", "Addr": address, "InUse": False})
    for address in [item for item in pool["Addresses"] if item not in addresses]:
        if not pool["Addresses"][address]["InUse"]:
            del pool["Addresses"][address]


def _release_after_reboot(machine: Machine, pools: Mapping[str, Any]) -> None:
    boot = machine.part(Boot)
    if boot.time and boot.time != str(machine.power.boot_time):
        for pool in pools.values():
            for record in pool["Addresses"].values():
                record.update(ID="", InUse=False)


def _save(machine: Machine, state: Mapping[str, Any], version: str) -> None:
    machine.part(Boot).time = str(machine.power.boot_time)
    machine.files.write_text(STATE, json.dumps({"IPAM": {**state, "Version": f"v{version}"}}, indent=1))
    machine.files.write_text(f"{STATE}.lock", "")


def _log(machine: Machine, text: str) -> None:
    known = machine.files.read_text(LOG) if machine.files.is_file(LOG) else ""
    machine.files.write_text(LOG, f"{known}{machine.clock.now():%Y/%m/%d %H:%M:%S} {text}\r\n")
