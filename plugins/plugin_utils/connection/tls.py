# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What certificate a server presents, by a TLS handshake without a logon."""

from __future__ import annotations

import socket
import ssl

try:
    from cryptography import x509
except ImportError:  # pypsrp and pywinrm bring it
    x509 = None  # type: ignore[assignment]


def presented(host: str, port: int, *, seconds: float = 10.0) -> x509.Certificate:
    """The certificate that a server presents; whether it is trusted is not checked.

    Args:
        host: name or address.
        port: of its HTTPS listener.
        seconds: to wait for the server at most.

    Raises:
        OSError: no TLS server answers there.
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
    """Whether the server's certificate is trusted by a file of certificates, for the name it is reached by.

    Args:
        host: name or address.
        port: of its HTTPS listener.
        ca_file: path of the trusted certificates in PEM.
        seconds: to wait for the server at most.

    Returns:
        Why it is not trusted; None where it is.

    Raises:
        OSError: no TLS server answers there, such as when it is only reached through a proxy.
    """
    context = ssl.create_default_context(cafile=ca_file)
    try:
        with socket.create_connection((host, port), seconds) as plain:
            context.wrap_socket(plain, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    return None
