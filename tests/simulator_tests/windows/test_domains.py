# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Joining a domain with microsoft.ad.membership: immediate changes, changes at the next boot, and errors."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.microsoft import ad

from simulator.machine import commands, modules
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, PSObject
from simulator.machine.session import Session
from simulator.machine.settings import MachineSettings
from simulator.windows.directory import membership, offline_data
from simulator.windows.directory.domain_directory import DomainDirectory, NetJoinError

SCRIPT = Path(next(iter(ad.__path__)), "plugins", "modules", "membership.ps1").read_text(encoding="utf-8")
NETLOGON = r"HKLM:\SYSTEM\CurrentControlSet\Services\Netlogon\JoinDomain"
TCPIP = r"HKLM:\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
LOG = r"C:\Windows\debug\NetSetup.LOG"
UNIT = "OU=Nodes,DC=corp,DC=example,DC=com"

Join = Callable[..., dict[str, Any]]


@pytest.fixture
def domain() -> DomainDirectory:
    """Return a domain with two users who may create computer accounts, and one who may not."""
    users = {"joiner": "Joiner-1", "other": "Other-1", "reader": "Reader-1"}
    return DomainDirectory(
        "corp.example.com",
        users=users,
        joiners=["joiner", "other"],
        units=[UNIT],
        computers={"TAKEN": "admin"},
        quota=2,
    )


@pytest.fixture
def machine(domain: DomainDirectory, tmp_path: Path) -> Iterator[Machine]:
    """Start a machine on the network of the domain."""
    settings = MachineSettings(name="win1", address="127.0.0.1", reboot_seconds=0.0, options={"directory": domain})
    found = Machine(settings, tmp_path)
    found.power_on()
    yield found
    found.power.retire()


@pytest.fixture
def join(machine: Machine) -> Join:
    """Return a function that runs the module, by default with the account of the user `joiner`."""

    def run(*, check: bool = False, **options: Any) -> dict[str, Any]:
        process = machine.processes.begin("powershell.exe", "Administrator")
        account = {
            "dns_domain_name": "corp.example.com",
            "domain_admin_user": "CORP\\joiner",
            "domain_admin_password": "Joiner-1",
        }
        given = {"state": "domain", "_ansible_check_mode": check, **options}
        if "offline_join_blob" not in options:
            given = account | given
        answer = modules.run(Session(machine, process, "Administrator"), "microsoft.ad.membership.ps1", SCRIPT, given)
        answer.pop("invocation", None)
        return answer

    return run


def reboot(machine: Machine) -> None:
    machine.power.power_off()
    machine.power_on()


def computer(machine: Machine) -> dict[str, object]:
    """Return the properties of Win32_ComputerSystem about the name and the domain."""
    (found,) = commands.run(machine, "Get-CimInstance", {"ClassName": "Win32_ComputerSystem"}).objects
    assert isinstance(found, PSObject)
    return {name: found[name] for name in ("Domain", "PartOfDomain", "Name", "DNSHostName")}


CHANGED = {"changed": True, "reboot_required": True}
SAME = {"changed": False, "reboot_required": False}


