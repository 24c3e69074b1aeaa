# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cluster's certificate authority, which issues server and client certificates and signs CSRs."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from simulator import certificates
from simulator.certificates import Issuer, alternative_names, certificate_pem, key_usage, named, new_key

_DAY = datetime.timedelta(days=1)
_YEAR = 365 * _DAY
USAGES = {
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
}


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM in the format that kubeadm writes."""
    return certificates.key_pem(key, PrivateFormat.TraditionalOpenSSL)


class Authority:
    """A certificate authority that is kept only in memory."""

    def __init__(self, common_name: str) -> None:
        self._signer = Issuer(named(common_name), new_key())
        public = self._signer.key.public_key()
        self.certificate = self._signer.sign(
            self._signer.name,
            public,
            _validity(10 * _YEAR),
            critical=[
                x509.BasicConstraints(ca=True, path_length=None),
                key_usage("digital_signature", "key_encipherment", "key_cert_sign"),
            ],
            extensions=[x509.SubjectKeyIdentifier.from_public_key(public)],
            alternative=[x509.DNSName(common_name)],
        )

    @property
    def pem(self) -> str:
        """The authority's certificate in PEM."""
        return certificate_pem(self.certificate).decode()

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
            key: the public key, or a certificate signing request that contains it.
            usages: the extended key usages, as keys of `USAGES`.
            alternative: the subject alternative names.
            lifetime: the validity period.

        Returns:
            The certificate in PEM.
        """
        public = key.public_key() if isinstance(key, x509.CertificateSigningRequest) else key
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._signer.key.public_key())
        certificate = self._signer.sign(
            name,
            public,
            _validity(lifetime),
            critical=[
                key_usage("digital_signature", "key_encipherment"),
                x509.BasicConstraints(ca=False, path_length=None),
            ],
            extensions=[x509.ExtendedKeyUsage([USAGES[one] for one in usages]), issuer_key],
            alternative=alternative,
        )
        return certificate_pem(certificate)

    def client(self, common_name: str, organizations: Iterable[str]) -> tuple[bytes, bytes]:
        """Issue a client certificate with a new key.

        Returns:
            The certificate and the key in PEM.
        """
        key = new_key()
        return self.issue(named(common_name, organizations), key.public_key(), ["client auth"]), key_pem(key)

    def server(self, common_name: str, sans: Iterable[str]) -> tuple[bytes, bytes]:
        """Issue a server certificate for DNS names and IP addresses, with a new key.

        Returns:
            The certificate and the key in PEM.
        """
        key = new_key()
        certificate = self.issue(named(common_name), key.public_key(), ["server auth"], alternative_names(sans))
        return certificate, key_pem(key)


def _validity(lifetime: datetime.timedelta) -> tuple[datetime.datetime, datetime.datetime]:
    # Five minutes back, as Kubernetes' own signer does for clocks that are a little behind.
    now = datetime.datetime.now(datetime.UTC)
    return now - datetime.timedelta(minutes=5), now + lifetime
