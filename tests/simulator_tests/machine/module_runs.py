# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Modules as Ansible sends them, without a playbook: the real text of a module in a manifest of Ansible's format."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simulator.machine import ansible_actions
from simulator.machine.ansible_wrapper import SEPARATOR
from simulator.machine.session import Session


def collections() -> Path:
    """Return the folder of the collections of the package `ansible`. Skip the test if it is not installed."""
    found = find_spec("ansible_collections")
    for place in (found.submodule_search_locations or ()) if found else ():
        if (Path(place) / "ansible" / "windows").is_dir():
            return Path(place)
    pytest.skip("the collection ansible.windows is not installed")


def module_files() -> Iterator[Path]:
    """Yield the files of the PowerShell modules of ansible.windows and community.windows."""
    for name in ("ansible", "community"):
        yield from sorted((collections() / name / "windows" / "plugins" / "modules").glob("*.ps1"))


def utilities() -> list[str]:
    """Return the texts of the PowerShell module_utils of the two collections."""
    folders = [collections() / name / "windows" / "plugins" / "module_utils" for name in ("ansible", "community")]
    return [path.read_text("utf-8-sig") for folder in folders for path in folder.glob("*.psm1")]


def run_module(session: Session, module: str, /, *, check_mode: bool = False, **options: object) -> dict[str, Any]:
    """Run a module of ansible.windows and return the result that Ansible's connection plugin would get."""
    path = collections() / "ansible" / "windows" / "plugins" / "modules" / f"{module}.ps1"
    internal = {"_ansible_check_mode": check_mode, "_ansible_module_name": f"ansible.windows.{module}"}
    result = ansible_actions.run(session, _lines(path.name, path.read_bytes(), {**options, **internal}))
    assert not result.stderr, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _lines(name: str, text: bytes, arguments: dict[str, object]) -> list[str]:
    """Return what Ansible sends for a module, in the format of `_create_powershell_wrapper` of ansible-core.

    The tests do not call that function: it needs Ansible's collection loader, which would change their imports.
    """
    scripts = {f"ansible.windows.{name}": text, "module_wrapper.ps1": b""}
    scripts |= {f"utility{index}.psm1": utility.encode() for index, utility in enumerate(utilities())}
    parameters = {
        "Script": f"ansible.windows.{name}",
        "Variables": [{"Name": "complex_args", "Value": arguments, "Scope": "Global"}],
        "Environment": {},
        "ForModule": True,
    }
    manifest = {
        "scripts": {key: {"script": base64.b64encode(value).decode()} for key, value in scripts.items()},
        "actions": [{"name": "module_wrapper.ps1", "params": parameters}],
    }
    return [json.dumps({"name": "exec_wrapper", "script": "param()"}), SEPARATOR, json.dumps(manifest)]
