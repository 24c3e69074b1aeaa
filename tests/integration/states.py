# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The state of a simulated machine, for comparison with an earlier state or with another machine."""

from __future__ import annotations

import time
from typing import Any

from simulator.machine.machine import Machine
from simulator.machine.status import changed_values

UNIQUE = ("SusClientId", "SusClientIdValidation")
"""Values of the registry that differ between all machines: the names under which they use Windows Update."""
# Folders with results of batches, and with Ansible's files while a module runs.
_TEMPORARY = (r"c:\programdata\winkube\batches", "\\temp\\")


def state_of(machine: Machine) -> dict[str, Any]:
    """Return everything that a run could change on a machine: files with ACLs, registry, states of services, boots."""
    files = {
        entry.path: (entry.size, machine.files.sddl(entry.path))
        for entry in machine.files.walk("C:\\")
        if not any(folder in entry.path.lower() for folder in _TEMPORARY)
    }
    registry = {(path, name): value for path, name, value in machine.registry.walk("HKLM")}
    services = {name: found.state for name in machine.services.names() if (found := machine.services.get(name))}
    return {"files": files, "registry": registry, "services": services, "boots": machine.power.boots}


def state_at_rest(machine: Machine, seconds: float = 60.0) -> dict[str, Any]:
    """Return the state of a machine when nothing changes by itself any more (a node's pods start after it is Ready)."""
    deadline = time.monotonic() + seconds
    before = state_of(machine)
    while time.monotonic() < deadline:
        time.sleep(1)
        after = state_of(machine)
        if after == before:
            return after
        before = after
    raise AssertionError(f"{machine.host_name} did not come to rest within {seconds} s")


def configured(machine: Machine) -> dict[str, Any]:
    """Return the configuration of a machine, without what is unique to it (names, times, identifiers)."""
    files = {
        entry.path: machine.files.read_bytes(entry.path)
        for folder in ("C:\\etc", "C:\\opt", "C:\\cache", "C:\\k")
        for entry in machine.files.walk(folder)
        if not entry.is_directory
    }
    status: dict[str, Any] = {name: read(machine) for name, read in machine.families.status.items()}
    services = {
        name: (found.state, found.start_mode, found.image_path, found.dependencies)
        for name in machine.services.names()
        if (found := machine.services.get(name))
    }
    registry = {
        path: {name: value for name, value in values.items() if name not in UNIQUE}
        for path, values in changed_values(machine).items()
        if "computername" not in path.casefold()
    }
    more = {name: status[name] for name in ("features", "firewall", "defender", "scheduled_tasks")}
    return {"files": files, "services": services, "registry": registry, **more}
