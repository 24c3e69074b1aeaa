# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The built-in verbs of docs/wire.md: files, registry, environment, ports."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import socket
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from simulator.machine.calls import access_verbs, checksums, leftovers
from simulator.machine.calls.access_verbs import set_security
from simulator.machine.calls.verb_parameters import Handler, failure, missing, require_apart, text
from simulator.machine.files import DiskFullError, Entry
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.objects import CmdletError, PSObject, custom_object
from simulator.machine.processes import Process
from simulator.machine.registry import Value

STAMP = "%Y%m%d%H%M%S"
"""How a file that was moved aside says when that was."""


class Warned(list[object]):
    """What a verb returned, and what it warned of."""

    def __init__(self, objects: list[object], *warnings: str) -> None:
        super().__init__(objects)
        self.warnings = list(warnings)


def _require_unused(machine: Machine, path: str) -> None:
    """Refuse to replace what runs: ReplaceFile answers ERROR_UNABLE_TO_REMOVE_REPLACED.

    https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-replacefilew
    """
    if machine.processes.executing(path):
        raise failure("WriteError", "IOException", "Unable to remove the file to be replaced.")


def read_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Describe files: existence, size, hash, content, access list."""
    paths = parameters.get("paths", [])
    return [_describe(machine, str(path), parameters) for path in (paths if isinstance(paths, list) else [paths])]


def _describe(machine: Machine, path: str, parameters: Mapping[str, Any]) -> PSObject:
    entry = machine.files.entry(path)
    found = custom_object(
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
        found.properties["link"] = machine.files.link_on(path)
    if entry is None:
        return found
    if not entry.is_directory:
        if parameters.get("hash"):
            found.properties["sha256"] = digest(machine, path)
        if parameters.get("content"):
            found.properties["content"] = _content(machine, entry, parameters)
    if parameters.get("acl"):
        found.properties["sddl"] = machine.files.sddl(path)
    return found


def _content(machine: Machine, entry: Entry, parameters: Mapping[str, Any]) -> str:
    limit, raw = int(parameters.get("limit", 65536)), parameters.get("encoding") == "base64"
    with machine.files.real(entry.path).open("rb") as file:
        file.seek(min(int(parameters.get("offset", 0)), entry.size))
        data = file.read(limit if raw else 4 * limit)
    return base64.b64encode(data).decode() if raw else data.decode("utf-8", "replace")[:limit]


def digest(machine: Machine, path: str, algorithm: str = "sha256") -> str:
    """Return the hash of a file, in lower-case hexadecimal."""
    with machine.files.real(path).open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def write_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Write a file whole or not at all."""
    path = text(parameters, "path")
    content = parameters.get("content", "")
    encoding = parameters.get("encoding", "utf-8")
    if encoding not in ("utf-8", "base64"):
        raise failure("InvalidArgument", "UnknownEncoding", f"unknown encoding: {encoding}", "System.ArgumentException")
    try:
        data = base64.b64decode(content, validate=True) if encoding == "base64" else str(content).encode()
    except binascii.Error:
        message = "The input is not a valid Base-64 string."
        raise failure("InvalidArgument", "FormatException", message, "System.FormatException") from None
    parent = path.rsplit("\\", 1)[0]
    _require_unused(machine, path)
    part = leftovers.part_of(path)
    try:
        machine.files.make_directory(parent)
        leftovers.remove(machine, parent)
        process.check()
        machine.files.write_bytes(part, b"")
        if parameters.get("sddl"):
            # Before there is any content.
            for place in (part, path):
                if machine.files.exists(place):
                    set_security(machine, place, str(parameters["sddl"]))
        machine.files.write_bytes(part, data)
        machine.files.replace(part, path)
    except DiskFullError as error:
        raise failure("WriteError", "IOException", str(error.strerror)) from None
    except OSError as error:
        raise failure(
            "WriteError", "UnauthorizedAccessException", str(error), "System.UnauthorizedAccessException"
        ) from None
    finally:
        if machine.files.exists(part):
            machine.files.delete(part)
    return [custom_object(path=path, sha256=digest(machine, path), size=len(data))]


def commit_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Check what was downloaded and move it into place."""
    path, destination = text(parameters, "path"), text(parameters, "destination")
    if not machine.files.is_file(path):
        raise missing(path)
    algorithm, expected = checksums.expected(machine, parameters)
    actual = digest(machine, path, algorithm.lower())
    if expected is not None and actual != expected.lower():
        machine.files.delete(path)
        message = f"wrong {algorithm} of {path}: expected {expected.lower()}, but it has {actual}; the file was deleted"
        raise failure("InvalidData", "ChecksumMismatch", message, "System.IO.InvalidDataException")
    sha256 = digest(machine, path)
    size = machine.files.real(path).stat().st_size
    require_apart(path, destination)
    machine.files.make_directory(destination.rsplit("\\", 1)[0])
    process.check()
    _require_unused(machine, destination)
    machine.files.replace(path, destination)
    if parameters.get("manifest") is not None:
        time_ = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        manifest = {**parameters["manifest"], "sha256": sha256, "size": size, "time": time_}
        beside = {"path": f"{destination}.manifest.json", "content": json.dumps(manifest)}
        write_file(machine, beside, [], process, timeout)
    return [custom_object(destination=destination, sha256=sha256, size=size, algorithm=algorithm, expected=expected)]


def read_registry(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Read values, or whole keys."""
    found: list[object] = []
    for entry in parameters.get("values", []):
        path, name = str(entry["path"]), entry.get("name")
        try:
            exists = machine.registry.key_exists(path)
        except KeyError:
            raise missing(path) from None
        if name is not None:
            value = machine.registry.get(path, str(name))
            found.append(
                custom_object(
                    path=path,
                    name=name,
                    exists=value is not None,
                    key_exists=exists,
                    value=value.data if value else None,
                    kind=value.kind if value else None,
                )
            )
            continue
        values = {key: _plain(value) for key, value in machine.registry.values(path).items()}
        subkeys = machine.registry.subkeys(path)
        found.append(
            custom_object(path=path, name=None, exists=exists, key_exists=exists, values=values, subkeys=subkeys)
        )
    return found


