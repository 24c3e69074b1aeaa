# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A private certificate authority for HTTPS: its root, server certificates, and a revocation list."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class PrivateCA:
    """A certificate authority that clients do not trust by default.

    Args:
        crl_url: the distribution point in every certificate; None for none.
    """

    def __init__(self, name: str = "Simulated Private CA", crl_url: str | None = None) -> None:
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._crl_url = crl_url
        self._now = datetime.datetime.now(datetime.UTC)
        self._root = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        """The root certificate."""
        return self._root.public_bytes(serialization.Encoding.PEM)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, expired: bool = False
    ) -> x509.CertificateBuilder:
        ends = self._now - datetime.timedelta(hours=1) if expired else self._now + datetime.timedelta(days=30)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - datetime.timedelta(days=1))
            .not_valid_after(ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )

    def issue(self, names: Sequence[str], *, expired: bool = False) -> tuple[bytes, bytes]:
        """Issue a server certificate.

        Args:
            names: DNS names and IP addresses.
            expired: whether it expired an hour ago.

        Returns:
            Certificate and private key, both in PEM.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(names[0]), key.public_key(), expired=expired).add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False
        )
        if self._crl_url:
            point = x509.DistributionPoint([x509.UniformResourceIdentifier(self._crl_url)], None, None, None)
            builder = builder.add_extension(x509.CRLDistributionPoints([point]), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return certificate.public_bytes(serialization.Encoding.PEM), private

    def crl(self, revoked: Sequence[bytes] = ()) -> bytes:
        """Return the revocation list (DER) for the `revoked` certificates (PEM)."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(self._now - datetime.timedelta(hours=1))
            .next_update(self._now + datetime.timedelta(days=7))
        )
        for pem in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(x509.load_pem_x509_certificate(pem).serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(self._now).build())
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def server_context(self, names: Sequence[str], *, expired: bool = False) -> ssl.SSLContext:
        """Return a TLS context for a server, with a new certificate for `names`."""
        certificate, key = self.issue(names, expired=expired)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            # The ssl module loads certificates only from files.
            file = Path(folder, "server.pem")
            file.touch(mode=0o600)
            file.write_bytes(certificate + key)
            context.load_cert_chain(file)
        return context


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
