# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registry values and keys."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, commands, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

KEY = "HKLM:\\SOFTWARE\\Example"


def registry(**more: t.Any) -> t.Any:
    return one(type="Registry", key=KEY, value_name="x", **more)


def seen(value: t.Any = None, kind: str | None = None, key_exists: bool = True) -> t.Any:
    return answer({"exists": value is not None, "key_exists": key_exists, "value": value, "kind": kind})


@pytest.mark.parametrize(
    ("kind", "requested", "found"),
    [
        ("String", "a", "a"),
        ("String", 5, "5"),
        ("ExpandString", "%SystemRoot%\\x", "%SystemRoot%\\x"),
        ("MultiString", ["a", "b"], ["a", "b"]),
        ("MultiString", "a", ["a"]),
        ("MultiString", [], []),
        ("DWord", 1, 1),
        ("DWord", "0x10", 16),
        ("DWord", 0xFFFFFFFF, -1),  # .NET reads it as a signed number
        ("QWord", 2**63, -(2**63)),
        ("Binary", "01,ff", [1, 255]),
        ("Binary", [0, 1], [0, 1]),
        ("Binary", "", []),
    ],
)
def test_an_equivalent_value_is_no_change(kind: str, requested: t.Any, found: t.Any) -> None:
    assert planned(registry(value=requested, value_type=kind), value=seen(found, kind)) is None


def test_a_new_value_in_a_new_key() -> None:
    change = must(registry(value=1, value_type="DWord"), value=seen(key_exists=False))
    assert commands(change) == ["@read-registry", "New-Item", "New-ItemProperty"]
    # New-Item -Force would empty a key that another resource has created in the meantime.
    assert call(change, "make-key").to_wire()["input"] == {
        "from": ["key"],
        "where": {"key_exists": False},
        "parameter": "Path",
        "property": "path",
    }
    assert call(change, "set").parameters == {
        "LiteralPath": KEY,
        "Name": "x",
        "Value": 1,
        "PropertyType": "DWord",
        "Force": True,
    }
    assert change.before["state"] == "absent"


def test_another_value_or_kind() -> None:
    change = must(registry(value="2"), value=seen("1", "String"))
    assert (change.why, change.before, change.after) == ("value is 1, expected 2", {"value": "1"}, {"value": "2"})
    assert commands(change) == ["New-ItemProperty"]
    assert must(registry(value="1"), value=seen(1, "DWord")).before == {"value": 1, "value_type": "DWord"}


def test_absence_of_a_value() -> None:
    assert planned(registry(state="absent"), value=seen()) is None
    change = must(one(type="Registry", key=KEY, value_name="x[1]", state="absent"), value=seen("1", "String"))
    assert change.calls[0].parameters["Name"] == "x`[1`]"
    assert change.after["state"] == "absent"


def test_a_whole_key() -> None:
    key = one(type="Registry", key="HKEY_LOCAL_MACHINE\\SOFTWARE\\Example\\")
    assert key.name == KEY
    assert planned(key, value=answer({"key_exists": True})) is None
    assert commands(must(key, value=answer({"key_exists": False}))) == ["@read-registry", "New-Item"]
    gone = one(type="Registry", key=KEY, state="absent")
    assert planned(gone, value=answer({"key_exists": False})) is None
    assert commands(must(gone, value=answer({"key_exists": True}))) == ["Remove-Item"]


def test_no_log_hides_values_and_makes_calls_secret() -> None:
    change = must(registry(value="s3cret", no_log=True), value=seen("0ld", "String"))
    assert "s3cret" not in f"{change.why}{change.before}{change.after}"
    assert "0ld" not in f"{change.why}{change.before}{change.after}"
    assert all(call.secret for call in change.calls)


@pytest.mark.parametrize(
    ("properties", "accepted"),
    [
        ({"value_type": "DWord", "value": 2**32}, "32-bit"),
        ({"value_type": "DWord", "value": True}, "32-bit"),
        ({"value_type": "DWord", "value": "many"}, "32-bit"),
        ({"value_type": "Binary", "value": [256]}, "0 to 255"),
        ({"value_type": "Binary", "value": "xyz"}, "hexadecimal"),
        ({"value_type": "String", "value": True}, "quotes"),
        ({}, "got nothing"),
    ],
)
def test_values_that_their_kind_cannot_hold(properties: dict[str, t.Any], accepted: str) -> None:
    with pytest.raises(ResourceError, match=accepted):
        registry(**properties)


@pytest.mark.parametrize("key", ["HKLM:\\", "SOFTWARE\\x", "HKCR:\\x", "HKLM:\\a/b", "HKLM:\\a*"])
def test_keys_that_cannot_be(key: str) -> None:
    with pytest.raises(ResourceError):
        one(type="Registry", key=key)


def test_an_unreadable_value_is_an_error_that_names_the_resource() -> None:
    from unit.resource_answers import failure

    with pytest.raises(ResourceError, match=r"^Registry .*x: its state could not be read \(value\): Access denied$"):
        planned(registry(value=1), value=failure("PermissionDenied", "x", "Access denied"))
