# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renewing a certificate with its action, from end to end."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from unit.action_run import PSRP, Connection, Node, run_on

from ansible_collections.winkube.node.plugins.action import (
    winrm_certificate,
)
from ansible_collections.winkube.node.plugins.plugin_utils.connection import pins, renewal
from simulator.machine import certificate_store, winrm_settings


def listener(node: Node, days: int) -> str:
    """Set a certificate with this validity for the HTTPS listener, and return its thumbprint."""
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days, hours=1)
    names = [x509.DNSName("win.example")]
    own, key = certificate_store.self_signed(x509.Name.from_rfc4514_string("CN=win.example"), names, until)
    mark = certificate_store.add(node.machine, "My", own, key)
    node.machine.registry.set(f"{winrm_settings.KEY}\\Listener\\*+HTTPS", "certThumbprint", mark)
    return mark


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the controller trust all certificates, unless a test changes this."""
    answers: list[str] = []

    def verify(*dummy: object) -> str | None:
        if not answers:
            return None
        if answers[0] == "away":
            raise OSError("no route to host")
        return answers[0]

    monkeypatch.setattr(renewal.tls, "verify", verify)
    return answers


@pytest.mark.parametrize("due", [True, False])
def test_a_certificate_is_renewed_when_it_ends_soon(node: Node, tmp_path: Path, trusted: list[str], due: bool) -> None:
    before, file = listener(node, 20), tmp_path / "pins.pem"
    options = {"pins": str(file), "days": 30 if due else 5, "valid_days": 90}
    expires = {"days_left": 20, "thumbprint": before}
    dry = run_on(node, winrm_certificate, options, check_mode=True)
    not_after = dry.pop("not_after")
    common = {"pins": str(file), "removed": []}
    assert dry == {**common, **expires, "changed": due, "renewed": due, "remote_commands": 1}
    assert not file.exists()
    found = run_on(node, winrm_certificate, options)
    assert found["remote_commands"] == node.remote_commands
    assert found["pins"] == str(file)
    assert (found["changed"], found["renewed"], "warnings" in found) == (True, due, False)
    if due:
        assert found["removed"] == [before]
        assert found["days_left"] in (89, 90)
        assert found["thumbprint"] == winrm_settings.certificate_of(node.machine) != before
    else:
        assert (found["removed"], found["not_after"], found["thumbprint"]) == ([], not_after, before)
        assert run_on(node, winrm_certificate, options)["changed"] is False
    assert [certificate_store.thumbprint(one) for one in pins.read_pins(file)] == [found["thumbprint"]]


def test_a_certificate_is_renewed_on_demand_with_more_names(node: Node, tmp_path: Path, trusted: list[str]) -> None:
    listener(node, 300)
    trusted.append("away")
    connection = Connection({**PSRP, "ca_cert": str(tmp_path / "pins.pem")})
    options = {"force": True, "names": ["other.example"]}
    found = run_on(node, winrm_certificate, options, connection=connection)
    assert (found["renewed"], found["pins"]) == (True, str(tmp_path / "pins.pem"))
    assert found["warnings"] == ["192.0.2.1:5986 could not be checked from the controller: no route to host"]
    (pinned,) = pins.read_pins(tmp_path / "pins.pem")
    names = pinned.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {"win.example", "other.example"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "pins: expected the path of a file with trusted certificates, or a connection that uses one, got ''"),
        ({"days": 365}, "days: expected 0 or more, and less than valid_days (365), got 365"),
        ({"days": -1}, "days: expected 0 or more, and less than valid_days (365), got -1"),
    ],
)
def test_a_renewal_that_makes_no_sense_is_refused(node: Node, options: dict[str, t.Any], message: str) -> None:
    assert run_on(node, winrm_certificate, options) == {"failed": True, "msg": message}
    assert node.steps == []


def test_a_certificate_that_is_not_trusted_is_a_failure(node: Node, tmp_path: Path, trusted: list[str]) -> None:
    listener(node, 20)
    trusted.append("self-signed certificate")
    found = run_on(node, winrm_certificate, {"pins": str(tmp_path / "pins.pem"), "days": 30})
    assert found["failed"] is True
    words = "node-1: the controller would not trust the new certificate at 192.0.2.1:5986: self-signed certificate;"
    assert found["msg"].startswith(words)
