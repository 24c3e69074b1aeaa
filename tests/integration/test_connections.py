# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connections that are rejected before they are used, logons that are not repeated, certificates that are renewed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from integration import actions
from integration.networks import free_network
from integration.own_certificates import use_own_certificate
from integration.patching import no_pauses

from ansible_collections.winkube.node.plugins.plugin_utils.connection.pins import read_pins
from simulator.fleet import Fleet
from simulator.machine import certificate_store, winrm_settings
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("connections"),
    pytest.mark.usefixtures("no_pauses", "prompt"),
]
__all__ = ["no_pauses"]

DIRECTORY = {"resources": [{"type": "Directory", "name": r"C:\example"}]}
SEALED = {"ansible_psrp_cert_validation": "ignore", "ansible_psrp_message_encryption": "always"}


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """Yield a fleet with one server."""
    with Fleet([MachineSettings(name="WIN", address=f"{free_network()}.1", password="Right-Passw0rd")]) as fleet:
        yield fleet


@pytest.fixture
def machine(fleet: Fleet) -> Machine:
    return fleet.machine("WIN")


def https(machine: Machine, **more: Any) -> contextlib.AbstractContextManager[Any]:
    return actions.connect(machine, "psrp", 5986, ansible_psrp_protocol="https", **more)


@pytest.mark.parametrize("kind", ["psrp", "winrm"])
def test_a_wrong_password_is_tried_once(fleet: Fleet, machine: Machine, kind: str) -> None:
    counters = fleet.nodes["WIN"].server.counters
    with actions.connect(machine, kind, ansible_password="Wrong-Passw0rd") as connection:
        result = actions.run_action(connection, "node_state", DIRECTORY)
    assert result["unreachable"]
    assert counters.snapshot()["failed_logons"] == 1
    assert not machine.files.exists(r"C:\example")


def test_nothing_is_sent_over_an_unencrypted_connection(fleet: Fleet, machine: Machine) -> None:
    counters = fleet.nodes["WIN"].server.counters
    with https(machine, ansible_psrp_cert_validation="ignore") as connection:
        result = actions.run_action(connection, "node_state", DIRECTORY)
        assert result["failed"]
        assert "ansible_psrp_cert_validation: expected validate" in result["msg"]
        assert counters.snapshot()["connections"] == 0
        accepted = actions.run_action(
            connection, "node_state", DIRECTORY, variables={"allow_insecure_connection": True}
        )
    assert accepted["changed"]
    assert counters.snapshot()["connections"] > 0


def test_message_encryption_protects_connections_with_unverified_certificates(machine: Machine) -> None:
    with https(machine, **SEALED) as connection:
        assert actions.run_action(connection, "node_state", DIRECTORY)["changed"]


class Renewals:
    """Runs of winrm_certificate for one server."""

    def __init__(self, fleet: Fleet, pins: Path) -> None:
        self.fleet = fleet
        self.machine = fleet.machine("WIN")
        self.pins = pins

    def run(self, *, check_mode: bool = False, first: bool = False, **options: Any) -> dict[str, Any]:
        """Run once over a connection that trusts the pins, or without pins, one that encrypts its messages."""
        trust = (
            SEALED if first else {"ansible_psrp_cert_validation": "validate", "ansible_psrp_ca_cert": str(self.pins)}
        )
        with https(self.machine, **trust) as connection:
            arguments = {"pins": str(self.pins), "reconnect_timeout": 20, **options}
            return actions.run_action(connection, "winrm_certificate", arguments, check_mode=check_mode)

    def use_own(self, days: int = 365) -> None:
        """Replace the listener's certificate by one with its own key, and pin it."""
        use_own_certificate(self.machine, self.pins, days)

    def state(self) -> tuple[str, list[str], list[str]]:
        """Return the listener's certificate, those in the store, and the pinned ones."""
        pinned = [certificate_store.thumbprint(each) for each in read_pins(self.pins)]
        stored = [certificate_store.thumbprint(each) for each in certificate_store.certificates(self.machine, "My")]
        return winrm_settings.certificate_of(self.machine), stored, pinned


