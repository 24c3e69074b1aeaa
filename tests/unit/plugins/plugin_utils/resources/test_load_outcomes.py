# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Converting values of YAML and Jinja to properties, and errors, as tables that are compared with golden files."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable

from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.specification.convert import convert
from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import describe, properties
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Nested:
    """A mapping in a property."""

    name: str
    number: int = 5


ANNOTATIONS: dict[str, t.Any] = {
    "any": t.Any,
    "text": str,
    "number": int,
    "float": float,
    "flag": bool,
    "optional text": str | None,
    "choice": t.Literal["one", "Two", True],
    "list": tuple[str, ...],
    "numbers": tuple[int, ...],
    "text or list": str | tuple[str, ...],
    "number or flag": int | bool | None,
    "mapping": t.Mapping[str, int],
    "nested": Nested,
    "list of nested": tuple[Nested, ...],
}
VALUES: list[t.Any] = [
    *(None, "", "x", "a\x00b", "\ud800", 101 * "a", " 42 ", "+7", "4.5", "\uff11", 41 * "9", 0, 1, -3, 10**40),
    *(2.0, 2.5, float("nan"), float("inf"), "1e999", True, False, "Yes", " no ", "on", "0", "TWO", "true"),
    *(
        b"x",
        [],
        ["a"],
        [1, "2"],
        [["a"]],
        {},
        {"a": 1},
        {"a": "x"},
        {1: 2},
        {"name": "x"},
        {"name": "x", "number": "6"},
    ),
    *({"name": "x", "nubmer": 6}, {"name": None}, {"name": "x", "number": None}, [{"name": "x"}, {"number": 1}]),
]
ITEMS: dict[str, t.Any] = {
    "no list": "x",
    "a mapping": {"type": "File"},
    "a text": ["x"],
    "no type": [{"name": "x"}],
    "a type that is none": [{"type": "Fil", "name": "x"}],
    "a type that is no text": [{"type": ["File"], "name": "x"}],
    "an unknown property": [{"type": "TimeZone", "name": "x", "iid": "y"}],
    "a property that is far off": [{"type": "TimeZone", "name": "x", "qqq": 1}],
    "a long name": [{"type": "TimeZone", "name": 70 * "x" + "\n", "id": []}],
    "a name that is no text": [{"type": "TimeZone", "name": ["x"]}],
    "no name": [{"type": "TimeZone"}],
    "when": [{"type": "TimeZone", "name": "x", "when": "perhaps"}],
    "not when": [{"type": "TimeZone", "name": "x", "when": "no"}],
    "when it is": [{"type": "TimeZone", "name": "x", "when": True}],
    "windows": [{"type": "TimeZone", "name": "x", "windows": ["2016"]}],
    "hidden": [{"type": "File", "name": "C:\\x", "content": ["s3cret"], "no_log": True}],
    "hidden, as text": [{"type": "File", "name": "C:\\x", "content": ["s3cret"], "no_log": " YES "}],
    "hidden, and quoted": [{"type": "Service", "name": "x", "state": "s3cret", "no_log": 1}],
    "hidden, but the name": [{"type": "File", "name": ["x"], "no_log": True}],
    "a secret": [{"type": "Artifact", "name": "x", "path": "C:\\x", "urls": "http://h/x", "proxy": ["s3cret"]}],
    "a nested secret": [
        {"type": "ContainerImage", "name": "r.io/a:1", "archives": [{"url": ["s3cret"], "sha256": "x"}]}
    ],
    "twice": [{"type": "TimeZone", "name": "UTC"}, {"type": "TimeZone", "name": "UTC", "id": "GMT"}],
    "twice the same": [{"type": "TimeZone", "name": "UTC"}, {"type": "TimeZone", "name": "UTC"}],
    "nothing": [],
}


def refused(call: Callable[[], object]) -> object:
    """Return the result of a call with its type, or its error message."""
    try:
        found = call()
    except ResourceError as error:
        return error
    return found if isinstance(found, list) else repr(found)


def converted(annotation: t.Any) -> list[str]:
    """Return the result for each value, one line each."""
    outcomes_ = [(value, refused(lambda value=value: convert(value, annotation, "here"))) for value in VALUES]  # type: ignore[misc]
    return [f"{ascii(value)[:60]}: {outcome}" for value, outcome in outcomes_]


def test_values() -> None:
    scalars = (str, int, float, bool)
    single = {name: converted(one) for name, one in ANNOTATIONS.items() if one in scalars}
    outcomes.check("resources/values", single)
    nested = {name: converted(one) for name, one in ANNOTATIONS.items() if one not in (*scalars, t.Any)}
    outcomes.check("resources/nested_values", nested)
    for value in VALUES:
        assert convert(value, t.Any, "here") is value
    outcomes.check("resources/described", {name: describe(annotation) for name, annotation in ANNOTATIONS.items()})


def test_items() -> None:
    found = {name: refused(lambda given=given: load(given)) for name, given in ITEMS.items()}  # type: ignore[misc]
    outcomes.check(
        "resources/items",
        {
            name: [each.title for each in outcomes_] if isinstance(outcomes_, list) else outcomes_
            for name, outcomes_ in found.items()
        },
    )


def test_own_properties_come_before_those_of_all_resources() -> None:
    zone = TYPES["TimeZone"]
    assert list(properties(zone)) == ["name", "id", "windows", "restarts", "disrupts", "no_log"]
    assert list(properties(Nested)) == ["name", "number"]
