# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a server's certificate, or check that it is trusted, with a TLS handshake."""

from __future__ import annotations

import socket
import ssl

try:
    from cryptography import x509
except ImportError:  # a dependency of pypsrp and pywinrm
    x509 = None  # type: ignore[assignment]


def presented(host: str, port: int, *, seconds: float = 10.0) -> x509.Certificate:
    """Return the certificate that a server presents, without checking whether it is trusted.

    Args:
        host: name or address.
        port: port of the server's HTTPS listener.
        seconds: time limit.

    Raises:
        OSError: no TLS server responded.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((host, port), seconds) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        der = tls.getpeercert(binary_form=True)
    if der is None:
        raise OSError(f"{host}:{port} presented no certificate")
    return x509.load_der_x509_certificate(der)


def verify(host: str, port: int, ca_file: str, *, seconds: float = 10.0) -> str | None:
    """Check a server's certificate against a file of trusted certificates and the name used to reach the server.

    Args:
        host: name or address.
        port: port of the server's HTTPS listener.
        ca_file: path of a PEM file with the trusted certificates.
        seconds: time limit.

    Returns:
        The reason why the certificate is not trusted, or None if it is trusted.

    Raises:
        OSError: no TLS server responded, for example because the server is reachable only through a proxy.
    """
    context = ssl.create_default_context(cafile=ca_file)
    try:
        with socket.create_connection((host, port), seconds) as plain:
            context.wrap_socket(plain, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    return None
