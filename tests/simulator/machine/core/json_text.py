# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate ConvertTo-Json and ConvertFrom-Json of Windows PowerShell 5.1.

The default depth is 2, enumerations are written as numbers and dates as `\/Date(…)\/`, and a single pipeline object
does not become an array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from simulator.machine.machine import Machine
from simulator.machine.objects import CUSTOM_OBJECT, Bound, Cmdlet, CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.cmdlets.common import terminating
from simulator.machine.powershell.types.plain_text import to_text


def plain(value: object, depth: int) -> object:
    """Return a value as plain JSON data. Objects and lists more than `depth` levels below the value become strings."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Enumeration):
        return value.number
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return f"/Date({round(moment.timestamp() * 1000)})/"
    if depth < 0:
        return to_text(value)
    if isinstance(value, timedelta):
        raise NotModelled("ConvertTo-Json with a TimeSpan")
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {to_text(key): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, PSObject):
        return {key: plain(item, depth - 1) for key, item in value.properties.items() if not callable(item)}
    return to_text(value)


def convert_to_json(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate ConvertTo-Json."""
    values = [bound.get("InputObject")] if "InputObject" in bound else bound.pipeline
    value = values[0] if len(values) == 1 else values
    document = plain(value, bound.number("Depth", 2))
    if bound.flag("Compress"):
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    else:
        text = json.dumps(document, indent=4, ensure_ascii=False).replace("\n", "\r\n").replace('": ', '":  ')
    # 5.1 escapes these characters, and the slashes of a date.
    text = re.sub(r"[<>&']", lambda found: f"\\u{ord(found[0]):04x}", text)
    yield re.sub(r'"/Date\((-?\d+)\)/"', r'"\\/Date(\1)\\/"', text)


def _objects(value: object) -> object:
    if isinstance(value, dict):
        return PSObject(CUSTOM_OBJECT, {key: _objects(item) for key, item in value.items()})
    return [_objects(item) for item in value] if isinstance(value, list) else value


def convert_from_json(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate ConvertFrom-Json. As in Windows PowerShell 5.1, output an array as a single object."""
    given = [bound.get("InputObject")] if "InputObject" in bound else bound.pipeline
    text = "\n".join(to_text(item) for item in given)
    if not text.strip():
        return
    try:
        found = json.loads(text)
    except ValueError as error:
        kind = "System.ArgumentException"
        raise terminating(CmdletError("NotSpecified", kind, f"Invalid JSON primitive: {error}.", kind)) from None
    yield _objects(found)


CMDLETS: Mapping[str, Cmdlet] = {"ConvertFrom-Json": convert_from_json, "ConvertTo-Json": convert_to_json}
