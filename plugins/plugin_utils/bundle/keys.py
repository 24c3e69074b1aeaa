# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create, read and use the Ed25519 key pair that signs a bundle's index.

Both keys are in PEM: the private key as PKCS#8, the public key as SubjectPublicKeyInfo.

`cryptography` is a requirement of ansible-core itself.
"""

from __future__ import annotations

import base64
import binascii
import os
import pathlib
import stat

from ..values.errors import refusal
from .index import BundleError

try:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
except ImportError as error:
    _MISSING: ImportError | None = error
else:
    _MISSING = None

_EXPECTED = "expected an Ed25519 key in PEM, as created by `openssl genpkey -algorithm ed25519`"
_EXPECTED_PUBLIC = "expected an Ed25519 public key in PEM, as bundle.yml writes it next to bundle_key"


def _require() -> None:
    if _MISSING is not None:
        raise BundleError("signing and verifying a bundle require Python's cryptography library") from _MISSING


def private_key(path: str, passphrase: str = "") -> tuple[Ed25519PrivateKey, bool]:
    """Return the signing key.

    If the key is missing, create it in a file that only its owner can read, and write its public key next to it.

    Args:
        path: path of the key on the controller.
        passphrase: passphrase of the key, which also encrypts a new key, or empty if the key is not encrypted.

    Returns:
        The key, and whether it was created.

    Raises:
        BundleError: the key cannot be read or created, is not an Ed25519 key, or is a file that other users can read.
    """
    _require()
    where = pathlib.Path(path).expanduser()
    try:
        if not where.exists():
            return _make(where, passphrase), True
        if stat.S_IMODE(where.stat().st_mode) & 0o077:
            raise BundleError(
                refusal("bundle_key", str(where), "expected a file with mode 0600", "Other users can read it.")
            )
        key = serialization.load_pem_private_key(where.read_bytes(), passphrase.encode() or None)
    except OSError as error:
        raise BundleError(f"bundle_key {where}: {_EXPECTED}: {error.strerror}") from error
    except TypeError:
        problem = (
            "expected an encrypted key, because bundle_key_passphrase is set, got a key that is not encrypted"
            if passphrase
            else "expected bundle_key_passphrase for an encrypted key, got nothing"
        )
        raise BundleError(f"bundle_key {where}: {problem}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BundleError(f"bundle_key {where}: {_EXPECTED}, got a different file or a wrong passphrase") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BundleError(f"bundle_key {where}: {_EXPECTED}, got a key of a different kind")
    return key, False


def _make(where: pathlib.Path, passphrase: str) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    locked = serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(where, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(private)
    where.with_name(f"{where.name}.pub").write_bytes(public_pem(key.public_key()))
    return key


def public_pem(key: Ed25519PublicKey) -> bytes:
    """Return a public key in PEM, as the content of a file."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def public_key(given: str) -> Ed25519PublicKey:
    """Return the public key that verifies the signature of a bundle's index.

    Args:
        given: the key in PEM, or the path of its file.

    Raises:
        BundleError: the file cannot be read, or the key is not an Ed25519 public key.
    """
    _require()
    shown = "(PEM)" if "-----BEGIN" in given else given
    try:
        data = given.encode() if "-----BEGIN" in given else pathlib.Path(given).expanduser().read_bytes()
        key = serialization.load_pem_public_key(data)
    except OSError as error:
        raise BundleError(f"bundle_public_key {shown}: {_EXPECTED_PUBLIC}: {error.strerror}") from error
    except (ValueError, UnsupportedAlgorithm):
        raise BundleError(f"bundle_public_key {shown}: {_EXPECTED_PUBLIC}, got something else") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BundleError(f"bundle_public_key {shown}: {_EXPECTED_PUBLIC}, got a key of a different kind")
    return key


def sign(key: Ed25519PrivateKey, data: bytes) -> bytes:
    """Return the signature of an index as the content of a file, in base64 on one line."""
    return base64.b64encode(key.sign(data)) + b"\n"


def is_signed(key: Ed25519PublicKey, data: bytes, signature: bytes) -> bool:
    """Return whether an index's signature is valid for a public key."""
    try:
        key.verify(base64.b64decode(signature.strip(), validate=True), data)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def throwaway() -> Ed25519PrivateKey:
    """Return a new key for check mode, in which nothing is signed."""
    return Ed25519PrivateKey.generate()
