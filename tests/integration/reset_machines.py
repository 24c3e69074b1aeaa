# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the tests of resets compare: every field of a machine that a join may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.machine.machine import Machine

# What resets do not affect: results of remote commands, the runtime's stores, state and logs, and Ansible's files.
_OTHERS = (
    r"c:\programdata\winkube\batches",
    r"c:\programdata\containerd",
    r"c:\programdata\docker",
    r"c:\var\log\containerd",
    r"c:\var\log\cri-dockerd",
    "\\temp\\",
)


def machine_state(machine: Machine) -> dict[str, Any]:
    """Return the files with their contents and access lists, registry, services, HNS, firewall, network and tasks."""
    status: dict[str, Any] = {name: read(machine) for name, read in machine.families.status.items()}
    hns = {name: status["hns"][name] for name in ("networks", "endpoints", "policies")}
    hns["namespaces"] = [one for one in status["hns"]["namespaces"] if not one["default"]]
    return {
        "files": {
            entry.path: (
                None if entry.is_directory or entry.size > 2**20 else machine.files.read_bytes(entry.path),
                machine.files.sddl(entry.path),
            )
            for entry in machine.files.walk("C:\\")
            if not any(folder in entry.path.casefold() for folder in _OTHERS)
        },
        "registry": {f"{path} {name}": value for path, name, value in machine.registry.walk("HKLM")},
        "services": {
            name: (found.state, found.start_mode, found.image_path, found.dependencies, dict(found.environment))
            for name in machine.services.names()
            # Windows starts HNS when it is first used.
            if name != "hns" and (found := machine.services.get(name))
        },
        "hns": hns,
        **{name: status[name] for name in ("firewall", "scheduled_tasks", "features", "network") if name in status},
        "containers": status.get("containers"),
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what differs between two states, one line for each file, value, service or other item."""
    found = []
    for section in before.keys() | after.keys():
        old, new = before.get(section), after.get(section)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += [
                f"{section} {key}: {old.get(key)!r} -> {new.get(key)!r}"
                for key in old.keys() | new.keys()
                if old.get(key) != new.get(key)
            ]
        elif old != new:
            found.append(f"{section}: {old!r} -> {new!r}")
    return sorted(found)
