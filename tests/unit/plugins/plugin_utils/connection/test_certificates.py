# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import datetime
import ipaddress
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.connection import certificates, pins
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult

NOW = datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)


def make(*names: x509.GeneralName, days: int = 365, subject: str = "CN=windows01") -> x509.Certificate:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string(subject)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=400))
        .not_valid_after(NOW + datetime.timedelta(days=days))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256())


def stored(mark: str, days: int, friendly_name: str = certificates.FRIENDLY_NAME) -> certificates.Certificate:
    return certificates.Certificate(thumbprint=mark, x509=make(days=days), friendly_name=friendly_name)


def test_a_renewed_certificate_keeps_its_names_and_adds_the_address_in_use() -> None:
    old = make(x509.DNSName("windows01.example"), x509.IPAddress(ipaddress.ip_address("192.0.2.21")))
    assert certificates.renewed_names(old, ["192.0.2.21", "198.51.100.7"]) == [
        "windows01.example",
        "192.0.2.21",
        "198.51.100.7",
    ]
    # A certificate without alternative names has its common name.
    assert certificates.renewed_names(make(), []) == ["windows01"]


def test_listeners_that_cannot_be_read_are_an_error() -> None:
    denied = CallResult(ok=False, error=CallError(message="Access is denied."))
    with pytest.raises(certificates.CertificateError, match="could not be read: listeners: Access is denied"):
        certificates.read_listener({"listeners": denied})


OLD = make()


@given(st.lists(st.text(max_size=20), max_size=5))
def test_a_name_from_a_node_cannot_inject_extension_syntax(names: list[str]) -> None:
    found = certificates.renewed_names(OLD, names)
    call = certificates.creation(found, NOW, "1")
    (_, alternatives) = t.cast("list[str]", call.parameters["TextExtension"])
    text = alternatives.removeprefix("2.5.29.17={text}")
    assert [part.partition("=")[2] for part in text.split("&")] == found
    assert all(part.startswith(("DNS=", "IPAddress=")) for part in text.split("&"))
    assert str(call.parameters["Subject"]).count(",") == 1


@pytest.mark.parametrize(("days_left", "days", "due"), [(20, 30, True), (30, 30, False), (29, 30, True), (-1, 0, True)])
def test_a_certificate_is_due_before_it_ends(days_left: int, days: int, due: bool) -> None:
    assert certificates.is_due(stored("A", days_left), NOW, days) is due


def test_a_certificate_that_an_interrupted_run_made_is_used() -> None:
    current, fresh, spent = stored("A", 20), stored("B", 365), stored("C", 10)
    listener = certificates.HttpsListener(address="*", certificate=current, others=(spent, fresh))
    assert certificates.successor(listener, NOW, 30) == fresh
    assert (
        certificates.successor(certificates.HttpsListener(address="*", certificate=fresh, others=(spent,)), NOW, 30)
        is None
    )


def test_pins_of_other_hosts_stay(tmp_path: Path) -> None:
    path, mine, other, new = tmp_path / "new" / "pins.pem", make(), make(subject="CN=other"), make()
    assert pins.update_pins(path, add=[mine, other])
    assert not pins.update_pins(path, add=[mine])
    assert pins.update_pins(path, add=[new], remove=[mine])
    assert pins.read_pins(path) == [other, new]
    assert path.stat().st_mode & 0o777 == 0o644


def test_hosts_that_share_a_file_lose_no_pin(tmp_path: Path) -> None:
    path, each = tmp_path / "pins.pem", [make(subject=f"CN=host{number}") for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda certificate: pins.update_pins(path, add=[certificate]), each))
    assert {pin.subject for pin in pins.read_pins(path)} == {certificate.subject for certificate in each}


def test_a_file_that_is_not_pem_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "pins.pem"
    path.write_text("these are notes")
    with pytest.raises(ValueError, match="PEM"):
        pins.update_pins(path, add=[make()])
    assert path.read_text() == "these are notes"
