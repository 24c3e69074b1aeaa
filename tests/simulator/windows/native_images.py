# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ngen.exe, and the assemblies that Windows PowerShell 5.1 has loaded.

https://learn.microsoft.com/dotnet/framework/tools/ngen-exe-native-image-generator
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.objects import Invocation, Program, ProgramResult, PSObject

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

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
_BANNER = (
    "Microsoft (R) CLR Native Image Generator - Version 4.8.4084.0\r\n"
    "Copyright (c) Microsoft Corporation.  All rights reserved.\r\n"
)


@dataclass
class NativeImages:
    """The assemblies that have a native image, by lower-case path."""

    paths: set[str] = field(default_factory=set)


def location(assembly: str) -> str:
    """Return the path of an assembly of PowerShell."""
    return rf"{_GAC}\{assembly}\{_POWERSHELL}\{assembly}.dll"


def loaded(machine: Machine) -> list[object]:
    """Return the assemblies of a Windows PowerShell process as .NET shows them."""
    found: list[object] = []
    for name, path in (("mscorlib", rf"{RUNTIME}\mscorlib.dll"), *((each, location(each)) for each in ASSEMBLIES)):
        version = "4.0.0.0" if name == "mscorlib" else "3.0.0.0"
        token = "b77a5c561934e089" if name == "mscorlib" else "31bf3856ad364e35"
        full = f"{name}, Version={version}, Culture=neutral, PublicKeyToken={token}"
        properties: dict[str, object] = {"FullName": full, "Location": path, "GlobalAssemblyCache": True}
        found.append(PSObject("System.Reflection.RuntimeAssembly", properties, text=full))
    return found


def ngen(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate ngen.exe install PATH."""
    words = [word for word in run.argv if word.casefold() != "/nologo"]
    if len(words) != 2 or words[0].casefold() != "install":
        return ProgramResult(1, "", f"the simulator does not model ngen {' '.join(run.argv)}\r\n")
    if not machine.files.is_file(words[1]):
        return ProgramResult(0xFFFFFFFF, f"{_BANNER}Error: The specified assembly is not installed.\r\n")
    known = machine.part(NativeImages).paths
    if words[1].casefold() in known:
        return ProgramResult(0, f"{_BANNER}All compilation targets are up to date.\r\n")
    known.add(words[1].casefold())
    return ProgramResult(0, f"{_BANNER}1>    Compiling assembly {words[1]} (CLR v4.0.30319) ...\r\n")


def _lay_down(machine: Machine) -> None:
    machine.files.make_directory(RUNTIME)
    machine.files.write_bytes(rf"{RUNTIME}\ngen.exe", executables.make("ngen", "4.8.4084.0"))
    machine.files.write_bytes(rf"{RUNTIME}\mscorlib.dll", b"MZ")
    for name in ASSEMBLIES:
        machine.files.make_directory(location(name).rpartition("\\")[0])
        machine.files.write_bytes(location(name), b"MZ")


PROGRAMS: Mapping[str, Program] = {"ngen": ngen}
BASELINE = _lay_down
