# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static members of types, and the creation of objects: `[math]::PI`, `[string]::Join()`, `::new()`, New-Object."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from simulator.machine.objects import CUSTOM_OBJECT, CmdletError, NotModelled, PSObject
from simulator.machine.powershell.running.errors import exception, failure, method_failure
from simulator.machine.powershell.statics import file_streams, numbers, started, system, values
from simulator.machine.powershell.types import names
from simulator.machine.powershell.types.arithmetic import integer
from simulator.machine.powershell.types.convert import cast, items, uri, version
from simulator.machine.powershell.types.kinds import (
    INTEGERS,
    ArrayList,
    GenericDictionary,
    GenericList,
    Hashtable,
    OrderedDictionary,
    Queue,
    Stack,
    TypedArray,
)
from simulator.machine.powershell.types.plain_text import to_text
from simulator.machine.rights.guard import AccessDeniedError

if TYPE_CHECKING:
    from simulator.machine.session import Session

_CRYPTO = ("sha1", "sha256", "md5")


def _full(type_name: str) -> str:
    lower = type_name.casefold().removeprefix("system.")
    if lower.startswith("security.cryptography."):
        return "Security.Cryptography." + type_name.rsplit(".", 1)[-1].upper()
    return names.resolve(type_name)


def read(session: Session, type_name: str, name: str) -> object:
    """Return the value of a type's static property.

    Raises:
        NotModelled: the property is not modelled.
    """
    full, lower = _full(type_name), name.casefold()
    if full in names.ENUMERATIONS:
        found = names.member(full, name)
        if found is None:
            raise NotModelled(f"[{type_name}]::{name}")
        return found
    key = f"{full}.{lower}"
    if key in numbers.PROPERTIES:
        return numbers.PROPERTIES[key]
    if key in values.PROPERTIES:
        return values.PROPERTIES[key]()
    if key in system.PROPERTIES:
        return system.PROPERTIES[key](session)
    if full == "System.Text.Encoding":
        return system.encoding(name)
    raise NotModelled(f"[{type_name}]::{name}")


def call(session: Session, type_name: str, name: str, given: list[object]) -> object:
    """Call a static method of a type, and return its result.

    Raises:
        NotModelled: the method is not modelled.
        CmdletError: the method fails.
    """
    if name.casefold() == "new":
        return create(session, type_name, given)
    full, lower = _full(type_name), name.casefold()
    reaching = system.METHODS.get(f"{full}.{lower}")
    table = numbers.METHODS.get(full) or values.METHODS.get(full) or {}
    if reaching is None and lower not in table:
        raise NotModelled(f"[{type_name}]::{name}()")
    fewest, most = (reaching or table[lower])[:2]
    if not fewest <= len(given) <= most:
        raise NotModelled(f"[{type_name}]::{name}() with {len(given)} arguments")
    try:
        return reaching[2](session, given) if reaching else table[lower][2](*given)
    except AccessDeniedError as error:
        raise method_failure(name, len(given), "System.UnauthorizedAccessException", str(error)) from None
    except (TypeError, ValueError, IndexError, ArithmeticError, AttributeError) as error:
        raise NotModelled(f"[{type_name}]::{name}() with these arguments ({error})") from None
    except CmdletError as error:
        if error.error_id == "InvalidCastFromStringToInteger":
            raise NotModelled(f"[{type_name}]::{name}() with an argument of an unexpected type") from None
        raise


class Grid(PSObject):
    """A multidimensional array."""

    def __init__(self, element: str, sizes: list[int]) -> None:
        super().__init__(f"{element}[{',' * (len(sizes) - 1)}]", {})
        self.sizes = sizes
        self.cells: dict[tuple[int, ...], object] = {}
        self.element = element

    def _key(self, at: object) -> tuple[int, ...]:
        key = tuple(integer(item) for item in items(at))
        inside = len(key) == len(self.sizes) and all(
            0 <= place < size for place, size in zip(key, self.sizes, strict=True)
        )
        if not inside:
            raise NotModelled("an index outside the bounds of a multidimensional array")
        return key

    def at(self, place: object) -> object:
        """Return the value of a cell of the array."""
        return self.cells.get(self._key(place), default_of(self.element))

    def put(self, place: object, value: object) -> None:
        """Set the value of a cell of the array."""
        self.cells[self._key(place)] = cast(self.element, value)


def default_of(element: str) -> object:
    """Return the initial value of each element of a new array of the type `element`."""
    if element in INTEGERS or element in ("System.Boolean", "System.Double"):
        return cast(element, 0)
    if element in ("System.Object", "System.String"):
        return None
    raise NotModelled(f"a new array of {element}")


