# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""TLS as curl uses it with Schannel: trust in the machine's root store, host names, revocation.

- A chain that does not end in a root of the machine's store causes SEC_E_UNTRUSTED_ROOT.
- Schannel requests a revocation check of the chain; the simulator checks only the server's certificate. The check fails
  if the certificate names no revocation list, or if the list cannot be downloaded
  (see --ssl-no-revoke and --ssl-revoke-best-effort in https://curl.se/docs/manpage.html).
- --cacert has had an effect with Schannel since 7.60 (https://curl.se/changes.html). With --cacert, curl itself checks
  the chain (lib/vtls/schannel_verify.c), with the errors of CertGetCertificateChain.
- The exit code depends on the version (see curl's lib/vtls/schannel.c). Errors of InitializeSecurityContext result in
  35, with two exceptions. An untrusted root results in 60 in curl 7.57 to 7.61, in 77 in curl 7.62 to 7.88, and in 60
  from 8.0 on. A wrong host name results in 60 from 8.0 on.
- Messages name CRYPT_E errors only in versions after 7.83.1 (https://github.com/loda-lang/loda-cpp/issues/178).
"""

from __future__ import annotations

import socket
import ssl
import urllib.request
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from simulator.machine import certificate_store, clock
from simulator.windows.curl import errors
from simulator.windows.curl.errors import CurlError, Version
from simulator.windows.curl.options import OperationOptions
from simulator.windows.curl.wire import Limits, Stream

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_UNTRUSTED = "SEC_E_UNTRUSTED_ROOT (0x80090325) - The certificate chain was issued by an authority that is not trusted."
_WRONG_NAME = (
    "SNI or certificate check failed: SEC_E_WRONG_PRINCIPAL (0x80090322) - The target principal name is incorrect."
)
_OFFLINE = (
    "(0x80092013) - The revocation function was unable to check revocation because the revocation server was offline."
)
_NO_CHECK = "(0x80092012) - The revocation function was unable to check revocation for the certificate."
_REVOKED = "CRYPT_E_REVOKED (0x80092010) - The certificate is revoked."
_EXPIRED = "SEC_E_CERT_EXPIRED (0x80090328) - The received certificate has expired."


def secure(machine: Machine, stream: Stream, host: str, config: OperationOptions, version: Version) -> Stream:
    """Start TLS on a connection, and return the TLS connection.

    Raises:
        CurlError: exit code 35, 60 or 77 if TLS fails, or 28 if a time limit is exceeded.
        ProcessEndedError: the simulated process was stopped.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    clock.leave_time_to_us(context)
    roots = _roots(machine, config, version)
    manual = bool(config.values.get("cacert")) and version >= (7, 60)
    if not config.flag("insecure"):
        context.verify_mode = ssl.CERT_REQUIRED
        if roots:
            context.load_verify_locations(cadata="\n".join(roots))
    connection = _handshake(stream.socket, context, host, stream.limits, version, manual)
    if not config.flag("insecure"):
        # A certificate that is not valid yet causes the same error as an expired one: CERT_E_EXPIRED for the chain.
        if not clock.is_valid(_leaf(connection), machine.clock.now()):
            raise _unverified(True, version, manual)
        _check_name(connection, host, version)
        if not config.flag("ssl-no-revoke"):
            try:
                _check_revocation(
                    machine, connection, roots, best_effort=config.flag("ssl-revoke-best-effort"), version=version
                )
            except CurlError as error:
                if not manual or _REVOKED in error.message:
                    raise
                raise _chain_error("REVOCATION_STATUS_UNKNOWN") from error
    return Stream(connection, stream.limits)


def _roots(machine: Machine, config: OperationOptions, version: Version) -> list[str]:
    """Return the trusted roots.

    They come from the file of --cacert if it is set and curl is 7.60 or later, otherwise from the machine's store.
    """
    file = config.values.get("cacert")
    if not file or version < (7, 60):
        return certificate_store.pem(machine, "Root")
    if not machine.files.is_file(file):
        raise CurlError(77, f"schannel: failed to open CA file '{file}': No such file or directory")
    return [machine.files.read_text(file)]


def _handshake(
    plain: socket.socket, context: ssl.SSLContext, host: str, limits: Limits, version: Version, manual: bool
) -> ssl.SSLSocket:
    plain.setblocking(False)
    connection = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    connection.settimeout(0.1)
    while True:
        limits.check(connecting=True)
        try:
            connection.do_handshake()
        except TimeoutError:
            continue
        except ssl.SSLCertVerificationError as error:
            raise _unverified(False, version, manual) from error
        except (ssl.SSLError, OSError) as error:
            message = "schannel: failed to receive handshake, SSL/TLS connection failed"
            raise CurlError(errors.SSL_CONNECT_ERROR, message) from error
        return connection


def _chain_error(status: str) -> CurlError:
    """Return the error for a certificate chain that fails curl's own check. Source: lib/vtls/schannel_verify.c"""
    message = f"schannel: CertGetCertificateChain trust error CERT_TRUST_{status}"
    return CurlError(errors.PEER_FAILED_VERIFICATION, message)


def _unverified(expired: bool, version: Version, manual: bool) -> CurlError:
    if manual:
        return _chain_error("IS_NOT_TIME_VALID" if expired else "IS_PARTIAL_CHAIN")
    code = errors.SSL_CONNECT_ERROR
    if not expired and version >= (7, 57):
        code = errors.SSL_CACERT_BADFILE if (7, 62) <= version < (8, 0) else errors.PEER_FAILED_VERIFICATION
    prefix = "" if version >= (8, 0) and not expired else "next InitializeSecurityContext failed: "
    return CurlError(code, f"schannel: {prefix}{_EXPIRED if expired else _UNTRUSTED}")


def _leaf(connection: ssl.SSLSocket) -> x509.Certificate:
    return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")


def _check_name(connection: ssl.SSLSocket, host: str, version: Version) -> None:
    try:
        names = _leaf(connection).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        known = [str(name).casefold() for name in names.get_values_for_type(x509.DNSName)]
        known += [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        known = []
    requested = host.casefold()
    if requested in known or any(name.startswith("*.") and requested.partition(".")[2] == name[2:] for name in known):
        return
    code = errors.PEER_FAILED_VERIFICATION if version >= (8, 0) else errors.SSL_CONNECT_ERROR
    raise CurlError(code, f"schannel: {_WRONG_NAME}")


def _revocation_error(name: str, text: str, version: Version) -> CurlError:
    shown = f"{name} {text}" if version >= (8, 0) else f"Unknown error {text}"
    return CurlError(errors.SSL_CONNECT_ERROR, f"schannel: next InitializeSecurityContext failed: {shown}")


def _check_revocation(
    machine: Machine, connection: ssl.SSLSocket, roots: list[str], *, best_effort: bool, version: Version
) -> None:
    leaf = _leaf(connection)
    urls = _distribution_points(leaf)
    if not urls:
        if not best_effort:
            raise _revocation_error("CRYPT_E_NO_REVOCATION_CHECK", _NO_CHECK, version)
        return
    for url in urls:
        revocations = _fetch(machine, url, roots)
        if revocations is not None:
            if revocations.get_revoked_certificate_by_serial_number(leaf.serial_number) is not None:
                message = f"schannel: next InitializeSecurityContext failed: {_REVOKED}"
                raise CurlError(errors.SSL_CONNECT_ERROR, message)
            return
    if not best_effort:
        raise _revocation_error("CRYPT_E_REVOCATION_OFFLINE", _OFFLINE, version)


def _distribution_points(certificate: x509.Certificate) -> list[str]:
    try:
        points = certificate.extensions.get_extension_for_class(x509.CRLDistributionPoints).value
    except x509.ExtensionNotFound:
        return []
    names = [name for point in points for name in point.full_name or []]
    return [name.value for name in names if isinstance(name, x509.UniformResourceIdentifier)]


def _fetch(machine: Machine, url: str, roots: list[str]) -> x509.CertificateRevocationList | None:
    """Download and return a revocation list.

    Return None if the download fails, the list has expired, or none of the given roots signed it. As on Windows, the
    download does not use curl's proxies.
    """
    if not url.startswith("http://") or not machine.network.is_up:
        return None
    try:
        # Ignore the proxies of the host, because the request comes from a simulated node.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=3) as answer:
            found = x509.load_der_x509_crl(answer.read())
    except (OSError, ValueError):
        return None
    if found.next_update_utc is not None and found.next_update_utc < machine.clock.now():
        return None
    for text in roots:
        for root in x509.load_pem_x509_certificates(text.encode()):
            try:
                if found.is_signature_valid(root.public_key()):  # type: ignore[arg-type]
                    return found
            except (InvalidSignature, TypeError, ValueError):
                continue
    return None