def _plain(value: Value) -> dict[str, object]:
    return {"value": value.data, "kind": value.kind}


def set_environment(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Set or remove a variable of the machine."""
    name, value = text(parameters, "name"), parameters.get("value")
    kind = parameters.get("kind", "String")
    if kind not in ("String", "ExpandString"):
        raise failure("InvalidArgument", "UnknownKind", f"unknown kind of variable: {kind}", "System.ArgumentException")
    if value is None:
        machine.registry.delete(ENVIRONMENT, name)
    else:
        machine.registry.set(ENVIRONMENT, name, str(value), kind)
    return []


def wait_port(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Wait until a TCP port answers."""
    end = time.monotonic() + float(parameters.get("timeout", timeout))
    address = (text(parameters, "host"), int(parameters["port"]))
    while True:
        process.check()
        if machine.network.is_up:
            try:
                with socket.create_connection(address, timeout=max(0.1, min(1.0, end - time.monotonic()))):
                    return [custom_object(open=True)]
            except OSError:
                pass
        if time.monotonic() >= end:
            return [custom_object(open=False)]
        process.sleep(0.1)


def stop_if(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Count the objects that are left; the runner stops if there are any."""
    return [len(given)]


def move_path(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Move a file or folder over another, which is deleted."""
    path, destination = text(parameters, "path"), text(parameters, "destination")
    if not machine.files.exists(path):
        raise missing(path)
    require_apart(path, destination)
    process.check()
    moved: list[object] = [custom_object(path=path, destination=destination)]
    busy = machine.processes.executing(destination)
    if busy and machine.files.is_directory(destination):
        message = f"Access to the path '{destination}' is denied."
        raise failure("PermissionDenied", "IOException", message)
    machine.files.make_directory(destination.rsplit("\\", 1)[0])
    if busy:
        # What runs may be renamed, not deleted: https://superuser.com/q/488127
        aside = f"{destination}.{datetime.now(UTC).strftime(STAMP)}-{uuid.uuid4().hex}.old"
        machine.files.move(destination, aside)
        machine.files.move(path, destination)
        said = f"Cannot remove item {aside}: Access to the path is denied."
        return Warned(moved, f"what was at {destination} could not be deleted; it is at {aside}: {said}")
    if machine.files.exists(destination):
        machine.files.delete(destination)
    machine.files.move(path, destination)
    return moved


def copy_file(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Copy files, or the newest bytes of them; one that cannot be copied does not keep the others."""
    return [_copy(machine, wanted, process) for wanted in parameters.get("files", [])]


def _copy(machine: Machine, wanted: Mapping[str, Any], process: Process) -> PSObject:
    path, destination, tail = str(wanted["path"]), str(wanted["destination"]), wanted.get("tail")
    done = custom_object(path=path, size=None, copied=0, error=None)
    process.check()
    if not machine.files.is_file(path):
        denied = f"Access to the path '{path}' is denied."
        missing = f"Could not find file '{path}'."
        done.properties["error"] = denied if machine.files.is_directory(path) else missing
        return done
    with machine.files.real(path).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(size - min(size, int(tail)) if tail is not None else 0)
        data = file.read()
    done.properties["size"] = size
    try:
        require_apart(path, destination)
        machine.files.make_directory(destination.rsplit("\\", 1)[0])
        machine.files.write_bytes(destination, data)
    except CmdletError as error:
        done.properties["error"] = error.message
    except DiskFullError as error:
        done.properties["error"] = str(error.strerror)
    except OSError:
        done.properties["error"] = f"Access to the path '{destination}' is denied."
    else:
        done.properties["copied"] = len(data)
    return done


def free_space(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """Return a volume's free and total bytes."""
    path = text(parameters, "path")
    if not machine.files.drive_exists(path):
        raise missing(path)
    return [custom_object(free=machine.files.free_space(path[0]), total=machine.files.size(path[0]))]


def port_pools(
    machine: Machine, parameters: Mapping[str, Any], given: list[object], process: Process, timeout: float
) -> list[object]:
    """List HNS's pools of 64 TCP ports, of the ranges that netsh.exe prints."""
    printed = machine.programs.run(
        "netsh.exe", ["interface", "ipv4", "show", "excludedportrange", "protocol=tcp"], stop=process.stop
    ).stdout
    listed = re.findall(r"^\s*(\d+)\s+(\d+)\s*$", printed, re.MULTILINE)
    found = [(first, last) for first, last in listed if int(last) - int(first) == 63]
    return [custom_object(reserved=len(found), ranges=[f"{first}-{last}" for first, last in found])]


VERB_HANDLERS: Mapping[str, Handler] = {
    "@read-file": read_file,
    "@write-file": write_file,
    "@commit-file": commit_file,
    "@read-registry": read_registry,
    "@set-environment": set_environment,
    "@wait-port": wait_port,
    "@stop-if": stop_if,
    "@move-path": move_path,
    "@copy-file": copy_file,
    "@set-acl": access_verbs.set_acl,
    "@make-directory": access_verbs.make_directory,
    "@free-space": free_space,
    "@port-pools": port_pools,
}
