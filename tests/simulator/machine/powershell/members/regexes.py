# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The .NET objects that represent the matches of a regular expression."""

from __future__ import annotations

import re

from simulator.machine.objects import NotModelled, PSObject
from simulator.machine.powershell.members.table import Members, names
from simulator.machine.powershell.types.kinds import Regex, TypedArray
from simulator.machine.powershell.types.patterns import replacement
from simulator.machine.powershell.types.plain_text import to_text

GROUP = "System.Text.RegularExpressions.Group"
MATCH = "System.Text.RegularExpressions.Match"


class Groups(list[object]):
    """The groups of a match, by number or name."""

    type_name = "System.Text.RegularExpressions.GroupCollection"

    def find(self, name: object) -> object:
        """Return the group with this name or number, or None if there is no such group."""
        requested = to_text(name)
        return next((item for item in self if isinstance(item, PSObject) and item.get("Name") == requested), None)


class Matches(list[object]):
    """The matches of one search."""

    type_name = "System.Text.RegularExpressions.MatchCollection"


def _group(kind: str, text: str | None, start: int, name: str) -> PSObject:
    found = text or ""
    properties: dict[str, object] = {"Success": text is not None, "Name": name}
    properties |= {"Index": max(0, start), "Length": len(found), "Value": found}
    return PSObject(kind, properties, found)


def match(found: re.Match[str] | None) -> PSObject:
    """Return a match. If nothing matched, the result is an object whose Success is false."""
    if found is None:
        made = _group(MATCH, None, 0, "0")
        made.properties["Groups"] = Groups([_group(GROUP, None, 0, "0")])
        return made
    made = _group(MATCH, found[0], found.start(), "0")
    named = {number: name for name, number in found.re.groupindex.items()}
    if named and len(named) != found.re.groups:
        raise NotModelled("groups with and without names in one regular expression")
    groups = [
        _group(GROUP, found[number], found.start(number), named.get(number, str(number)))
        for number in range(1, found.re.groups + 1)
    ]
    made.properties["Groups"] = Groups([made, *groups])
    return made


def _all(regex: Regex, text: object) -> object:
    return Matches(match(found) for found in regex.compiled.finditer(to_text(text)))


def _replace(regex: Regex, text: object, new: object) -> object:
    if not isinstance(new, str):
        raise NotModelled("Regex.Replace with these arguments")
    return regex.compiled.sub(replacement(new), to_text(text))


def _split(regex: Regex, text: object) -> object:
    return TypedArray([part for part in regex.compiled.split(to_text(text)) if part is not None], "System.String")


REGEX = Members(
    {
        "match": (1, 1, lambda regex, text: match(regex.compiled.search(to_text(text)))),
        "matches": (1, 1, _all),
        "ismatch": (1, 1, lambda regex, text: regex.compiled.search(to_text(text)) is not None),
        "replace": (2, 2, _replace),
        "split": (1, 1, _split),
        "tostring": (0, 0, to_text),
    },
    names("Equals GetHashCode GetGroupNames GetGroupNumbers GroupNameFromNumber GroupNumberFromName Count "
          "EnumerateMatches EnumerateSplits"),
)  # fmt: skip
