# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Cmdlets for the objects in the pipeline, such as Select-Object, Sort-Object, Measure-Object and Group-Object.

Cmdlets that process their input object by object, such as ForEach-Object, are in `running/stages.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from simulator.machine.machine import Machine
from simulator.machine.objects import CUSTOM_OBJECT, Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.powershell.cmdlets.common import given, has, named, read
from simulator.machine.powershell.members.collections import equal
from simulator.machine.powershell.types.arithmetic import integer, number
from simulator.machine.powershell.types.compare import compare, same
from simulator.machine.powershell.types.convert import items, truth
from simulator.machine.powershell.types.operators import OPERATORS, operate
from simulator.machine.powershell.types.patterns import like
from simulator.machine.powershell.types.plain_text import to_text


def where(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate `Where-Object -Property` for a caller that is not a PowerShell script."""
    name, requested = bound.text("Property"), bound.get("Value")
    operator = next((key.casefold() for key in bound if key.casefold() in OPERATORS), "")
    for item in given(bound):
        found = read(bound, item, name)
        if truth(operate(operator, found, requested) if operator else found):
            yield item


def select(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Select-Object."""
    chosen = list(given(bound))
    if bound.flag("Unique") and "Property" not in bound and "ExpandProperty" not in bound:
        chosen = _unique(chosen)
    elif bound.flag("Unique"):
        raise NotModelled("Select-Object -Unique with -Property or -ExpandProperty")
    if "Index" in bound:
        requested = sorted({integer(at) for at in items(bound["Index"])})
        chosen = [chosen[at] for at in requested if 0 <= at < len(chosen)]
    skip, skip_last = bound.number("Skip"), bound.number("SkipLast")
    first, last = bound.number("First", -1), bound.number("Last", -1)
    if skip and last >= 0:
        chosen = chosen[: len(chosen) - skip]
    else:
        chosen = chosen[skip : len(chosen) - skip_last if skip_last else None]
    if first >= 0 or last >= 0:
        if first >= 0 and last >= 0 and first + last > len(chosen):
            raise NotModelled("Select-Object with overlapping -First and -Last")
        chosen = [*chosen[: max(0, first)], *(chosen[-last:] if last > 0 else [])]
    if "ExpandProperty" in bound:
        yield from _expanded(bound, chosen)
        return
    entries = items(bound.get("Property"))
    excluded = bound.texts("ExcludeProperty")
    if not entries and not excluded:
        yield from chosen
        return
    for item in chosen:
        yield _selected(bound, item, entries or ["*"], excluded)


def _unique(chosen: list[object]) -> list[object]:
    found: list[object] = []
    for item in chosen:
        if isinstance(item, (PSObject, dict, list)):
            raise NotModelled("Select-Object -Unique with lists, hash tables or objects with properties")
        if not any(equal(item, known) for known in found):
            found.append(item)
    return found


def _expanded(bound: Bound, chosen: list[object]) -> Iterable[object]:
    name = bound.text("ExpandProperty")
    if "Property" in bound:
        raise NotModelled("Select-Object with both -Property and -ExpandProperty")
    for item in chosen:
        found = read(bound, item, name)
        if found is None and not has(item, name):
            message = f'Property "{name}" cannot be found.'
            kind = "System.Management.Automation.PSArgumentException"
            bound.write_error(CmdletError("InvalidArgument", "ExpandPropertyNotFound", message, kind))
            continue
        yield from (items(found) if found is not None else [None])


def _selected(bound: Bound, item: object, entries: list[object], excluded: list[str]) -> PSObject:
    found: dict[str, object] = {}
    for entry in entries:
        if isinstance(entry, str) and any(char in entry for char in "*?["):
            if not isinstance(item, PSObject):
                raise NotModelled("Select-Object with a wildcard on a value that is not an object with properties")
            found |= {key: value for key, value in item.properties.items() if like(key, entry) and not callable(value)}
            continue
        name, compute = named(bound, entry)
        own = item.find(name) if isinstance(item, PSObject) and isinstance(entry, str) else None
        found[own or name] = compute(item)
    kept = {key: value for key, value in found.items() if not any(like(key, pattern) for pattern in excluded)}
    return PSObject(CUSTOM_OBJECT, kept)


def _descending(bound: Bound, entry: object) -> bool:
    if isinstance(entry, dict):
        keys = {to_text(key).casefold(): value for key, value in entry.items()}
        if "descending" in keys:
            return truth(keys["descending"])
        if "ascending" in keys:
            return not truth(keys["ascending"])
    return bound.flag("Descending")


def order_of(first: object, second: object, *, sensitive: bool = False) -> int:
    """Compare two sort keys. Null comes first; values that cannot be compared are ordered as text."""
    if first is None or second is None:
        return (first is not None) - (second is not None)
    try:
        return compare(first, second, sensitive=sensitive)
    except NotModelled:
        raise
    except CmdletError:
        return compare(to_text(first), to_text(second), sensitive=sensitive)


def sort(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Sort-Object."""
    entries = items(bound.get("Property"))
    keys: list[tuple[Callable[[object], object], bool]] = [
        (named(bound, entry)[1], _descending(bound, entry)) for entry in entries
    ] or [(lambda item: item, bound.flag("Descending"))]
    sensitive = bound.flag("CaseSensitive")

    def order(left: object, right: object) -> int:
        for key, descending in keys:
            result = order_of(key(left), key(right), sensitive=sensitive)
            if result:
                return -result if descending else result
        return 0

    found = sorted(given(bound), key=functools.cmp_to_key(order))
    if not entries and any(isinstance(item, (dict, list)) for item in found) and len(found) > 1:
        raise NotModelled("Sort-Object with hash tables or lists")
    if bound.flag("Unique"):
        found = [item for at, item in enumerate(found) if at == 0 or order(found[at - 1], item) != 0]
    return found


def measure(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Measure-Object."""
    names = bound.texts("Property")
    if len(names) > 1 or any(char in name for name in names for char in "*?["):
        raise NotModelled("Measure-Object with several properties")
    found = given(bound)
    if any(bound.flag(name) for name in ("Line", "Word", "Character")):
        return [_measured_text(bound, found)]
    if names:
        found = [read(bound, item, names[0]) for item in found if has(item, names[0]) or not isinstance(item, PSObject)]
        found = [item for item in found if item is not None]
    requested = [name for name in ("Sum", "Average", "Maximum", "Minimum") if bound.flag(name)]
    if requested and any(isinstance(item, (str, PSObject, dict, list, bool)) for item in found):
        raise NotModelled("Measure-Object with values that are not numbers")
    numbers = [float(number(item)) for item in found] if requested else []
    result: dict[str, object] = {"Count": len(found)}
    result["Average"] = sum(numbers) / len(numbers) if "Average" in requested and numbers else None
    result["Sum"] = sum(numbers) if "Sum" in requested else None
    result["Maximum"] = max(numbers) if "Maximum" in requested and numbers else None
    result["Minimum"] = min(numbers) if "Minimum" in requested and numbers else None
    result["Property"] = names[0] if names else None
    return [PSObject("Microsoft.PowerShell.Commands.GenericMeasureInfo", result)]


def _measured_text(bound: Bound, found: list[object]) -> PSObject:
    texts = [to_text(item) for item in found]
    counts: dict[str, object] = {"Lines": None, "Words": None, "Characters": None, "Property": None}
    if bound.flag("Line"):
        counts["Lines"] = sum(text.count("\n") + (0 if text.endswith("\n") else 1) for text in texts if text)
    if bound.flag("Word"):
        counts["Words"] = sum(len(text.split()) for text in texts)
    if bound.flag("Character"):
        counts["Characters"] = sum(len(text) for text in texts)
    return PSObject("Microsoft.PowerShell.Commands.TextMeasureInfo", counts)


def group(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Group-Object."""
    entries = items(bound.get("Property"))
    if len(entries) > 1:
        raise NotModelled("Group-Object by several properties")
    compute = named(bound, entries[0])[1] if entries else (lambda item: item)
    groups: dict[str, list[object]] = {}
    spelled: dict[str, tuple[str, object]] = {}
    for item in given(bound):
        value = compute(item)
        key = to_text(value) if bound.flag("CaseSensitive") else to_text(value).casefold()
        spelled.setdefault(key, (to_text(value), value))
        groups.setdefault(key, []).append(item)

    def in_order(left: str, right: str) -> int:
        return order_of(spelled[left][1], spelled[right][1])

    order = sorted(groups, key=functools.cmp_to_key(in_order))
    if order != list(groups):
        raise NotModelled(
            "Group-Object with unsorted values: the order of groups differs between versions of PowerShell"
        )
    if bound.flag("AsHashTable"):
        if not bound.flag("AsString"):
            raise NotModelled("Group-Object -AsHashTable without -AsString")
        yield {spelled[key][0]: found for key, found in groups.items()}
        return
    for key, found in groups.items():
        properties: dict[str, object] = {"Count": len(found), "Name": spelled[key][0]}
        if not bound.flag("NoElement"):
            properties["Group"] = found
        properties["Values"] = [spelled[key][1]]
        yield PSObject("Microsoft.PowerShell.Commands.GroupInfo", properties)


def compare_objects(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Compare-Object."""
    names = items(bound.get("Property"))
    if names:
        raise NotModelled("Compare-Object by properties")
    left = items(bound.get("ReferenceObject"))
    right = items(bound.get("DifferenceObject")) if "DifferenceObject" in bound else bound.pipeline
    if any(isinstance(item, (PSObject, dict, list)) for item in (*left, *right)):
        raise NotModelled("Compare-Object with lists, hash tables or objects with properties")
    both: list[object] = []
    rest = list(right)
    only_left: list[object] = []
    for item in left:
        at = next((at for at, other in enumerate(rest) if same(item, other)), -1)
        if at >= 0:
            both.append(item)
            del rest[at]
        else:
            only_left.append(item)
    if both and bound.flag("IncludeEqual") and (only_left or rest):
        raise NotModelled("Compare-Object -IncludeEqual with both equal and different values")
    sides = [*((item, "==") for item in both if bound.flag("IncludeEqual"))]
    if not bound.flag("ExcludeDifferent"):
        sides += [*((item, "=>") for item in rest), *((item, "<=") for item in only_left)]
    for item, side in sides:
        yield item if bound.flag("PassThru") else PSObject(CUSTOM_OBJECT, {"InputObject": item, "SideIndicator": side})


def get_unique(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-Unique."""
    found: list[object] = []
    for item in given(bound):
        if isinstance(item, (PSObject, dict, list)):
            raise NotModelled("Get-Unique with lists, hash tables or objects with properties")
        if not found or not equal(found[-1], item):
            found.append(item)
    return found


CMDLETS: Mapping[str, Cmdlet] = {
    "Compare-Object": compare_objects,
    "Get-Unique": get_unique,
    "Group-Object": group,
    "Measure-Object": measure,
    "Select-Object": select,
    "Sort-Object": sort,
    "Where-Object": where,
}
