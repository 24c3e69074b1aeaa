# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out whether a machine is an Azure virtual machine, and how many addresses it has for pods."""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t

from ..specification.data_files import load_data
from ..wire.calls import query
from ..wire.messages import Call, CallResult

CHASSIS = "azure.chassis"
"""Id of the call that reads the asset tag of the chassis."""
ADDRESSES = "azure.addresses"
"""Id of the call that reads the addresses of the machine's network interfaces."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlatformService:
    """A service that Azure provides to virtual machines."""

    address: str
    ports: tuple[int, ...]
    """TCP ports that containers must not reach."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AzurePlatform:
    """Facts about Azure that the collection relies on."""

    chassis_asset_tag: str
    wire_server: PlatformService
    host_ports: tuple[int, ...]
    """TCP ports of WireServer that a firewall rule on the machine blocks for all users but SYSTEM and `boot_user`."""
    metadata_service: PlatformService
    addresses_url: str
    block_priority: int
    allow_priority: int
    virtual_network_mtu: int
    """MTU of Azure's virtual networks. Longer packets are fragmented even if the adapter's MTU is larger."""
    boot_user: str
    """The local user that configures the machine when it starts. This user needs WireServer."""


@functools.cache
def platform() -> AzurePlatform:
    """Return the facts about Azure from the data file.

    Raises:
        ResourceError: the data file has an unknown or missing key, or a value of the wrong type.
    """
    return load_data(AzurePlatform, "azure_platform.yml")


def chassis_call() -> Call:
    """Return the call that reads the asset tag of the chassis without contacting a service."""
    return query(CHASSIS, "Get-CimInstance", {"ClassName": "Win32_SystemEnclosure"}, select=("SMBIOSAssetTag",))


def is_azure(result: CallResult | None) -> bool:
    """Return whether the machine is an Azure virtual machine.

    Args:
        result: the result of `chassis_call`. If it has no asset tag, the machine is assumed not to be in Azure.
    """
    chassis = result.output if result is not None and result.ok else ()
    tags = [str(one.get("SMBIOSAssetTag") or "").strip() for one in chassis if isinstance(one, t.Mapping)]
    return platform().chassis_asset_tag in tags


def addresses_call() -> Call:
    """Return the call that reads the addresses of all network interfaces from the Instance Metadata Service.

    Outside Azure, the call fails: it times out after a few seconds, or the service of another cloud rejects the
    request.
    """
    options = ("--silent", "--show-error", "--fail", "--noproxy", "*", "--connect-timeout", "3", "--max-time", "10")
    return query(ADDRESSES, "curl.exe", arguments=(*options, "--header", "Metadata: true", platform().addresses_url))


def secondary_addresses(result: CallResult | None) -> int | None:
    """Return the number of addresses that Azure CNI can give to pods: the secondary IPv4 addresses of all interfaces.

    Args:
        result: the result of `addresses_call`.

    Returns:
        The number, or None if it is unknown.
    """
    if result is None or not result.ok or result.exit_code not in (0, None):
        return None
    try:
        interfaces = json.loads(result.stdout)
        return sum(max(0, len(one["ipv4"]["ipAddress"]) - 1) for one in interfaces)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
