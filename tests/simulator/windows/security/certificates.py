# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Import-Certificate, Export-Certificate and New-SelfSignedCertificate cmdlets, and the certutil.exe program.

Source: https://learn.microsoft.com/powershell/module/pki/import-certificate
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cryptography import x509

from simulator.machine import certificate_store
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Invocation,
    NotModelled,
    Program,
    ProgramResult,
    PSObject,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_STORES = {
    "my": "My",
    "root": "Root",
    "ca": "CA",
    "trustedpublisher": "TrustedPublisher",
    "trustedpeople": "TrustedPeople",
}
_HASHES = {"MD5": "md5", "SHA1": "sha1", "SHA256": "sha256", "SHA384": "sha384", "SHA512": "sha512"}


def _store(location: str) -> str:
    """Return the name of the machine's certificate store for a path on the certificate drive."""
    found = re.fullmatch(r"cert:\\?localmachine\\(\w+)\\?", location.replace("/", "\\"), re.IGNORECASE)
    name = _STORES.get(found[1].casefold()) if found else None
    if name is None:
        raise NotModelled(f"the certificate store {location}")
    return name


def import_certificate(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Import-Certificate. If a file contains several certificates in PEM, only the first one is imported.

    Source: https://github.com/MicrosoftDocs/windows-powershell-docs/issues/3655
    """
    store = _store(bound.text("CertStoreLocation", "Cert:\\LocalMachine\\My"))
    for path in bound.texts("FilePath"):
        if not machine.files.is_file(path):
            raise CmdletError(
                "ObjectNotFound",
                "System.IO.FileNotFoundException",
                f"The certificate file could not be found. ({path})",
                "System.IO.FileNotFoundException",
            )
        try:
            found = certificate_store.load(machine.files.read_bytes(path))
        except ValueError as error:
            message = "Cannot find the requested object. (Exception from HRESULT: 0x80092009)"
            raise CmdletError("NotSpecified", "System.Exception", message) from error
        for certificate in found[:1]:
            if not bound.flag("WhatIf"):
                certificate_store.add(machine, store, certificate)
            yield certificate_store.describe(certificate, store)


def new_self_signed(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-SelfSignedCertificate with -DnsName, -Subject and -TextExtension.

    The certificate is valid for a year, unless -NotAfter sets another end.

    -DnsName creates DNS names even if the values are addresses. `2.5.29.17={text}DNS=…&IPAddress=…` in -TextExtension
    creates names and addresses.
    Source: https://learn.microsoft.com/powershell/module/pki/new-selfsignedcertificate#-textextension
    """
    store = _store(bound.text("CertStoreLocation", "Cert:\\LocalMachine\\My"))
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in bound.texts("DnsName")]
    for extension in bound.texts("TextExtension"):
        names += _alternative_names(extension)
    first = next((str(name.value) for name in names if isinstance(name, x509.DNSName)), machine.name)
    subject = x509.Name.from_rfc4514_string(bound.text("Subject") or f"CN={first}")
    until = bound.get("NotAfter")
    friendly = bound.text("FriendlyName")
    certificate, key = certificate_store.self_signed(
        subject, names, until if isinstance(until, datetime.datetime) else None
    )
    certificate_store.add(machine, store, certificate, key, friendly)
    return [certificate_store.describe(certificate, store, friendly)]


def _alternative_names(extension: str) -> list[x509.GeneralName]:
    """Return the alternative names in an extension from -TextExtension, or an empty list for an extended key usage.

    Raises:
        NotModelled: the extension is neither a list of alternative names nor an extended key usage.
    """
    oid, _, text = extension.partition("={text}")
    if oid == "2.5.29.37":
        return []
    if oid != "2.5.29.17":
        raise NotModelled(f"the certificate extension {extension}")
    names: list[x509.GeneralName] = []
    for part in text.split("&"):
        kind, _, value = part.partition("=")
        if kind.casefold() == "dns":
            names.append(x509.DNSName(value))
        elif kind.casefold() == "ipaddress":
            names.append(x509.IPAddress(ipaddress.ip_address(value)))
        else:
            raise NotModelled(f"the subject alternative name {part}")
    return names


