# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parses a kubelet's client certificate, and the certificates of the CAs that the kubelet trusts (no I/O).

The kubelet keeps its certificate and its private key in one file, in this order. The caller reads only the beginning of
the file, so that the key stays on the node. Therefore, this module accepts certificates whose end is missing. Sources:
k8s.io/client-go, util/certificate/certificate_store.go (Update); RFC 5280, section 4.1.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import re
import typing as t

from ..windows import node_paths

CURRENT_CERTIFICATE = f"{node_paths.KUBELET_PKI}\\kubelet-client-current.pem"
"""File with the kubelet's certificate and key. Source: k8s.io/client-go, util/certificate/certificate_store.go."""
READ_BYTES = 500
"""Number of bytes to read from the certificate file. Even the shortest possible kubelet certificate is longer, so the
private key is not read."""
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)")
_SEQUENCE, _SET, _INTEGER, _OBJECT, _UTC_TIME, _GENERALIZED_TIME, _VERSION = 0x30, 0x31, 0x02, 0x06, 0x17, 0x18, 0xA0
_COMMON_NAME = b"\x55\x04\x03"
_USER = "system:node:"


class _CutOffError(ValueError):
    """A certificate that ends before the requested value, or data that is not a certificate."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientCertificate:
    """A kubelet's client certificate."""

    common_name: str
    begins: datetime.datetime
    ends: datetime.datetime

    @property
    def node(self) -> str:
        """The node's name; empty if this is not the certificate of a node."""
        return self.common_name.removeprefix(_USER) if self.common_name.startswith(_USER) else ""


def first_certificate(pem: bytes) -> ClientCertificate | None:
    """Return the first certificate in a PEM file, or None if there is none that can be read.

    Args:
        pem: content of the file. The end of the file may be missing.
    """
    match = _PEM.search(pem)
    if match is None:
        return None
    text = b"".join(match[1].split())
    try:
        return _certificate(base64.b64decode(text[: len(text) // 4 * 4]))
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def authorities(pem: str) -> frozenset[str]:
    """Return the public keys of the CA certificates in a PEM file as base64 strings, which can be compared.

    A CA certificate that is issued again with the same key is the same CA for everyone who trusts the earlier
    certificate. If a certificate cannot be read, its whole text is returned instead of its key.
    """
    texts = (b"".join(match.split()) for match in _PEM.findall(pem.encode()))
    return frozenset(_key(text) or text.decode() for text in texts)


def _key(text: bytes) -> str:
    try:
        body = _from_subject(base64.b64decode(text))[1]
        _subject, rest = _value(body, _SEQUENCE)
        key, _rest = _value(rest, _SEQUENCE)
    except (binascii.Error, ValueError):
        return ""
    return base64.b64encode(key).decode()


def _certificate(der: bytes) -> ClientCertificate:
    validity, body = _from_subject(der)
    subject, _rest = _value(body, _SEQUENCE)
    begins, rest = _time(validity)
    ends, _rest = _time(rest)
    return ClientCertificate(common_name=_common_name(subject), begins=begins, ends=ends)


def _from_subject(der: bytes) -> tuple[bytes, bytes]:
    """Return the validity of a certificate, and the data that begins with its subject.

    Raises:
        ValueError: the data is not a certificate, or is cut off before its subject.
    """
    certificate, _rest = _value(der, _SEQUENCE, whole=False)
    body, _rest = _value(certificate, _SEQUENCE, whole=False)
    if body[:1] == bytes([_VERSION]):
        _version, body = _value(body, _VERSION)
    _serial, body = _value(body, _INTEGER)
    _algorithm, body = _value(body, _SEQUENCE)
    _issuer, body = _value(body, _SEQUENCE)
    return _value(body, _SEQUENCE)


def _value(data: bytes, tag: int, *, whole: bool = True) -> tuple[bytes, bytes]:
    """Return the value at the beginning of DER data, and the data after this value.

    Args:
        data: the DER data.
        tag: the tag of the expected type.
        whole: whether the value must be complete.

    Raises:
        ValueError: the data begins with another type, or the value is cut off.
    """
    if len(data) < 2 or data[0] != tag:
        raise _CutOffError(f"expected a DER value of type {tag:#04x}, got {data[:2].hex() or 'no data'}")
    length, start = data[1], 2
    if length >= 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(data[2 : 2 + size], "big"), 2 + size
    if whole and len(data) < start + length:
        raise _CutOffError(f"expected a DER value of {length} bytes, got {len(data) - start}")
    return data[start : start + length], data[start + length :]


def _time(data: bytes) -> tuple[datetime.datetime, bytes]:
    short = data[:1] == bytes([_UTC_TIME])
    text, rest = _value(data, _UTC_TIME if short else _GENERALIZED_TIME)
    moment = datetime.datetime.strptime(text.decode("ascii"), "%y%m%d%H%M%SZ" if short else "%Y%m%d%H%M%SZ")
    return moment.replace(tzinfo=datetime.UTC), rest


def _common_name(subject: bytes) -> str:
    for kind, text in _attributes(subject):
        if kind == _COMMON_NAME:
            return text
    return ""


def _attributes(name: bytes) -> t.Iterator[tuple[bytes, str]]:
    while name:
        part, name = _value(name, _SET)
        attribute, _rest = _value(part, _SEQUENCE)
        kind, rest = _value(attribute, _OBJECT)
        text, _rest = _value(rest, rest[0] if rest else 0)
        yield kind, text.decode("utf-8")
