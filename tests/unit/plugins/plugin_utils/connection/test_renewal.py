# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renewing a certificate on a simulated machine: the trusted certificates at each moment, and the deleted ones."""

from __future__ import annotations

import datetime
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.connection import certificates, renewal
from ansible_collections.winkube.node.plugins.plugin_utils.connection.pins import read_pins, update_pins
from ansible_collections.winkube.node.plugins.plugin_utils.connection.settings import ConnectionSettings
from simulator.machine import certificate_store, winrm_settings
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

POLICY = renewal.RenewalPolicy(days=30, valid_days=365)
NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )
    found.power_on()
    until = NOW + datetime.timedelta(days=20)
    names = [x509.DNSName("win.example")]
    own, key = certificate_store.self_signed(x509.Name.from_rfc4514_string("CN=win.example"), names, until)
    mark = certificate_store.add(found, "My", own, key)
    found.registry.set(f"{winrm_settings.KEY}\\Listener\\*+HTTPS", "certThumbprint", mark)
    yield found
    found.power.power_off()


class Site:
    """A renewer for a machine, and the controller's trust in the certificates that it is shown."""

    def __init__(self, machine: Machine, pins: Path) -> None:
        self.machine, self.pins = machine, pins
        self.node = DirectNode(machine)
        settings = ConnectionSettings(plugin="psrp", host="192.0.2.1", port=5986)
        self.renewer = renewal.Renewer(t.cast("t.Any", self.node), settings, pins, NOW)
        self.answers: list[str | OSError | None] = []
        self.trusted_at_check: list[bool] = []

    def verify(self, host: str, port: int, pins: str) -> str | None:
        assert (host, port) == ("192.0.2.1", 5986)
        self.trusted_at_check.append(winrm_settings.certificate_of(self.machine) in self.pinned())
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, OSError):
            raise answer
        return answer

    def pinned(self) -> set[str]:
        return {certificate_store.thumbprint(each) for each in read_pins(self.pins)}

    def stored(self) -> set[str]:
        listener = self.renewer.read_listener()
        return {each.thumbprint for each in (listener.certificate, *listener.others)}

    def leave_behind(self, days: int) -> str:
        """Create an unused certificate, like an interrupted run."""
        policy = renewal.RenewalPolicy(days=0, valid_days=days)
        return self.renewer._make(self.renewer.read_listener(), policy).thumbprint


@pytest.fixture
def site(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site(machine, tmp_path / "pins.pem")
    monkeypatch.setattr(renewal.tls, "verify", found.verify)
    return found


def test_a_certificate_that_ends_soon_is_replaced(site: Site) -> None:
    before = site.renewer.read_listener()
    assert site.renewer.is_due(before, POLICY)
    update_pins(site.pins, add=[before.certificate.x509])
    done = site.renewer.renew(before, POLICY)
    assert (done.renewed, done.pinned, done.warnings) == (True, True, ())
    assert done.removed == (before.certificate.thumbprint,)
    assert winrm_settings.certificate_of(site.machine) == done.certificate.thumbprint != before.certificate.thumbprint
    assert site.pinned() == site.stored() == {done.certificate.thumbprint}
    assert site.trusted_at_check == [True]
    names = done.certificate.x509.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["win.example"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.1"]
    assert (done.certificate.expires - NOW).days in (364, 365)
    assert not site.renewer.is_due(site.renewer.read_listener(), POLICY)


def test_files_of_an_interrupted_renewal_are_used_and_kept(site: Site) -> None:
    spent, made = site.leave_behind(10), site.leave_behind(365)
    before = site.renewer.read_listener()
    done = site.renewer.renew(before, POLICY)
    assert done.certificate.thumbprint == made
    assert set(done.removed) == {before.certificate.thumbprint, spent}
    assert site.stored() == site.pinned() == {made}


def test_a_certificate_that_is_good_is_pinned_and_what_is_left_over_deleted(site: Site) -> None:
    left, before = site.leave_behind(365), site.renewer.read_listener()
    done = site.renewer.keep(before)
    assert (done.renewed, done.pinned, done.removed) == (False, True, (left,))
    assert site.pinned() == site.stored() == {before.certificate.thumbprint}
    again = site.renewer.keep(site.renewer.read_listener())
    assert (again.pinned, again.removed) == (False, ())


def test_an_untrusted_new_certificate_is_reverted(site: Site) -> None:
    before = site.renewer.read_listener()
    site.answers = ["self-signed certificate"]
    with pytest.raises(
        certificates.CertificateError, match=r"would not trust .* self-signed certificate; the listener"
    ):
        site.renewer.renew(before, POLICY)
    assert winrm_settings.certificate_of(site.machine) == before.certificate.thumbprint
    assert site.stored() == site.pinned() == {before.certificate.thumbprint}


def test_a_failed_certificate_check_is_a_warning(site: Site) -> None:
    site.answers = [OSError("no route to host")]
    done = site.renewer.renew(site.renewer.read_listener(), POLICY)
    assert done.warnings == ("192.0.2.1:5986 could not be checked from the controller: no route to host",)
    assert site.stored() == {done.certificate.thumbprint}


def test_a_certificate_needs_a_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "renewed_names", lambda *_: [])
    with pytest.raises(certificates.CertificateError, match=r"a DNS name or an address .* in `names`, got none"):
        site.leave_behind(365)


def test_a_certificate_may_be_replaced_at_any_time(site: Site) -> None:
    site.renewer.renew(site.renewer.read_listener(), POLICY)
    forced = renewal.RenewalPolicy(days=30, valid_days=365, force=True)
    assert site.renewer.is_due(site.renewer.read_listener(), forced)
