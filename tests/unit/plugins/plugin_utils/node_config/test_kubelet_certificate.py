# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading a certificate from the beginning of a file that also contains a private key."""

from __future__ import annotations

import base64
import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_certificate import (
    READ_BYTES,
    authorities,
    first_certificate,
)

BEGIN = datetime.datetime(2026, 11, 25, 12, tzinfo=datetime.UTC)
END = datetime.datetime(2055, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
Signer = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
SIGNERS: dict[str, Signer] = {
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
    "rsa": rsa.generate_private_key(65537, 2048),
}


def pair(
    name: str, issuer: str = "kubernetes", signer: str = "ec", end: datetime.datetime = END, serial: int = 2**158
) -> bytes:
    """Return a kubelet's certificate and key in one file, with the extensions of kube-controller-manager."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, name),
    ]
    signing = SIGNERS[signer]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(BEGIN)
        .not_valid_after(end)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        .sign(signing, None if signer == "ed25519" else hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return certificate.public_bytes(Encoding.PEM) + private


@pytest.mark.parametrize("signer", SIGNERS)
@pytest.mark.parametrize("node", ["a", "windows01", "n" * 52])
def test_the_beginning_of_the_file_is_enough(signer: str, node: str) -> None:
    found = first_certificate(pair(f"system:node:{node}", signer=signer)[:READ_BYTES])
    assert found is not None
    assert (found.node, found.begins, found.ends) == (node, BEGIN, END)


@pytest.mark.parametrize("signer", SIGNERS)
def test_the_shortest_certificate_is_longer_than_what_is_read(signer: str) -> None:
    pem = pair("system:node:a", issuer="a", signer=signer, serial=1)
    assert pem.index(b"PRIVATE KEY") > READ_BYTES + len(b"-----BEGIN EC ")


def test_dates_after_2049_have_another_form() -> None:
    end = datetime.datetime(2049, 12, 31, tzinfo=datetime.UTC)
    found = first_certificate(pair("system:node:a", end=end))
    assert found is not None
    assert found.ends == end


def test_the_certificate_of_a_user_is_not_that_of_a_node() -> None:
    found = first_certificate(pair("kubernetes-admin"))
    assert found is not None
    assert (found.common_name, found.node) == ("kubernetes-admin", "")


@pytest.mark.parametrize("size", [0, 27, 28, 60, 100, 200])
def test_a_certificate_that_is_cut_off_before_its_subject_is_unknown(size: int) -> None:
    assert first_certificate(pair("system:node:a")[:size]) is None


@given(st.binary(max_size=400), st.booleans())
def test_any_content_is_read_or_unknown(content: bytes, marked: bool) -> None:
    first_certificate((b"-----BEGIN CERTIFICATE-----\n" if marked else b"") + content)


@given(st.integers(0, 250), st.integers(0, 255))
def test_a_changed_byte_does_no_harm(place: int, value: int) -> None:
    der = bytearray(x509.load_pem_x509_certificate(pair("system:node:a")).public_bytes(Encoding.DER))
    der[place] = value
    first_certificate(b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(bytes(der)))


def authority(signer: str, serial: int) -> str:
    """Return a self-signed certificate."""
    name, key = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")]), SIGNERS[signer]
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(serial).not_valid_before(BEGIN).not_valid_after(END)
    certificate = builder.sign(key, None if signer == "ed25519" else hashes.SHA256())
    return certificate.public_bytes(Encoding.PEM).decode()


def test_authorities_are_compared_by_their_keys() -> None:
    one, again, other = authority("ec", 1), authority("ec", 2), authority("rsa", 1)
    assert one != again
    assert authorities(one) == authorities(again) == authorities(one.replace("\n", "\r\n"))
    assert authorities(one).isdisjoint(authorities(other))
    assert authorities(one + other) == authorities(one) | authorities(other)
    assert authorities("") == frozenset()
    # What cannot be read counts as it is.
    assert authorities("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n") == {"YQ=="}
