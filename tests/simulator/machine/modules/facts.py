# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the `setup` module of ansible.windows. Each fact comes from the machine's state or is constant."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from simulator.machine.baseline import CURRENT_VERSION
from simulator.machine.modules.arguments import ModuleArguments
from simulator.machine.session import Session

Facts = dict[str, Any]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "min": ("date_time", "distribution", "dns", "env", "local", "platform", "powershell_version", "user"),
    "network": ("all_ipv4_addresses", "all_ipv6_addresses", "interfaces", "windows_domain", "winrm"),
    "hardware": ("bios", "memory", "processor", "uptime", "virtual"),
    "external": ("facter",),
}


def run(session: Session, arguments: ModuleArguments) -> Facts:
    """Gather the facts of the requested subsets."""
    arguments.modelled("gather_subset", "gather_timeout", "fact_path")
    requested = arguments.raw("gather_subset", ["all"])
    subsets = [str(item) for item in (requested if isinstance(requested, list) else str(requested).split(","))]
    chosen, warnings = choose(subsets)
    facts: Facts = {"gather_subset": subsets, "module_setup": True}
    for names, gather in _GATHERERS:
        if chosen & set(names):
            facts |= {f"ansible_{name}": value for name, value in gather(session).items()}
    if "local" in chosen and arguments.raw("fact_path"):
        facts |= _local(session, arguments.path(session, "fact_path"))
    answer: Facts = {"changed": False, "ansible_facts": facts}
    return answer | {"warnings": warnings} if warnings else answer


def choose(subsets: list[str]) -> tuple[set[str], list[str]]:
    """Return the names of the facts to gather, and warnings about unknown subsets.

    A fact that is both requested and excluded is gathered.
    """
    everything = {name for names in GROUPS.values() for name in names}
    known = {**GROUPS, "all": tuple(everything), **{name: (name,) for name in everything}}
    explicit: set[str] = set()
    excluded: set[str] = set()
    warnings: list[str] = []
    for item in subsets:
        if item == "!all":
            excluded |= everything - set(GROUPS["min"])
        elif item.startswith("!"):
            excluded |= set(known.get(item[1:], ()))
        elif item in known:
            explicit |= set(known[item])
        else:
            warnings.append(f"invalid value {item} specified in gather_subset")
    return (everything - excluded) | explicit, warnings


def _addresses(session: Session) -> Facts:
    return {"ip_addresses": [session.machine.address]}


def _interfaces(session: Session) -> Facts:
    return {
        "interfaces": [
            {
                "connection_name": "Ethernet",
                "default_gateway": session.machine.settings.option("gateway"),
                "dns_domain": None,
                "interface_index": 4,
                "interface_name": "Microsoft Hyper-V Network Adapter",
                "ipv4": {"address": session.machine.address, "prefix": "8"},
                "ipv6": None,
                "macaddress": "00:15:5D:"
                + ":".join(f"{int(part):02X}" for part in session.machine.address.split(".")[1:]),
                "mtu": 1500,
                "speed": 10000,
            }
        ]
    }


def _bios(session: Session) -> Facts:
    identity = uuid.uuid5(uuid.NAMESPACE_OID, session.machine.settings.address)
    return {
        "bios_date": "05/13/2024",
        "bios_version": "Hyper-V UEFI Release v4.1",
        "product_name": "Virtual Machine",
        "product_serial": str(identity.int)[:24],
        "product_uuid": str(identity).upper(),
    }


def _date_time(session: Session) -> Facts:
    now = session.machine.clock.now()
    zone = session.machine.registry.data(
        r"HKLM:\SYSTEM\CurrentControlSet\Control\TimeZoneInformation", "TimeZoneKeyName", "UTC"
    )
    return {
        "date_time": {
            "date": now.strftime("%Y-%m-%d"),
            "day": now.strftime("%d"),
            "epoch": str(now.timestamp()),
            "epoch_local": str(now.timestamp()),
            "epoch_int": int(now.timestamp()),
            "hour": now.strftime("%H"),
            "iso8601": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "iso8601_basic": now.strftime("%Y%m%dT%H%M%S%f"),
            "iso8601_basic_short": now.strftime("%Y%m%dT%H%M%S"),
            "iso8601_micro": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "minute": now.strftime("%M"),
            "month": now.strftime("%m"),
            "second": now.strftime("%S"),
            "time": now.strftime("%H:%M:%S"),
            "tz": zone,
            "tz_offset": "+00:00",
            "weekday": now.strftime("%A"),
            "weekday_number": now.strftime("%w"),
            "weeknumber": now.strftime("%W"),
            "year": now.strftime("%Y"),
        }
    }


