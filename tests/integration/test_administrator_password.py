# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""administrator_password with ansible-playbook on a simulated server: set once by win_user, and shown nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from integration.networks import free_network

from simulator.fleet import Fleet
from simulator.machine import accounts
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.integration, pytest.mark.waits]
TASKS = [
    {"winkube.node.administrator_password": {"file": "{{ inventory_hostname }}.txt"}, "register": name}
    for name in ("first", "second")
]
CHECKS = [
    "first is changed and first.account == 'Administrator' and first.remote_commands == 3",
    "second is not changed and second.changes == [] and second.remote_commands == 1",
]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    node = MachineSettings(name="win1", address=f"{free_network()}.1", windows="2022", user="operator")
    with Fleet([node], tmp_path / "state") as fleet:
        yield fleet


def test_the_password_is_set_once_and_no_output_contains_it(fleet: Fleet, tmp_path: Path) -> None:
    machine = fleet.machine("win1")
    variables = {
        "ansible_host": machine.address,
        "ansible_port": 5985,
        "ansible_connection": "psrp",
        "ansible_psrp_protocol": "http",
        "ansible_psrp_auth": "ntlm",
        "ansible_user": "operator",
        "ansible_password": "Passw0rd!",
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"win1": variables}}}), encoding="utf-8")
    tasks = [*TASKS, {"ansible.builtin.assert": {"that": CHECKS}}]
    play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play, sort_keys=False), encoding="utf-8")
    ended = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", "hosts.yml", "play.yml", "-vvvvvv", "--diff"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode == 0, output[-5000:]
    password = (tmp_path / "win1.txt").read_text(encoding="utf-8").strip()
    account = accounts.find(machine, "Administrator", "User")
    assert account is not None
    assert account.password == password
    assert len(password) == 32
    assert password not in output
