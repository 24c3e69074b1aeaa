# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Owners and access lists of Windows' own folders and files on a newly installed Windows Server."""

from __future__ import annotations

TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_BY_INSTALLER = f"O:{TRUSTED_INSTALLER}G:{TRUSTED_INSTALLER}"

# C:\ of Windows Server, whose list all new folders inherit. icacls of Server 2019, 2022 and 2025:
# https://github.com/moby/buildkit/issues/4731, https://github.com/microsoft/Windows-Containers/issues/539
DRIVE = (
    f"{_BY_INSTALLER}D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)"
    "(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CIIO;DC;;;BU)(A;;0x1200a9;;;WD)"
)
# icacls C:\ProgramData: (CI)(WD,AD,WEA,WA) lets Users create files and folders everywhere in it, which they then own.
# https://github.com/aelassas/servy/issues/357
_PROGRAM_DATA = "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;0x116;;;BU)"
# icacls shows the same list for C:\Windows, C:\Windows\System32 and C:\Program Files. SYSTEM and Administrators may
# modify the folder. New items inherit generic rights: https://github.com/p0dalirius/smbclient-ng/pull/118
_WINDOWS = (
    f"{_BY_INSTALLER}D:PAI(A;;FA;;;{TRUSTED_INSTALLER})(A;CIIO;GA;;;{TRUSTED_INSTALLER})"
    "(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)"
    "(A;OICIIO;GA;;;CO)(A;;0x1200a9;;;AC)(A;OICIIO;GXGR;;;AC)(A;;0x1200a9;;;S-1-15-2-2)(A;OICIIO;GXGR;;;S-1-15-2-2)"
)
# icacls C:\Windows\Temp: Users may create files and folders, but not list the folder.
_TEMP = (
    "O:SYG:SYD:PAI(A;CI;0x100026;;;BU)(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICIIO;FA;;;CO)"
)  # fmt: skip
# icacls C:\Windows\System32\config: the registry's hives, and SYSTEM's profile.
_CONFIG = (
    f"{_BY_INSTALLER}D:PAI(A;;FA;;;{TRUSTED_INSTALLER})(A;CIIO;FA;;;{TRUSTED_INSTALLER})(A;OICI;FA;;;SY)"
    "(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)"
)
_USERS = (
    "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;WD)"
    "(A;OICIIO;GXGR;;;WD)"
)
FOLDERS = {
    "c:\\programdata": _PROGRAM_DATA,
    "c:\\windows": _WINDOWS,
    "c:\\windows\\system32": _WINDOWS,
    "c:\\windows\\system32\\config": _CONFIG,
    "c:\\windows\\temp": _TEMP,
    "c:\\program files": _WINDOWS,
    "c:\\program files (x86)": _WINDOWS,
    "c:\\users": _USERS,
}
"""Maps the lower-case paths of Windows' own folders to their security descriptors."""

# icacls C:\Windows\System32\mmc.exe: everyone may read and execute, and only TrustedInstaller may do more.
# https://support.moonpoint.com/os/windows/commands/icacls.php
SYSTEM_FILE = (
    f"{_BY_INSTALLER}D:PAI(A;;0x1200a9;;;SY)(A;;0x1200a9;;;BA)(A;;0x1200a9;;;BU)(A;;FA;;;{TRUSTED_INSTALLER})"
    "(A;;0x1200a9;;;AC)(A;;0x1200a9;;;S-1-15-2-2)"
)
"""The security descriptor of the programs that are part of Windows."""


def profile(user: str) -> str:
    """Return the security descriptor of a user's profile: only the user, SYSTEM and administrators have access.

    Args:
        user: the SID of the user.
    """
    return f"O:SYG:SYD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;{user})"
