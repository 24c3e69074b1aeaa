# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Methods of arrays, lists, queues, stacks and hash tables."""

from __future__ import annotations

import functools
from collections.abc import Callable

from simulator.machine.conversion import net_type
from simulator.machine.objects import CmdletError, NotModelled, PSObject
from simulator.machine.powershell.members.table import Members, names
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.compare import compare, find_key
from simulator.machine.powershell.types.convert import cast, items
from simulator.machine.powershell.types.kinds import (
    ArrayList,
    Char,
    GenericDictionary,
    GenericList,
    Hashtable,
    OrderedDictionary,
    TypedArray,
)

Items = list[object]
Table = dict[object, object]
_RANGE = "System.ArgumentOutOfRangeException"


def equal(left: object, right: object) -> bool:
    """Return whether two values are equal according to .NET's Equals, which compares types and is case-sensitive."""
    if isinstance(left, (list, dict)) or (isinstance(left, PSObject) and left.text is None):
        return left is right
    return net_type(left) == net_type(right) and left == right


def index_of(found: Items, requested: object) -> int:
    """Return the position of an item, or -1 if the collection does not contain the item."""
    return next((at for at, item in enumerate(found) if equal(item, requested)), -1)


def ordered(found: Items) -> Items:
    """Return the items in ascending order. Strings are compared case-sensitively."""
    return sorted(found, key=functools.cmp_to_key(lambda left, right: compare(left, right, sensitive=True)))


def _fixed(name: str) -> Callable[..., object]:
    def refuse(found: Items, *given: object) -> object:
        raise method_failure(name, len(given), "System.NotSupportedException", "Collection was of a fixed size.")

    return refuse


def converted(found: Items, value: object) -> object:
    return cast(found.element, value) if isinstance(found, (GenericList, TypedArray)) else value


def _add(found: Items, value: object) -> object:
    found.append(converted(found, value))
    return len(found) - 1 if isinstance(found, ArrayList) else None


def _place(found: Items, at: object, name: str, count: int, *, end: bool = False) -> int:
    place = integer(at)
    if not 0 <= place < len(found) + end:
        why = "Index was out of range. Must be non-negative and less than the size of the collection."
        raise method_failure(name, count, _RANGE, why)
    return place


def _insert(found: Items, at: object, value: object) -> None:
    found.insert(_place(found, at, "Insert", 2, end=True), converted(found, value))


def _remove(found: Items, value: object) -> object:
    at = index_of(found, converted(found, value))
    if at >= 0:
        del found[at]
    return at >= 0 if isinstance(found, GenericList) else None


def _remove_at(found: Items, at: object) -> None:
    del found[_place(found, at, "RemoveAt", 1)]


def _sort(found: Items) -> None:
    found[:] = ordered(found)


def _set_value(found: Items, value: object, at: object) -> None:
    found[_place(found, at, "SetValue", 2)] = converted(found, value)


def _copy(found: Items) -> Items:
    if isinstance(found, TypedArray):
        return TypedArray(found, found.element)
    return ArrayList(found) if isinstance(found, ArrayList) else list(found)


def _as_array(found: Items) -> Items:
    return (
        TypedArray(found, found.element)
        if isinstance(found, GenericList) and found.element != "System.Object"
        else list(found)
    )


_OF_ALL: dict[str, tuple[int, int, Callable[..., object]]] = {
    "contains": (1, 1, lambda found, value: index_of(found, converted(found, value)) >= 0),
    "indexof": (1, 1, lambda found, value: index_of(found, converted(found, value))),
    "getenumerator": (0, 0, list),
    "equals": (1, 1, lambda found, other: found is other),
    "clone": (0, 0, _copy),
    "tostring": (0, 0, net_type),
}
ARRAY = Members(
    {
        **_OF_ALL,
        **{name.casefold(): (0, 9, _fixed(name)) for name in ("Add", "Insert", "Remove", "RemoveAt")},
        "getvalue": (1, 1, lambda found, at: found[_place(found, at, "GetValue", 1)]),
        "setvalue": (2, 2, _set_value),
        "getlength": (1, 1, lambda found, _: len(found)),
        "getupperbound": (1, 1, lambda found, _: len(found) - 1),
        "getlowerbound": (1, 1, lambda _found, _at: 0),
    },
    names("Clear CopyTo GetHashCode GetLongLength Initialize Address Get Set SyncRoot IsReadOnly IsFixedSize "
          "IsSynchronized"),
)  # fmt: skip
_GROWING: dict[str, tuple[int, int, Callable[..., object]]] = {
    **_OF_ALL,
    "add": (1, 1, _add),
    "addrange": (1, 1, lambda found, more: found.extend(converted(found, item) for item in items(more))),
    "insert": (2, 2, _insert),
    "remove": (1, 1, _remove),
    "removeat": (1, 1, _remove_at),
    "clear": (0, 0, lambda found: found.clear()),
    "reverse": (0, 0, lambda found: found.reverse()),
    "sort": (0, 0, _sort),
    "toarray": (0, 0, _as_array),
}
_LIST_OTHERS = names(
    "AsReadOnly BinarySearch Capacity ConvertAll CopyTo EnsureCapacity Exists Find FindAll FindIndex FindLast "
    "FindLastIndex GetHashCode GetRange InsertRange IsFixedSize IsReadOnly IsSynchronized LastIndexOf RemoveAll "
    "RemoveRange SetRange Slice SyncRoot TrimExcess TrimToSize TrueForAll"
)
LIST = Members(_GROWING, _LIST_OTHERS)


