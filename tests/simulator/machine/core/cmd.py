# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""cmd.exe: a line of commands with pipes, conditions and redirections, and the few built-in ones that are needed.

https://learn.microsoft.com/windows-server/administration/windows-commands/cmd
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simulator.machine import command_line
from simulator.machine.machine import Machine
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError
from simulator.machine.session import Session

_OPERATORS = re.compile(r"(\|\||&&|\||&)")
# A redirection, or a quoted text, in which there is none; a digit before it counts only if it stands alone.
_REDIRECTION = re.compile(r'(?:(?<!\S)([12]))?(>>?)\s*(&[12]|"[^"]*"|[^\s<>&|]+)|"[^"]*"?')


@dataclass(frozen=True)
class _Step:
    """One command of a line and the operator before it."""

    operator: str
    text: str


def run_line(session: Session, line: str, stdin: bytes = b"") -> ProgramResult:
    """Run a command line and return what it printed and its exit code."""
    code, stdout, stderr = 0, "", ""
    piped: bytes = stdin
    steps = _split(line)
    for position, step in enumerate(steps):
        session.process.check()
        if (step.operator == "&&" and code != 0) or (step.operator == "||" and code == 0):
            continue
        result = _run(session, step.text, piped if step.operator in ("", "|") else b"")
        code, stderr = result.exit_code, stderr + result.stderr
        if position + 1 < len(steps) and steps[position + 1].operator == "|":
            piped = result.stdout.encode()
        else:
            stdout += result.stdout
    return ProgramResult(code, stdout, stderr)


def _split(line: str) -> list[_Step]:
    """Split at operators outside quotes; `2>&1` is none."""
    steps: list[_Step] = []
    operator, current, quoted, position = "", "", False, 0
    while position < len(line):
        char = line[position]
        if char == '"':
            quoted = not quoted
        match = None if quoted or line[position - 1 : position] == ">" else _OPERATORS.match(line, position)
        if char == "^" and not quoted:
            current += line[position + 1 : position + 2]
            position += 2
            continue
        if match:
            steps.append(_Step(operator, current.lstrip()))
            operator, current = match[0], ""
            position = match.end()
            continue
        current += char
        position += 1
    return [*steps, _Step(operator, current.lstrip())]


def _run(session: Session, text: str, stdin: bytes) -> ProgramResult:
    expanded = session.expand(text.lstrip("@"))
    plain, redirections = _take_redirections(expanded)
    name, rest = _name_and_rest(plain)
    built_in = _BUILT_IN.get(name.casefold())
    result = built_in(session, rest) if built_in else _program(session, plain, stdin)
    return _redirect(session, result, redirections)


def _name_and_rest(text: str) -> tuple[str, str]:
    match = re.match(r"[A-Za-z]+(?=[\s.(\\/]|$)", text)
    if not match:
        return "", text
    rest = text[match.end() :]
    # echo alone keeps the blanks at its end.
    return match[0], rest.lstrip() if match[0].casefold() == "echo" else rest.strip()


def _program(session: Session, text: str, stdin: bytes) -> ProgramResult:
    text = text.strip()
    if not text:
        return ProgramResult()
    files = session.machine.files
    program, rest = command_line.program_and_rest(text, lambda path: ":" in path and files.is_file(path))
    try:
        return session.run_program(program, rest, stdin)
    except ProgramNotFoundError:
        return ProgramResult(
            1,
            "",
            f"'{program}' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n",
        )
    except NotExecutableError:
        message = f"This version of {program} is not compatible with the version of Windows you're running.\r\n"
        return ProgramResult(216, "", message)