def export_certificate(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Export-Certificate, which writes a certificate object to a file in DER format.

    Source: https://learn.microsoft.com/powershell/module/pki/export-certificate
    """
    path = bound.text("FilePath")
    for item in bound.pipeline or [bound.get("Cert")]:
        if not isinstance(item, PSObject) or bound.text("Type", "CERT").upper() != "CERT":
            raise NotModelled("an export of an object that is not a certificate, or in a format other than CERT")
        data = item.get("RawData")
        machine.files.write_bytes(path, data if isinstance(data, bytes) else b"")
    return []


def _encode(machine: Machine, source: str, target: str) -> ProgramResult:
    """Run certutil.exe -encode, which writes base64 between the header and footer of a PEM certificate."""
    data = machine.files.read_bytes(source)
    lines = base64.encodebytes(data).decode().splitlines()
    text = "\r\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])
    machine.files.write_bytes(target, text.encode())
    return ProgramResult(0, "CertUtil: -encode command completed successfully.\r\n")


def certutil(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate certutil.exe -hashfile, -encode, -addstore and -delstore."""
    words = [argument for argument in run.argv if argument.casefold() not in ("-f", "-q", "/f")]
    verb = words[0].casefold().lstrip("-/") if words else ""
    if verb == "hashfile" and len(words) in (2, 3):
        return _hash_file(machine, words[1], words[2].upper() if len(words) == 3 else "SHA1")
    if verb == "encode" and len(words) == 3:
        return _encode(machine, words[1], words[2])
    if verb == "addstore" and len(words) == 3:
        return _add_store(machine, words[1], words[2])
    if verb == "delstore" and len(words) == 3:
        removed = certificate_store.remove(machine, words[1], words[2].replace(" ", "").upper())
        text = "CertUtil: -delstore command completed successfully.\r\n"
        return ProgramResult(0, text) if removed else _fail("delstore", "0x80092004", "Cannot find object or property.")
    return ProgramResult(1, f"the simulator does not model certutil {' '.join(run.argv)}\r\n")


def _fail(verb: str, code: str, text: str) -> ProgramResult:
    number = int(code, 16) - (1 << 32)
    return ProgramResult(number, f"CertUtil: -{verb} command FAILED: {code} ({number})\r\nCertUtil: {text}\r\n")


def _hash_file(machine: Machine, path: str, algorithm: str) -> ProgramResult:
    if algorithm not in _HASHES:
        return _fail("hashfile", "0x80090008", "Invalid algorithm specified.")
    if not machine.files.is_file(path):
        return _fail("hashfile", "0x80070002", "The system cannot find the file specified.")
    digest = hashlib.new(_HASHES[algorithm], machine.files.read_bytes(path)).hexdigest()
    end = "CertUtil: -hashfile command completed successfully."
    return ProgramResult(0, f"{algorithm} hash of {path}:\r\n{digest}\r\n{end}\r\n")


def _add_store(machine: Machine, store: str, path: str) -> ProgramResult:
    name = _STORES.get(store.casefold())
    if name is None:
        return ProgramResult(1, f"the simulator does not model the certificate store {store}\r\n")
    if not machine.files.is_file(path):
        return _fail("addstore", "0x80070002", "The system cannot find the file specified.")
    try:
        found = certificate_store.load(machine.files.read_bytes(path))
    except ValueError:
        return _fail("addstore", "0x80092009", "Cannot find the requested object.")
    for certificate in found:
        certificate_store.add(machine, name, certificate)
    subject = found[0].subject.rfc4514_string()
    text = (
        f'{name}\r\nCertificate "{subject}" added to store.\r\nCertUtil: -addstore command completed successfully.\r\n'
    )
    return ProgramResult(0, text)


CMDLETS: Mapping[str, Cmdlet] = {
    "Import-Certificate": import_certificate,
    "Export-Certificate": export_certificate,
    "New-SelfSignedCertificate": new_self_signed,
}
PROGRAMS: Mapping[str, Program] = {"certutil.exe": certutil}
