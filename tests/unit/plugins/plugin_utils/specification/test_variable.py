# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Values of variables are converted to the declared type; what is refused is named, without secrets."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import SECRET
from ansible_collections.winkube.node.plugins.plugin_utils.specification.variable import variables
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """A structured value."""

    url: str
    token: str = dataclasses.field(default="", metadata=SECRET)
    retries: int = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declared:
    """Variables of all kinds."""

    role: t.Literal["one", "Two"] = dataclasses.field(metadata={"variable": "role", "hint": "Two is larger."})
    text: str
    number: int
    limit: int | None
    flag: bool
    names: tuple[str, ...]
    kinds: tuple[t.Literal["2022", "2025"], ...]
    settings: t.Mapping[str, t.Any]
    password: str = dataclasses.field(metadata=SECRET)
    secrets: tuple[t.Mapping[str, str], ...] = dataclasses.field(metadata=SECRET)
    place: Place
    places: tuple[str | Place, ...]
    by_name: t.Mapping[str, Place]


DECLARED = variables(Declared, "role")


def test_a_field_stands_for_a_variable_with_the_roles_prefix() -> None:
    assert list(DECLARED)[:3] == ["role", "role_text", "role_number"]
    assert {name for name, one in DECLARED.items() if one.secret} == {"role_password", "role_secrets"}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("role", "Two", "Two"),
        ("role_text", 1.5, "1.5"),
        ("role_number", " 42 ", 42),
        ("role_flag", "yes", True),
        ("role_names", "a", ("a",)),
        ("role_names", ["a", 1], ("a", "1")),
        ("role_kinds", ["2022", 2025], ("2022", "2025")),
        ("role_settings", {"a": [1]}, {"a": [1]}),
        ("role_place", {"url": "u", "retries": "5"}, Place(url="u", retries=5)),
        ("role_places", ["u", {"url": "v"}], ("u", Place(url="v"))),
        ("role_by_name", {"a": {"url": "u"}}, {"a": Place(url="u")}),
        # Users leave a value out to mean an empty one.
        ("role_text", None, ""),
        ("role_names", None, ()),
        ("role_settings", None, {}),
        ("role_limit", None, None),
    ],
)
def test_a_value_becomes_the_declared_type(name: str, value: object, expected: object) -> None:
    assert DECLARED[name].convert(value) == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("role", "three", "role: expected one of one, Two, got 'three'. Two is larger."),
        # Templates of roles compare the value as it is written.
        ("role", "two", "role: expected one of one, Two, got 'two'. Did you mean Two?"),
        ("role_kinds", ["2022", "2019"], "role_kinds[1]: expected one of 2022, 2025, got '2019'"),
        ("role_number", "soon", "role_number: expected a whole number, got 'soon'"),
        ("role_number", None, "role_number: expected a whole number, got nothing"),
        ("role_place", None, "role_place.url: expected a string, got nothing"),
        ("role_text", True, "role_text: expected a string, got True. Put it in quotes."),
        ("role_names", {"a": 1}, "role_names: expected a list of strings, got a mapping with the key 'a'"),
        ("role_settings", "a: b", "role_settings: expected a mapping of names to values, got (hidden: a string)"),
        ("role_place", {"uri": "u"}, "role_place.uri: expected one of the properties url, token, retries, got 'uri'"),
        ("role_place", {"url": "u", "token": ["s3cret"]}, "role_place.token: expected a string, got (hidden)"),
        # The error in the form that the value has, and not the one of the other form.
        ("role_places", [{"url": "u", "retries": "x"}], "role_places[0].retries: expected a whole number, got 'x'"),
        ("role_places", [5.5, ["u"]], "role_places[1]: expected a string or a mapping with url, token, retries"),
        ("role_by_name", {"a": "s3cret"}, "role_by_name.a: expected a mapping with url, token, retries, got (hidden"),
        ("role_password", ["s3cret"], "role_password: expected a string, got a list of 1 (string)"),
        ("role_secrets", [{"a": ["s3cret"]}], "role_secrets[0].a: expected a string, got a list of 1 (string)"),
        (
            "role_secrets",
            "s3cret",
            "got (hidden: a string). With --extra-vars, write the list as JSON, such as -e '{\"role_secrets",
        ),
        (
            "role_secrets",
            {"a": "s3cret"},
            "role_secrets: expected a list of mappings of names to strings, got a mapping with",
        ),
    ],
)
def test_a_value_that_is_not_acceptable_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ResourceError) as refused:
        DECLARED[name].convert(value)
    assert message in str(refused.value)
    assert "s3cret" not in str(refused.value)
