# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare values as PowerShell does: equality, order, and the sort order of strings in the en-US culture.

Source: https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_comparison_operators
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from simulator.machine.conversion import net_type
from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.types import arithmetic
from simulator.machine.powershell.types.convert import VERSION, cast, truth, version
from simulator.machine.powershell.types.kinds import Char, SwitchValue, TypeValue
from simulator.machine.powershell.types.plain_text import to_text


def _sign(left: object, right: object) -> int:
    return 0 if left == right else (-1 if left < right else 1)  # type: ignore[operator]


def _class(char: str) -> int:
    if char.isalpha():
        return 2
    return 1 if char.isdigit() else 0


def _letters(text: str) -> tuple[int, str]:
    return (_class(text), text)


def compare_texts(left: str, right: str, *, sensitive: bool = False) -> int:
    """Compare two strings in the sort order of en-US, and return -1, 0 or 1.

    Punctuation comes before digits, and digits before letters. With `sensitive`, `a` comes before `A`.

    Raises:
        NotModelled: the order depends on the culture library (NLS or ICU).
    """
    first, second = left.casefold(), right.casefold()
    if first == second:
        if not sensitive or left == right:
            return 0
        if len(left) != len(right):
            raise NotModelled(f"the order of '{left}' and '{right}'")
        for one, other in zip(left, right, strict=True):
            if one != other:
                return -1 if one.islower() else 1
    for one, other in zip(first, second, strict=False):
        if one == other:
            continue
        marks = [char for char in (one, other) if _class(char) == 0]
        foreign = [char for char in (one, other) if not char.isascii()]
        if foreign or len(marks) == 2 or (marks and marks[0] in "-'"):
            raise NotModelled(f"the order of '{left}' and '{right}'")
        return _sign(_letters(one), _letters(other))
    longer = (first if len(first) > len(second) else second)[min(len(first), len(second)) :]
    if longer[0] in "-'":
        raise NotModelled(f"the order of '{left}' and '{right}'")
    return _sign(len(first), len(second))


def _plain(value: object) -> object:
    if isinstance(value, SwitchValue):
        return value.on
    return value


def compare(left: object, right: object, *, sensitive: bool = False) -> int:
    """Compare two values, and return -1, 0 or 1. The right value is converted to the type of the left value.

    Raises:
        CmdletError: the right value cannot be converted, or the left value is not comparable.
    """
    left, right = _plain(left), _plain(right)
    if isinstance(left, PSObject) and left.type_name == VERSION:
        other = right if isinstance(right, PSObject) else version(to_text(right))
        return _sign(tuple(left.properties.values()), tuple(other.properties.values()))
    if isinstance(left, Enumeration):
        return _sign(left.number, _number_of(left, right))
    if isinstance(left, bool):
        return _sign(left, truth(right))
    if isinstance(left, (int, float, Decimal)):
        return _numbers(left, right)
    if isinstance(left, (datetime, timedelta)):
        return _times(left, right)
    if left is None or right is None:
        return _null(left, right)
    if isinstance(left, (str, PSObject)):
        if isinstance(left, PSObject) and left.text is None:
            raise failure(f'Cannot compare "{to_text(left)}" because it is not IComparable.', "NotIcomparable")
        return compare_texts(to_text(left), to_text(right), sensitive=sensitive)
    raise NotModelled(f"comparing {net_type(left)}")


def _null(left: object, right: object) -> int:
    if left is None and right is None:
        return 0
    other = right if left is None else left
    if isinstance(other, (int, float)) and left is None:
        return _sign(0, 0) - (1 if other >= 0 else -1)
    return -1 if left is None else 1


def _numbers(left: int | float | Decimal, right: object) -> int:
    if right is None:
        return -1 if left < 0 else 1
    number = arithmetic.number(right)
    if isinstance(left, float) and isinstance(number, Decimal):
        raise NotModelled("comparing Double and Decimal")
    return _sign(left, number)


def _times(left: datetime | timedelta, right: object) -> int:
    if right is None:
        return 1
    other = right
    if not isinstance(right, type(left)):
        other = cast("datetime" if isinstance(left, datetime) else "timespan", right)
    if isinstance(left, datetime) and isinstance(other, datetime) and (left.tzinfo is None) != (other.tzinfo is None):
        left, other = left.replace(tzinfo=None), other.replace(tzinfo=None)
    return _sign(left, other)


def _number_of(left: Enumeration, right: object) -> int:
    if isinstance(right, Enumeration):
        return right.number
    if isinstance(right, int) and not isinstance(right, bool):
        return int(right)
    if isinstance(right, str) and left.type_name not in ("", "System.Enum"):
        try:
            found = cast(left.type_name, right)
        except NotModelled:
            found = None
        if isinstance(found, Enumeration):
            return found.number
    if isinstance(right, str):
        # The numbers are not known. Equal names are equal values, and different names are different values.
        return left.number if right.casefold() == left.name.casefold() else left.number + 1
    raise NotModelled(f"comparing {left.type_name} with {net_type(right)}")


def same(left: object, right: object, *, sensitive: bool = False) -> bool:
    """Return whether two values are equal according to `-eq`."""
    left, right = _plain(left), _plain(right)
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, bool):
        return left == truth(right)
    if isinstance(left, TypeValue):
        return isinstance(right, TypeValue) and left.full_name == right.full_name
    if isinstance(left, str):
        if isinstance(left, Char) and not isinstance(right, str):
            return ord(left) == right
        first, second = to_text(left), to_text(right)
        return first == second if sensitive else first.casefold() == second.casefold()
    if isinstance(left, (list, dict)):
        return left is right
    if isinstance(left, PSObject) and left.type_name != VERSION:
        if left is right:
            return True
        if left.text is None or left.type_name not in ("System.Guid", "System.Uri", "System.Net.IPAddress"):
            return left.text is not None and isinstance(right, str) and left.text.casefold() == right.casefold()
        return left.text.casefold() == to_text(right).casefold()
    try:
        return compare(left, right, sensitive=sensitive) == 0
    except NotModelled:
        raise
    except CmdletError:
        return False


def find_key(table: dict[object, object], requested: object) -> object:
    """Return the dictionary's key that equals the requested key, or None if there is no such key.

    String keys are case-sensitive only in a GenericDictionary.
    """
    from simulator.machine.powershell.types.kinds import GenericDictionary

    if isinstance(table, GenericDictionary):
        key = cast(table.key, requested)
        return next((known for known in table if known == key and net_type(known) == net_type(key)), None)
    for known in table:
        if isinstance(known, str) and isinstance(requested, str):
            if net_type(known) == net_type(requested) and known.casefold() == requested.casefold():
                return known
        elif known == requested and net_type(known) == net_type(requested):
            return known
    return None
