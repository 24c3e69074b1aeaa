# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ansible-playbook with ansible.windows.win_updates on a simulated server: it polls, and reboots by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.pytest_fleet import FleetFactory, simulated_fleet

__all__ = ["simulated_fleet"]

pytestmark = pytest.mark.xdist_group("win_updates_ansible")
LCU = "KB5048654"
TASK: dict[str, Any] = {
    "ansible.windows.win_updates": {"reboot": True, "reboot_timeout": 60, "accept_list": [rf"\b{LCU}\b"]},
    "register": "updates",
}


def test_it_installs_reboots_and_searches_again(simulated_fleet: FleetFactory, tmp_path: Path) -> None:
    fleet = simulated_fleet(
        {
            "name": "win-a",
            "reboot_seconds": 0.2,
            "time_scale": 0.005,
            "windows_update": {"offers": [LCU]},
        }
    )
    machine = fleet.machine("win-a")
    variables = {
        "ansible_connection": "winrm",
        "ansible_winrm_transport": "ntlm",
        "ansible_port": 5985,
        "ansible_host": machine.address,
        "ansible_user": machine.settings.user,
        "ansible_password": machine.settings.password,
    }
    local = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    copy = {
        "ansible.builtin.copy": {"content": "{{ updates | to_json }}", "dest": str(tmp_path / "results.json")},
        "delegate_to": "localhost",
    }
    (tmp_path / "ansible.cfg").write_text("[defaults]\n")
    (tmp_path / "inventory.yml").write_text(
        yaml.safe_dump({"all": {"hosts": {"win-a": variables, "localhost": local}}})
    )
    (tmp_path / "play.yml").write_text(
        yaml.safe_dump([{"hosts": "win-a", "gather_facts": False, "tasks": [TASK, copy]}])
    )
    run = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "inventory.yml", "play.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    answer = json.loads((tmp_path / "results.json").read_text())
    assert (answer["changed"], answer["rebooted"], answer["reboot_required"]) == (True, True, False)
    (info,) = answer["updates"].values()
    assert (info["kb"], info["installed"]) == ([LCU.removeprefix("KB")], True)
    assert machine.power.boots == 2
    assert machine.windows.full == "10.0.20348.2966"