@pytest.fixture
def renewals(fleet: Fleet, tmp_path: Path) -> Renewals:
    return Renewals(fleet, tmp_path / "pins" / "win.pem")


def test_a_certificate_that_ends_soon_is_renewed_and_pinned(renewals: Renewals) -> None:
    renewals.use_own(days=20)
    before = renewals.state()
    planned = renewals.run(check_mode=True)
    assert (planned["changed"], planned["renewed"], planned["days_left"]) == (True, True, 19)
    assert renewals.state() == before
    done = renewals.run()
    assert done["renewed"]
    assert done["days_left"] >= 364
    assert done["removed"] == [before[0]]
    assert renewals.state() == (done["thumbprint"], [done["thumbprint"]], [done["thumbprint"]])
    (pinned,) = read_pins(renewals.pins)
    names = pinned.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["win.example"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == [renewals.machine.address]
    again = renewals.run()
    assert (again["changed"], again["remote_commands"]) == (False, 1)


def test_an_unverified_server_certificate_is_pinned(renewals: Renewals) -> None:
    renewals.use_own()
    renewals.pins.unlink()
    assert renewals.run(first=True)["changed"]
    assert not renewals.run()["changed"]


def test_a_new_certificate_that_the_controller_would_not_trust_is_taken_back(
    renewals: Renewals, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals.use_own(days=20)
    before = renewals.state()
    # A problem on the node: Windows creates the certificate without the requested names.
    monkeypatch.setattr("simulator.windows.security.certificates._alternative_names", lambda _: [])
    result = renewals.run()
    assert result["failed"]
    assert "the listener uses its former certificate again" in result["msg"]
    assert renewals.state() == before


def test_a_certificate_of_an_authority_is_not_replaced(renewals: Renewals) -> None:
    renewals.use_own(days=20)
    before = renewals.state()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "ansible_collections.winkube.node.plugins.plugin_utils.connection.certificates.Certificate.is_self_signed",
            property(lambda _: False),
        )
        result = renewals.run()
    assert "renew it through that CA" in result["msg"]
    assert renewals.state() == before


@pytest.mark.parametrize("kind", ["before", "after", "during"])
def test_a_renewal_survives_a_link_that_breaks_anywhere(renewals: Renewals, kind: str) -> None:
    renewals.use_own(days=20)
    server = renewals.fleet.nodes["WIN"].server
    faults = 0
    # A run is an observation and batches that create, bind and delete, with four requests each.
    for request in range(2, 40, 7):
        server.set_fault(TransportFault(kind=kind, request=request))
        renewals.run(force=True)
        if server.faults.pending():
            server.faults.clear()
            break
        faults += 1
        renewals.run()
        used, stored, pinned = renewals.state()
        assert (stored, pinned) == ([used], [used]), request
        assert not renewals.run()["changed"], request
    assert faults >= 2


def test_the_expiry_of_a_certificate_is_read_without_a_logon(renewals: Renewals) -> None:
    renewals.use_own(days=20)
    server = renewals.fleet.nodes["WIN"].server
    server.counters.reset()
    variables = {
        "ansible_connection": "psrp",
        "ansible_host": renewals.machine.address,
        "ansible_port": 5986,
        "ansible_psrp_ca_cert": str(renewals.pins),
    }
    with https(renewals.machine) as connection:
        reported = actions.run_action(connection, "winrm_certificate_info", {}, variables=variables)
        silent = actions.run_action(connection, "winrm_certificate_info", {"warn_days": 10}, variables=variables)
        plain = actions.run_action(
            connection, "winrm_certificate_info", {}, variables={**variables, "ansible_port": 5985}
        )
    assert (reported["days_left"], reported["trusted_by"]) == (19, str(renewals.pins))
    assert "expires in 19 days" in reported["warnings"][0]
    assert "warnings" not in silent
    assert plain["days_left"] is None
    counted = server.counters.snapshot()
    assert (counted["wsman_requests"], counted["failed_logons"], counted["remote_commands"]) == (0, 0, 0)
