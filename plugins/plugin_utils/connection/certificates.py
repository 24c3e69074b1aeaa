# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the certificate of WinRM's HTTPS listener, and build the calls that renew it."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import re
import typing as t

from ..wire.calls import action, query
from ..wire.messages import Call, CallResult

try:
    from cryptography import x509
except ImportError:  # a dependency of pypsrp and pywinrm
    x509 = None  # type: ignore[assignment]

STORE = "Cert:\\LocalMachine\\My"
LISTENER = "winrm/config/Listener"
FRIENDLY_NAME = "winkube.node WinRM HTTPS"
"""Friendly name of the certificates that this module and scripts/Enable-WinRMOverHttps.ps1 create. Later runs find
these certificates by this name."""
_KEY_BITS = 3072
_DNS_NAME = re.compile(r"(?=.{1,253}\Z)(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*\Z")


class CertificateError(Exception):
    """The certificate cannot be renewed; the message states the reason."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate in a Windows machine's personal certificate store."""

    thumbprint: str
    x509: x509.Certificate
    friendly_name: str = ""

    @property
    def expires(self) -> datetime.datetime:
        """Expiry time (UTC)."""
        return self.x509.not_valid_after_utc

    @property
    def is_self_signed(self) -> bool:
        """Whether the certificate is self-signed, which means that its issuer is its subject."""
        return self.x509.issuer == self.x509.subject


@dataclasses.dataclass(frozen=True, kw_only=True)
class HttpsListener:
    """The HTTPS listener of a node, with the certificate that it uses."""

    address: str
    """The listener's address in WinRM's notation: `*`, or `IP:192.0.2.21`."""
    certificate: Certificate
    others: tuple[Certificate, ...] = ()
    """Certificates that this collection created but no listener uses, for example because a run was interrupted."""


def inspection_calls() -> tuple[Call, ...]:
    """Return the calls that read WinRM's listeners and the certificates in the machine's personal store."""
    return (
        query(
            "listeners",
            "Get-WSManInstance",
            {"ResourceURI": LISTENER, "Enumerate": True},
            select=("Address", "Transport", "CertificateThumbprint"),
            on_error="stop",
        ),
        query(
            "certificates",
            "Get-ChildItem",
            {"Path": STORE},
            select=("Thumbprint", "FriendlyName", "RawData"),
            on_error="stop",
        ),
    )


def read_listener(answers: t.Mapping[str, CallResult]) -> HttpsListener:
    """Return the HTTPS listener that the results of `inspection_calls` describe.

    Raises:
        CertificateError: the listeners or the certificates could not be read, or no HTTPS listener uses a certificate
            from the machine's personal store.
    """
    failed = next((f"{name}: {answer.error}" for name, answer in answers.items() if answer.error is not None), None)
    if failed is not None:
        raise CertificateError(f"the listener could not be read: {failed}")
    by_thumbprint = {
        each.thumbprint: each for each in map(_certificate, answers["certificates"].output) if each is not None
    }
    listeners = [item for item in answers["listeners"].output if str(item.get("Transport")).upper() == "HTTPS"]
    used = {_thumbprint(item.get("CertificateThumbprint")): str(item.get("Address") or "*") for item in listeners}
    thumbprint = next((thumbprint for thumbprint in used if thumbprint in by_thumbprint), None)
    if thumbprint is None:
        raise CertificateError(
            "expected a WinRM HTTPS listener with a certificate from the LocalMachine\\My store, got none. "
            "Run scripts/Enable-WinRMOverHttps.ps1 on the server to create one"
        )
    others = tuple(
        each for each in by_thumbprint.values() if each.friendly_name == FRIENDLY_NAME and each.thumbprint not in used
    )
    return HttpsListener(address=used[thumbprint], certificate=by_thumbprint[thumbprint], others=others)


def _certificate(item: t.Mapping[str, t.Any]) -> Certificate | None:
    try:
        parsed = x509.load_der_x509_certificate(bytes(item["RawData"]))
    except (KeyError, TypeError, ValueError):
        return None
    return Certificate(
        thumbprint=_thumbprint(item.get("Thumbprint")), x509=parsed, friendly_name=str(item.get("FriendlyName") or "")
    )


def _thumbprint(value: object) -> str:
    return str(value or "").replace(" ", "").upper()