def test_a_join_waits_for_a_reboot_that_completes_it(machine: Machine, domain: DomainDirectory, join: Join) -> None:
    assert join(check=True) == CHANGED
    assert computer(machine)["PartOfDomain"] is False
    assert join(domain_ou_path=UNIT.lower()) == CHANGED
    assert domain.computers["WIN1"] == "joiner"
    assert computer(machine)["Domain"] == "corp.example.com"
    # The module itself does not notice that the reboot is missing.
    assert join() == SAME
    assert machine.registry.key_exists(NETLOGON)
    assert machine.registry.data(TCPIP, "Domain") == ""
    reboot(machine)
    assert not machine.registry.key_exists(NETLOGON)
    assert machine.registry.data(TCPIP, "Domain") == "corp.example.com"
    expected = {"Domain": "corp.example.com", "PartOfDomain": True, "Name": "WIN1", "DNSHostName": "win1"}
    assert computer(machine) == expected
    other = join(dns_domain_name="else.example.com")
    assert other["msg"] == "Host is already joined to 'corp.example.com', switching domains is not implemented"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"domain_admin_password": "wrong"}, 0x52E, "The user name or password is incorrect."),
        ({"domain_admin_user": "OTHER\\joiner"}, 0x52E, "The user name or password is incorrect."),
        ({"domain_admin_user": "reader@corp.example.com", "domain_admin_password": "Reader-1"}, 5, "Access is denied."),
        ({"dns_domain_name": "none.example.com"}, 0x54B, "The specified domain either does not exist"),
        (
            {"domain_ou_path": "OU=No"},
            2,
            "file specified. Check domain_ou_path is pointing to a valid OU",
        ),
    ],
)
def test_what_the_domain_controller_refuses(
    machine: Machine, join: Join, options: dict[str, Any], code: int, words: str
) -> None:
    answer = join(**options)
    assert answer["failed"]
    assert words in answer["msg"]
    assert f"NetpDoDomainJoin: status: {code:#x}" in machine.files.read_text(LOG)
    assert computer(machine)["PartOfDomain"] is False


def test_an_account_of_another_user_is_not_used_again(domain: DomainDirectory) -> None:
    domain.create_account("win1", "joiner", "Joiner-1")
    domain.create_account("WIN1", "joiner@corp.example.com", "Joiner-1")
    for name, user, password, code in (
        ("taken", "joiner", "Joiner-1", 2732),
        ("win1", "other", "Other-1", 2732),
    ):
        with pytest.raises(NetJoinError) as refused:
            domain.create_account(name, user, password)
        assert refused.value.code == code
    domain.create_account("win2", "joiner", "Joiner-1")
    with pytest.raises(NetJoinError, match="exceeded the maximum number of computer accounts"):
        domain.create_account("win3", "joiner", "Joiner-1")


def test_an_unreachable_domain_controller_and_missing_dns_look_the_same(
    machine: Machine, domain: DomainDirectory, join: Join
) -> None:
    query = {"Name": "_ldap._tcp.dc._msdcs.corp.example.com", "Type": "SRV"}
    assert commands.run(machine, "Resolve-DnsName", query).objects
    domain.reachable = False
    assert "could not be contacted" in join()["msg"]
    domain.reachable = True
    machine.settings = replace(machine.settings, options={**machine.settings.options, "domain_dns": False})
    assert "could not be contacted" in join()["msg"]
    with pytest.raises(CmdletError, match="DNS name does not exist"):
        commands.run(machine, "Resolve-DnsName", query)


def test_an_offline_join_names_the_computer_as_its_account(machine: Machine, join: Join) -> None:
    data = offline_data.encode("corp.example.com", "CORP", "OTHER", "secret", "dc1.corp.example.com")
    assert offline_data.decode(data) == ("corp.example.com", "OTHER")
    blob = base64.b64encode(data).decode()
    assert join(offline_join_blob=blob) == CHANGED
    assert computer(machine)["PartOfDomain"] is False
    reboot(machine)
    names = {"Name": "OTHER", "DNSHostName": "OTHER"}
    assert computer(machine) == {"Domain": "corp.example.com", "PartOfDomain": True, **names}
    assert join(offline_join_blob=blob) == SAME


@pytest.mark.parametrize(
    ("blob", "words"),
    [
        ("not base64!", "not a valid Base-64 string"),
        (base64.b64encode(b"something else").decode(), "Failed to perform offline domain join (0x00000057): "),
        (base64.b64encode(offline_data.encode("a", "A", "B", "c", "d")[:150]).decode(), "(0x00000057): "),
    ],
)
def test_damaged_data_of_an_offline_join(machine: Machine, join: Join, blob: str, words: str) -> None:
    assert words in join(offline_join_blob=blob)["msg"]
    reboot(machine)
    assert membership.computer_properties(machine)["PartOfDomain"] is False


def test_the_modules_own_checks_and_secrets(join: Join) -> None:
    assert "mutually exclusive" in join(offline_join_blob="AAAA", dns_domain_name="corp.example.com")["msg"]
    assert "Joiner-1" not in str(join(state="other"))
