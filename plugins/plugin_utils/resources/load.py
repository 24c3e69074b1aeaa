# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Load resources from plain mappings; every value is checked against its property's type annotation."""

from __future__ import annotations

import typing as t

from ..engine.resource import Resource
from ..specification.convert import hidden_error, is_true, short, short_text, to_bool, to_dataclass
from ..specification.describe import one_of, properties, property_types
from ..values.errors import ResourceError
from ..windows import windows_versions
from . import TYPES


def load(items: t.Sequence[t.Mapping[str, t.Any]]) -> list[Resource]:
    """Load a user's list of resources. Resources with the same type and name are joined if the type supports it.

    Args:
        items: mappings with `type`, `name`, properties of the type, and optionally `when`. An item whose `when` is
            false is skipped.

    Returns:
        The resources, in the order of the list.

    Raises:
        ResourceError: an item is invalid, or cannot be joined with an earlier one. The message is a single line.
    """
    given: object = items
    if isinstance(given, (str, bytes)) or not isinstance(given, t.Sequence):
        raise ResourceError("resources", short(items), "expected a list of resources")
    loaded: list[Resource] = []
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for position, item in enumerate(items):
        resource = _load_item(item, f"resources[{position}]")
        if resource is None:
            continue
        identity = (resource.type, resource.name.casefold())
        if identity not in seen:
            seen[identity] = (position, len(loaded))
            loaded.append(resource)
            continue
        earlier, index = seen[identity]
        union = loaded[index].joined(resource)
        if union is None:
            raise ResourceError(
                f"resources[{position}] ({resource.type} {short_text(resource.name)}).name",
                short(resource.name),
                "expected a name that is unique among resources of its type",
                f"resources[{earlier}] already has this type and name.",
            )
        loaded[index] = union
    return loaded


def _load_item(item: t.Any, where: str) -> Resource | None:
    if not isinstance(item, t.Mapping):
        raise ResourceError(where, short(item), "expected a mapping with type and name")
    if "type" not in item:
        raise ResourceError(f"{where}.type", None, f"expected one of {', '.join(sorted(TYPES))}")
    type_ = TYPES.get(item["type"]) if isinstance(item["type"], str) else None
    if type_ is None:
        raise ResourceError(f"{where}.type", short(item["type"]), *one_of(item["type"], TYPES))
    name = item.get("name")
    where = f"{where} ({type_.type}{' ' + short_text(str(name)) if isinstance(name, str) else ''})"
    if "when" in item and not to_bool(item["when"], f"{where}.when"):
        return None
    hide = is_true(item.get("no_log"))
    try:
        values = {key: value for key, value in item.items() if key not in ("type", "when")}
        resource = t.cast("Resource", to_dataclass(type_, values, where))
        _check_windows(resource.windows, where)
    except ResourceError as problem:
        if hide and not problem.where.endswith(".name"):
            raise hidden_error(problem) from None
        raise
    return resource


def _check_windows(versions: tuple[str, ...], where: str) -> None:
    for version in versions:
        if version not in windows_versions.NAMES:
            known = ", ".join(windows_versions.NAMES)
            raise ResourceError(f"{where}.windows", short(version), f"expected one of {known}")


# Fill the caches at import, because Ansible's main process imports this module before it forks workers, which then
# share the caches.
for _type in TYPES.values():
    properties(_type)
    property_types(_type)
