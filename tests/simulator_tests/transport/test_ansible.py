# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ansible's own winrm and psrp plugins, unmodified, as `ansible` starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from simulator_tests.transport.clients import PASSWORD, USER, Node

from simulator.transport.certificates import FleetCertificate
from simulator.transport.faults import TransportFault

MATRIX = [
    f"{plugin}-{scheme}-{auth}"
    for plugin, scheme, auth in product(["winrm", "psrp"], ["http", "https"], ["basic", "ntlm"])
]


def host_vars(node: Node, name: str, trust: Path) -> dict[str, object]:
    plugin, scheme, auth = name.split("-")
    common = {
        "ansible_host": node.server.address,
        "ansible_port": node.port(scheme),
        "ansible_connection": plugin,
        "ansible_user": USER,
        "ansible_password": PASSWORD,
    }
    if plugin == "winrm":
        return common | {
            "ansible_winrm_scheme": scheme,
            "ansible_winrm_transport": auth,
            "ansible_winrm_ca_trust_path": str(trust),
            "ansible_winrm_operation_timeout_sec": 2,
            "ansible_winrm_read_timeout_sec": 10,
        }
    return common | {
        "ansible_psrp_protocol": scheme,
        "ansible_psrp_auth": auth,
        "ansible_psrp_ca_cert": str(trust),
        "ansible_psrp_message_encryption": "never" if auth == "basic" else "auto",
        "ansible_psrp_operation_timeout": 2,
        "ansible_psrp_ignore_proxy": True,
    }


def ansible(folder: Path, hosts: dict[str, dict[str, object]], *arguments: str) -> dict[str, dict[str, object]]:
    """Run `ansible all` with these arguments; return the result of each host."""
    inventory = folder / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environment |= {"ANSIBLE_CONFIG": str(folder / "ansible.cfg")}
    command = [
        sys.executable,
        "-m",
        "ansible",
        "adhoc",
        "all",
        "-i",
        str(inventory),
        "--tree",
        str(folder / "tree"),
        "-f",
        "8",
    ]
    done = subprocess.run(
        [*command, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    results = {path.name: json.loads(path.read_text()) for path in (folder / "tree").iterdir()}
    assert results.keys() == hosts.keys(), done.stdout + done.stderr
    return results


@pytest.fixture(scope="session")
def trust(fleet_certificate: FleetCertificate) -> Path:
    return fleet_certificate.certificate


def test_raw_reaches_the_node_by_every_transport(node: Node, ansible_folder: Path, trust: Path) -> None:
    hosts = {name: host_vars(node, name, trust) for name in MATRIX}
    results = ansible(ansible_folder, hosts, "-m", "raw", "-a", "exit 3")
    assert {name: (result["rc"], str(result["stdout"]).strip()) for name, result in results.items()} == dict.fromkeys(
        MATRIX, (3, "echo=exit 3")
    )
    counters = node.server.counters.snapshot()
    assert (counters["shells"], counters["pools"], counters["remote_commands"]) == (4, 4, 8)
    assert node.server.status()["open_shells"] == []


def test_a_command_longer_than_the_operation_timeout_ends_well(node: Node, ansible_folder: Path, trust: Path) -> None:
    hosts = {name: host_vars(node, name, trust) for name in ("winrm-http-ntlm", "psrp-https-basic")}
    results = ansible(ansible_folder, hosts, "-m", "raw", "-a", "sleep 5")
    assert {result["rc"] for result in results.values()} == {0}
    # winrm: Create, Command, three Receives, Signal, Delete. psrp: Create, Receive, Command, three Receives, Delete.
    assert node.server.counters.snapshot()["wsman_requests"] == 14


@pytest.mark.parametrize("name", ["winrm-http-basic", "psrp-http-basic"])
def test_a_dropped_connection_fails_the_task_but_not_the_command(
    node: Node, ansible_folder: Path, trust: Path, name: str
) -> None:
    node.server.set_fault(TransportFault("after", action="Command"))
    (result,) = ansible(ansible_folder, {name: host_vars(node, name, trust)}, "-m", "raw", "-a", "hello").values()
    assert "Connection aborted" in str(result["msg"])
    assert node.host.finished == ["hello"]


def test_wrong_credentials_make_a_host_unreachable(node: Node, ansible_folder: Path, trust: Path) -> None:
    names = ("winrm-http-basic", "winrm-https-ntlm", "psrp-http-ntlm", "psrp-https-basic")
    hosts = {name: {**host_vars(node, name, trust), "ansible_password": "wrong"} for name in names}
    results = ansible(ansible_folder, hosts, "-m", "raw", "-a", "hello")
    assert {result["unreachable"] for result in results.values()} == {True}
    assert node.host.runs == []
