# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machine's certificate stores, where Windows keeps them.

`HKLM:\\SOFTWARE\\Microsoft\\SystemCertificates\\STORE\\Certificates\\THUMBPRINT`, value Blob: a list of properties
(id, 1, length, data); property 32 is the certificate itself
(https://learn.microsoft.com/windows/win32/api/wincrypt/nf-wincrypt-certserializecertificatestoreelement).
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

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
    return machine.registry.delete_key(f"{_ROOT}\\{store.upper()}\\Certificates\\{mark}")


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