def _array(element: str, given: list[object]) -> object:
    sizes = [integer(item) for part in given for item in items(part)]
    if len(sizes) != 1:
        raise NotModelled(f"a new array with {len(sizes)} lengths instead of one")
    cells = [default_of(element)] * sizes[0]
    return cells if element == "System.Object" else TypedArray(cells, element)


def create(session: Session, type_name: str, given: list[object]) -> object:
    """Return a new object (New-Object, `::new`).

    Raises:
        NotModelled: the type is not modelled.
        CmdletError: the arguments are invalid.
    """
    lower = type_name.casefold().removeprefix("system.")
    if lower.endswith(("cryptoserviceprovider", "managed")):
        name = lower.rsplit(".", 1)[-1].removesuffix("cryptoserviceprovider").removesuffix("managed")
        if name in _CRYPTO:
            return system.hasher(name)
    if lower == "net.sockets.tcpclient" and len(given) == 2:
        return system.tcp_client(given)
    if lower in ("psobject", "pscustomobject", "management.automation.psobject") and not given:
        return PSObject(CUSTOM_OBJECT, {})
    if lower.removeprefix("management.automation.") == "psnoteproperty" and len(given) == 2:
        kind = "System.Management.Automation.PSNoteProperty"
        return PSObject(kind, {"Name": to_text(given[0]), "Value": given[1]})
    if lower == "io.fileinfo" and len(given) == 1:
        return file_streams.file_info(session, to_text(given[0]))
    if lower == "diagnostics.processstartinfo" and not given:
        return started.start_info(session)
    return _created(type_name, names.resolve(type_name), given)


def _created(type_name: str, full: str, given: list[object]) -> object:
    if full.endswith("[]"):
        return _array(full[:-2], given)
    if full.endswith(",]"):
        return Grid(full.split("[")[0], [integer(item) for part in given for item in items(part)])
    short, inner = names.generic(full)
    if short == "dictionary" and not given:
        return GenericDictionary(*inner)
    if short == "list":
        if len(given) > 1 or (given and not isinstance(given[0], list)):
            raise NotModelled(f"New-Object {type_name} with these arguments")
        return GenericList([cast(inner[0], item) for item in items(given[0] if given else None)], inner[0])
    plain = {
        "System.Collections.ArrayList": ArrayList,
        "System.Collections.Queue": Queue,
        "System.Collections.Stack": Stack,
        "System.Collections.Hashtable": Hashtable,
        "System.Collections.Specialized.OrderedDictionary": OrderedDictionary,
        "System.Object": lambda: PSObject("System.Object", {}),
    }
    if full in plain and not given:
        return plain[full]()  # type: ignore[operator]
    if names.is_exception(full) and len(given) <= 2 and all(isinstance(item, str) for item in given[:1]):
        message = to_text(given[0]) if given else f"Exception of type '{full}' was thrown."
        if not given and full != "System.Exception":
            raise NotModelled(f"the default message of the exception {full}")
        inside = given[1] if len(given) > 1 else None
        return exception(full, message, inside if isinstance(inside, PSObject) else None)
    return _of_values(type_name, full, given)


def _of_values(type_name: str, full: str, given: list[object]) -> object:
    whole = [item for item in given if isinstance(item, int)]
    if full == "System.Version" and given:
        return version(".".join(to_text(item) for item in given))
    if full == "System.DateTime" and len(whole) == len(given) and len(given) in (3, 6, 7):
        try:
            return datetime(*(int(item) for item in whole[:6]), microsecond=1000 * sum(whole[6:]))  # type: ignore[misc,arg-type]
        except ValueError:
            why = "Year, Month, and Day parameters describe an un-representable DateTime."
            raise failure(why, "ArgumentOutOfRangeException", "NotSpecified") from None
    if full == "System.TimeSpan" and len(whole) == len(given) and len(given) in (3, 4):
        days, hours, minutes, seconds = ([0] if len(given) == 3 else []) + [int(item) for item in whole]
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if full == "System.Uri" and len(given) == 1:
        return uri(to_text(given[0]))
    if full == "System.Text.UTF8Encoding" and (not given or given[0] is False):
        return system.encoding("utf8")
    if full in ("System.Guid", "System.Net.IPAddress") and len(given) == 1 and isinstance(given[0], str):
        return cast(full, given[0])
    if full == "System.Text.RegularExpressions.Regex" and len(given) == 1:
        return cast(full, given[0])
    if full == "System.String" and len(given) == 2 and isinstance(given[0], str):
        return given[0] * integer(given[1])
    raise NotModelled(f"New-Object {type_name}{' with these arguments' if given else ''}")
