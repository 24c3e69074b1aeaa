# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Resolve the names of .NET types, including PowerShell's type accelerators, and the names of enumeration members."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.conversion import net_type
from simulator.machine.objects import CUSTOM_OBJECT, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.running.errors import failure, full_exception_name, inherits
from simulator.machine.powershell.types.kinds import INTEGERS, Growing

AUTOMATION = "System.Management.Automation."
# https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_type_accelerators
ACCELERATORS = {
    "int": "System.Int32",
    "long": "System.Int64",
    "short": "System.Int16",
    "uint": "System.UInt32",
    "ulong": "System.UInt64",
    "ushort": "System.UInt16",
    "float": "System.Single",
    "bool": "System.Boolean",
    "regex": "System.Text.RegularExpressions.Regex",
    "hashtable": "System.Collections.Hashtable",
    "ordered": "System.Collections.Specialized.OrderedDictionary",
    "pscustomobject": CUSTOM_OBJECT,
    "psobject": f"{AUTOMATION}PSObject",
    "scriptblock": f"{AUTOMATION}ScriptBlock",
    "switch": f"{AUTOMATION}SwitchParameter",
    "psnoteproperty": f"{AUTOMATION}PSNoteProperty",
    "psprimitivedictionary": f"{AUTOMATION}PSPrimitiveDictionary",
    "ipaddress": "System.Net.IPAddress",
    "ref": f"{AUTOMATION}PSReference",
}
_KNOWN = (
    *INTEGERS,
    "System.Object",
    "System.String",
    "System.Boolean",
    "System.Char",
    "System.Double",
    "System.Single",
    "System.Decimal",
    "System.Void",
    "System.Array",
    "System.Type",
    "System.DateTime",
    "System.TimeSpan",
    "System.Guid",
    "System.Version",
    "System.Uri",
    "System.Net.IPAddress",
    "System.Math",
    "System.Convert",
    "System.Enum",
    "System.BitConverter",
    "System.Environment",
    "System.Console",
    "System.GC",
    "System.AppDomain",
    "System.Runtime.InteropServices.RuntimeEnvironment",
    "System.ValueType",
    "System.IO.File",
    "System.IO.Directory",
    "System.IO.Path",
    "System.IO.FileInfo",
    "System.IO.DirectoryInfo",
    "System.IO.FileSystemInfo",
    "System.Text.Encoding",
    "System.Text.UTF8Encoding",
    "System.Text.StringBuilder",
    "System.Threading.Thread",
    "System.Diagnostics.Process",
    "System.Diagnostics.ProcessStartInfo",
    "System.Net.Dns",
    "System.Net.ServicePointManager",
    "System.Collections.ArrayList",
    "System.Collections.Queue",
    "System.Collections.Stack",
    "System.Collections.IDictionary",
    "System.Collections.IList",
    "System.Collections.IEnumerable",
    "System.Collections.ICollection",
    "System.Collections.DictionaryEntry",
    f"{AUTOMATION}ErrorRecord",
    f"{AUTOMATION}WildcardPattern",
    *ACCELERATORS.values(),
)
_FULL = {name.casefold(): name for name in _KNOWN}
_GENERIC = {
    "list": "System.Collections.Generic.List",
    "dictionary": "System.Collections.Generic.Dictionary",
    "hashset": "System.Collections.Generic.HashSet",
    "queue": "System.Collections.Generic.Queue",
    "stack": "System.Collections.Generic.Stack",
    "nullable": "System.Nullable",
}


# The namespaces of .NET and PowerShell. `System.` may be omitted.
_NAMESPACES = frozenset(
    [
        "system",
        "microsoft",
        "windows",
        "ms",
        "internal",
        "interop",
        "collections",
        "componentmodel",
        "configuration",
        "data",
        "diagnostics",
        "directoryservices",
        "drawing",
        "dynamic",
        "formats",
        "globalization",
        "io",
        "linq",
        "management",
        "media",
        "net",
        "numerics",
        "reflection",
        "resources",
        "runtime",
        "security",
        "serviceprocess",
        "text",
        "threading",
        "timers",
        "transactions",
        "web",
        "xml",
        "xaml",
        "buffers",
        "codedom",
        "deployment",
        "enterpriseservices",
        "messaging",
        "printing",
        "speech",
        "workflow",
        "activities",
        "messaging",
    ]
)