def _distribution(session: Session) -> Facts:
    windows, registry = session.machine.windows, session.machine.registry
    product = f"Microsoft {registry.data(CURRENT_VERSION, 'ProductName', windows.product)}"
    return {
        "distribution": product,
        "distribution_version": f"10.0.{windows.build}.0",
        "distribution_major_version": "10",
        "os_family": "Windows",
        "os_name": product,
        "os_product_type": "server",
        "os_installation_type": registry.data(CURRENT_VERSION, "InstallationType"),
        "os_install_date": None,
    }


def _dns(session: Session) -> Facts:
    return {"dns": {"domain": "", "nameservers": session.machine.settings.option("nameservers", [])}}


def _env(session: Session) -> Facts:
    # As in setup.ps1: a trailing backslash broke ConvertTo-Json there.
    return {"env": {name: value.rstrip("\\") for name, value in session.environment.items()}}


def _memory(session: Session) -> Facts:
    total = session.machine.settings.memory_mb
    return {
        "memtotal_mb": total,
        "memfree_mb": total * 3 // 4,
        "swaptotal_mb": 0,
        "pagefiletotal_mb": total // 8,
        "pagefilefree_mb": total // 8,
    }


def _platform(session: Session) -> Facts:
    machine = session.machine
    pending = [reason for reason in machine.power.pending_reasons() if reason in ("features", "file renames")]
    return {
        "architecture": "64-bit",
        "architecture2": "x86_64",
        "domain": "",
        "fqdn": machine.host_name,
        "hostname": machine.host_name,
        "kernel": f"10.0.{machine.windows.build}.0",
        "machine_id": machine.sid,
        "netbios_name": machine.name,
        "nodename": machine.host_name,
        "owner_contact": "",
        "owner_name": "",
        "reboot_pending": bool(pending),
        "system": "Win32NT",
        "system_description": "",
        "system_vendor": "Microsoft Corporation",
    }


def _powershell(session: Session) -> Facts:
    return {"powershell_version": 5}


def _processor(session: Session) -> Facts:
    count = session.machine.settings.processors
    name = ["GenuineIntel", "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz"]
    return {
        "processor": [part for index in range(count) for part in (str(index), *name)],
        "processor_count": 1,
        "processor_vcpus": count,
        "processor_cores": count,
        "processor_threads_per_core": 1,
    }


def _uptime(session: Session) -> Facts:
    boot = session.machine.power.boot_time
    return {
        "lastboot": boot.strftime("%Y-%m-%d %H:%M:%SZ"),
        "uptime_seconds": round((datetime.now(UTC) - boot).total_seconds()),
    }


def _user(session: Session) -> Facts:
    return {
        "user_dir": session.variable("USERPROFILE"),
        "user_gecos": "",
        "user_id": session.variable("USERNAME"),
        "user_sid": session.machine.acting.token_of(session.user).user,
    }


def _domain(session: Session) -> Facts:
    return {
        "windows_domain": "WORKGROUP",
        "windows_domain_member": False,
        "windows_domain_role": "Stand-alone server",
    }


def _virtual(session: Session) -> Facts:
    return {"virtualization_role": "guest", "virtualization_type": "Hyper-V"}


def _local(session: Session, folder: str) -> Facts:
    files = session.machine.files
    found: Facts = {}
    if not files.is_directory(folder):
        return found
    for entry in files.listing(folder):
        if entry.name.endswith(".json"):
            found[f"ansible_{entry.name.removesuffix('.json')}"] = json.loads(files.read_text(entry.path))
    return found


_GATHERERS: tuple[tuple[tuple[str, ...], Callable[[Session], Facts]], ...] = (
    (("all_ipv4_addresses", "all_ipv6_addresses"), _addresses),
    (("bios",), _bios),
    (("date_time",), _date_time),
    (("distribution",), _distribution),
    (("dns",), _dns),
    (("env",), _env),
    (("interfaces",), _interfaces),
    (("memory",), _memory),
    (("platform",), _platform),
    (("powershell_version",), _powershell),
    (("processor",), _processor),
    (("uptime",), _uptime),
    (("user",), _user),
    (("windows_domain",), _domain),
    (("virtual",), _virtual),
)
