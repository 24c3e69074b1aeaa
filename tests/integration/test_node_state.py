# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""node_state with ansible-playbook on simulated servers, over winrm and psrp: its output for users.

Each run has all hosts: one for each supported version of Windows, and at least one for each connection plugin.
"""

from __future__ import annotations

import json
import os
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from integration import forked_runs
from integration.networks import free_network

from simulator.fleet import Fleet
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("node_state")]

# The version of Windows, and the connection plugin.
HOSTS = {"w2019": ("2019", "winrm"), "w2022": ("2022", "psrp"), "w2025": ("2025", "winrm"), "p2025": ("2025", "psrp")}
SECRET = "hunter2-of-the-test"
CONNECTIONS: dict[str, dict[str, t.Any]] = {
    "winrm": {"ansible_winrm_scheme": "http", "ansible_winrm_transport": "ntlm"},
    "psrp": {"ansible_psrp_protocol": "http", "ansible_psrp_auth": "ntlm"},
}
RESOURCES: list[dict[str, t.Any]] = [
    {"type": "WindowsFeature", "name": "Containers"},
    {"type": "Directory", "name": "C:\\k"},
    {"type": "File", "name": "C:\\k\\hello.txt", "content": "hello\n"},
    {"type": "Environment", "name": "Path", "path_entries": ["C:\\k"]},
    {"type": "Environment", "name": "TOKEN", "value": "{{ secret }}", "no_log": True},
    {
        "type": "Registry",
        "key": "HKLM:\\SOFTWARE\\Example",
        "value_name": "OnlyOn2025",
        "value": 1,
        "windows": ["2025"],
    },
]

Play = t.Callable[..., tuple[dict[str, dict[str, t.Any]], str]]


@pytest.fixture(scope="module")
def fleet() -> t.Iterator[Fleet]:
    network = free_network()
    nodes = [
        MachineSettings(name=name, address=f"{network}.{number}", windows=windows, reboot_seconds=0.5)
        for number, (name, (windows, _)) in enumerate(HOSTS.items(), 1)
    ]
    with Fleet(nodes) as fleet:
        yield fleet


@pytest.fixture
def play(fleet: Fleet, tmp_path: Path) -> Play:
    """Return a function that runs node_state, and returns the results by host and the whole output."""
    variables = {
        "ansible_port": 5985,
        "ansible_user": "Administrator",
        "ansible_password": "Passw0rd!",
        "results": str(tmp_path),
        "secret": SECRET,
    }
    hosts = {
        name: {"ansible_host": fleet.machine(name).address, "ansible_connection": connection, **CONNECTIONS[connection]}
        for name, (_, connection) in HOSTS.items()
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": variables}}))

    def run(*options: str, resources: list[dict[str, t.Any]] = RESOURCES) -> tuple[dict[str, dict[str, t.Any]], str]:
        tasks = [
            {"winkube.node.node_state": {"resources": resources}, "register": "result", "ignore_errors": True},
            {
                "ansible.builtin.copy": {
                    "content": "{{ result | ansible.builtin.to_json }}",
                    "dest": "{{ results }}/{{ inventory_hostname }}.json",
                },
                "vars": {"ansible_connection": "local"},
                "delegate_to": "localhost",
                "check_mode": False,
                "diff": False,
            },
        ]
        (tmp_path / "play.yml").write_text(
            yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}], sort_keys=False)
        )
        program = Path(sys.executable).with_name("ansible-playbook")
        code, output = forked_runs.execute(
            [str(program), "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml"), *options],
            tmp_path,
            {
                **os.environ,
                "LC_ALL": "C.UTF-8",
                "ANSIBLE_HOME": str(tmp_path),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_CALLBACKS_ENABLED": "short_pauses",
                **forked_runs.SHARED,
            },
            timeout=240,
        )
        assert code == 0, output[-5000:]
        return {host: json.loads((tmp_path / f"{host}.json").read_text()) for host in hosts}, output

    return run


def test_a_node_converges_and_a_second_run_changes_nothing(play: Play, fleet: Fleet) -> None:
    planned, output = play("--check", "--diff")
    for host, result in planned.items():
        assert (result["changed"], result["remote_commands"], result["rebooted"]) == (True, 1, False), host
        assert len(result["changes"]) == (6 if HOSTS[host][0] == "2025" else 5)
    assert "+++ after: File C:\\k\\hello.txt" in output
    assert not fleet.machine("w2022").files.exists("C:\\k")

    first, output = play("-vvvvvv")
    for host, result in first.items():
        assert result["changes"][0]["name"] == "Containers"
        assert [change["name"] for change in result["changes"]] == [
            change["name"] for change in planned[host]["changes"]
        ]
        assert result["rebooted"] is True
        # Observe; install (start, collect); reboot by win_reboot; the rest in one batch.
        assert result["remote_commands"] <= 10
        assert fleet.machine(host).files.read_text("C:\\k\\hello.txt").replace("\r", "") == "hello\n"
    assert SECRET not in output.replace(f'"secret": "{SECRET}"', "")
    assert "Kubernetes lists only 2022 and 2025" in output
    assert "DEPRECATION WARNING" not in output

    second, _ = play()
    for host, result in second.items():
        assert (result["changed"], result["changes"], result["remote_commands"]) == (False, [], 1), host


def test_a_failure_names_node_resource_and_step(play: Play) -> None:
    # The parent of the folder is a file, so the folder cannot be created.
    broken = [
        {"type": "File", "name": "C:\\blocked", "content": "x"},
        {"type": "Directory", "name": "C:\\blocked\\folder"},
        {"type": "Directory", "name": "C:\\never"},
    ]
    results, _ = play(resources=broken)
    for host, result in results.items():
        assert result["failed"] is True
        assert result["msg"].startswith(f"{host}: Directory C:\\blocked\\folder: ")
        assert [change["name"] for change in result["changes"]] == ["C:\\blocked"]
        assert result["pending"] == ["Directory C:\\blocked\\folder", "Directory C:\\never"]
