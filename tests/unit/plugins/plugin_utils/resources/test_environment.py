# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machine-wide variables and PATH entries."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import answer, commands, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.engine import managed_marks
from ansible_collections.winkube.node.plugins.plugin_utils.resources.environment import (
    Environment,
    with_entries,
    without_entries,
)
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


def seen(value: str | None = None, kind: str = "String") -> t.Any:
    return answer({"exists": value is not None, "key_exists": True, "value": value, "kind": kind})


def test_a_variable() -> None:
    variable = one(type="Environment", name="HTTP_PROXY", value="http://p:3128")
    assert planned(variable, value=seen("http://p:3128")) is None
    change = must(variable, value=seen())
    assert change.before["state"] == "absent"
    assert change.calls[0].parameters == {"name": "HTTP_PROXY", "value": "http://p:3128", "kind": "String"}
    assert must(variable, value=seen("http://q")).why == "value is http://q, expected http://p:3128"


def test_a_variable_that_names_others_is_kept_to_be_expanded() -> None:
    variable = one(type="Environment", name="K", value="%SystemDrive%\\k")
    assert must(variable, value=seen("%SystemDrive%\\k")).after == {"kind": "ExpandString"}
    assert planned(variable, value=seen("%SystemDrive%\\k", "ExpandString")) is None


def test_absence() -> None:
    variable = one(type="Environment", name="K", state="absent")
    assert planned(variable, value=seen()) is None
    assert must(variable, value=seen("x")).calls[0].parameters["value"] is None


def noted(there: bool) -> dict[str, t.Any]:
    return {"path": managed_marks.KEY, "name": "Environment P", "exists": there, "key_exists": there, "value": None}


def managed(value: str | None, note: bool) -> t.Any:
    return answer({"exists": value is not None, "value": value, "kind": "String"}, noted(note))


def test_a_managed_value_is_recorded_before_it_is_set() -> None:
    variable = one(type="Environment", name="P", value="http://p", managed=True)
    assert planned(variable, value=managed("http://p", note=True)) is None
    change = must(variable, value=managed(None, note=False))
    assert commands(change) == ["@read-registry", "New-Item", "New-ItemProperty", "@set-environment"]
    assert commands(must(variable, value=managed("http://q", note=True))) == ["@set-environment"]
    # Values from before are managed from now on.
    change = must(variable, value=managed("http://p", note=False))
    assert (commands(change)[-1], change.after) == ("New-ItemProperty", {"managed": True})


def test_only_managed_variables_are_removed_whatever_their_value() -> None:
    variable = one(type="Environment", name="P", state="absent", managed=True)
    (question,) = variable.observe()
    assert question.parameters == {"values": [{"path": managed_marks.KEY, "name": "Environment P"}]}
    assert planned(variable, value=answer(noted(False))) is None
    change = must(variable, value=answer(noted(True)))
    assert commands(change) == ["@set-environment", "Remove-ItemProperty"]
    assert change.calls[0].parameters["value"] is None


def test_path_entries_are_added_and_the_kind_of_value_is_kept() -> None:
    path = one(type="Environment", name="PATH", path_entries=["C:\\k", "C:\\Program Files\\containerd\\bin"])
    assert planned(path, value=seen("c:\\K\\;%SystemRoot%;C:\\Program Files\\Containerd\\bin", "ExpandString")) is None
    change = must(path, value=seen("%SystemRoot%;C:\\k;", "ExpandString"))
    assert change.calls[0].parameters == {
        "name": "PATH",
        "value": "%SystemRoot%;C:\\k;C:\\Program Files\\containerd\\bin",
        "kind": "ExpandString",
    }


def test_path_entries_are_removed() -> None:
    path = one(type="Environment", name="PATH", path_entries=["C:\\old"], state="absent")
    assert planned(path, value=seen("C:\\new")) is None
    assert must(path, value=seen("C:\\new;c:\\OLD\\;C:\\x")).calls[0].parameters["value"] == "C:\\new;C:\\x"
    assert planned(path, value=seen()) is None


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"value": ""},
        {"value": "a", "path_entries": ["b"]},
        {"path_entries": ["a;b"]},
        {"path_entries": [" "]},
        {"path_entries": ["a"], "managed": True},
    ],
)
def test_invalid_variables_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        one(type="Environment", name="X", **properties)


_FOLDER = st.sampled_from(["C:\\k", "c:\\K\\", "C:\\Program Files\\x", "%SystemRoot%", "D:\\", '"C:\\quoted"'])
_LIST = st.lists(_FOLDER | st.just(""), max_size=6).map(";".join)


@given(st.none() | _LIST, st.lists(_FOLDER, min_size=1, max_size=4))
def test_adding_keeps_the_rest_and_is_idempotent(before: str | None, entries: list[str]) -> None:
    after = with_entries(before, entries)
    assert after is not None
    assert with_entries(after, entries) == after
    assert after.startswith((before or "").rstrip(";"))
    folded = {entry.strip('"').rstrip("\\").casefold() for entry in after.split(";")}
    assert {entry.strip('"').rstrip("\\").casefold() for entry in entries} <= folded


@given(_LIST, st.lists(_FOLDER, min_size=1, max_size=4))
def test_removing_what_was_added_is_idempotent(before: str, entries: list[str]) -> None:
    after = without_entries(with_entries(before, entries), entries)
    assert without_entries(after, entries) == after
    unwanted = {entry.strip('"').rstrip("\\").casefold() for entry in entries}
    assert not unwanted & {entry.strip('"').rstrip("\\").casefold() for entry in (after or "").split(";")}


def test_entries_of_several_lists_are_one_resource() -> None:
    first, second = (
        {"type": "Environment", "name": name, "path_entries": [entry]}
        for name, entry in (("PATH", "C:\\a"), ("Path", "C:\\b"))
    )
    (joined,) = load([first, {"type": "Directory", "name": "C:\\a", "when": False}, second])
    assert isinstance(joined, Environment)
    assert joined.path_entries == ("C:\\a", "C:\\b")


def test_two_values_of_one_variable_are_refused() -> None:
    items = [{"type": "Environment", "name": "A", "value": value} for value in ("1", "2")]
    with pytest.raises(ResourceError, match="a name that is unique"):
        load(items)
