# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Some of the assemblies that a Windows PowerShell 5.1 process has loaded."""

from __future__ import annotations

from simulator.machine.objects import PSObject

RUNTIME = r"C:\Windows\Microsoft.NET\Framework64\v4.0.30319"
_GAC = r"C:\Windows\Microsoft.Net\assembly\GAC_MSIL"
_POWERSHELL = "v4.0_3.0.0.0__31bf3856ad364e35"
ASSEMBLIES = (
    "Microsoft.PowerShell.ConsoleHost",
    "System.Management.Automation",
    "Microsoft.PowerShell.Commands.Diagnostics",
    "Microsoft.PowerShell.Commands.Management",
    "Microsoft.PowerShell.Commands.Utility",
    "Microsoft.PowerShell.Security",
)


def location(assembly: str) -> str:
    """Return the path of a PowerShell assembly."""
    return rf"{_GAC}\{assembly}\{_POWERSHELL}\{assembly}.dll"


def loaded() -> list[object]:
    """Return the assemblies that PowerShell has loaded, as .NET objects."""
    found: list[object] = []
    for name, path in (("mscorlib", rf"{RUNTIME}\mscorlib.dll"), *((each, location(each)) for each in ASSEMBLIES)):
        version = "4.0.0.0" if name == "mscorlib" else "3.0.0.0"
        token = "b77a5c561934e089" if name == "mscorlib" else "31bf3856ad364e35"
        full = f"{name}, Version={version}, Culture=neutral, PublicKeyToken={token}"
        properties: dict[str, object] = {"FullName": full, "Location": path, "GlobalAssemblyCache": True}
        found.append(PSObject("System.Reflection.RuntimeAssembly", properties, text=full))
    return found