def _numbered(*names: str) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


# The members of enumerations, by full name, with their numbers in .NET.
ENUMERATIONS: Mapping[str, Mapping[str, int]] = {
    "System.DayOfWeek": _numbered("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "System.ConsoleColor": _numbered(
        "Black",
        "DarkBlue",
        "DarkGreen",
        "DarkCyan",
        "DarkRed",
        "DarkMagenta",
        "DarkYellow",
        "Gray",
        "DarkGray",
        "Blue",
        "Green",
        "Cyan",
        "Red",
        "Magenta",
        "Yellow",
        "White",
    ),
    "System.DateTimeKind": _numbered("Unspecified", "Utc", "Local"),
    "System.StringSplitOptions": _numbered("None", "RemoveEmptyEntries"),
    "System.StringComparison": _numbered(
        "CurrentCulture",
        "CurrentCultureIgnoreCase",
        "InvariantCulture",
        "InvariantCultureIgnoreCase",
        "Ordinal",
        "OrdinalIgnoreCase",
    ),
    "System.MidpointRounding": _numbered("ToEven", "AwayFromZero"),
    "System.EnvironmentVariableTarget": _numbered("Process", "User", "Machine"),
    "System.PlatformID": _numbered("Win32S", "Win32Windows", "Win32NT", "WinCE", "Unix", "Xbox", "MacOSX"),
    "System.IO.FileMode": {
        "CreateNew": 1,
        "Create": 2,
        "Open": 3,
        "OpenOrCreate": 4,
        "Truncate": 5,
        "Append": 6,
    },
    "System.IO.FileAccess": {"Read": 1, "Write": 2, "ReadWrite": 3},
    "System.IO.FileShare": {"None": 0, "Read": 1, "Write": 2, "ReadWrite": 3, "Delete": 4, "Inheritable": 16},
    "System.IO.FileAttributes": {
        "ReadOnly": 1,
        "Hidden": 2,
        "System": 4,
        "Directory": 16,
        "Archive": 32,
        "Normal": 128,
        "ReparsePoint": 1024,
    },
    "System.Reflection.BindingFlags": {
        "Default": 0,
        "IgnoreCase": 1,
        "DeclaredOnly": 2,
        "Instance": 4,
        "Static": 8,
        "Public": 16,
        "NonPublic": 32,
        "FlattenHierarchy": 64,
    },
    "System.IO.SearchOption": _numbered("TopDirectoryOnly", "AllDirectories"),
    "System.Net.SecurityProtocolType": {"SystemDefault": 0, "Tls": 192, "Tls11": 768, "Tls12": 3072, "Tls13": 12288},
    "System.ServiceProcess.ServiceControllerStatus": {
        "Stopped": 1,
        "StartPending": 2,
        "StopPending": 3,
        "Running": 4,
        "ContinuePending": 5,
        "PausePending": 6,
        "Paused": 7,
    },
}
_FULL |= {name.casefold(): name for name in ENUMERATIONS}
# Enumerations whose members are bit flags, which can be combined.
_FLAGS = ("System.Reflection.BindingFlags",)


def resolve(name: str) -> str:
    """Return a type's full name in its canonical capitalization.

    Raises:
        NotModelled: the simulator does not know the type, but it may exist.
        CmdletError: the type does not exist.
    """
    text = name.strip().replace(" ", "")
    if text.endswith("[]"):
        return f"{resolve(text[:-2])}[]"
    if "[" in text and text.endswith("]") and not text.startswith("["):
        head, _, inner = text[:-1].partition("[")
        bare = head.casefold().removeprefix("system.collections.generic.").removeprefix("collections.generic.")
        bare = bare.removeprefix("system.")
        if set(inner) <= {","}:
            return f"{resolve(head)}[{inner}]"
        if bare in _GENERIC:
            return f"{_GENERIC[bare]}[{','.join(resolve(part) for part in inner.split(','))}]"
        raise NotModelled(f"the type [{name}]")
    lower = text.casefold()
    found = ACCELERATORS.get(lower) or _FULL.get(lower) or _FULL.get(f"system.{lower}") or full_exception_name(text)
    if found is None and is_missing(text):
        raise failure(f"Unable to find type [{name}].", "TypeNotFound")
    if found is None:
        raise NotModelled(f"the type [{name}]")
    return found


