# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""The machine's certificate stores, as Windows keeps them in the registry.

The Blob value of `HKLM:\SOFTWARE\Microsoft\SystemCertificates\STORE\Certificates\THUMBPRINT` is a list of properties
(id, 1, length, data). Property 32 is the certificate itself
(https://learn.microsoft.com/windows/win32/api/wincrypt/nf-wincrypt-certserializecertificatestoreelement).
"""

from __future__ import annotations

import datetime
import hashlib
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from simulator.certificates import Issuer, certificate_pem, key_pem, new_key
from simulator.machine.objects import PSObject

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ROOT = r"HKLM:\SOFTWARE\Microsoft\SystemCertificates"
_SHA1, _FRIENDLY_NAME, _CERTIFICATE = 3, 11, 32
# The folder in which the key storage provider keeps the machine's private keys
# (https://learn.microsoft.com/windows/win32/seccng/key-storage-and-retrieval). Windows encrypts them.
_KEYS = r"C:\ProgramData\Microsoft\Crypto\Keys"


def thumbprint(certificate: x509.Certificate) -> str:
    """Return a certificate's thumbprint, the SHA-1 digest by which Windows identifies the certificate."""
    der = certificate.public_bytes(Encoding.DER)
    return hashlib.sha1(der, usedforsecurity=False).hexdigest().upper()


def add(
    machine: Machine,
    store: str,
    certificate: x509.Certificate,
    key: ec.EllipticCurvePrivateKey | None = None,
    friendly_name: str = "",
) -> str:
    """Add a certificate and optionally its private key to a store (`Root`, `CA` or `My`), and return the thumbprint."""
    der = certificate.public_bytes(Encoding.DER)
    mark = thumbprint(certificate)
    name = (friendly_name + "\0").encode("utf-16-le") if friendly_name else b""
    parts = ((_SHA1, bytes.fromhex(mark)), *([(_FRIENDLY_NAME, name)] if name else []), (_CERTIFICATE, der))
    blob = b"".join(struct.pack("<III", kind, 1, len(data)) + data for kind, data in parts)
    machine.registry.set(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}", "Blob", blob, "Binary")
    if key is not None:
        machine.files.make_directory(_KEYS)
        machine.files.write_bytes(f"{_KEYS}\\{mark}", key_pem(key))
    return mark


def with_key(machine: Machine, mark: str) -> bytes:
    """Return a certificate in the `My` store and its private key as PEM, or empty bytes if either is missing."""
    path = f"{_KEYS}\\{mark}"
    found = next((each for each in certificates(machine, "My") if thumbprint(each) == mark.upper()), None)
    if found is None or not machine.files.is_file(path):
        return b""
    return certificate_pem(found) + machine.files.read_bytes(path)


def remove(machine: Machine, store: str, mark: str, *, delete_key: bool = False) -> bool:
    """Remove a certificate from a store and, if requested, its private key.

    Return whether the store contained the certificate.
    """
    if delete_key and machine.files.is_file(f"{_KEYS}\\{mark}"):
        machine.files.delete(f"{_KEYS}\\{mark}")
    removed = machine.registry.delete_key(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}")
    # WinRM may have used it for its listener.
    machine.network.listeners_changed()
    return removed


def contains(machine: Machine, store: str, mark: str) -> bool:
    """Return whether a store contains a certificate."""
    return bool(mark) and machine.registry.key_exists(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark.upper()}")


def self_signed(
    name: x509.Name, names: Sequence[x509.GeneralName], until: datetime.datetime | None = None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return a new server certificate, valid for a year by default, and its private key."""
    key = new_key()
    now = datetime.datetime.now(datetime.UTC)
    certificate = Issuer(name, key).sign(
        name,
        key.public_key(),
        (now - datetime.timedelta(minutes=10), until or now + datetime.timedelta(days=365)),
        extensions=[
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        ],
        alternative=names,
    )
    return certificate, key


def describe(certificate: x509.Certificate, store: str, friendly_name: str = "") -> PSObject:
    """Return a certificate as the object that PowerShell returns for it."""
    properties: dict[str, object] = {
        "Thumbprint": thumbprint(certificate),
        "Subject": certificate.subject.rfc4514_string(),
        "Issuer": certificate.issuer.rfc4514_string(),
        "NotBefore": certificate.not_valid_before_utc,
        "NotAfter": certificate.not_valid_after_utc,
        "SerialNumber": f"{certificate.serial_number:X}",
        "HasPrivateKey": store == "My",
        "FriendlyName": friendly_name,
        "RawData": certificate.public_bytes(Encoding.DER),
        "PSParentPath": f"Microsoft.PowerShell.Security\\Certificate::LocalMachine\\{store}",
    }
    return PSObject("System.Security.Cryptography.X509Certificates.X509Certificate2", properties)


def items(machine: Machine, path: str) -> list[str]:
    """Return the names directly below a path on the `Cert:` drive. They are locations, stores or thumbprints."""
    location, _, store = path.partition("\\")
    if not location:
        return ["CurrentUser", "LocalMachine"]
    if location.casefold() != "localmachine" or "\\" in store:
        return []
    key = f"{_ROOT}\\{store.upper()}\\Certificates" if store else _ROOT
    return machine.registry.subkeys(key) if machine.registry.key_exists(key) else []


def item_exists(machine: Machine, path: str) -> bool:
    """Return whether a path on the drive `Cert:` exists."""
    head, _, name = path.rpartition("\\")
    return not path or name.casefold() in {item.casefold() for item in items(machine, head)}


def certificates(machine: Machine, store: str) -> list[x509.Certificate]:
    """Return the certificates in a store."""
    key = f"{_ROOT}\\{store.upper()}\\Certificates"
    found = []
    for mark in machine.registry.subkeys(key):
        blob = machine.registry.data(f"{key}\\{mark}", "Blob")
        der = _property(blob, _CERTIFICATE) if isinstance(blob, bytes) else None
        if der:
            found.append(x509.load_der_x509_certificate(der))
    return found


def pem(machine: Machine, store: str) -> list[str]:
    """Return the certificates in a store as PEM."""
    return [certificate_pem(certificate).decode() for certificate in certificates(machine, store)]


def load(data: bytes) -> list[x509.Certificate]:
    """Parse the certificates in a PEM or DER file.

    Raises:
        ValueError: the file contains no valid certificate.
    """
    return x509.load_pem_x509_certificates(data) if b"-----BEGIN" in data else [x509.load_der_x509_certificate(data)]


def friendly_name(machine: Machine, store: str, mark: str) -> str:
    """Return the friendly name of a certificate, or an empty string if it has none."""
    blob = machine.registry.data(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}", "Blob")
    name = _property(blob, _FRIENDLY_NAME) if isinstance(blob, bytes) else None
    return name.decode("utf-16-le").rstrip("\0") if name else ""


def _property(blob: bytes, requested: int) -> bytes | None:
    position = 0
    while position + 12 <= len(blob):
        kind, _, length = struct.unpack_from("<III", blob, position)
        if kind == requested:
            return blob[position + 12 : position + 12 + length]
        position += 12 + length
    return None
