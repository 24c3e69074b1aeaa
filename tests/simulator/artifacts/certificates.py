# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A private certificate authority for HTTPS: root certificate, server certificates, and a revocation list."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from simulator.certificates import (
    Issuer,
    alternative_names,
    certificate_pem,
    key_pem,
    key_usage,
    named,
    new_key,
    server_context,
)


class PrivateCA:
    """A certificate authority that clients do not trust by default.

    Args:
        name: the common name of the authority.
        crl_url: the URL of the revocation list that every server certificate names, or None if the certificates
            name no revocation list.
    """

    def __init__(self, name: str = "Simulated Private CA", crl_url: str | None = None) -> None:
        self._signer = Issuer(named(name), new_key())
        self._crl_url = crl_url
        self._now = datetime.datetime.now(datetime.UTC)
        root = [x509.BasicConstraints(ca=True, path_length=None), key_usage("key_cert_sign", "crl_sign")]
        self._root = self._sign(self._signer.name, self._signer.key.public_key(), critical=root)

    @property
    def pem(self) -> bytes:
        """The root certificate."""
        return certificate_pem(self._root)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        names: Sequence[str] = (),
        expired: bool = False,
        critical: Sequence[x509.ExtensionType] = (),
        extensions: Sequence[x509.ExtensionType] = (),
    ) -> x509.Certificate:
        ends = self._now - datetime.timedelta(hours=1) if expired else self._now + datetime.timedelta(days=30)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._signer.key.public_key())
        return self._signer.sign(
            subject,
            key,
            (self._now - datetime.timedelta(days=1), ends),
            critical=critical,
            extensions=[x509.SubjectKeyIdentifier.from_public_key(key), issuer_key, *extensions],
            alternative=alternative_names(names),
        )

    def issue(self, names: Sequence[str], *, expired: bool = False) -> tuple[bytes, bytes]:
        """Issue a server certificate.

        Args:
            names: DNS names and IP addresses.
            expired: whether the certificate expired an hour ago.

        Returns:
            Certificate and private key, both in PEM.
        """
        key = new_key()
        extensions = []
        if self._crl_url:
            point = x509.DistributionPoint([x509.UniformResourceIdentifier(self._crl_url)], None, None, None)
            extensions.append(x509.CRLDistributionPoints([point]))
        certificate = self._sign(named(names[0]), key.public_key(), names=names, expired=expired, extensions=extensions)
        return certificate_pem(certificate), key_pem(key)

    def crl(self, revoked: Sequence[bytes] = ()) -> bytes:
        """Return a revocation list (DER) that contains the given certificates (PEM)."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._signer.name)
            .last_update(self._now - datetime.timedelta(hours=1))
            .next_update(self._now + datetime.timedelta(days=7))
        )
        for pem in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(x509.load_pem_x509_certificate(pem).serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(self._now).build())
        return builder.sign(self._signer.key, hashes.SHA256()).public_bytes(Encoding.DER)

    def server_context(self, names: Sequence[str], *, expired: bool = False) -> ssl.SSLContext:
        """Return a TLS context for a server, with a new certificate for the given names."""
        certificate, key = self.issue(names, expired=expired)
        return server_context(certificate + key)
