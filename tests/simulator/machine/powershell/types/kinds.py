# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
""".NET types without a counterpart in Python.

Python's int, float, str, bool and list represent Int32, Double, String, Boolean and Object[]. A plain dict, which
cmdlets return, is treated as a Hashtable. The numbers, characters and collections in this module are subclasses of
these Python types, so that cmdlets accept them without conversion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.machine.objects import PSObject, ScriptBlock


class Int64(int):
    """System.Int64."""

    type_name = "System.Int64"


class UInt32(int):
    """System.UInt32."""

    type_name = "System.UInt32"


class UInt64(int):
    """System.UInt64."""

    type_name = "System.UInt64"


class Int16(int):
    """System.Int16."""

    type_name = "System.Int16"


class UInt16(int):
    """System.UInt16."""

    type_name = "System.UInt16"


class Byte(int):
    """System.Byte."""

    type_name = "System.Byte"


class SByte(int):
    """System.SByte."""

    type_name = "System.SByte"


class Single(float):
    """System.Single."""

    type_name = "System.Single"


class Char(str):
    """System.Char."""

    __slots__ = ()
    type_name = "System.Char"


INTEGERS: dict[str, tuple[type[int], int, int]] = {
    "System.Int32": (int, -(2**31), 2**31 - 1),
    "System.Int64": (Int64, -(2**63), 2**63 - 1),
    "System.UInt32": (UInt32, 0, 2**32 - 1),
    "System.UInt64": (UInt64, 0, 2**64 - 1),
    "System.Int16": (Int16, -(2**15), 2**15 - 1),
    "System.UInt16": (UInt16, 0, 2**16 - 1),
    "System.Byte": (Byte, 0, 2**8 - 1),
    "System.SByte": (SByte, -(2**7), 2**7 - 1),
}


class TypedArray(list[object]):
    """An array of a type other than Object."""

    def __init__(self, items: Iterable[object], element: str) -> None:
        super().__init__(items)
        self.element = element

    @property
    def type_name(self) -> str:
        """The type of the array itself, such as `System.String[]`."""
        return f"{self.element}[]"


class Growing(list[object]):
    """A collection that can grow, unlike an array."""

    type_name = ""


class ArrayList(Growing):
    """System.Collections.ArrayList."""

    type_name = "System.Collections.ArrayList"


class GenericList(Growing):
    """System.Collections.Generic.List."""

    def __init__(self, items: Iterable[object] = (), element: str = "System.Object") -> None:
        super().__init__(items)
        self.element = element

    type_name = "System.Collections.Generic.List`1"


class Queue(Growing):
    """System.Collections.Queue."""

    type_name = "System.Collections.Queue"


class Stack(Growing):
    """System.Collections.Stack. The first item is the top of the stack."""

    type_name = "System.Collections.Stack"


class Hashtable(dict[object, object]):
    """System.Collections.Hashtable, with case-insensitive string keys."""

    type_name = "System.Collections.Hashtable"


class OrderedDictionary(Hashtable):
    """The dictionary that [ordered] creates."""

    type_name = "System.Collections.Specialized.OrderedDictionary"


class GenericDictionary(dict[object, object]):
    """System.Collections.Generic.Dictionary, with case-sensitive keys."""

    type_name = "System.Collections.Generic.Dictionary`2"

    def __init__(self, key: str = "System.Object", value: str = "System.Object") -> None:
        super().__init__()
        self.key = key
        self.value = value


class Empty:
    """The value of a command that returned nothing (AutomationNull): a null that pipelines do not pass on."""


EMPTY = Empty()


class SwitchValue(PSObject):
    """System.Management.Automation.SwitchParameter."""

    def __init__(self, on: bool) -> None:
        kind = "System.Management.Automation.SwitchParameter"
        super().__init__(kind, {"IsPresent": on}, "True" if on else "False")

    @property
    def on(self) -> bool:
        """Whether the switch is set."""
        return bool(self.properties["IsPresent"])


class Regex(PSObject):
    """System.Text.RegularExpressions.Regex."""

    def __init__(self, pattern: str, compiled: re.Pattern[str]) -> None:
        super().__init__("System.Text.RegularExpressions.Regex", {}, pattern)
        self.compiled = compiled


class TypeValue(PSObject):
    """System.RuntimeType."""

    def __init__(self, full_name: str) -> None:
        bare = full_name.split("[[")[0]
        array = "[]" if full_name.endswith("[]") and not bare.endswith("[]") else ""
        name = bare.rsplit(".", 1)[-1] + array
        super().__init__("System.RuntimeType", {"Name": name, "FullName": full_name}, bare + array)

    @property
    def full_name(self) -> str:
        """The full name of the type."""
        return str(self.properties["FullName"])


class Closure(ScriptBlock):
    """A script block with captured variables, as created by GetNewClosure."""

    captured: dict[str, object]

    @classmethod
    def of(cls, block: ScriptBlock, captured: dict[str, object]) -> Closure:
        """Return a copy of a script block that uses the given captured variables, as GetNewClosure does."""
        made = cls(block.block, block.text)
        object.__setattr__(made, "captured", captured)
        return made


def byte_array(data: bytes) -> TypedArray:
    """Return bytes as a .NET array of the type Byte[]."""
    return TypedArray([Byte(item) for item in data], "System.Byte")


def to_bytes(value: object) -> bytes | None:
    """Return bytes, or a list of numbers between 0 and 255, as bytes. Return None for other values."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(int(str(int(item))) for item in value if isinstance(item, int))
    return None
