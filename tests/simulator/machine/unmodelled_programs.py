# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that every Windows Server has but the simulator does not model. They are never reported as missing.

Source: https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands
"""

from __future__ import annotations

_NAMES = """
attrib auditpol bcdboot bitsadmin cacls certreq chkdsk chkntfs choice cipher clip cmdkey comp compact convert
cscript defrag diskpart doskey driverquery esentutl eventcreate expand find fltmc forfiles ftp getmac gpresult
gpupdate klist label lodctr logman logoff makecab mode more mountvol msg nbtstat net net1 nltest notepad
nslookup openfiles pathping ping pnputil print query quser qwinsta recover regedit regini regsvr32 replace robocopy
rundll32 runas secedit setx sfc sort subst timeout tracerpt tracert tree typeperf vssadmin
waitfor wecutil winrm winrs wmic wscript xcopy
"""
UNMODELLED = frozenset(_NAMES.split())


def is_unmodelled(name: str) -> bool:
    """Return whether a name without a folder is the name of a program that is not modelled."""
    bare = name.strip('"').casefold()
    return bare in UNMODELLED or (bare.rpartition(".")[0] in UNMODELLED and bare.endswith((".exe", ".com", ".cmd")))
