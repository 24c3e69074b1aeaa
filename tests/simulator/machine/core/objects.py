# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets on objects in the pipeline: ForEach-Object, Where-Object, Select-Object, Sort-Object, Measure-Object …"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from simulator.machine.machine import Machine
from simulator.machine.objects import CUSTOM_OBJECT, Bound, Cmdlet, CmdletError, NotModelled, PSObject, ScriptBlock
from simulator.machine.powershell import members, statics, values
from simulator.machine.powershell.formatting import lines, listing, table, text
from simulator.machine.powershell.operators import OPERATORS, operate
from simulator.machine.text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.interpreter import Interpreter


def host(bound: Bound) -> Interpreter:
    """Return the script that a cmdlet runs in. Raises NotModelled outside a script."""
    if not hasattr(bound.session, "call_block"):
        raise NotModelled(f"{bound.command} outside a script")
    return cast("Interpreter", bound.session)


def given(bound: Bound) -> list[object]:
    """Return the objects piped in, or bound to InputObject."""
    return values.items(bound.get("InputObject")) if "InputObject" in bound else bound.pipeline


def _block(bound: Bound, block: object, item: object) -> list[object]:
    assert isinstance(block, ScriptBlock)
    return host(bound).call_block(block, item=item, has_item=True, new_scope=False)


def for_each(machine: Machine, bound: Bound) -> Iterable[object]:
    """ForEach-Object."""
    if "MemberName" in bound:
        name = bound.text("MemberName")
        arguments = values.items(bound.get("ArgumentList"))
        for item in given(bound):
            found = members.read(item, name)
            is_method = found is None and not (isinstance(item, PSObject) and item.find(name))
            yield from values.items(members.call(item, name, arguments) if is_method else found)
        return
    blocks = values.items(bound.get("Process"))
    begin, end = bound.get("Begin"), bound.get("End")
    # Several blocks without names: the first is Begin, the last End.
    if len(blocks) > 1 and begin is None:
        begin, *blocks = blocks
        if len(blocks) > 1 and end is None:
            *blocks, end = blocks
    if begin is not None:
        yield from _block(bound, begin, None)
    for item in given(bound):
        for block in blocks:
            yield from _block(bound, block, item)
    if end is not None:
        yield from _block(bound, end, None)


def where(machine: Machine, bound: Bound) -> Iterable[object]:
    """Where-Object."""
    if "FilterScript" in bound:
        for item in given(bound):
            if values.truth(values.single(_block(bound, bound["FilterScript"], item))):
                yield item
        return
    name, wanted = bound.text("Property"), bound.get("Value")
    operator = next(
        (key.casefold() for key in bound if key.casefold() in (*OPERATORS, "not", "ceq", "cne", "clike")), ""
    )
    for item in given(bound):
        found = members.read(item, name)
        if operator == "not":
            result: object = not values.truth(found)
        else:
            result = operate(operator, found, wanted) if operator else found
        if values.truth(result):
            yield item


def _named(bound: Bound, entry: object) -> tuple[str, Callable[[object], object]]:
    """Return a calculated property's name and how to compute it."""
    if isinstance(entry, dict):
        keys = {to_text(key).casefold(): value for key, value in entry.items()}
        label = keys.get("name", keys.get("n", keys.get("label", keys.get("l"))))
        expression = keys.get("expression", keys.get("e"))
        if isinstance(expression, ScriptBlock):
            return to_text(label or expression.text), lambda item: values.single(_block(bound, expression, item))
        return to_text(label or expression), lambda item: members.read(item, to_text(expression))
    if isinstance(entry, ScriptBlock):
        return entry.text, lambda item: values.single(_block(bound, entry, item))
    name = to_text(entry)
    return name, lambda item: members.read(item, name)


def select(machine: Machine, bound: Bound) -> Iterable[object]:
    """Select-Object."""
    chosen = given(bound)
    if bound.flag("Unique"):
        unique: list[object] = []
        for item in chosen:
            if not any(values.same(item, known) for known in unique):
                unique.append(item)
        chosen = unique
    if "Index" in bound:
        chosen = [
            chosen[int(values.number(at))]
            for at in values.items(bound["Index"])
            if int(values.number(at)) < len(chosen)
        ]
    skip, skip_last = bound.number("Skip"), bound.number("SkipLast")
    chosen = chosen[skip : len(chosen) - skip_last if skip_last else None]
    first, last = bound.number("First", -1), bound.number("Last", -1)
    if first >= 0 or last >= 0:
        chosen = [*chosen[: max(0, first)], *(chosen[-last:] if last > 0 else [])]
    if "ExpandProperty" in bound:
        name = bound.text("ExpandProperty")
        for item in chosen:
            found = members.read(item, name)
            if found is None and isinstance(item, PSObject) and item.find(name) is None:
                message = f'Property "{name}" cannot be found.'
                bound.write_error(CmdletError("InvalidArgument", "ExpandPropertyNotFound", message))
            yield from values.items(found)
        return
    entries = values.items(bound.get("Property"))
    excluded = bound.texts("ExcludeProperty")
    if not entries and not excluded:
        yield from chosen
        return
    for item in chosen:
        yield _selected(bound, item, entries or ["*"], excluded)


