# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Exit codes of installers and HRESULTs of Windows Update, and what they mean for a patch (no I/O).

Sources: learn.microsoft.com/windows/win32/wua_sdk/wua-success-and-error-codes-,
…/windows/win32/debug/system-error-codes, …/troubleshoot/windows-server/installing-updates-features-roles (CBS codes),
curl.se/docs/manpage.html (exit codes).
"""

from __future__ import annotations

import re
import typing as t

Meaning = t.Literal["done", "reboot", "already", "not_applicable", "temporary", "failed"]
"""Meanings of a code: done, done after a reboot, already installed, not applicable, a retry may succeed, failed."""

MEANINGS: t.Mapping[int, Meaning] = {
    0: "done",
    3010: "reboot",
    1641: "reboot",
    0x00240005: "reboot",
    0x00240006: "already",
    0x80240017: "not_applicable",
    0x800F081E: "not_applicable",
    1618: "temporary",
    0x80070652: "temporary",
    0x80240009: "temporary",
    0x80240016: "temporary",
    0x8024001E: "temporary",
    0x8024000B: "temporary",
    0x80248007: "temporary",
    0x8024402C: "temporary",
    0x80072EE2: "temporary",
    0x80072EFE: "temporary",
    0x80244022: "temporary",
    0x80244017: "failed",
}
"""Maps exit codes and unsigned HRESULTs to their meanings. A code that is not listed is a failure."""

CAUSES: t.Mapping[int, str] = {
    2: "the file was not found",
    5: "access denied (possibly because of a network logon)",
    13: "the file is not an update package",
    112: "the disk is full",
    1058: "a required service is disabled (wuauserv)",
    1618: "another installation is running",
    1641: "installed, a reboot was started",
    3010: "installed, a reboot is needed",
    0x00240005: "installed, a reboot is needed",
    0x00240006: "already installed",
    0x00240007: "not installed",
    0x80070002: "a file was not found",
    0x80070005: "access denied",
    0x8007000D: "the file is not an update package",
    0x80070032: "use a .cab file, or remove `requires`: DISM installs .msu files only on Windows Server 2025 and later",
    0x80070070: "the disk is full",
    0x80070228: "an earlier (checkpoint) update is missing",
    0x80070422: "a required service is disabled (wuauserv)",
    0x80070490: "the component store lacks a required element",
    0x80070652: "another installation is running",
    0x80072EE2: "the update server did not answer in time",
    0x80072EFE: "the connection to the update server was lost",
    0x800B0100: "the file is not signed",
    0x800B0109: "the file's signature chains to a root that is not trusted",
    0x800F081E: "not applicable to this version of Windows, or superseded by an installed update",
    0x800F081F: "the source files are missing",
    0x800F0838: "an earlier (checkpoint) update is missing",
    0x800F0922: "the update stack could not install the update and rolled it back",
    0x8024000B: "the operation was canceled",
    0x8024001E: "the service was stopped during the operation",
    0x8024002E: "a policy forbids this update server",
    0x8024002F: "a policy forbids access to Windows Update",
    0x80240009: "another operation of Windows Update is running",
    0x80240016: "another installation is running, or a reboot is pending",
    0x80240017: "not applicable to this version of Windows, or superseded by an installed update",
    0x80244017: "the update server denied access",
    0x80244022: "the update server is overloaded",
    0x80248007: "the update's data is not available yet",
    0x8024402C: "the update server's name cannot be resolved, or the server cannot be reached",
}


def unsigned(code: int) -> int:
    """Return an exit code or HRESULT as an unsigned number, as it is usually written; .NET returns signed numbers."""
    return code & 0xFFFFFFFF


def meaning(code: int) -> Meaning:
    """Return the meaning of an exit code or HRESULT."""
    return MEANINGS.get(unsigned(code), "failed")


def describe(code: int) -> str:
    """Return an exit code or HRESULT as text for messages."""
    number = unsigned(code)
    shown = f"0x{number:08X}" if number > 0xFFFF else str(number)
    known = CAUSES.get(number)
    return f"{known} ({shown})" if known else f"code {shown}"


def hresult(text: str) -> int | None:
    """Return the last HRESULT in a cmdlet's message, such as `Error code = 0x800f081e`, or None if there is none."""
    codes = re.findall(r"0x([0-9a-fA-F]{8})\b", text)
    return int(codes[-1], 16) if codes else None
