# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The verbs of docs/wire.md that read, write, move and copy files.

Each runs its steps in the order of the specification, so that a failure leaves the same state as on a node: a folder
that was created first, or a file that was renamed and renamed back.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from simulator.machine import net_files
from simulator.machine.core.acls import read_sddl
from simulator.machine.files import FileEntry
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, OrderedOutput
from simulator.machine.processes import Process
from simulator.machine.text import to_text, utf16_slice
from simulator.machine.windows_paths import parent
from wire_provider import checksums, leftovers
from wire_provider.access_verbs import set_security
from wire_provider.held_files import persist
from wire_provider.verb_parameters import (
    entries,
    failure,
    missing,
    require_apart,
    require_settable,
    several,
    text,
    whole,
)

STAMP = "%Y%m%d%H%M%S"
"""The format of the time in the name of a file that was replaced."""


class Warned(list[object]):
    """The result of a verb, with a warning."""

    def __init__(self, objects: list[object], *warnings: str) -> None:
        super().__init__(objects)
        self.warnings = list(warnings)


def read_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Describe files: existence, size, hash, content, access list."""
    return [_describe(machine, to_text(path), parameters) for path in several(parameters, "paths")]


def _describe(machine: Machine, path: str, parameters: Mapping[str, Any]) -> OrderedOutput:
    entry = machine.files.entry(path) if net_files.exists(machine, path) else None
    found = OrderedOutput(
        path=path,
        exists=entry is not None,
        type=None if entry is None else ("directory" if entry.is_directory else "file"),
        size=entry.size if entry and not entry.is_directory else None,
        sha256=None,
        content=None,
        sddl=None,
        link=None,
        modified=entry.modified if entry else None,
    )
    if parameters.get("acl"):
        found["link"] = machine.files.link_on(path)
    if entry is None:
        return found
    if not entry.is_directory:
        if parameters.get("hash"):
            found["sha256"] = digest(machine, path)
        if parameters.get("content"):
            found["content"] = _content(machine, entry, parameters)
    if parameters.get("acl"):
        found["sddl"] = read_sddl(machine, path)
    return found


def _content(machine: Machine, entry: FileEntry, parameters: Mapping[str, Any]) -> str:
    limit, offset = whole(parameters, "limit", 65536, "Int32"), whole(parameters, "offset")
    if limit < 0 or offset < 0:
        raise net_files.exception("System.ArgumentOutOfRangeException", "Non-negative number required.")
    raw = text(parameters, "encoding").casefold() == "base64"
    with net_files.open_to_read(machine, entry.path).open("rb") as file:
        file.seek(min(offset, entry.size))
        data = file.read(limit if raw else 4 * limit)
    return base64.b64encode(data).decode() if raw else utf16_slice(data.decode("utf-8", "replace"), None, limit)


def digest(machine: Machine, path: str, algorithm: str = "sha256") -> str:
    """Return the hash of a file in lower-case hexadecimal, even while it is being written.

    Raises:
        CmdletError: the file cannot be read.
    """
    with net_files.open_to_read(machine, path).open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def write_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Write a file atomically."""
    path, content = text(parameters, "path"), text(parameters, "content")
    data = _decoded(content) if text(parameters, "encoding").casefold() == "base64" else content.encode()
    net_files.add_parent(machine, path)
    process.check()
    leftovers.remove(machine, parent(path))
    part = leftovers.part_of(path)
    with leftovers.tidied(machine, process, part):
        net_files.write(machine, part, b"")
        process.check()
        with machine.files.open.hold(part, "w", ""):
            if parameters.get("sddl"):
                # Set the access list before the file has any content.
                for place in (part, path):
                    if machine.files.is_file(place):
                        set_security(machine, place, str(parameters["sddl"]))
            # Write as Windows: the handle is older than the access list, which may deny access to the user.
            with machine.acting.as_windows(), net_files.as_exceptions(part):
                machine.files.write_bytes(part, data)
        process.check()
        persist(machine, process, lambda: net_files.move_over(machine, part, path), part, path)
    return [OrderedOutput(path=path, sha256=hashlib.sha256(data).hexdigest(), size=len(data))]


def _decoded(content: str) -> bytes:
    """Decode like Convert.FromBase64String, which ignores white space and validates everything else."""
    try:
        return base64.b64decode(re.sub(r"[ \t\r\n]", "", content), validate=True)
    except (binascii.Error, ValueError):
        raise net_files.exception(
            "System.FormatException",
            "The input is not a valid Base-64 string as it contains a non-base 64 character, more than two padding "
            "characters, or an illegal character among the padding characters.",
        ) from None


