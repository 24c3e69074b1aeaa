# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The certificate of WinRM's HTTPS listener: what a node has, whether it is due, and the calls that renew it."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import re
import typing as t

from ..wire.messages import Call, CallResult

try:
    from cryptography import x509
except ImportError:  # pypsrp and pywinrm bring it
    x509 = None  # type: ignore[assignment]

STORE = "Cert:\\LocalMachine\\My"
LISTENER = "winrm/config/Listener"
FRIENDLY_NAME = "winkube.node WinRM HTTPS"
"""By this name a later run finds the certificates that this module made."""
_KEY_BITS = 3072
_DNS_NAME = re.compile(r"(?=.{1,253}\Z)(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_-]{1,63})*\Z")


class CertificateError(Exception):
    """The certificate cannot be renewed; the text says why, and what to do."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate of the machine's personal store."""

    thumbprint: str
    x509: x509.Certificate
    friendly_name: str = ""

    @property
    def expires(self) -> datetime.datetime:
        """When it ends, in UTC."""
        return self.x509.not_valid_after_utc

    @property
    def is_self_signed(self) -> bool:
        """Whether no authority issued it."""
        return self.x509.issuer == self.x509.subject


@dataclasses.dataclass(frozen=True, kw_only=True)
class HttpsListener:
    """The HTTPS listener of a node."""

    address: str
    """What it listens on, as WinRM names it: `*`, or `IP:192.0.2.21`."""
    certificate: Certificate
    others: tuple[Certificate, ...] = ()
    """Certificates that this module made and that no listener uses: an earlier run was interrupted."""


def questions() -> tuple[Call, ...]:
    """Asks for the listeners and for the certificates that they may use."""
    return (
        Call(
            id="listeners",
            command="Get-WSManInstance",
            parameters={"ResourceURI": LISTENER, "Enumerate": True},
            select=("Address", "Transport", "CertificateThumbprint"),
        ),
        Call(
            id="certificates",
            command="Get-ChildItem",
            parameters={"Path": STORE},
            select=("Thumbprint", "FriendlyName", "RawData"),
        ),
    )


def read_listener(answers: t.Mapping[str, CallResult]) -> HttpsListener:
    """Reads the answers to `questions`.

    Raises:
        CertificateError: there is no HTTPS listener with a certificate.
    """
    found = {each.thumbprint: each for each in map(_certificate, answers["certificates"].output) if each is not None}
    listeners = [item for item in answers["listeners"].output if str(item.get("Transport")).upper() == "HTTPS"]
    used = {_thumbprint(item.get("CertificateThumbprint")): str(item.get("Address") or "*") for item in listeners}
    mark = next((mark for mark in used if mark in found), None)
    if mark is None:
        raise CertificateError(
            "expected an HTTPS listener of WinRM with a certificate of the store LocalMachine\\My, found none; "
            "scripts/Enable-WinRMOverHttps.ps1 makes one"
        )
    others = tuple(
        each for each in found.values() if each.friendly_name == FRIENDLY_NAME and each.thumbprint not in used
    )
    return HttpsListener(address=used[mark], certificate=found[mark], others=others)


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
    """Whether a certificate ends within this many days."""
    return certificate.expires - now < datetime.timedelta(days=days)


def successor(listener: HttpsListener, now: datetime.datetime, days: int) -> Certificate | None:
    """The certificate that an interrupted run made, if it is good for longer than the one in use."""
    fresh = [each for each in listener.others if each.is_self_signed and not is_due(each, now, days)]
    longest = max(fresh, key=lambda each: each.expires, default=None)
    return longest if longest is not None and longest.expires > listener.certificate.expires else None


def names_of(certificate: x509.Certificate, more: t.Iterable[str]) -> list[str]:
    """The DNS names and addresses that a renewed certificate gets: those it had, and more.

    What is neither is left out: the names come from the node, and become part of an extension's text.

    Args:
        certificate: the one in use.
        more: names or addresses by which the controller reaches the node.
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
    """Makes a self-signed certificate for a server.

    -DnsName would make DNS names of addresses, which Python refuses for a connection by address. The text form of the
    extensions: learn.microsoft.com/powershell/module/pki/new-selfsignedcertificate#-textextension.

    Args:
        names: DNS names and addresses.
        expires: when it ends, in UTC.
        unique: becomes part of the subject. While a certificate and its successor are both trusted, OpenSSL finds a
            self-signed certificate by its subject, and refuses it where the first one of that subject is another.
    """
    parts = [f"{'IPAddress' if _is_address(name) else 'DNS'}={name}" for name in names]
    return Call(
        id="create",
        command="New-SelfSignedCertificate",
        parameters={
            "Subject": f"CN={names[0]},OU=winkube.node {unique}",
            "FriendlyName": FRIENDLY_NAME,
            "CertStoreLocation": STORE,
            "KeyAlgorithm": "RSA",
            "KeyLength": _KEY_BITS,
            "KeyExportPolicy": "NonExportable",
            "NotAfter": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            # Server authentication, and the names.
            "TextExtension": ["2.5.29.37={text}1.3.6.1.5.5.7.3.1", "2.5.29.17={text}" + "&".join(parts)],
        },
        select=("Thumbprint", "FriendlyName", "RawData"),
    )


def created(result: CallResult) -> Certificate:
    """Reads the answer to `creation`.

    Raises:
        CertificateError: it has no certificate.
    """
    found = _certificate(result.first) if result.output else None
    if found is None:
        raise CertificateError("New-SelfSignedCertificate returned no certificate")
    return found


def binding(listener: HttpsListener, thumbprint: str) -> Call:
    """Has the listener use a certificate; connections that are open stay."""
    return Call(
        id="bind",
        command="Set-WSManInstance",
        parameters={
            "ResourceURI": LISTENER,
            "SelectorSet": {"Address": listener.address, "Transport": "HTTPS"},
            "ValueSet": {"CertificateThumbprint": thumbprint},
        },
        select=(),
    )


def removal(thumbprints: t.Iterable[str]) -> tuple[Call, ...]:
    """Deletes certificates with their private keys."""
    return tuple(
        Call(
            id=f"remove.{number}",
            command="Remove-Item",
            parameters={"LiteralPath": f"{STORE}\\{mark}", "DeleteKey": True, "Force": True},
            on_error="continue",
            select=(),
        )
        for number, mark in enumerate(thumbprints)
    )