def _take_redirections(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    found: list[tuple[str, str, str]] = []

    def take(match: re.Match[str]) -> str:
        if not match[2]:
            return match[0]
        found.append((match[1] or "1", match[2], match[3].strip('"')))
        return ""

    return _REDIRECTION.sub(take, text).lstrip(), found


def _redirect(session: Session, result: ProgramResult, redirections: list[tuple[str, str, str]]) -> ProgramResult:
    streams = {"1": result.stdout, "2": result.stderr}
    for stream, mode, target in redirections:
        content, streams[stream] = streams[stream], ""
        if target in ("&1", "&2"):
            streams[target[1]] += content
        elif target.casefold() != "nul":
            path = session.absolute(target)
            before = (
                session.machine.files.read_text(path) if mode == ">>" and session.machine.files.is_file(path) else ""
            )
            session.machine.files.write_text(path, before + content)
    return ProgramResult(result.exit_code, streams["1"], streams["2"])


def _echo(session: Session, rest: str) -> ProgramResult:
    text = rest.removeprefix(".")
    return ProgramResult(0, ("ECHO is on." if not text and not rest else text) + "\r\n")


def _type(session: Session, rest: str) -> ProgramResult:
    path = session.absolute(rest.strip('"'))
    if not session.machine.files.is_file(path):
        return ProgramResult(1, "", "The system cannot find the file specified.\r\n")
    return ProgramResult(0, session.machine.files.read_text(path))


def _cd(session: Session, rest: str) -> ProgramResult:
    target = rest.removeprefix("/d").removeprefix("/D").strip().strip('"')
    if not target:
        return ProgramResult(0, session.directory + "\r\n")
    path = session.absolute(target)
    if not session.machine.files.is_directory(path):
        return ProgramResult(1, "", "The system cannot find the path specified.\r\n")
    session.directory = path.rstrip("\\") if len(path) > 3 else path
    return ProgramResult()


def _set(session: Session, rest: str) -> ProgramResult:
    name, equals, value = rest.strip('"').partition("=")
    if equals:
        session.environment[name] = value
        return ProgramResult()
    found = [
        f"{key}={value}" for key, value in session.environment.items() if key.casefold().startswith(name.casefold())
    ]
    return ProgramResult(0 if found else 1, "".join(f"{line}\r\n" for line in sorted(found)))


def _mkdir(session: Session, rest: str) -> ProgramResult:
    path = session.absolute(rest.strip('"'))
    if session.machine.files.exists(path):
        return ProgramResult(1, "", f"A subdirectory or file {rest} already exists.\r\n")
    session.machine.files.make_directory(path)
    return ProgramResult()


def _del(session: Session, rest: str) -> ProgramResult:
    for word in command_line.split(rest):
        if word.startswith("/"):
            continue
        path = session.absolute(word)
        if not session.machine.files.is_file(path):
            return ProgramResult(1, "", f"Could Not Find {path}\r\n")
        session.machine.files.delete(path)
    return ProgramResult()


def _rmdir(session: Session, rest: str) -> ProgramResult:
    words = command_line.split(rest)
    recursive = any(word.casefold() == "/s" for word in words)
    for word in words:
        if word.startswith("/"):
            continue
        path = session.absolute(word)
        if session.machine.files.real(path).is_symlink():
            # A link to a folder, perhaps to one that is gone: the link goes, whatever it links to stays.
            session.machine.files.delete(path)
            continue
        if not session.machine.files.is_directory(path):
            return ProgramResult(2, "", "The system cannot find the file specified.\r\n")
        if session.machine.files.listing(path) and not recursive:
            return ProgramResult(145, "", "The directory is not empty.\r\n")
        session.machine.files.delete(path)
    return ProgramResult()


def _mklink(session: Session, rest: str) -> ProgramResult:
    """Make a link: https://learn.microsoft.com/windows-server/administration/windows-commands/mklink"""
    words = command_line.split(rest)
    switches = {word.casefold() for word in words if word.startswith("/")}
    paths = [session.absolute(word) for word in words if not word.startswith("/")]
    if len(paths) != 2 or switches - {"/d", "/j", "/h"}:
        return ProgramResult(1, "", "The syntax of the command is incorrect.\r\n")
    files = session.machine.files
    link, target = files.real(paths[0]), files.real(paths[1])
    if link.exists() or link.is_symlink():
        return ProgramResult(1, "", "Cannot create a file when that file already exists.\r\n")
    if not link.parent.is_dir():
        return ProgramResult(1, "", "The system cannot find the path specified.\r\n")
    if "/h" in switches:
        link.hardlink_to(target)
    else:
        # Relative, so that it still holds in a copy of the disk.
        link.symlink_to(os.path.relpath(target, link.parent), target_is_directory=bool(switches))
    kind = "Junction" if "/j" in switches else "Hardlink" if "/h" in switches else "symbolic link"
    return ProgramResult(0, f"{kind} created for {paths[0]} <<===>> {paths[1]}\r\n")


def _copy(session: Session, rest: str) -> ProgramResult:
    """Copy a file, or several joined with `+` into one (with /b byte by byte, which is the only way modelled)."""
    words = [word for word in command_line.split(rest) if not word.startswith("/")]
    sources = [session.absolute(part) for part in words[0].split("+")] if words else []
    files = session.machine.files
    if len(words) != 2 or not all(files.is_file(source) for source in sources):
        return ProgramResult(1, "", "The system cannot find the file specified.\r\n")
    target = session.absolute(words[1])
    if files.is_directory(target):
        target = target + "\\" + sources[0].rsplit("\\", 1)[-1]
    if len(sources) == 1:
        files.copy(sources[0], target)
    else:
        files.write_bytes(target, b"".join(files.read_bytes(source) for source in sources))
    return ProgramResult(0, "        1 file(s) copied.\r\n")


def _dir(session: Session, rest: str) -> ProgramResult:
    words = command_line.split(rest)
    path = session.absolute(next((word for word in words if not word.startswith("/")), "."))
    if not session.machine.files.is_directory(path):
        return ProgramResult(1, "", "File Not Found\r\n")
    entries = session.machine.files.listing(path)
    if any(word.casefold() == "/b" for word in words):
        return ProgramResult(0, "".join(f"{entry.name}\r\n" for entry in entries))
    lines = [" Volume in drive C has no label.", "", f" Directory of {path}", ""]
    for entry in entries:
        size = "<DIR>         " if entry.is_directory else f"{entry.size:>14,}"
        lines.append(f"{entry.modified:%m/%d/%Y  %I:%M %p}    {size} {entry.name}")
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))


