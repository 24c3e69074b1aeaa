# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The tar.exe program, which lists, extracts and creates archives."""

from __future__ import annotations

import io
import tarfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.objects import Invocation, ProgramResult
from simulator.machine.rights import check
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.windows_paths import normalise
from simulator.windows.tar import reading
from simulator.windows.tar.arguments import TarArguments, TarUsageError, parse
from simulator.windows.tar.extracting import Extractor, Refused
from simulator.windows.tar.reading import ArchiveEntry, TarArchiveError, selects

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_VERSIONS = {
    "2019": "bsdtar 3.3.2 - libarchive 3.3.2 zlib/1.2.5.f-ipp",
    "2022": "bsdtar 3.5.2 - libarchive 3.5.2 zlib/1.2.5.f-ipp",
}
_NEWEST = "bsdtar 3.7.2 - libarchive 3.7.2 zlib/1.2.13.1-motley liblzma/5.4.3 bz2lib/1.0.8 libzstd/1.5.4"
_USAGE = (
    "Usage:\n  List:    tar -tf <archive-filename>\n  Extract: tar -xf <archive-filename>\n"
    "  Create:  tar -cf <archive-filename> [filenames...]\n  Help:    tar --help\n"
)
_DELAYED = "tar: Error exit delayed from previous errors.\n"
_LETTERS = {"folder": "d", "link": "l", "hard link": "h", "file": "-"}


