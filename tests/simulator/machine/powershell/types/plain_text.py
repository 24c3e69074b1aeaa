# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert values to strings as PowerShell does: in strings (`"$value"`), with `-join`, and on the console."""

from __future__ import annotations

import math

from simulator.machine import text
from simulator.machine.conversion import net_type
from simulator.machine.objects import ErrorRecord, NotModelled, PSObject

# Types whose text contains script positions or stack traces.
_NO_TEXT = ("Exception", ".ErrorCategoryInfo", ".InvocationInfo")


def double_text(value: float) -> str:
    """Return a Double as PowerShell shows it, with up to 15 digits (.NET's G15) and in the invariant culture.

    Source: DoublePrecision in src/System.Management.Automation/engine/LanguagePrimitives.cs of
    https://github.com/PowerShell/PowerShell
    """
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.14e}".partition("e")
    power = int(exponent)
    if -5 < power < 15:
        found = f"{value:.{max(0, 14 - power)}f}"
        return found.rstrip("0").rstrip(".") if "." in found else found
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}E{'-' if power < 0 else '+'}{abs(power):02d}"


def to_text(value: object) -> str:
    """Return a value as the string that PowerShell inserts for the value in `"$value"`.

    Raises:
        NotModelled: the text would contain script positions or stack traces, or it depends on PowerShell's version.
    """
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (list, tuple)):
        # A list within a list is not expanded.
        inner = (list, tuple, bytes, bytearray)
        return " ".join(net_type(item) if isinstance(item, inner) else to_text(item) for item in value)
    if isinstance(value, dict):
        return net_type(value)
    if isinstance(value, ErrorRecord) and value.error.approximate:
        raise NotModelled("an error message whose wording differs between versions of PowerShell")
    if isinstance(value, PSObject) and value.type_name.endswith(_NO_TEXT):
        raise NotModelled(f"the text of {value.type_name}")
    return text.to_text(value)
