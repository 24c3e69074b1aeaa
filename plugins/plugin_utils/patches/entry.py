# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The entries of the user's list of patches, as they are written."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchFileEntry:
    """A file, from a URL or from the controller."""

    file: str = ""
    url: str = dataclasses.field(default="", metadata=SECRET)
    sha256: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchEntry(PatchFileEntry):
    """A patch. `input.py` checks which of these belong together."""

    name: str = ""
    kb: str = ""
    build: t.Any = None
    """Text: YAML reads `20348.2700` without quotes as a number, and drops its zeros. Such a number is refused."""
    package: str = ""
    requires: tuple[PatchFileEntry, ...] = ()
    arguments: tuple[str, ...] | None = None
    test_signed: bool | None = None
    windows: tuple[str, ...] = ()