def _selected(bound: Bound, item: object, entries: list[object], excluded: list[str]) -> PSObject:
    found: dict[str, object] = {}
    for entry in entries:
        if isinstance(entry, str) and any(char in entry for char in "*?[") and isinstance(item, PSObject):
            found |= {key: value for key, value in item.properties.items() if values.like(key, entry)}
            continue
        name, compute = _named(bound, entry)
        own = item.find(name) if isinstance(item, PSObject) else None
        found[own or name] = compute(item)
    kept = {key: value for key, value in found.items() if not any(values.like(key, pattern) for pattern in excluded)}
    return PSObject(CUSTOM_OBJECT, kept)


def sort(machine: Machine, bound: Bound) -> Iterable[object]:
    """Sort-Object."""
    keys = [_named(bound, entry)[1] for entry in values.items(bound.get("Property"))] or [lambda item: item]

    def order(left: object, right: object) -> int:
        for key in keys:
            first, second = key(left), key(right)
            if first is None or second is None:
                result = (first is not None) - (second is not None)
            else:
                result = values.compare(first, second)
            if result:
                return -result if bound.flag("Descending") else result
        return 0

    found = sorted(given(bound), key=functools.cmp_to_key(order))
    if bound.flag("Unique"):
        found = [item for at, item in enumerate(found) if at == 0 or order(found[at - 1], item) != 0]
    return found


def measure(machine: Machine, bound: Bound) -> Iterable[object]:
    """Measure-Object."""
    names = bound.texts("Property")
    items = [members.read(item, names[0]) for item in given(bound)] if names else given(bound)
    result: dict[str, object] = {"Count": len(items)}
    numbers = [values.number(item) for item in items] if bound.flag("Sum") or bound.flag("Average") else []
    result["Average"] = sum(numbers) / len(numbers) if bound.flag("Average") and numbers else None
    result["Sum"] = sum(numbers) if bound.flag("Sum") else None
    result["Maximum"] = max(map(values.number, items)) if bound.flag("Maximum") and items else None
    result["Minimum"] = min(map(values.number, items)) if bound.flag("Minimum") and items else None
    result["Property"] = names[0] if names else None
    return [PSObject("Microsoft.PowerShell.Commands.GenericMeasureInfo", result)]


def group(machine: Machine, bound: Bound) -> Iterable[object]:
    """Group-Object."""
    compute = _named(bound, values.items(bound.get("Property"))[0])[1] if "Property" in bound else (lambda item: item)
    groups: dict[str, list[object]] = {}
    for item in given(bound):
        groups.setdefault(to_text(compute(item)), []).append(item)
    for name, members_ in groups.items():
        properties: dict[str, object] = {"Count": len(members_), "Name": name, "Group": members_}
        yield PSObject("Microsoft.PowerShell.Commands.GroupInfo", properties)


def new_object(machine: Machine, bound: Bound) -> Iterable[object]:
    """New-Object."""
    if "ComObject" in bound:
        raise NotModelled(f"New-Object -ComObject {bound.text('ComObject')}")
    script = host(bound)
    made = statics.create(script.session, bound.text("TypeName"), values.items(bound.get("ArgumentList")))
    properties = bound.get("Property")
    if isinstance(made, PSObject) and isinstance(properties, dict):
        made.properties.update({to_text(key): value for key, value in properties.items()})
    return [made]


def add_member(machine: Machine, bound: Bound) -> Iterable[object]:
    """Add-Member: note properties."""
    for item in given(bound):
        if isinstance(item, PSObject):
            named = bound.get("NotePropertyMembers")
            if isinstance(named, dict):
                item.properties.update({to_text(key): value for key, value in named.items()})
            name = bound.text("NotePropertyName") or bound.text("Name")
            if name:
                item.properties[name] = bound.get("NotePropertyValue", bound.get("Value"))
        if bound.flag("PassThru"):
            yield item


def write_output(machine: Machine, bound: Bound) -> Iterable[object]:
    """Write-Output: what it is given, null too."""
    if "InputObject" in bound and bound["InputObject"] is None:
        return [None]
    return given(bound)


def out_null(machine: Machine, bound: Bound) -> Iterable[object]:
    """Out-Null."""
    return []


def out_string(machine: Machine, bound: Bound) -> Iterable[object]:
    """Out-String."""
    return lines(given(bound)) if bound.flag("Stream") else [text(given(bound))]


def _shown(bound: Bound, show: Callable[[list[PSObject], list[str]], list[str]]) -> Iterable[object]:
    objects = [item for item in given(bound) if isinstance(item, PSObject)]
    if not objects:
        return lines(given(bound))
    names = bound.texts("Property")
    columns = (
        names
        if names and names != ["*"]
        else [key for key, value in objects[0].properties.items() if not callable(value)]
    )
    return show(objects, columns)


def format_table(machine: Machine, bound: Bound) -> Iterable[object]:
    """Format-Table."""
    return _shown(bound, table)


def format_list(machine: Machine, bound: Bound) -> Iterable[object]:
    """Format-List."""
    return _shown(bound, listing)


CMDLETS: Mapping[str, Cmdlet] = {
    "Add-Member": add_member,
    "ForEach-Object": for_each,
    "Format-List": format_list,
    "Format-Table": format_table,
    "Group-Object": group,
    "Measure-Object": measure,
    "New-Object": new_object,
    "Out-Default": write_output,
    "Out-Host": write_output,
    "Out-Null": out_null,
    "Out-String": out_string,
    "Select-Object": select,
    "Sort-Object": sort,
    "Where-Object": where,
    "Write-Output": write_output,
}
