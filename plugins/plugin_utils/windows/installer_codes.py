# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Explain the exit codes of msiexec.exe. Their meanings are in data/windows_installer_codes.yml."""

from __future__ import annotations

from . import error_codes

REBOOT = (1641, 3010)
"""Exit codes of an installation that succeeded but needs a reboot: ERROR_SUCCESS_REBOOT_INITIATED and
ERROR_SUCCESS_REBOOT_REQUIRED."""
SUCCESS = (0, *REBOOT)
BUSY = 1618
"""Exit code if another installation is running (ERROR_INSTALL_ALREADY_RUNNING). Windows allows only one at a time."""


_CODES = "windows_installer_codes.yml"


def final() -> tuple[int, ...]:
    """Return the known exit codes after which another attempt is useless."""
    return tuple(sorted(set(error_codes.load(_CODES)) - {BUSY}))


def explained(code: int | None) -> str:
    """Return why an installation failed, and how to fix it.

    Args:
        code: the exit code; None if the program was terminated.
    """
    known = error_codes.load(_CODES).get(-1 if code is None else code)
    if known is None:
        return "Read the log" if code is None else f"Windows Installer ended with {code}. Read the log"
    return f"{known.cause[0].upper()}{known.cause[1:]} ({known.code}, {known.name}). {known.fix}"
