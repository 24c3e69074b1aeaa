# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""domain_join over Ansible's real connection plugins: the module of microsoft.ad runs, and no output has a secret."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.utils.display import Display
from integration.actions import connect, run_action
from integration.networks import free_network
from integration.patching import no_pauses

from simulator.fleet import Fleet
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.directory.domain_directory import DomainDirectory
from simulator.windows.directory.membership import DomainMembership
from simulator.windows.directory.offline_data import encode

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_pauses")]
__all__ = ["no_pauses"]

SECRET = "S3cr3t-of-the-domain"
ACCOUNT = {"user": "joiner@corp.example.com", "password": SECRET}
BLOB = base64.b64encode(encode("corp.example.com", "CORP", "OFFLINE", SECRET, "dc1")).decode()
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "online": ("psrp", ACCOUNT),
    "offline": ("winrm", {"offline_blob": BLOB}),
    "refused": ("psrp", ACCOUNT | {"password": f"{SECRET}-wrong"}),
}


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Machine]]:
    domain = DomainDirectory("corp.example.com", users={"joiner": SECRET}, joiners=["joiner"])
    network = free_network()
    entries = [
        {"name": name, "address": f"{network}.{number}", "reboot_seconds": 0.2, "directory": domain}
        for number, name in enumerate(CASES, 11)
    ]
    with Fleet([MachineSettings.read(entry) for entry in entries], tmp_path_factory.mktemp("fleet")) as fleet:
        yield {name: fleet.machine(name) for name in CASES}


def perform(machines: dict[str, Machine], name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run the action with Ansible's highest verbosity. No secret is in its result or in the output."""
    kind, options = CASES[name]
    display = Display()
    saved, display.verbosity = display.verbosity, 6
    try:
        with connect(machines[name], kind) as connection:
            found = run_action(connection, "domain_join", {"domain": "corp.example.com", **options}, host=name)
    finally:
        display.verbosity = saved
    shown = capsys.readouterr()
    # The connection plugins print what they do at this verbosity.
    assert machines[name].address in shown.out
    for text in (str(found), shown.out, shown.err):
        assert SECRET not in text
        assert BLOB not in text
    return found


@pytest.mark.parametrize("name", ["online", "offline"])
def test_a_machine_joins_with_one_reboot(
    machines: dict[str, Machine], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = machines[name]
    before = machine.power.boots
    found = perform(machines, name, capsys)
    assert found.get("msg") is None
    assert found["changed"]
    assert (machine.part(DomainMembership).domain, machine.name) == ("corp.example.com", name.upper())
    assert machine.power.boots == before + 1
    # Usually 6. On a busy machine, one more poll may coincide with the reboot.
    assert found["remote_commands"] <= 8
    again = perform(machines, name, capsys)
    assert (again["changed"], again["remote_commands"]) == (False, 1)
    print("remote commands of a join to a domain:", found["remote_commands"])


def test_the_domains_refusal_is_explained(machines: dict[str, Machine], capsys: pytest.CaptureFixture[str]) -> None:
    found = perform(machines, "refused", capsys)
    assert found["failed"]
    assert "the name or the password of the account is wrong (error 1326, ERROR_LOGON_FAILURE)" in found["msg"]
    assert Path(machines["refused"].files.real(r"C:\Windows\debug\NetSetup.LOG")).is_file()