def _ver(session: Session, rest: str) -> ProgramResult:
    return ProgramResult(0, f"\r\nMicrosoft Windows [Version {session.machine.windows.full}]\r\n")


def _exit(session: Session, rest: str) -> ProgramResult:
    code = rest.casefold().removeprefix("/b").strip()
    return ProgramResult(int(code) if code.lstrip("-").isdigit() else 0)


def _rem(session: Session, rest: str) -> ProgramResult:
    return ProgramResult()


def _if(session: Session, rest: str) -> ProgramResult:
    match = re.match(r'(not\s+)?exist\s+("[^"]+"|\S+)\s+(.*)', rest, re.IGNORECASE)
    if not match:
        return ProgramResult(255, "", f"the simulator does not model 'if {rest}' of cmd.exe\r\n")
    exists = session.machine.files.exists(session.absolute(match[2].strip('"')))
    return _run(session, match[3], b"") if exists != bool(match[1]) else ProgramResult()


_BUILT_IN: Mapping[str, Callable[[Session, str], ProgramResult]] = {
    "echo": _echo,
    "type": _type,
    "cd": _cd,
    "chdir": _cd,
    "set": _set,
    "mkdir": _mkdir,
    "md": _mkdir,
    "del": _del,
    "erase": _del,
    "rmdir": _rmdir,
    "rd": _rmdir,
    "copy": _copy,
    "mklink": _mklink,
    "dir": _dir,
    "ver": _ver,
    "exit": _exit,
    "rem": _rem,
    "if": _if,
}


def cmd(machine: Machine, run: Invocation) -> ProgramResult:
    """cmd.exe /c LINE."""
    match = re.search(r"/[ck]\s*(.*)$", run.command_line, re.IGNORECASE | re.DOTALL)
    if not match:
        # Without a command it reads them from its input.
        session = session_of(machine, run)
        results = [run_line(session, line) for line in run.stdin.decode(errors="replace").splitlines() if line.strip()]
        return ProgramResult(
            results[-1].exit_code if results else 0,
            "".join(result.stdout for result in results),
            "".join(result.stderr for result in results),
        )
    line = match[1].strip()
    if line.startswith('"') and line.endswith('"') and len(line) > 1:
        line = line[1:-1]
    return run_line(session_of(machine, run), line, run.stdin)


def session_of(machine: Machine, run: Invocation) -> Session:
    """Return the surroundings of a program that runs other commands."""
    process = machine.processes.begin(run.program.rsplit("\\", 1)[-1] or "cmd.exe", run.user, run.stop)
    machine.processes.end(process)
    return Session(machine, process, run.user, dict(run.environment), run.directory, run.logon)


PROGRAMS: Mapping[str, Program] = {"cmd.exe": cmd}