def is_missing(name: str) -> bool:
    """Return whether a type cannot exist, because no assembly that PowerShell has loaded contains its namespace."""
    root, dot, _ = name.casefold().partition(".")
    return bool(dot) and root not in _NAMESPACES


def generic(full_name: str) -> tuple[str, list[str]]:
    """Return a generic type's short name in lower case, and its arguments: `("list", ["System.String"])`.

    For any other type, the name and the list of arguments are empty.
    """
    if not full_name.startswith("System.") or not full_name.endswith("]") or full_name.endswith(("[]", ",]")):
        return "", []
    head, _, inner = full_name[:-1].partition("[")
    return head.rsplit(".", 1)[-1].casefold(), inner.split(",")


def is_exception(full_name: str) -> bool:
    """Return whether a type is a known exception type."""
    return full_exception_name(full_name) == full_name


def member(full_name: str, text: str) -> Enumeration | None:
    """Return the enumeration member with the given name, or None if there is none."""
    for name, number in ENUMERATIONS[full_name].items():
        if name.casefold() == text.strip().casefold():
            return Enumeration(name, number, full_name)
    return None


def flags(full_name: str, text: str) -> Enumeration | None:
    """Return the combined value of comma-separated members of an enumeration.

    Return None if a member does not exist, or if the members of the enumeration are not flags.
    """
    found = [member(full_name, name) for name in text.split(",")] if full_name in _FLAGS else [None]
    known = [item for item in found if item is not None]
    if len(known) < len(found):
        return None
    known.sort(key=lambda item: item.number)
    number = 0
    for item in known:
        number |= item.number
    return Enumeration(", ".join(item.name for item in known), number, full_name)


def by_number(full_name: str, number: int) -> Enumeration:
    """Return the enumeration member with the given number. Raise NotModelled if there is none."""
    for name, known in ENUMERATIONS[full_name].items():
        if known == number:
            return Enumeration(name, number, full_name)
    raise NotModelled(f"the value {number} of {full_name}, which is not a member of this enumeration")


_LISTS = ("System.Collections.IList", "System.Collections.IEnumerable", "System.Collections.ICollection")
_FILES = ("System.IO.FileInfo", "System.IO.DirectoryInfo")


def is_type(value: object, name: str) -> bool:
    """Return the result of `value -is [name]`."""
    requested = resolve(name)
    if value is None:
        return False
    actual = net_type(value)
    if requested == "System.Object" or actual == requested:
        return True
    if isinstance(value, (list, tuple)):
        array = isinstance(value, tuple) or not isinstance(value, Growing)
        listed = actual.startswith("System.Collections.Generic.List") and generic(requested)[0] == "list"
        if listed:
            return generic(requested)[1] == [getattr(value, "element", "")]
        return requested in _LISTS or (array and requested == "System.Array")
    if isinstance(value, dict):
        enumerable = requested in ("System.Collections.IDictionary", *_LISTS[1:])
        return enumerable or (actual.endswith("OrderedDictionary") and requested.endswith("IList"))
    if requested == CUSTOM_OBJECT or requested == f"{AUTOMATION}PSObject":
        return isinstance(value, PSObject) and (value.type_name == CUSTOM_OBJECT or "PSCustomObject" in value.type_name)
    if isinstance(value, PSObject):
        if requested == "System.IO.FileSystemInfo":
            return actual in _FILES
        return is_exception(requested) and inherits(actual, requested)
    if requested == "System.ValueType":
        return not isinstance(value, str) or actual == "System.Char"
    if requested == "System.Enum":
        return isinstance(value, Enumeration)
    return requested == "System.Collections.IEnumerable" and isinstance(value, str)
