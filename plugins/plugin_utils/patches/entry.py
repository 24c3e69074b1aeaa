# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The entries of the user's list of patches, before `input.py` checks them."""

from __future__ import annotations

import dataclasses
import typing as t

from ..specification.describe import SECRET


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchFileEntry:
    """A file that comes from a URL or from the controller."""

    file: str = ""
    url: str = dataclasses.field(default="", metadata=SECRET)
    sha256: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchEntry(PatchFileEntry):
    """An entry for one patch. `input.py` checks which fields may be combined."""

    name: str = ""
    kb: str = ""
    build: t.Any = None
    """A Windows build, as a string such as `20348.2700`. Numbers are rejected, because YAML drops their trailing
    zeros."""
    package: str = ""
    requires: tuple[PatchFileEntry, ...] = ()
    arguments: tuple[str, ...] | None = None
    test_signed: bool | None = None
    windows: tuple[str, ...] = ()
