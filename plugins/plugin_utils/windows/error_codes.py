# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read data files that explain the error codes and exit codes of Windows programs, and how to fix the errors."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..specification.data_files import load_data


@dataclasses.dataclass(frozen=True, kw_only=True)
class ErrorCode:
    """An error code or exit code, with its cause and how to fix it."""

    code: int
    name: str
    cause: str
    fix: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ErrorCodes:
    codes: tuple[ErrorCode, ...]
    source: str


@functools.cache
def load(name: str) -> t.Mapping[int, ErrorCode]:
    """Return a mapping from the error or exit codes in a data file to their descriptions.

    Args:
        name: name of the file, such as `windows_installer_codes.yml`.
    """
    return {one.code: one for one in load_data(_ErrorCodes, name).codes}