class _FatalError(Exception):
    """An error that stops bsdtar. Its text is the message that bsdtar prints after `tar: `."""


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Run tar.exe."""
    try:
        arguments = parse(invocation.argv)
    except TarUsageError as error:
        message = f"tar: {error}\n" if str(error) else ""
        return ProgramResult(1, "", message + (_USAGE if error.usage else ""))
    if "V" in arguments.flags:
        return ProgramResult(0, _VERSIONS.get(machine.windows.key, _NEWEST) + "\n")
    if arguments.list_file:
        text = machine.files.read_text(_absolute(invocation.directory, arguments.list_file))
        arguments.names += [(name, tuple(arguments.directories)) for name in text.splitlines() if name]
    try:
        if arguments.mode == "c":
            return _create(machine, invocation, arguments)
        if arguments.mode in ("t", "x"):
            return _read(machine, invocation, arguments)
    except (_FatalError, TarArchiveError) as error:
        return ProgramResult(1, "", f"tar: {error}\n")
    return ProgramResult(1, "", f"tar: the simulator does not model -{arguments.mode}\n")


def _absolute(directory: str, path: str) -> str:
    return normalise(path if ":" in path or path.startswith(("\\", "/")) else f"{directory}\\{path}")


def _folder(machine: Machine, invocation: Invocation, directories: tuple[str, ...]) -> str:
    """Return the folder that results from all `-C` options, each relative to the previous one.

    Raises:
        _FatalError: a folder does not exist.
    """
    folder = normalise(invocation.directory)
    for directory in directories:
        folder = _absolute(folder, directory)
        if not machine.files.is_directory(folder):
            raise _FatalError(f"could not chdir to '{directory}'")
    return folder


def _archive(machine: Machine, invocation: Invocation, arguments: TarArguments) -> Path:
    if arguments.file == "-":
        raise _FatalError("the simulator does not model archives on standard input or output")
    path = _absolute(invocation.directory, arguments.file)
    if not machine.files.is_file(path):
        raise _FatalError(f"Error opening archive: Failed to open '{arguments.file}'")
    return machine.files.real(path)


def _read(machine: Machine, invocation: Invocation, arguments: TarArguments) -> ProgramResult:
    """List or extract an archive."""
    real = _archive(machine, invocation, arguments)
    folder = _folder(machine, invocation, tuple(arguments.directories))
    extractor = Extractor(machine, invocation, arguments, folder)
    patterns = [name for name, _ in arguments.names] + arguments.includes
    unused = set(patterns)
    lines: list[str] = []
    errors: list[str] = []
    try:
        with reading.opened(real) as entries:
            for entry, content in entries:
                matching = [pattern for pattern in patterns if selects(pattern, entry.name)]
                unused -= set(matching)
                excluded = any(selects(pattern, entry.name, anchored=False) for pattern in arguments.excludes)
                if (patterns and not matching) or excluded:
                    continue
                if arguments.mode == "t":
                    lines.append(_shown(entry, long="v" in arguments.flags))
                    continue
                if "v" in arguments.flags:
                    errors.append(f"x {entry.name}")
                try:
                    extractor.extract(entry, content)
                except Refused as refused:
                    errors.append(f"tar: {refused}" if "v" not in arguments.flags else str(refused))
                    unused.add("")
    except TarArchiveError as error:
        if not lines and not errors:
            raise
        return ProgramResult(1, "".join(f"{line}\n" for line in lines), f"tar: {error}\n{_DELAYED}")
    errors += [f"tar: {pattern}: Not found in archive" for pattern in patterns if pattern in unused]
    text = "".join(f"tar: {warning}\n" for warning in extractor.warnings) + "".join(f"{line}\n" for line in errors)
    out = "".join(f"{line}\n" for line in lines) + extractor.printed.decode("utf-8", "replace")
    return ProgramResult(1, out, text + _DELAYED) if unused else ProgramResult(0, out, text)


def _shown(entry: ArchiveEntry, *, long: bool) -> str:
    name = entry.name + ("/" if entry.kind == "folder" and not entry.name.endswith("/") else "")
    if not long:
        return name
    bits = "".join(letter if entry.mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx"))
    date = time.strftime("%b %d  %Y", time.gmtime(entry.modified))
    target = f" -> {entry.target}" if entry.target else ""
    return f"{_LETTERS[entry.kind]}{bits}  0 0      0 {entry.size:11d} {date} {name}{target}"


def _create(machine: Machine, invocation: Invocation, arguments: TarArguments) -> ProgramResult:
    """Create an archive.

    The options --format, -z, -j and -J determine the format and compression. With -a, both result from the file name.
    """
    if not arguments.names:
        raise _FatalError("no files or directories specified")
    errors: list[str] = []
    found: list[tuple[str, Path]] = []
    for name, directories in arguments.names:
        folder = _folder(machine, invocation, directories)
        path = _absolute(folder, name)
        if not machine.files.exists(path):
            errors.append(f"tar: {name}: Couldn't visit directory: No such file or directory")
            continue
        try:
            machine.files.require(path, check.READ_DATA)
        except AccessDeniedError:
            errors.append(f"tar: {name}: Couldn't open {name}: Permission denied")
            continue
        base = machine.files.real(path)
        stored = name.replace("\\", "/").rstrip("/").removeprefix("C:").lstrip("/") or "."
        children = sorted(base.rglob("*")) if base.is_dir() else []
        found += [(stored, base), *((f"{stored}/{child.relative_to(base).as_posix()}", child) for child in children)]
    kept = [
        (name, real) for name, real in found if not any(selects(p, name, anchored=False) for p in arguments.excludes)
    ]
    raw = _zip(kept) if _is_zip(arguments) else _tar(kept, _compression(arguments))
    try:
        machine.files.write_bytes(_absolute(invocation.directory, arguments.file), raw)
    except (OSError, DiskFullError) as error:
        raise _FatalError(f"Failed to open '{arguments.file}'") from error
    text = "".join(f"{error}\n" for error in errors)
    return ProgramResult(1, "", text + _DELAYED) if errors else ProgramResult(0)


def _is_zip(arguments: TarArguments) -> bool:
    return arguments.form == "zip" or ("a" in arguments.flags and arguments.file.casefold().endswith(".zip"))


def _compression(arguments: TarArguments) -> str:
    by_name = {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".xz": "xz"}
    letters = {"z": "gz", "j": "bz2", "J": "xz"}
    named = by_name.get(Path(arguments.file.replace("\\", "/")).suffix.casefold(), "") if "a" in arguments.flags else ""
    return next((letters[letter] for letter in letters if letter in arguments.flags), named)


def _tar(files: list[tuple[str, Path]], compression: str) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]
        for name, real in files:
            archive.add(real, name, recursive=False)
    return raw.getvalue()


def _zip(files: list[tuple[str, Path]]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, real in files:
            archive.write(real, name)
    return raw.getvalue()
