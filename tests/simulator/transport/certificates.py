# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create a self-signed certificate that all simulated nodes share, with the addresses and names of all nodes."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from simulator.certificates import Issuer, alternative_names, certificate_pem, key_pem, key_usage, named, new_key

VALID_DAYS = 30


@dataclass(frozen=True)
class FleetCertificate:
    """The PEM files of a certificate and its key. Clients can trust the certificate as a CA."""

    certificate: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """Return a TLS context with this certificate. All nodes can share the context."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        return context


def make_fleet_certificate(folder: Path, addresses: Iterable[str], names: Iterable[str] = ()) -> FleetCertificate:
    """Create a key and a self-signed certificate for all nodes.

    Args:
        folder: the folder for `fleet.pem` and `fleet.key`, which is created if it is missing.
        addresses: the IP addresses of the nodes.
        names: the host names of the nodes.

    Returns:
        The paths of the files. The certificate is its own CA, so clients can be configured to trust it.
    """
    key, subject = new_key(), named("Simulated fleet")
    now = datetime.datetime.now(datetime.UTC)
    certificate = Issuer(subject, key).sign(
        subject,
        key.public_key(),
        (now - datetime.timedelta(days=1), now + datetime.timedelta(days=VALID_DAYS)),
        critical=[x509.BasicConstraints(ca=True, path_length=0), key_usage("digital_signature", "key_cert_sign")],
        extensions=[
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        ],
        alternative=alternative_names([*addresses, *names]),
    )
    folder.mkdir(parents=True, exist_ok=True)
    files = FleetCertificate(folder / "fleet.pem", folder / "fleet.key")
    files.certificate.write_bytes(certificate_pem(certificate))
    files.key.touch(mode=0o600)
    files.key.write_bytes(key_pem(key))
    return files
