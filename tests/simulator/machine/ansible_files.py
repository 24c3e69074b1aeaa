# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the scripts of Ansible's connection and shell plugins. They transfer files and expand paths, for example."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json

from simulator.machine.ansible_wrapper import Action, ManifestError, WrapperManifest
from simulator.machine.files import DiskFullError
from simulator.machine.objects import ProgramResult
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.session import Session


def put(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Write a file from the base64 lines in the input, and return the file's SHA-1 hash as JSON.

    Raises:
        ManifestError: the input is not valid base64.
    """
    path = session.absolute(session.expand(str(action.parameters["Path"])))
    try:
        data = b"".join(base64.b64decode(line, validate=True) for line in manifest.input)
    except binascii.Error as error:
        raise ManifestError(f"the file's content is not valid base64: {error}") from None
    try:
        session.machine.files.write_bytes(path, data)
    except FileNotFoundError:
        return ProgramResult(1, "", f'Exception calling "Create": "Could not find a part of the path \'{path}\'."\r\n')
    except AccessDeniedError as error:
        return ProgramResult(1, "", f'Exception calling "Create": "{error}"\r\n')
    except DiskFullError as error:
        return ProgramResult(1, "", f'Exception calling "Write": "{error.strerror}"\r\n')
    digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return ProgramResult(0, json.dumps({"sha1": digest}, separators=(",", ":")) + "\r\n")


def fetch_part(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Return a part of a file in base64, as the winrm plugin requests it."""
    path = session.absolute(session.expand(str(action.parameters["Path"])))
    files = session.machine.files
    if files.is_directory(path):
        return ProgramResult(0, "[DIR]\r\n")
    if not files.is_file(path):
        return ProgramResult(1, "", f"{path} does not exist\r\n")
    offset, size = int(action.parameters["Offset"]), int(action.parameters["BufferSize"])
    part = files.read_bytes(path)[offset : offset + size]
    return ProgramResult(0, base64.b64encode(part).decode() + "\r\n" if part else "")


def fetch(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Return a whole file in base64 lines, as the psrp plugin requests it."""
    path = session.absolute(session.expand(str(action.parameters["Path"])))
    files = session.machine.files
    if files.is_directory(path):
        return ProgramResult(0, "[DIR]\r\n")
    if not files.is_file(path):
        return ProgramResult(1, "", f"{path} does not exist\r\n")
    data, size = files.read_bytes(path), int(action.parameters["BufferSize"])
    lines = [base64.b64encode(data[start : start + size]).decode() for start in range(0, len(data), size)]
    return ProgramResult(0, "".join(f"{line}\r\n" for line in ["[FILE]", *lines]))


def make_temporary(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Create a temporary folder, and return its path."""
    folder = session.absolute(session.expand(str(action.parameters["Directory"])))
    path = f"{folder}\\{action.parameters['Name']}"
    if session.machine.files.exists(path):
        return ProgramResult(1, "", f"An item with the specified name {path} already exists.\r\n")
    session.machine.files.make_directory(path)
    return ProgramResult(0, path + "\r\n")


def expand_user(session: Session, manifest: WrapperManifest, action: Action) -> ProgramResult:
    """Return a path with a leading `~` replaced by the user's profile folder."""
    path, profile = str(action.parameters["Path"]), session.variable("USERPROFILE")
    if path == "~":
        path = profile
    elif path.startswith("~\\"):
        path = profile + path[1:]
    return ProgramResult(0, path + "\r\n")
