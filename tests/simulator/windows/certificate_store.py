# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machine's certificate stores, where Windows keeps them.

`HKLM:\\SOFTWARE\\Microsoft\\SystemCertificates\\STORE\\Certificates\\THUMBPRINT`, value Blob: a list of properties
(id, 1, length, data); property 32 is the certificate itself
(https://learn.microsoft.com/windows/win32/api/wincrypt/nf-wincrypt-certserializecertificatestoreelement).
"""

from __future__ import annotations

import datetime
import hashlib
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ROOT = r"HKLM:\SOFTWARE\Microsoft\SystemCertificates"
_SHA1, _CERTIFICATE = 3, 32


def thumbprint(certificate: x509.Certificate) -> str:
    """Return a certificate's SHA-1, as Windows names it."""
    der = certificate.public_bytes(Encoding.DER)
    return hashlib.sha1(der, usedforsecurity=False).hexdigest().upper()


def add(machine: Machine, store: str, certificate: x509.Certificate) -> str:
    """Put a certificate into a store (`Root`, `CA`, `My`); returns its thumbprint."""
    der = certificate.public_bytes(Encoding.DER)
    mark = thumbprint(certificate)
    parts = ((_SHA1, bytes.fromhex(mark)), (_CERTIFICATE, der))
    blob = b"".join(struct.pack("<III", kind, 1, len(data)) + data for kind, data in parts)
    machine.registry.set(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}", "Blob", blob, "Binary")
    return mark


def remove(machine: Machine, store: str, mark: str) -> bool:
    """Take a certificate out of a store; returns whether it was there."""
    removed = machine.registry.delete_key(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}")
    # WinRM may have listened with it.
    machine.network.listeners_changed()
    return removed


def contains(machine: Machine, store: str, mark: str) -> bool:
    """Return whether a certificate is in a store."""
    return bool(mark) and machine.registry.key_exists(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark.upper()}")


def self_signed(common_name: str, names: Sequence[str], until: datetime.datetime | None = None) -> x509.Certificate:
    """Return a new certificate, valid for a year unless told; its private key stays with Windows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(until or now + datetime.timedelta(days=365))
    )
    if names:
        alternative = x509.SubjectAlternativeName([x509.DNSName(entry) for entry in names])
        builder = builder.add_extension(alternative, critical=False)
    return builder.sign(key, hashes.SHA256())


def items(machine: Machine, path: str) -> list[str]:
    """Return what is below a path of the drive `Cert:`: locations, stores, or thumbprints."""
    location, _, store = path.partition("\\")
    if not location:
        return ["CurrentUser", "LocalMachine"]
    if location.casefold() != "localmachine" or "\\" in store:
        return []
    key = f"{_ROOT}\\{store.upper()}\\Certificates" if store else _ROOT
    return machine.registry.subkeys(key) if machine.registry.key_exists(key) else []


def item_exists(machine: Machine, path: str) -> bool:
    """Return whether there is something at a path of the drive `Cert:`."""
    head, _, name = path.rpartition("\\")
    return not path or name.casefold() in {item.casefold() for item in items(machine, head)}


def certificates(machine: Machine, store: str) -> list[x509.Certificate]:
    """Return the certificates of a store."""
    key = f"{_ROOT}\\{store.upper()}\\Certificates"
    found = []
    for mark in machine.registry.subkeys(key):
        blob = machine.registry.data(f"{key}\\{mark}", "Blob")
        der = _certificate(blob) if isinstance(blob, bytes) else None
        if der:
            found.append(x509.load_der_x509_certificate(der))
    return found


def pem(machine: Machine, store: str) -> list[str]:
    """Return the certificates of a store as PEM."""
    return [certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates(machine, store)]


def load(data: bytes) -> list[x509.Certificate]:
    """Read the certificates of a file: PEM or DER. Raises ValueError."""
    return x509.load_pem_x509_certificates(data) if b"-----BEGIN" in data else [x509.load_der_x509_certificate(data)]


def _certificate(blob: bytes) -> bytes | None:
    position = 0
    while position + 12 <= len(blob):
        kind, _, length = struct.unpack_from("<III", blob, position)
        if kind == _CERTIFICATE:
            return blob[position + 12 : position + 12 + length]
        position += 12 + length
    return None