def is_due(certificate: Certificate, now: datetime.datetime, days: int) -> bool:
    """Return whether a certificate expires within a number of days."""
    return certificate.expires - now < datetime.timedelta(days=days)


def successor(listener: HttpsListener, now: datetime.datetime, days: int) -> Certificate | None:
    """Return a certificate that an interrupted run created, and that can replace the current certificate.

    Returns:
        The certificate that expires last, or None if there is no certificate that is valid for at least `days` more
        days and that expires after the current one.
    """
    fresh = [each for each in listener.others if each.is_self_signed and not is_due(each, now, days)]
    longest = max(fresh, key=lambda each: each.expires, default=None)
    return longest if longest is not None and longest.expires > listener.certificate.expires else None


def renewed_names(certificate: x509.Certificate, more: t.Iterable[str]) -> list[str]:
    """Return the DNS names and addresses for a new certificate: those of the current certificate, and those in `more`.

    A name that is neither a DNS name nor an address is left out. The text of the certificate extension is built from
    the names, so a node could otherwise use such a name to add fields to the extension.

    Args:
        certificate: the certificate in use.
        more: further names or addresses, such as the one at which the controller reaches the node.
    """
    names: list[str] = []
    try:
        san = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += [*san.get_values_for_type(x509.DNSName), *map(str, san.get_values_for_type(x509.IPAddress))]
    except (x509.ExtensionNotFound, ValueError):
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        names += [str(attribute.value) for attribute in common]
    good = [name for name in (*names, *more) if _is_address(name) or _DNS_NAME.fullmatch(name)]
    return list(dict.fromkeys(good))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def creation(names: t.Sequence[str], expires: datetime.datetime, unique: str) -> Call:
    """Return the call that creates a self-signed server certificate.

    The -DnsName parameter would add IP addresses as DNS names, which Python rejects for connections by address.
    So the names are set through -TextExtension.
    Source: learn.microsoft.com/powershell/module/pki/new-selfsignedcertificate#-textextension.

    Args:
        names: DNS names and addresses.
        expires: expiry time (UTC).
        unique: a string that makes the certificate's subject unique. OpenSSL looks up self-signed certificates by
            subject and checks only the first match, so a certificate and its successor need different subjects while
            both are trusted.
    """
    parts = [f"{'IPAddress' if _is_address(name) else 'DNS'}={name}" for name in names]
    return action(
        "create",
        "New-SelfSignedCertificate",
        {
            "Subject": f"CN={names[0]},OU=winkube.node {unique}",
            "FriendlyName": FRIENDLY_NAME,
            "CertStoreLocation": STORE,
            "KeyAlgorithm": "RSA",
            "KeyLength": _KEY_BITS,
            "KeyExportPolicy": "NonExportable",
            "NotAfter": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            # The extended key usage "server authentication", and the alternative names.
            "TextExtension": ["2.5.29.37={text}1.3.6.1.5.5.7.3.1", "2.5.29.17={text}" + "&".join(parts)],
        },
        select=("Thumbprint", "FriendlyName", "RawData"),
    )


def created(result: CallResult) -> Certificate:
    """Return the certificate that the call from `creation` has created.

    Raises:
        CertificateError: the call's result contains no certificate.
    """
    certificate = _certificate(result.first) if result.output else None
    if certificate is None:
        raise CertificateError("New-SelfSignedCertificate returned no certificate")
    return certificate


def binding(listener: HttpsListener, thumbprint: str) -> Call:
    """Return the call that assigns a certificate to the HTTPS listener. Open connections stay open."""
    return action(
        "bind",
        "Set-WSManInstance",
        {
            "ResourceURI": LISTENER,
            "SelectorSet": {"Address": listener.address, "Transport": "HTTPS"},
            "ValueSet": {"CertificateThumbprint": thumbprint},
        },
    )


def removal(thumbprints: t.Iterable[str]) -> tuple[Call, ...]:
    """Return the calls that delete certificates with their private keys."""
    return tuple(
        action(
            f"remove.{number}",
            "Remove-Item",
            {"LiteralPath": f"{STORE}\\{mark}", "DeleteKey": True, "Force": True},
            on_error="continue",
        )
        for number, mark in enumerate(thumbprints)
    )
