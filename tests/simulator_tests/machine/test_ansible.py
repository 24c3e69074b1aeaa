# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Real Ansible, with its own modules, on a simulated server: over winrm and over psrp."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.pytest_fleet import FleetFactory, simulated_fleet

__all__ = ["simulated_fleet"]

CONNECTIONS = {
    "winrm": {"ansible_connection": "winrm", "ansible_winrm_transport": "ntlm", "ansible_port": 5985},
    "psrp": {
        "ansible_connection": "psrp",
        "ansible_psrp_auth": "ntlm",
        "ansible_psrp_protocol": "http",
        "ansible_port": 5985,
    },
}
PLAY: list[dict[str, Any]] = [
    {"name": "ping", "ansible.windows.win_ping": {"data": "hello"}},
    {"name": "facts", "ansible.builtin.setup": {"gather_subset": ["!all", "!min", "distribution", "platform"]}},
    {"name": "raw", "ansible.builtin.raw": "hostname"},
    {"name": "shell", "ansible.windows.win_shell": "Write-Output hi; exit 3", "ignore_errors": True},
    {"name": "command", "ansible.windows.win_command": {"argv": ["sc.exe", "query", "WinRM"]}},
    {"name": "async", "ansible.windows.win_command": "hostname.exe", "async": 30, "poll": 1},
    {
        "name": "become",
        "ansible.windows.win_command": "whoami.exe",
        "become": True,
        "become_method": "runas",
        "become_user": "SYSTEM",
    },
    {"name": "copy", "ansible.windows.win_copy": {"content": "hällo\n", "dest": "C:\\copied.txt"}},
    {"name": "copy again", "ansible.windows.win_copy": {"content": "hällo\n", "dest": "C:\\copied.txt"}},
    {"name": "folder", "ansible.windows.win_copy": {"src": "{{ playbook_dir }}/tree/", "dest": "C:\\tree"}},
    {
        "name": "fetch",
        "ansible.builtin.fetch": {
            "src": "C:\\copied.txt",
            "dest": "{{ playbook_dir }}/fetched-{{ inventory_hostname }}",
            "flat": True,
        },
    },
    {"name": "file", "ansible.windows.win_file": {"path": "C:\\made\\by\\ansible", "state": "directory"}},
    {"name": "stat", "ansible.windows.win_stat": {"path": "C:\\made"}},
    {
        "name": "registry",
        "ansible.windows.win_regedit": {"path": "HKLM:\\SOFTWARE\\Demo", "name": "a", "data": 5, "type": "dword"},
    },
    {"name": "service", "ansible.windows.win_service": {"name": "W32Time", "state": "started", "start_mode": "auto"}},
    {"name": "reboot", "ansible.windows.win_reboot": {"reboot_timeout": 60}},
    {
        "name": "typing error",
        "ansible.windows.win_service": {"name": "W32Time", "statte": "started"},
        "ignore_errors": True,
    },
    {
        "name": "not modelled",
        "ansible.windows.win_regedit": {"path": "HKLM:\\A", "hive": "C:\\hive"},
        "ignore_errors": True,
    },
    {
        "name": "powershell",
        "ansible.windows.win_powershell": {
            "script": "$Ansible.Changed = $false; $Ansible.Result = Get-Service W32Time | Select-Object Name, Status"
        },
    },
    {"name": "script", "ansible.builtin.script": "{{ playbook_dir }}/own.ps1", "ignore_errors": True},
    {"name": "unknown", "ansible.windows.win_share": {"name": "x"}, "ignore_errors": True},
]


