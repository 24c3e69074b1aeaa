# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Control requests: status, counters and faults over a node's own ports, without credentials."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
from simulator_tests.transport.clients import Node, run_psrp, run_winrm
from simulator_tests.waiting import wait_for

from simulator.transport.certificates import FleetCertificate

pytestmark = pytest.mark.waits


def test_status_is_the_machines_with_counters(node: Node) -> None:
    status = node.get("status")
    assert (status["name"], status["runs"]) == ("ECHO0", 0)
    assert status["counters"]["http_requests"] == 0
    assert (status["open_shells"], status["pending_faults"]) == ([], [])


def test_status_answers_on_https_too(node: Node, fleet_certificate: FleetCertificate) -> None:
    url = f"https://{node.server.address}:{node.server.https_port}/simulator/status"
    with requests.Session() as session:
        session.trust_env = False
        assert session.get(url, verify=str(fleet_certificate.certificate), timeout=60).json()["name"] == "ECHO0"


def test_counters_count_what_ansible_would_send(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    run_winrm(client, shell, "hello", stdin=b"x" * 1000)
    assert node.get("status")["open_shells"] == [{"id": shell, "user": "Administrator", "kind": "winrs"}]
    client.close_shell(shell)
    counters = node.get("status")["counters"]
    # Create, Command, Send, Receive, Signal, Delete.
    assert {
        key: counters[key] for key in ("http_requests", "wsman_requests", "shells", "pools", "remote_commands")
    } == {
        "http_requests": 6,
        "wsman_requests": 6,
        "shells": 1,
        "pools": 0,
        "remote_commands": 1,
    }
    assert 6 * 1000 < counters["bytes_in"] < 20_000
    assert 6 * 500 < counters["bytes_out"] < 20_000
    assert node.post("counters/reset", None)["counters"] == counters
    with node.psrp(auth="ntlm") as pool:
        run_psrp(pool, "hello")
    counters = node.get("status")["counters"]
    assert (counters["pools"], counters["shells"], counters["remote_commands"]) == (1, 0, 1)
    # Create, Receive, Command, Receive, Delete. Logging on takes three more HTTP requests.
    assert (counters["wsman_requests"], counters["http_requests"]) == (5, 8)


def test_a_request_whose_body_never_ends_is_not_counted(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    client.run_command(shell, "hello", console_mode_stdin=False)
    assert node.get("status")["counters"]["remote_commands"] == 0


def test_faults_are_set_and_cleared(node: Node) -> None:
    fault = {"kind": "before", "request": 2, "action": "Command"}
    assert node.post("faults", fault)["pending_faults"] == [{**fault, "count": 1}]
    node.post("faults/clear", None)
    assert node.get("status")["pending_faults"] == []
    node.post("faults", [{"kind": "before"}, {"kind": "slow", "seconds": 0.1, "request": 2}])
    with pytest.raises(requests.ConnectionError):
        node.winrm().open_shell()
    assert node.winrm().open_shell()


def test_a_fault_without_a_schedule_applies_first(node: Node) -> None:
    client = node.winrm()
    shell = client.open_shell()
    assert node.post("faults", {"kind": "shell_gone", "request": 0}) == {"pending_faults": []}
    # A fault that occurs immediately occurs after the response to the control request.
    wait_for(lambda: node.host.closed_shells == [shell])
    assert node.post("faults", {"kind": "link_down", "request": 0, "seconds": 1}) == {"pending_faults": []}
    wait_for(lambda: not node.server.is_listening)
    wait_for(lambda: node.server.is_listening)


def test_faults_of_the_machine_go_to_the_machine(node: Node) -> None:
    node.post("faults", {"kind": "disk_full", "drive": "C:"})
    assert node.host.faults == [{"kind": "disk_full", "drive": "C:"}]
    assert node.post("faults", {"kind": "earthquake"}) == {"http_status": 400, "error": "unknown fault earthquake"}
    assert node.post("faults", "nonsense")["http_status"] == 400
    assert node.post("nowhere", {})["http_status"] == 404
    assert node.get("nowhere")["http_status"] == 404


def test_requests_other_than_winrm_are_refused(node: Node, tmp_path: Path) -> None:
    base = f"http://{node.server.address}:{node.server.http_port}"
    auth = ("Administrator", "P@ss:w0rd")
    with requests.Session() as session:
        session.trust_env = False
        answers = [
            session.get(f"{base}/wsman", auth=auth, timeout=60),
            session.post(f"{base}/elsewhere", auth=auth, timeout=60),
            session.post(f"{base}/wsman", auth=auth, data=b"no xml", timeout=60),
            session.post(f"{base}/wsman", timeout=60),
        ]
    assert [answer.status_code for answer in answers] == [405, 404, 400, 401]
    assert "Negotiate" in answers[-1].headers["WWW-Authenticate"]
    assert 'Basic realm="WSMAN"' in answers[-1].headers["WWW-Authenticate"]
