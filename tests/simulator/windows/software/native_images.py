# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The ngen.exe program, which creates native images of the assemblies that Windows PowerShell 5.1 loads.

Source: https://learn.microsoft.com/dotnet/framework/tools/ngen-exe-native-image-generator
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import executables
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.powershell.statics.assemblies import ASSEMBLIES, RUNTIME, location

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_BANNER = (
    "Microsoft (R) CLR Native Image Generator - Version 4.8.4084.0\r\n"
    "Copyright (c) Microsoft Corporation.  All rights reserved.\r\n"
)


@dataclass
class NativeImages:
    """The lower-case paths of the assemblies that have a native image."""

    paths: set[str] = field(default_factory=set)


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


def _create_baseline(machine: Machine) -> None:
    machine.files.make_directory(RUNTIME)
    machine.files.write_bytes(rf"{RUNTIME}\ngen.exe", executables.make("ngen", "4.8.4084.0"))
    machine.files.write_bytes(rf"{RUNTIME}\mscorlib.dll", b"MZ")
    for name in ASSEMBLIES:
        machine.files.make_directory(location(name).rpartition("\\")[0])
        machine.files.write_bytes(location(name), b"MZ")


PROGRAMS: Mapping[str, Program] = {"ngen": ngen}
BASELINE = _create_baseline