def play(fleet: Fleet, folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Run the play on the server of each connection at the same time, and return the result of each task."""
    (folder / "tree" / "sub").mkdir(parents=True)
    (folder / "tree" / "a.txt").write_text("a")
    (folder / "tree" / "sub" / "b.txt").write_text("b")
    (folder / "own.ps1").write_text("Write-Output x; exit 4")
    (folder / "ansible.cfg").write_text("[defaults]\nstdout_callback = ansible.builtin.default\n")
    hosts: dict[str, dict[str, Any]] = {}
    for name, variables in CONNECTIONS.items():
        settings = fleet.machine(name).settings
        own = {"ansible_host": settings.address, "ansible_user": settings.user, "ansible_password": settings.password}
        hosts[name] = own | variables
    tasks = [{**task, "register": f"r{index}"} for index, task in enumerate(PLAY)]
    results = "{{ [" + ", ".join(f"r{index}" for index in range(len(tasks))) + "] | to_json }}"
    copy = {
        "ansible.builtin.copy": {"content": results, "dest": f"{folder}/{{{{ inventory_hostname }}}}.json"},
        "delegate_to": "localhost",
    }
    local = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": {**hosts, "localhost": local}}}))
    document = [{"hosts": "all:!localhost", "gather_facts": False, "tasks": [*tasks, copy]}]
    (folder / "play.yml").write_text(yaml.safe_dump(document))
    environment = {**os.environ, "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        "-i",
        str(folder / "inventory.yml"),
        str(folder / "play.yml"),
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert run.returncode == 0, run.stdout + run.stderr
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in CONNECTIONS}
    return {
        name: {task["name"]: result for task, result in zip(PLAY, results, strict=True)}
        for name, results in found.items()
    }


def test_ansible_modules(simulated_fleet: FleetFactory, tmp_path: Path) -> None:
    fleet = simulated_fleet(*({"name": name, "reboot_seconds": 0.2} for name in CONNECTIONS))
    boots = {name: fleet.machine(name).power.boots for name in CONNECTIONS}
    for name, results in play(fleet, tmp_path).items():
        _check(fleet.machine(name), results, tmp_path / f"fetched-{name}")
        assert fleet.machine(name).power.boots == boots[name] + 1


def _check(machine: Machine, results: Mapping[str, dict[str, Any]], fetched: Path) -> None:
    assert results["ping"]["ping"] == "hello"
    facts = results["facts"]["ansible_facts"]
    assert facts["ansible_distribution"] == "Microsoft Windows Server 2022 Datacenter"
    assert facts["ansible_hostname"] == machine.settings.name
    assert "ansible_interfaces" not in facts
    assert results["raw"]["stdout"].strip() == machine.settings.name
    assert (results["shell"]["rc"], results["shell"]["stdout"]) == (3, "hi\r\n")
    assert "RUNNING" in results["command"]["stdout"]
    assert results["async"]["stdout"] == f"{machine.settings.name}\r\n"
    assert results["become"]["stdout"] == "nt authority\\system\r\n"
    assert [results["copy"]["changed"], results["copy again"]["changed"]] == [True, False]
    assert machine.files.read_bytes(r"C:\copied.txt") == "hällo\n".encode()
    assert machine.files.read_bytes(r"C:\tree\sub\b.txt") == b"b"
    assert fetched.read_bytes() == "hällo\n".encode()
    assert results["stat"]["stat"]["isdir"]
    assert machine.registry.data(r"HKLM:\SOFTWARE\Demo", "a") == 5
    assert results["service"]["state"] == "running"
    assert results["reboot"]["rebooted"]
    time_service = machine.services.get("W32Time")
    assert time_service is not None
    assert time_service.state == "Running", "it is automatic now, so it came up at boot"
    unsupported = (
        "Unsupported parameters for (ansible.windows.win_service) module: statte. Supported parameters include:"
    )
    assert results["typing error"]["msg"].startswith(unsupported)
    assert results["not modelled"]["msg"] == "the simulator does not model win_regedit's option hive"
    status = {"Type": "System.ServiceProcess.ServiceControllerStatus", "String": "Running", "Value": 4}
    assert results["powershell"]["result"] == {"Name": "W32Time", "Status": status}
    assert not results["powershell"]["changed"]
    assert (results["script"]["rc"], results["script"]["stdout"].strip()) == (4, "x")
    assert results["unknown"]["msg"] == "the simulator does not model the module win_share"
    leftovers = machine.files.listing(r"C:\Users\Administrator\AppData\Local\Temp")
    assert leftovers == [], "Ansible removes its temporary folders"
