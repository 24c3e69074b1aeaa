# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cluster's certificate authority: server and client certificates, and signing of CSRs."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)
_YEAR = 365 * _DAY
USAGES = {
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
}


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a new P-256 key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key in PEM, in the format of kubeadm."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def subject(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    """Return the name for a user (common name) and its groups (organizations)."""
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def names(values: Iterable[str]) -> list[x509.GeneralName]:
    """Return subject alternative names for host names and addresses."""
    found: list[x509.GeneralName] = []
    for value in dict.fromkeys(values):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(value)))
        except ValueError:
            found.append(x509.DNSName(value))
    return found


class Authority:
    """A certificate authority that exists as long as the process."""

    def __init__(self, common_name: str) -> None:
        self._key = new_key()
        self._name = subject(common_name)
        usage = x509.KeyUsage(True, False, True, False, False, True, False, False, False)
        now = datetime.datetime.now(datetime.UTC)
        builder = _builder(self._name, self._name, now, 10 * _YEAR).public_key(self._key.public_key())
        self.certificate = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(common_name)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        """The certificate of the authority."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePublicKey | x509.CertificateSigningRequest,
        usages: Sequence[str],
        alternative: Sequence[x509.GeneralName] = (),
        lifetime: datetime.timedelta = _YEAR,
    ) -> bytes:
        """Sign a certificate.

        Args:
            name: the subject.
            key: the public key, or a request that contains it.
            usages: the usages out of `USAGES`.
            alternative: the subject alternative names.
            lifetime: the validity.

        Returns:
            The certificate in PEM.
        """
        public = key.public_key() if isinstance(key, x509.CertificateSigningRequest) else key
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = x509.KeyUsage(True, False, True, False, False, False, False, False, False)
        builder = (
            _builder(name, self._name, datetime.datetime.now(datetime.UTC), lifetime)
            .public_key(public)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([USAGES[one] for one in usages]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(issuer_key, critical=False)
        )
        if alternative:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternative), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def client(self, common_name: str, organizations: Iterable[str]) -> tuple[bytes, bytes]:
        """Return a client certificate.

        Returns:
            Certificate and key in PEM.
        """
        key = new_key()
        return self.issue(subject(common_name, organizations), key.public_key(), ["client auth"]), key_pem(key)

    def server(self, common_name: str, sans: Iterable[str]) -> tuple[bytes, bytes]:
        """Return a server certificate for names and addresses.

        Returns:
            Certificate and key in PEM.
        """
        key = new_key()
        certificate = self.issue(subject(common_name), key.public_key(), ["server auth"], names(sans))
        return certificate, key_pem(key)


def _builder(
    name: x509.Name, issuer: x509.Name, now: datetime.datetime, lifetime: datetime.timedelta
) -> x509.CertificateBuilder:
    # Five minutes earlier, like Kubernetes' own signer, for clocks that are slightly behind.
    start = now - datetime.timedelta(minutes=5)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(now + lifetime)