def commit_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Verify a downloaded file, and move it to its destination."""
    path, destination = text(parameters, "path"), text(parameters, "destination")
    _require(machine, path)
    algorithm, expected = checksums.expected(machine, parameters)
    actual = digest(machine, path, algorithm.lower())
    if expected is not None and actual != expected:
        fate = "was deleted"
        try:
            persist(machine, process, lambda: net_files.delete(machine, path), path)
        except CmdletError:
            fate = "could not be deleted"
        message = f"wrong {algorithm} of {path}: expected {expected}, but it has {actual}; the file {fate}"
        raise failure("InvalidData", "ChecksumMismatch", message)
    sha256 = digest(machine, path)
    size = machine.files.real(path).stat().st_size
    require_apart(path, destination)
    net_files.add_parent(machine, destination)
    process.check()
    persist(machine, process, lambda: net_files.move_over(machine, path, destination), path, destination)
    if parameters.get("manifest") is not None:
        require_settable(parameters["manifest"])
        manifest = _manifest(machine, parameters["manifest"], sha256, size)
        manifest_file = {"path": f"{destination}.manifest.json", "content": json.dumps(manifest)}
        write_file(machine, manifest_file, [], process, timeout)
    return [OrderedOutput(destination=destination, sha256=sha256, size=size, algorithm=algorithm, expected=expected)]


def _manifest(machine: Machine, requested: Mapping[str, Any], sha256: str, size: int) -> dict[str, Any]:
    """Return the requested manifest, completed with the results. Keys that differ only in case are different keys."""
    found = {"sha256": sha256, "size": size, "time": machine.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {**requested, **found}


def _require(machine: Machine, path: str) -> None:
    """Reject a path that does not exist."""
    if not net_files.exists(machine, path):
        raise missing(path)


def move_path(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Move a file or folder, and delete the one that it replaces."""
    path, destination = text(parameters, "path"), text(parameters, "destination")
    _require(machine, path)
    require_apart(path, destination)
    net_files.add_parent(machine, destination)
    process.check()
    old_path = f"{destination}.{datetime.now(UTC).strftime(STAMP)}-{uuid.uuid4().hex}.old"
    replaced = net_files.exists(machine, destination)
    if replaced:
        persist(machine, process, lambda: net_files.move(machine, destination, old_path), destination, old_path)
    try:
        persist(machine, process, lambda: net_files.move(machine, path, destination), path, destination)
    except CmdletError:
        if replaced:
            persist(machine, process, lambda: net_files.move(machine, old_path, destination), old_path, destination)
        raise
    moved: list[object] = [OrderedOutput(path=path, destination=destination)]
    if not replaced:
        return moved
    try:
        persist(machine, process, lambda: net_files.remove(machine, old_path), old_path)
    except CmdletError as error:
        # A running program can be renamed, but not deleted: https://superuser.com/q/488127
        reason = f"Cannot remove item {old_path}: {error.message}"
        return Warned(moved, f"what was at {destination} could not be deleted; it is at {old_path}: {reason}")
    return moved


def copy_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Copy files, or only their last bytes. If a file cannot be copied, the remaining files are still copied."""
    return [_copy(machine, requested, process) for requested in entries(parameters, "files")]


def _copy(machine: Machine, requested: Mapping[str, Any], process: Process) -> OrderedOutput:
    path, destination = text(requested, "path"), text(requested, "destination")
    tail = None if requested.get("tail") is None else whole(requested, "tail")
    done = OrderedOutput(path=path, size=None, copied=0, error=None)
    process.check()
    try:
        net_files.add_parent(machine, destination)
        with (
            net_files.open_to_read(machine, path).open("rb") as file,
            machine.files.open.hold(path, "r", "rwd"),
        ):
            done["size"] = size = file.seek(0, 2)
            require_apart(path, destination)
            file.seek(size - min(size, tail) if tail is not None else 0)
            data = file.read()
            net_files.write(machine, destination, data)
            done["copied"] = len(data)
    except CmdletError as error:
        done["error"] = error.message
    return done


HANDLERS = {
    "@read-file": read_file,
    "@write-file": write_file,
    "@commit-file": commit_file,
    "@move-path": move_path,
    "@copy-file": copy_file,
}