def _first(found: Items, name: str, *, take: bool) -> object:
    if not found:
        kind = "Queue" if name in ("Dequeue", "Peek") else "Stack"
        raise method_failure(name, 0, "System.InvalidOperationException", f"{kind} empty.")
    return found.pop(0) if take else found[0]


_LINE = {name: _OF_ALL[name] for name in ("getenumerator", "equals", "tostring")}
_LINE |= {
    "contains": (1, 1, lambda found, value: index_of(found, value) >= 0),
    "clear": (0, 0, lambda found: found.clear()),
    "toarray": (0, 0, list),
    "peek": (0, 0, lambda found: _first(found, "Peek", take=False)),
}
_LINE_OTHERS = names("Clone CopyTo GetHashCode IsSynchronized SyncRoot TrimToSize TrimExcess TryDequeue TryPeek TryPop")
QUEUE = Members(
    {
        **_LINE,
        "enqueue": (1, 1, lambda found, value: found.append(value)),
        "dequeue": (0, 0, lambda found: _first(found, "Dequeue", take=True)),
    },
    _LINE_OTHERS,
)
STACK = Members(
    {
        **_LINE,
        "push": (1, 1, lambda found, value: found.insert(0, value)),
        "pop": (0, 0, lambda found: _first(found, "Pop", take=True)),
    },
    _LINE_OTHERS,
)


def entries(table: Table) -> Items:
    """Return the entries of a hash table."""
    return [
        PSObject("System.Collections.DictionaryEntry", {"Name": key, "Key": key, "Value": value})
        for key, value in table.items()
    ]


def store(table: Table, key: object, value: object) -> None:
    """Set an entry of a hash table. If the key exists, keep its capitalization."""
    if isinstance(table, GenericDictionary):
        key, value = cast(table.key, key), cast(table.value, value)
    known = find_key(table, key)
    table[key if known is None else known] = value


def _added(table: Table, key: object, value: object) -> None:
    if find_key(table, key) is not None:
        why = f"Item has already been added. Key in dictionary: '{key}'  Key being added: '{key}'"
        raise method_failure("Add", 2, "System.ArgumentException", why)
    store(table, key, value)


def _removed(table: Table, key: object) -> object:
    known = find_key(table, key)
    if known is not None:
        del table[known]
    return known is not None if isinstance(table, GenericDictionary) else None


def _cloned(table: Table) -> Table:
    if isinstance(table, (OrderedDictionary, GenericDictionary)):
        raise NotModelled(f"{net_type(table)}.Clone()")
    return Hashtable(table)


def _try_get(table: Table, key: object, target: object) -> bool:
    known = find_key(table, key)
    if not isinstance(target, PSObject):
        raise NotModelled("TryGetValue without [ref]")
    target.properties["Value"] = None if known is None else table[known]
    return known is not None


_TABLE: dict[str, tuple[int, int, Callable[..., object]]] = {
    "containskey": (1, 1, lambda table, key: find_key(table, key) is not None),
    "contains": (1, 1, lambda table, key: find_key(table, key) is not None),
    "containsvalue": (1, 1, lambda table, value: any(equal(item, value) for item in table.values())),
    "add": (2, 2, _added),
    "remove": (1, 1, _removed),
    "clear": (0, 0, lambda table: table.clear()),
    "getenumerator": (0, 0, entries),
    "clone": (0, 0, _cloned),
    "equals": (1, 1, lambda table, other: table is other),
    "tostring": (0, 0, net_type),
}
_TABLE_OTHERS = names(
    "CopyTo GetHashCode GetObjectData OnDeserialization IsReadOnly IsFixedSize IsSynchronized SyncRoot Comparer "
    "EnsureCapacity TrimExcess TryAdd Insert RemoveAt AsReadOnly get_Item set_Item Item Capacity"
)
TABLE = Members(_TABLE, _TABLE_OTHERS)
ORDERED = Members({name: work for name, work in _TABLE.items() if name not in ("containskey", "containsvalue")} | {
    "contains": _TABLE["contains"],
}, _TABLE_OTHERS | names("ContainsKey ContainsValue"))  # fmt: skip
DICTIONARY = Members(
    {**{name: work for name, work in _TABLE.items() if name != "contains"}, "trygetvalue": (2, 2, _try_get)},
    _TABLE_OTHERS,
)


def index(found: Items | str, at: object) -> object:
    """Return an item of a list or a character of a string, or None if the index is out of range.

    Raises:
        CmdletError: the index is null or not a number.
    """
    if at is None:
        raise CmdletError(
            "InvalidOperation", "NullArrayIndex", "Index operation failed; the array index evaluated to null."
        )
    place = integer(at)
    if not -len(found) <= place < len(found):
        return None
    item: object = found[place]
    return Char(item) if isinstance(item, str) and isinstance(found, str) else item
