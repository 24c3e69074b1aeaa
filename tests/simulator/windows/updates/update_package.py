# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Update files (.msu, .cab, .exe).

The header of a file describes its contents. Hashes reveal any change to the description or to the data after it.

Like real files, simulated files begin with `MSCF` (a cabinet), `MSWIM` (an .msu for newer builds) or `MZ` (an .exe). A
line `SIMULATED-UPDATE {…}` follows, with the update, its signer and the hash of the rest of the file.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simulator.machine import executables
from simulator.windows.updates.update_catalogue import Update, read

Container = Literal["msu", "cab", "exe"]
INSTALLER = "simulated-update-installer"
_MARK = b"SIMULATED-UPDATE "
_CABINET, _IMAGE = b"MSCF\0\0\0\0", b"MSWIM\0\0\0"
# From the cumulative updates of build 26100 on, .msu files are WIM images.
_FIRST_WITH_IMAGES = 26100


class NotAPackageError(ValueError):
    """Raised if a file is not an update package. Windows reports this as ERROR_INVALID_DATA."""


class CorruptPackageError(ValueError):
    """Raised if the contents of an update package do not match its signature."""


@dataclass(frozen=True)
class UpdateSigner:
    """The signer of a file: the certificate's names and thumbprints, and whether Windows trusts its root by default."""

    subject: str
    issuer: str
    thumbprint: str
    root: str
    trusted: bool


# Names are those of Microsoft's files; thumbprints are invented.
SIGNERS: Mapping[str, UpdateSigner] = {
    "microsoft": UpdateSigner(
        "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "CN=Microsoft Windows Production PCA 2011, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "71F53A26BB1625E466727183409A30D03D7923DF",
        "3B1EFD3A66EA28B16697394703A72CA340A05BD5",
        True,
    ),
    "test": UpdateSigner(
        "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "CN=Microsoft Development PCA 2014, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "D9F3C1B2A5E04F7788A1B2C3D4E5F60718293A4B",
        "F8DB7E1C16F1FFD4AAAD4AAD8DFF0F2445184AEB",
        False,
    ),
    "private": UpdateSigner(
        "CN=Example Patches, O=Example, C=DE",
        "CN=Example Code Signing CA, O=Example, C=DE",
        "0A1B2C3D4E5F60718293A4B5C6D7E8F901234567",
        "9999888877776666555544443333222211110000",
        False,
    ),
}


@dataclass(frozen=True)
class UpdatePackage:
    """The contents of an update file: the update, the type of the file, and its signer (None if it is not signed)."""

    update: Update
    container: Container
    signer: UpdateSigner | None


def make(
    update: Update, container: Container = "msu", signer: str | None = "microsoft", size: int = 0, version: str = "1.0"
) -> bytes:
    """Return the contents of an update file.

    Args:
        update: the update, which need not be in the catalog.
        container: the type of file.
        signer: a key of SIGNERS; None for no signature. An update that is `test_signed` is signed by `test` by default.
        size: the approximate size in bytes. It has an effect only if it is larger than the minimum size.
        version: the version of an .exe.
    """
    name = "test" if update.test_signed and signer == "microsoft" else signer
    known = SIGNERS[name] if name is not None else None
    head = _head(update, container, version)
    # Always the same bytes, so that tests can pin the SHA-256.
    filling = random.Random(update.kb).randbytes(max(64, size - len(head) - 1024))
    document = {
        "update": update.document(),
        "container": container,
        "signer": None if known is None else known.__dict__,
        "sha256": hashlib.sha256(filling).hexdigest(),
    }
    text = json.dumps(document, sort_keys=True).encode()
    check = hashlib.sha256(text).hexdigest().encode()
    return head + _MARK + check + b" " + text + b"\n" + filling


def _head(update: Update, container: Container, version: str) -> bytes:
    if container == "exe":
        return executables.make(INSTALLER, version)
    newer = any(build >= _FIRST_WITH_IMAGES for build in update.builds)
    return (_IMAGE if container == "msu" and newer else _CABINET) + b"\n"


def parse(data: bytes) -> UpdatePackage:
    """Parse the contents of an update file.

    Raises:
        NotAPackageError: the file is not an update.
        CorruptPackageError: the contents were changed.
    """
    head = next((mark for mark in (_CABINET, _IMAGE, b"MZ") if data.startswith(mark)), None)
    # A truncated file also begins like a package.
    start = data.find(_MARK, 0, executables.HEAD_SIZE)
    if head is None or start < 0:
        raise NotAPackageError("the file is not an update package")
    line, newline, filling = data[start + len(_MARK) :].partition(b"\n")
    check, _, text = line.partition(b" ")
    if not newline or hashlib.sha256(text).hexdigest().encode() != check:
        raise CorruptPackageError("the package's description does not match its signature")
    document = json.loads(text)
    if hashlib.sha256(filling).hexdigest() != document["sha256"]:
        raise CorruptPackageError("the package's contents do not match its signature")
    return describe(document)


def describe(document: Mapping[str, Any]) -> UpdatePackage:
    """Return the update package that the JSON data in an update file describes."""
    signer = document["signer"]
    return UpdatePackage(read(document["update"]), document["container"], UpdateSigner(**signer) if signer else None)


def signer_of(data: bytes) -> tuple[UpdateSigner | None, bool]:
    """Return the signer of a file (None if it is not signed), and whether the contents still match the signature."""
    try:
        return parse(data).signer, True
    except NotAPackageError:
        return None, True
    except CorruptPackageError:
        start = data.find(_MARK, 0, executables.HEAD_SIZE)
        text = data[start + len(_MARK) :].partition(b"\n")[0].partition(b" ")[2]
        try:
            signer = json.loads(text)["signer"]
        except (ValueError, KeyError, TypeError):
            return None, True
        return (UpdateSigner(**signer), False) if signer else (None, True)
