# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files of updates: .msu, .cab and .exe that say what they install, and notice when a byte of them changes.

Like Windows' own they begin with `MSCF` (a cabinet), `MSWIM` (the .msu of newer builds) or `MZ`; then a line
`SIMULATED-UPDATE {…}` with the update, its signer and the hash of all that follows.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from simulator.machine import executables
from simulator.windows.updates.update_catalogue import Update, read

Container = Literal["msu", "cab", "exe"]
INSTALLER = "simulated-update-installer"
_MARK = b"SIMULATED-UPDATE "
_CABINET, _IMAGE = b"MSCF\0\0\0\0", b"MSWIM\0\0\0"
# .msu files are WIM images since the cumulative updates of build 26100.
_FIRST_WITH_IMAGES = 26100


class NotAPackageError(ValueError):
    """The file is no package of updates (ERROR_INVALID_DATA)."""


class CorruptPackageError(ValueError):
    """The file was a package, but its bytes are not those that its maker signed."""


@dataclass(frozen=True)
class Signer:
    """Who signed a file: the certificate's names and thumbprints, and whether Windows trusts its root by itself."""

    subject: str
    issuer: str
    thumbprint: str
    root: str
    trusted: bool


# Names as on Microsoft's files; thumbprints are made up.
SIGNERS: Mapping[str, Signer] = {
    "microsoft": Signer(
        "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "CN=Microsoft Windows Production PCA 2011, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "71F53A26BB1625E466727183409A30D03D7923DF",
        "3B1EFD3A66EA28B16697394703A72CA340A05BD5",
        True,
    ),
    "test": Signer(
        "CN=Microsoft Windows, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "CN=Microsoft Development PCA 2014, O=Microsoft Corporation, L=Redmond, S=Washington, C=US",
        "D9F3C1B2A5E04F7788A1B2C3D4E5F60718293A4B",
        "F8DB7E1C16F1FFD4AAAD4AAD8DFF0F2445184AEB",
        False,
    ),
    "private": Signer(
        "CN=Example Patches, O=Example, C=DE",
        "CN=Example Code Signing CA, O=Example, C=DE",
        "0A1B2C3D4E5F60718293A4B5C6D7E8F901234567",
        "9999888877776666555544443333222211110000",
        False,
    ),
}


@dataclass(frozen=True)
class Package:
    """What a file holds: an update, and who signed it (None: nobody)."""

    update: Update
    container: Container
    signer: Signer | None
    others: Mapping[str, Any] = field(default_factory=dict)


def make(
    update: Update, container: Container = "msu", signer: str | None = "microsoft", size: int = 0, version: str = "1.0"
) -> bytes:
    """Return the bytes of a file.

    Args:
        update: what it installs; one of the catalogue or one's own.
        container: what kind of file.
        signer: a key of SIGNERS; None: not signed. An update that is `test_signed` is signed by `test` by default.
        size: its size in bytes, if larger than what is needed.
        version: of an .exe.
    """
    name = "test" if update.test_signed and signer == "microsoft" else signer
    known = SIGNERS[name] if name is not None else None
    head = _head(update, container, version)
    # The same bytes each time: whoever pins a SHA-256 must find it again.
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


def parse(data: bytes) -> Package:
    """Return what a file holds. Raises NotAPackageError, CorruptPackageError."""
    head = next((mark for mark in (_CABINET, _IMAGE, b"MZ") if data.startswith(mark)), None)
    # A file that was cut off begins like a package.
    start = data.find(_MARK, 0, executables.HEAD_SIZE)
    if head is None or start < 0:
        raise NotAPackageError("the file is no package of updates")
    line, newline, filling = data[start + len(_MARK) :].partition(b"\n")
    check, _, text = line.partition(b" ")
    if not newline or hashlib.sha256(text).hexdigest().encode() != check:
        raise CorruptPackageError("the package's description is not what its maker wrote")
    document = json.loads(text)
    if hashlib.sha256(filling).hexdigest() != document["sha256"]:
        raise CorruptPackageError("the package's content is not what its maker wrote")
    return describe(document)


def describe(document: Mapping[str, Any]) -> Package:
    """Return what the description in a file says."""
    signer = document["signer"]
    return Package(read(document["update"]), document["container"], Signer(**signer) if signer else None)


def signer_of(data: bytes) -> tuple[Signer | None, bool]:
    """Return who signed a file, and whether its bytes are still what was signed."""
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
        return (Signer(**signer), False) if signer else (None, True)
