# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Fleets: the fleet file, control requests, the command line, and images."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from simulator.control import ControlServer
from simulator.fleet import Fleet, read_fleet
from simulator.machine.machine import GENERALIZED, SETUP_STATE
from simulator.machine.settings import MachineSettings
from simulator.pytest_fleet import FleetFactory, simulated_fleet

pytestmark = pytest.mark.waits

__all__ = ["simulated_fleet"]


def ask(url: str, document: object = None) -> dict[str, Any]:
    data = None if document is None else json.dumps(document).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=20) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: {}", "a list under the key `nodes`"),
        ("nodes: [{name: a}]", "missing: address"),
        ("nodes: [{name: a, address: 127.0.0.2, disk_gb: big}]", "disk_gb"),
        ("nodes: [{name: a, address: 127.0.0.2}, {name: b, address: 127.0.0.2}]", "same address: 127.0.0.2"),
        ("nodes: []\nnope: 1", "unknown keys: nope"),
        ("nodes: [", "not valid YAML"),
    ],
)
def test_bad_fleet_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "fleet.yml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_fleet(path)


def test_fleet_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yml"
    path.write_text(
        "nodes: [{name: a, address: 127.0.0.2, windows: 2019, disk_gb: 40, static_ip: true}]\nartifacts: {port: 1}"
    )
    file = read_fleet(path)
    assert file.nodes[0].windows == "2019"
    assert file.nodes[0].disk_gb == 40.0
    assert file.nodes[0].option("static_ip") is True
    assert file.artifacts == {"port": 1}


def test_nodes_answer_on_their_addresses(simulated_fleet: FleetFactory) -> None:
    fleet = simulated_fleet({"name": "win-a"}, {"name": "win-b", "windows": "2025"})
    for name, build in (("win-a", 20348), ("win-b", 26100)):
        node = fleet.nodes[name]
        status = ask(f"http://{node.machine.address}:5985/simulator/status")
        assert (status["hostname"], status["windows"]["build"]) == (name, build)
        assert status["counters"]["remote_commands"] == 0


def test_power_and_images_by_control(simulated_fleet: FleetFactory) -> None:
    fleet = simulated_fleet({"name": "win-image", "reboot_seconds": 0.05})
    control = ControlServer(fleet)
    control.start()
    try:
        machine = fleet.machine("win-image")
        machine.registry.set(SETUP_STATE, "ImageState", GENERALIZED)
        new = machine.address.rsplit(".", 1)[0] + ".99"
        deploy = {"from": "win-image", "name": "win-new", "address": new}
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(f"{control.url}/simulator/deploy", deploy)
        assert "is not off" in caught.value.read().decode()
        off = ask(f"{control.url}/simulator/power", {"node": "win-image", "action": "off"})
        assert off["power"] == "off"
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((machine.address, 5985), timeout=30)
        made = ask(f"{control.url}/simulator/deploy", deploy)
        assert made["computer_name"].startswith("WIN-")
        assert ask(f"http://{new}:5985/simulator/status")["computer_name"] == made["computer_name"]
        on = ask(f"{control.url}/simulator/power", {"node": "win-image", "action": "start"})
        assert on["power"] == "on"
        assert set(ask(f"{control.url}/simulator/status")) == {"win-image", "win-new"}
        ask(f"{control.url}/simulator/power", {"node": "win-image", "action": "off"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(f"{control.url}/simulator/deploy", deploy | {"name": "win-else", "address": "192.0.2.1"})
        assert "cannot listen on 192.0.2.1" in caught.value.read().decode()
    finally:
        control.stop()


def test_an_address_in_use_is_reported(simulated_fleet: FleetFactory, tmp_path: Path) -> None:
    fleet = simulated_fleet({"name": "win-a"})
    other = Fleet([MachineSettings("win-b", fleet.machine("win-a").address)], tmp_path / "other")
    with pytest.raises(OSError, match=r"in use|cannot listen"):
        other.start()


def test_the_command_line_serves_until_it_is_stopped(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yml"
    address = f"127.99.{os.getpid() % 250 + 1}.7"
    fleet.write_text(f"nodes: [{{name: win-a, address: {address}}}]")
    tests = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "simulator", "--fleet", str(fleet)]
    with subprocess.Popen(command, cwd=tests, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"ready: win-a {address}; control http://127.0.0.1:")
        assert ask(f"http://{address}:5985/simulator/status")["hostname"] == "win-a"
        state = Path(line.rsplit("certificate ", 1)[1].strip()).parents[1]
        assert state.is_dir()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not state.exists()


def test_a_wrong_fleet_file_is_an_error_of_the_command_line(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yml"
    fleet.write_text("nodes: [{name: win-a, address: 127.0.0.3, windows: '2016'}]")
    tests = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "simulator", "--fleet", str(fleet)]
    result = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 2
    assert "expected one of the versions of Windows 2019, 2022, 2025, insider, got '2016'" in result.stderr
