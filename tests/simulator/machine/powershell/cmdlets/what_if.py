# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The descriptions that cmdlets with `-WhatIf` print instead of making changes.

The sentences come from these files in https://github.com/PowerShell/PowerShell: CommandBaseStrings.resx,
FileSystemProviderStrings.resx, and NavigationResources.resx (for Set-Content and Add-Content).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from simulator.machine.contract import Contract
from simulator.machine.core import paths
from simulator.machine.objects import Bound, NotModelled
from simulator.machine.powershell.running.streams import HostText
from simulator.machine.powershell.types.convert import truth

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter

Sentences = Iterator[tuple[str, str]]


def only_prints(run: Interpreter, bound: Bound, description: Contract) -> bool:
    """Return whether `-WhatIf` or `$WhatIfPreference` makes a cmdlet describe its changes without making them."""
    if "WhatIf" in bound:
        return bound.flag("WhatIf")
    return truth(run.variables.get("WhatIfPreference")) and "whatif" in description.parameters


def _places(run: Interpreter, bound: Bound) -> Iterator[paths.ProviderItem]:
    for place in paths.selected(run.session.machine, bound):
        if place.provider != "FileSystem":
            raise NotModelled(f"-WhatIf for {bound.command} on anything but files")
        yield place


def _noun(run: Interpreter, place: paths.ProviderItem) -> str:
    return "Directory" if run.session.machine.files.is_directory(place.path) else "File"


def _remove(run: Interpreter, bound: Bound) -> Sentences:
    for place in _places(run, bound):
        below = run.session.machine.files.is_directory(place.path) and paths.children(run.session.machine, bound, place)
        if below and not bound.flag("Recurse"):
            raise NotModelled("-WhatIf for Remove-Item on a folder that is not empty")
        yield f"Remove {_noun(run, place)}", place.path


def _moved(verb: str) -> Callable[[Interpreter, Bound], Sentences]:
    def sentences(run: Interpreter, bound: Bound) -> Sentences:
        for place in _places(run, bound):
            destination = paths.parse(run.session.machine, bound, bound.text("Destination") or ".")
            if paths.is_container(run.session.machine, destination):
                destination = destination.child(place.name)
            if _noun(run, place) == "Directory" and verb == "Copy" and bound.flag("Recurse"):
                raise NotModelled("-WhatIf for Copy-Item -Recurse")
            yield f"{verb} {_noun(run, place)}", f"Item: {place.path} Destination: {destination.path}"

    return sentences


def _rename(run: Interpreter, bound: Bound) -> Sentences:
    for place in _places(run, bound):
        target = place.parent.child(bound.text("NewName"))
        yield f"Rename {_noun(run, place)}", f"Item: {place.path} Destination: {target.path}"


def _new(run: Interpreter, bound: Bound) -> Sentences:
    kind = bound.text("ItemType", "File").casefold()
    if kind not in ("file", "directory"):
        raise NotModelled(f"-WhatIf for New-Item -ItemType {kind}")
    for text in bound.texts("Path") or [run.session.directory]:
        place = paths.parse(run.session.machine, bound, text)
        if bound.text("Name"):
            place = place.child(bound.text("Name"))
        if place.provider != "FileSystem" or paths.exists(run.session.machine, bound, place):
            raise NotModelled("-WhatIf for New-Item with a path that exists or is not on the file system")
        yield f"Create {kind.capitalize()}", f"Destination: {place.path}"


def _content(verb: str) -> Callable[[Interpreter, Bound], Sentences]:
    def sentences(run: Interpreter, bound: Bound) -> Sentences:
        for text in bound.texts("LiteralPath") or bound.texts("Path"):
            place = paths.parse(run.session.machine, bound, text)
            if place.provider != "FileSystem":
                raise NotModelled(f"-WhatIf for {bound.command} on anything but files")
            yield f"{verb} Content", f"Path: {place.path}"

    return sentences


_SENTENCES: dict[str, Callable[[Interpreter, Bound], Sentences]] = {
    "Remove-Item": _remove,
    "Copy-Item": _moved("Copy"),
    "Move-Item": _moved("Move"),
    "Rename-Item": _rename,
    "New-Item": _new,
    "Set-Content": _content("Set"),
    "Add-Content": _content("Add"),
}


def show(run: Interpreter, bound: Bound) -> None:
    """Print the description of a cmdlet's changes.

    Raises:
        NotModelled: the simulator does not know the description.
    """
    sentences = _SENTENCES.get(bound.command)
    if sentences is None:
        raise NotModelled(f"-WhatIf for {bound.command}")
    for action, target in sentences(run, bound):
        text = f'What if: Performing the operation "{action}" on target "{target}".'
        run.written.console.append(HostText(text))
