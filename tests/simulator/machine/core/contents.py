# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the cmdlets for the contents of files: Get-, Set-, Add- and Clear-Content, Out-File and Select-String."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterable, Mapping

from simulator.machine import net_files
from simulator.machine.core import paths
from simulator.machine.machine import Machine
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.powershell.formatting.console import lines
from simulator.machine.powershell.members import regexes
from simulator.machine.powershell.types.convert import items
from simulator.machine.powershell.types.kinds import TypedArray
from simulator.machine.powershell.types.patterns import compiled
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.windows_paths import is_illegal

# Windows PowerShell 5.1: UTF8 has a byte-order mark, Unicode is UTF-16, and Set-Content defaults to the ANSI code page.
_CODECS = {
    "utf8": "utf-8-sig", "unicode": "utf-16", "ascii": "ascii", "default": "cp1252", "string": "utf-16", "oem": "cp437",
    "bigendianunicode": "utf-16-be", "utf32": "utf-32",
}  # fmt: skip


def get_content(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Content."""
    for place in paths.selected(machine, bound):
        for found in [place.path]:
            if machine.files.is_directory(found):
                raise _denied(found, "GetContentReaderUnauthorizedAccessError")
            if machine.files.open.blocks(found, "r", "rw"):
                message = net_files.used(found).message
                raise CmdletError("ReadError", "GetContentReaderIOError", message, net_files.IO)
            if bound.text("Encoding").casefold() == "byte":
                yield from machine.files.read_bytes(found)
                continue
            text = machine.files.read_text(found)
            if bound.flag("Raw"):
                # An empty file yields nothing.
                if text:
                    yield text
                continue
            found_lines = text.splitlines()
            first, last = bound.number("TotalCount", -1), bound.number("Tail", -1)
            if first >= 0:
                found_lines = found_lines[:first]
            if last >= 0:
                found_lines = found_lines[-last:] if last else []
            yield from found_lines


def _denied(path: str, error_id: str) -> CmdletError:
    return CmdletError("PermissionDenied", error_id, f"Access to the path '{path}' is denied.", net_files.DENIED)


def _write(machine: Machine, bound: Bound, path: str, data: bytes) -> None:
    if is_illegal(path):
        message = f"The filename, directory name, or volume label syntax is incorrect. : '{path}'"
        raise CmdletError("WriteError", "GetContentWriterIOError", message, net_files.IO)
    if not machine.files.is_directory(ntpath.dirname(path) or "C:\\"):
        message = f"Could not find a part of the path '{path}'."
        kind = "System.IO.DirectoryNotFoundException"
        raise CmdletError("ObjectNotFound", "GetContentWriterDirectoryNotFoundError", message, kind)
    if machine.files.is_directory(path):
        raise _denied(path, "GetContentWriterUnauthorizedAccessError")
    if machine.files.open.blocks(path, "w", "w"):
        raise CmdletError("WriteError", "GetContentWriterIOError", net_files.used(path).message, net_files.IO)
    machine.files.write_bytes(path, data)


def _encoded(bound: Bound, text: str, default: str) -> bytes:
    return text.encode(_CODECS.get(bound.text("Encoding", default).casefold(), "utf-8"), errors="replace")


def _text(bound: Bound) -> str:
    values = items(bound.get("Value")) if "Value" in bound else bound.pipeline
    end = "" if bound.flag("NoNewline") else "\r\n"
    return "".join(f"{to_text(value)}{end}" for value in values)


def set_content(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-Content."""
    for path in _targets(machine, bound):
        if bound.text("Encoding").casefold() == "byte":
            values = items(bound.get("Value")) if "Value" in bound else bound.pipeline
            _write(machine, bound, path, bytes(int(to_text(value)) for value in values))
        else:
            _write(machine, bound, path, _encoded(bound, _text(bound), "default"))
    return _passed_on(bound)


def _passed_on(bound: Bound) -> list[object]:
    if not bound.flag("PassThru"):
        return []
    return items(bound.get("Value")) if "Value" in bound else list(bound.pipeline)


def _targets(machine: Machine, bound: Bound) -> list[str]:
    # Pipeline input is content here, never a path.
    name = "LiteralPath" if "LiteralPath" in bound else "Path"
    return [paths.parse(machine, bound, path).path for path in bound.texts(name)]


def add_content(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Add-Content."""
    for path in _targets(machine, bound):
        before = machine.files.read_bytes(path) if machine.files.is_file(path) else b""
        _write(machine, bound, path, before + _encoded(bound, _text(bound), "default"))
    return _passed_on(bound)


def clear_content(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Clear-Content."""
    for place in paths.selected(machine, bound):
        machine.files.write_bytes(place.path, b"")
    return []


def out_file(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Out-File."""
    path = paths.parse(machine, bound, bound.text("LiteralPath") or bound.text("FilePath")).path
    end = "" if bound.flag("NoNewline") else "\r\n"
    values = items(bound.get("InputObject")) if "InputObject" in bound else bound.pipeline
    data = _encoded(bound, "".join(f"{line}{end}" for line in lines(values)), "unicode")
    if bound.flag("Append") and machine.files.is_file(path):
        data = machine.files.read_bytes(path) + data.removeprefix(b"\xff\xfe").removeprefix(b"\xef\xbb\xbf")
    _write(machine, bound, path, data)
    return []


def select_string(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Select-String."""
    sensitive = bound.flag("CaseSensitive")
    texts = [re.escape(text) if bound.flag("SimpleMatch") else text for text in bound.texts("Pattern")]
    patterns = [compiled(text, sensitive=sensitive) for text in texts]
    sources: list[tuple[str, list[str]]] = []
    if "Path" in bound or "LiteralPath" in bound:
        sources += [
            (place.path, machine.files.read_text(place.path).splitlines()) for place in paths.selected(machine, bound)
        ]
    else:
        sources.append(("InputStream", _searched(bound)))
    for name, found_lines in sources:
        for number, line in enumerate(found_lines, 1):
            pattern = next((pattern for pattern in patterns if pattern.search(line)), None)
            if (pattern is not None) == bound.flag("NotMatch"):
                continue
            if bound.flag("Quiet"):
                yield True
                return
            yield _match_info(bound, name, number, line, pattern)
            if bound.flag("List"):
                break


def _searched(bound: Bound) -> list[str]:
    given = items(bound.get("InputObject")) if "InputObject" in bound else bound.pipeline
    found: list[str] = []
    for item in given:
        if isinstance(item, PSObject) and item.type_name.startswith("System.IO."):
            raise NotModelled("Select-String with files from the pipeline")
        found += [item] if isinstance(item, str) else lines([item])
    return found


def _match_info(bound: Bound, name: str, number: int, line: str, pattern: re.Pattern[str] | None) -> PSObject:
    shown = line if name == "InputStream" else f"{name}:{number}:{line}"
    every = bound.flag("AllMatches")
    matches: list[object] = []
    if pattern is not None and not bound.flag("SimpleMatch"):
        matches += [regexes.match(found) for found in pattern.finditer(line)][: None if every else 1]
    properties: dict[str, object] = {
        "Line": line,
        "LineNumber": number,
        "Path": name,
        "Filename": ntpath.basename(name),
        "Matches": TypedArray(matches, "System.Text.RegularExpressions.Match"),
        "IgnoreCase": not bound.flag("CaseSensitive"),
    }
    return PSObject("Microsoft.PowerShell.Commands.MatchInfo", properties, shown)


CMDLETS: Mapping[str, Cmdlet] = {
    "Add-Content": add_content,
    "Clear-Content": clear_content,
    "Get-Content": get_content,
    "Out-File": out_file,
    "Select-String": select_string,
    "Set-Content": set_content,
}
