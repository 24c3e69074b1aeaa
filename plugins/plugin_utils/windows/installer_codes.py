# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The exit codes of msiexec.exe (data/windows_installer_codes.yml)."""

from __future__ import annotations

import dataclasses
import functools

from ..specification.data_files import load_data

REBOOT = (1641, 3010)
"""The product is installed, and a reboot completes the installation (ERROR_SUCCESS_REBOOT_INITIATED,
ERROR_SUCCESS_REBOOT_REQUIRED)."""
SUCCESS = (0, *REBOOT)
BUSY = 1618
"""Another installation is running (ERROR_INSTALL_ALREADY_RUNNING). Windows allows only one at a time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstallerCode:
    """What an exit code means."""

    code: int
    name: str
    cause: str
    fix: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstallerCodes:
    """Content of data/windows_installer_codes.yml."""

    codes: tuple[InstallerCode, ...]
    source: str


@functools.cache
def _by_code() -> dict[int, InstallerCode]:
    return {one.code: one for one in load_data(InstallerCodes, "windows_installer_codes.yml").codes}


def final() -> tuple[int, ...]:
    """Return the known exit codes after which another attempt is useless."""
    return tuple(sorted(set(_by_code()) - {BUSY}))


def explained(code: int | None) -> str:
    """Return why an installation failed, and how to fix it.

    Args:
        code: the exit code; None if the program was ended.
    """
    known = _by_code().get(-1 if code is None else code)
    if known is None:
        return "Read the log" if code is None else f"Windows Installer ended with {code}. Read the log"
    return f"{known.cause[0].upper()}{known.cause[1:]} ({known.code}, {known.name}). {known.fix}"
