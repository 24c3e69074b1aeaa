# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate small cmdlets, such as Get-Random, Get-Host, Get-PSDrive, Push- and Pop-Location, and mkdir."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import commands
from simulator.machine.contract import Contract, Parameter, ParameterPlace, common_parameters
from simulator.machine.core import paths
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject, items
from simulator.machine.text import to_text
from simulator.machine.wildcards import any_match, has_wildcard

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

INT_MAX = 2**31 - 1
KEYS = {"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER"}


@dataclass
class LocationStacks:
    """Maps the id of each process to the folders that Push-Location saved in this process."""

    folders: dict[int, list[str]] = field(default_factory=dict)


def get_random(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return a random number, or a random selection of the given objects."""
    pool = items(bound.get("InputObject")) or bound.pipeline
    if pool:
        yield from random.sample(pool, min(bound.number("Count", 1), len(pool)))
        return
    low, high = bound.get("Minimum", 0), bound.get("Maximum", INT_MAX)
    if isinstance(low, float) or isinstance(high, float):
        yield random.uniform(float(to_text(low)), float(to_text(high)))
        return
    first, last = int(to_text(low)), int(to_text(high))
    if first >= last:
        message = f"The Minimum value ({first}) cannot be greater than or equal to the Maximum value ({last})."
        kind = "System.ArgumentException"
        raise CmdletError("InvalidArgument", "MinGreaterThanOrEqualMax", message, kind)
    yield random.randrange(first, last)


def get_host(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Host. The host program that it returns is always ServerRemoteHost, as over WinRM."""
    yield PSObject(
        "System.Management.Automation.Internal.Host.InternalHost",
        {
            "Name": "ServerRemoteHost",
            "Version": machine.windows.powershell,
            "CurrentCulture": "en-US",
            "CurrentUICulture": "en-US",
            "IsRunspacePushed": False,
        },
    )


def get_ps_drive(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return PowerShell's drives: HKLM, HKCU, Env, and the file system drives with their free space."""
    letters = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if machine.files.drive_exists(f"{letter}:\\")]
    free = {letter: machine.files.free_space(letter) for letter in letters}
    drives = [("FileSystem", letter, f"{letter}:\\") for letter in letters]
    drives += [("Registry", name, root) for name, root in KEYS.items()]
    drives.append(("Environment", "Env", ""))
    providers, requested = bound.texts("PSProvider"), bound.texts("Name") or bound.texts("LiteralName")
    found = [each for each in drives if not providers or any_match(providers, each[0])]
    for pattern in requested:
        if not has_wildcard(pattern) and not any(any_match([pattern], name) for _, name, _ in found):
            message = f"Cannot find drive. A drive with the name '{pattern}' does not exist."
            kind = "System.Management.Automation.DriveNotFoundException"
            error_id = "GetLocationNoMatchingDrive"
            bound.write_error(CmdletError("ObjectNotFound", error_id, message, kind))
    for provider, name, root in found:
        if requested and not any_match(requested, name):
            continue
        properties: dict[str, object] = {"Name": name, "Provider": provider, "Root": root, "CurrentLocation": ""}
        if provider == "FileSystem":
            properties |= {"Free": free[name], "Used": machine.files.size(name) - free[name]}
        yield PSObject("System.Management.Automation.PSDriveInfo", properties, name)


def _move(machine: Machine, bound: Bound, path: str) -> None:
    session = paths.session_of(bound)
    place = paths.parse(machine, bound, path)
    if place.provider != "FileSystem" or not machine.files.is_directory(place.path):
        raise paths.not_found(place.shown)
    if session:
        session.directory = place.path


def push_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Save the current folder, and change to another folder."""
    session = paths.session_of(bound)
    stack = machine.part(LocationStacks).folders.setdefault(session.process.id if session else 0, [])
    here = paths.directory(bound)
    for text, _ in paths.given(bound):
        _move(machine, bound, text)
    stack.append(here)
    return []


def pop_location(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return to the folder that Push-Location saved last. If no folder is saved, do nothing."""
    session = paths.session_of(bound)
    stack = machine.part(LocationStacks).folders.get(session.process.id if session else 0, [])
    if stack:
        _move(machine, bound, stack.pop())
    return []


def make_directory(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate the mkdir function, which calls New-Item with -Type Directory."""
    parameters = {**dict(bound.items()), "ItemType": "Directory"}
    output = commands.run(
        machine, "New-Item", parameters, stop=bound.stop, session=bound.session, error_action="Continue"
    )
    bound.errors += output.errors
    return output.objects


def unblock_file(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Unblock-File. Simulated files have no Zone.Identifier stream, so nothing changes."""
    for text, wild in paths.given(bound):
        place = paths.parse(machine, bound, text)
        if place.provider != "FileSystem":
            raise NotModelled("Unblock-File for items that are not files")
        if not (wild and has_wildcard(text)) and not machine.files.exists(place.path):
            bound.write_error(paths.not_found(place.shown))
    return []


# The modelled parameters of Windows PowerShell 5.1's function: (Get-Command mkdir).Parameters.
_MKDIR = Contract(
    command="mkdir",
    suffix="mkdir",
    function=True,
    parameters={
        "path": Parameter("Path", "String[]", pipeline=True),
        "name": Parameter("Name", "String"),
        "value": Parameter("Value", "Object"),
        "force": Parameter("Force", "SwitchParameter"),
        **common_parameters(),
    },
    sets=(
        {"path": ParameterPlace(True, 0), "value": ParameterPlace(), "force": ParameterPlace()},
        {
            "path": ParameterPlace(False, 0),
            "name": ParameterPlace(True),
            "value": ParameterPlace(),
            "force": ParameterPlace(),
        },
    ),
)
CONTRACTS = (_MKDIR,)
CMDLETS: Mapping[str, Cmdlet] = {
    "mkdir": make_directory,
    "Unblock-File": unblock_file,
    "Get-Random": get_random,
    "Get-Host": get_host,
    "Get-PSDrive": get_ps_drive,
    "Push-Location": push_location,
    "Pop-Location": pop_location,
}
