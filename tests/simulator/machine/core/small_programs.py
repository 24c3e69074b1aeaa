# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate small programs that are part of Windows: hostname, whoami, systeminfo, fc, findstr and where."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine import accounts
from simulator.machine.baseline import CURRENT_VERSION
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult


def hostname(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate hostname.exe."""
    if run.argv:
        return ProgramResult(1, "", "sethostname: Use the Network Control Panel Applet to set hostname.\r\n")
    return ProgramResult(0, f"{machine.host_name}\r\n")


def whoami(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate whoami.exe without options or with `/user /fo csv /nh`."""
    short = run.user.rsplit("\\", 1)[-1]
    name, sid = f"{machine.name.lower()}\\{short.lower()}", accounts.resolve(machine, short)
    if short.casefold() in ("system", "localsystem"):
        name, sid = "nt authority\\system", "S-1-5-18"
    options = [word.casefold() for word in run.argv]
    if not options:
        return ProgramResult(0, f"{name}\r\n")
    if options != ["/user", "/fo", "csv", "/nh"]:
        return ProgramResult(255, "", f"the simulator does not model whoami {run.command_line}\r\n")
    return ProgramResult(0, f'"{name}","{sid}"\r\n')


def systeminfo(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate systeminfo.exe. The output contains only a few of the lines that the real program prints."""
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


def fc(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate fc.exe /b, which compares two files.

    The exit code is 0 if the files are equal, 1 if they differ, and 2 if a file does not exist. See
    https://learn.microsoft.com/windows-server/administration/windows-commands/fc.
    """
    switches = [word.casefold() for word in run.argv if word.startswith("/")]
    names = [word for word in run.argv if not word.startswith("/")]
    if switches != ["/b"] or len(names) != 2:
        return ProgramResult(255, "", f"the simulator does not model fc {run.command_line}\r\n")
    paths = [name if name[1:2] == ":" else f"{run.directory}\\{name}" for name in names]
    files = machine.files
    if not all(files.is_file(path) for path in paths):
        return ProgramResult(2, "", "FC: cannot open a file - No such file or folder\r\n")
    header = f"Comparing files {names[0]} and {names[1].upper()}\r\n"
    if files.read_bytes(paths[0]) == files.read_bytes(paths[1]):
        return ProgramResult(0, f"{header}FC: no differences encountered\r\n\r\n")
    return ProgramResult(1, f"{header}FC: the files differ\r\n\r\n")


def findstr(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate findstr.exe for standard input or one file, with /B, /I, /V, /L, /C: and plain words.

    See https://learn.microsoft.com/windows-server/administration/windows-commands/findstr.
    """
    switches = [word.casefold() for word in run.argv if word.startswith("/") and word[1:2].casefold() != "c"]
    texts = [word[3:].strip('"') for word in run.argv if word.casefold().startswith("/c:")]
    words = [word for word in run.argv if not word.startswith("/")]
    unknown = [switch for switch in switches if switch not in ("/b", "/i", "/v", "/l")]
    plain = bool(texts) or "/l" in switches
    if not texts:
        texts, words = words[0].split() if words else [], words[1:]
    if not plain:
        unknown += [
            text for text in texts if any(char in text for char in "*^$[]\\") or (len(text) > 1 and "." in text)
        ]
    if unknown or not texts or len(words) > 1 or any("*" in word or "?" in word for word in words):
        return ProgramResult(2, "", f"the simulator does not model findstr {run.command_line}\r\n")
    data = run.stdin
    if words:
        path = words[0] if ":" in words[0] else f"{run.directory}\\{words[0]}"
        if not machine.files.is_file(path):
            return ProgramResult(1, "", f"FINDSTR: Cannot open {words[0]}\r\n")
        data = machine.files.read_bytes(path)
    ignore = "/i" in switches
    requested = [text.casefold() if ignore else text for text in texts]
    found = []
    for line in data.decode(errors="replace").splitlines():
        candidate = line.casefold() if ignore else line
        holds = any(candidate.startswith(text) if "/b" in switches else text in candidate for text in requested)
        if holds != ("/v" in switches):
            found.append(line)
    return ProgramResult(0 if found else 1, "".join(f"{line}\r\n" for line in found))


def where(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate where.exe."""
    found = [path for name in run.argv if (path := machine.programs.locate(name, run.environment))]
    if not found:
        return ProgramResult(1, "", "INFO: Could not find files for the given pattern(s).\r\n")
    return ProgramResult(0, "".join(f"{path}\r\n" for path in found))


PROGRAMS: Mapping[str, Program] = {
    "fc.exe": fc,
    "findstr.exe": findstr,
    "hostname.exe": hostname,
    "systeminfo.exe": systeminfo,
    "where.exe": where,
    "whoami.exe": whoami,
}
