# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create keys and certificates for all parts of the simulator, with names, dates and extensions that callers choose."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generate a P-256 private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    """Return a private key as unencrypted PEM."""
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(Encoding.PEM)


def named(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    """Return an X.509 name that consists of the organizations and then the common name."""
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def alternative_names(values: Iterable[str]) -> list[x509.GeneralName]:
    """Convert values to subject alternative names: IP addresses become IPAddress, all other values become DNSName."""
    found: list[x509.GeneralName] = []
    for value in dict.fromkeys(values):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(value)))
        except ValueError:
            found.append(x509.DNSName(value))
    return found


def key_usage(*usages: str) -> x509.KeyUsage:
    """Return a KeyUsage extension with the given usages.

    Raises:
        ValueError: a usage is not one that X.509 defines.
    """
    if unknown := set(usages) - set(_USAGES):
        raise ValueError(f"expected key usages among {', '.join(_USAGES)}, got {', '.join(sorted(unknown))}")
    return x509.KeyUsage(**{usage: usage in usages for usage in _USAGES})


@dataclass(frozen=True)
class Issuer:
    """The name and key of a certificate's issuer; in a self-signed certificate, the issuer is also the subject."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey

    def sign(
        self,
        subject: x509.Name,
        public_key: CertificatePublicKeyTypes,
        valid: tuple[datetime.datetime, datetime.datetime],
        *,
        critical: Sequence[x509.ExtensionType] = (),
        extensions: Sequence[x509.ExtensionType] = (),
        alternative: Sequence[x509.GeneralName] = (),
    ) -> x509.Certificate:
        """Sign a certificate, and return it.

        Args:
            subject: the name of the certificate's owner.
            public_key: the subject's public key.
            valid: the start and the end of the validity period.
            critical: the critical extensions.
            extensions: the non-critical extensions.
            alternative: the subject alternative names; if there are none, the extension is omitted.
        """
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(valid[0])
            .not_valid_after(valid[1])
        )
        for extension in critical:
            builder = builder.add_extension(extension, critical=True)
        for extension in (*extensions, *([x509.SubjectAlternativeName(alternative)] if alternative else [])):
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self.key, hashes.SHA256())


def request_pem(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a certificate signing request as PEM."""
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return request.public_bytes(Encoding.PEM)


def server_context(pem: bytes) -> ssl.SSLContext:
    """Return a TLS context for a server.

    Args:
        pem: the server's certificate and private key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory(prefix="simulator-tls-") as folder:
        # The ssl module loads certificates from files only.
        path = Path(folder, "certificate.pem")
        path.touch(mode=0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path)
    return context
