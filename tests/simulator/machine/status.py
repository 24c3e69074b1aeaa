# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Describe the state of a machine for the simulator's endpoint `GET /simulator/status`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from simulator.machine.ansible_actions import Elevations
from simulator.machine.files import FileEntry
from simulator.machine.machine import ENVIRONMENT, SETUP_STATE, Machine
from simulator.machine.text import iso_utc

LIMIT = 2000


def describe(machine: Machine) -> dict[str, object]:
    """Return the part of the machine's state that tests and users inspect."""
    found: dict[str, object] = {
        "hostname": machine.host_name,
        "computer_name": machine.name,
        "address": machine.address,
        "windows": asdict(machine.windows) | {"full": machine.windows.full},
        "power": machine.power.state,
        "boot_time": iso_utc(machine.power.boot_time),
        "boots": machine.power.boots,
        "pending_reboot": machine.power.pending_reboot,
        "pending_reboot_reasons": machine.power.pending_reasons(),
        "image_state": machine.registry.data(SETUP_STATE, "ImageState"),
        "generalized": machine.generalized,
        "sid": machine.sid,
        "services": _services(machine),
        "events": machine.services.events[-50:],
        "registry": changed_values(machine),
        "environment": {name: value.data for name, value in machine.registry.values(ENVIRONMENT).items()},
        "files": _files(machine),
        "free_space": machine.files.free_space(),
        "elevations": list(machine.part(Elevations).runs),
        "processes": [{"id": process.id, "name": process.name} for process in machine.processes.all()],
    }
    for name, describe_part in machine.families.status.items():
        found[name] = describe_part(machine)
    return found


def _services(machine: Machine) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in machine.services.names():
        service = machine.services.get(name)
        if service is None:
            continue
        found[service.name] = {
            "path": service.image_path,
            "start_mode": service.start_mode,
            "delayed": service.delayed,
            "state": service.state,
            "account": service.account,
            "dependencies": service.dependencies,
            "environment": dict(service.environment),
            "exit_code": service.exit_code,
        }
    return found


def _files(machine: Machine) -> dict[str, object]:
    entries: list[FileEntry] = []
    for folder in machine.families.status_folders:
        entries += [entry for entry in machine.files.walk(folder) if not entry.is_directory]
    return {entry.path: _file(machine, entry) for entry in entries[:LIMIT]}


def _file(machine: Machine, entry: FileEntry) -> Mapping[str, object]:
    try:
        with machine.files.real(entry.path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:  # deleted in the meantime
        digest = ""
    return {"size": entry.size, "sha256": digest}


def changed_values(machine: Machine) -> dict[str, dict[str, Any]]:
    """Return the values in HKEY_LOCAL_MACHINE that differ from those of a newly installed machine.

    The result maps each key to a mapping of value names to values. The values of services are omitted.
    """
    fresh = machine.fresh_registry
    found: dict[str, dict[str, Any]] = {}
    for path, name, value in machine.registry.walk("HKLM"):
        if path.casefold().startswith(r"hklm\system\currentcontrolset\services"):
            continue
        if fresh.get(path, name) == value:
            continue
        data = list(value.data) if isinstance(value.data, bytes) else value.data
        found.setdefault(path, {})[name] = {"kind": value.kind, "value": data}
    return found
