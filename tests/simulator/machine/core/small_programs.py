# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Small programs of the box: hostname, whoami, systeminfo, findstr, where."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.baseline import CURRENT_VERSION
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult


def hostname(machine: Machine, run: Invocation) -> ProgramResult:
    """hostname.exe."""
    if run.argv:
        return ProgramResult(1, "", "sethostname: Use the Network Control Panel Applet to set hostname.\r\n")
    return ProgramResult(0, f"{machine.host_name}\r\n")


def whoami(machine: Machine, run: Invocation) -> ProgramResult:
    """whoami.exe."""
    short = run.user.rsplit("\\", 1)[-1]
    if short.casefold() in ("system", "localsystem"):
        return ProgramResult(0, "nt authority\\system\r\n")
    return ProgramResult(0, f"{machine.name.lower()}\\{short.lower()}\r\n")


def systeminfo(machine: Machine, run: Invocation) -> ProgramResult:
    """systeminfo.exe, its first lines."""
    build = machine.windows.build
    product = machine.registry.data(CURRENT_VERSION, "ProductName", machine.windows.product)
    lines = [
        "",
        f"Host Name:                 {machine.name}",
        f"OS Name:                   Microsoft {product}",
        f"OS Version:                10.0.{build} N/A Build {build}",
        "OS Manufacturer:           Microsoft Corporation",
        "OS Configuration:          Standalone Server",
        "OS Build Type:             Multiprocessor Free",
        f"System Boot Time:          {machine.power.boot_time:%m/%d/%Y, %I:%M:%S %p}",
        f"Total Physical Memory:     {machine.settings.memory_mb:,} MB",
    ]
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))


def findstr(machine: Machine, run: Invocation) -> ProgramResult:
    """findstr.exe on its standard input, with /B, /I, /C: and plain words."""
    begin, ignore, texts = False, False, []
    for word in run.argv:
        lower = word.casefold()
        if lower == "/b":
            begin = True
        elif lower == "/i":
            ignore = True
        elif lower.startswith("/c:"):
            texts.append(word[3:].strip('"'))
        elif word.startswith("/"):
            return ProgramResult(2, "", f"the simulator does not model findstr {word}\r\n")
        else:
            texts += word.split()
    found = []
    for line in run.stdin.decode(errors="replace").splitlines():
        candidate, wanted = (line.casefold(), [text.casefold() for text in texts]) if ignore else (line, texts)
        if any(candidate.startswith(text) if begin else text in candidate for text in wanted):
            found.append(line)
    return ProgramResult(0 if found else 1, "".join(f"{line}\r\n" for line in found))


def where(machine: Machine, run: Invocation) -> ProgramResult:
    """where.exe."""
    found = [path for name in run.argv if (path := machine.programs.locate(name, run.environment))]
    if not found:
        return ProgramResult(1, "", "INFO: Could not find files for the given pattern(s).\r\n")
    return ProgramResult(0, "".join(f"{path}\r\n" for path in found))


PROGRAMS: Mapping[str, Program] = {
    "findstr.exe": findstr,
    "hostname.exe": hostname,
    "systeminfo.exe": systeminfo,
    "where.exe": where,
    "whoami.exe": whoami,
}
