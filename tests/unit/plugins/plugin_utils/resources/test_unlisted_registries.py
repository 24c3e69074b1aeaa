# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registries that a site no longer lists are removed from the node. Those of other owners stay."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

FOLDER = "C:\\certs.d"


def listed(*keep: str) -> t.Any:
    return one(type="UnlistedRegistries", name=FOLDER, keep=list(keep))


def noted(*names: t.Any) -> dict[str, t.Any]:
    return {"noted": answer({"exists": bool(names), "value": list(names) if names else None})}


@pytest.mark.parametrize("names", [(), ("a.example",), ("b.example_5000_", "a.example")])
def test_a_list_that_is_noted_is_left_alone(names: tuple[str, ...]) -> None:
    assert planned(listed(*names), **noted(*names)) is None


def test_a_registry_is_noted_before_it_is_written() -> None:
    change = must(listed("b.example", "a.example"), **noted())
    assert [each.id for each in change.calls] == ["key", "make-key", "note"]
    assert call(change, "note").parameters["Value"] == ["a.example", "b.example"]


def test_an_unlisted_registry_is_removed_and_its_record_deleted() -> None:
    change = must(listed("a.example"), **noted("a.example", "b.example_5000_"))
    assert [each.id for each in change.calls] == ["look", "remove", "key", "make-key", "note"]
    assert call(change, "look").parameters["paths"] == ["C:\\certs.d\\b.example_5000_"]
    last = must(listed(), **noted("a.example"))
    assert [each.id for each in last.calls] == ["look", "remove", "forget"]


@pytest.mark.parametrize("name", ["..", "a\\..\\..", "", ".", "*", "a/b", None, 7])
def test_a_note_that_names_no_folder_removes_nothing(name: t.Any) -> None:
    change = must(listed("a.example"), **noted(name))
    assert [each.id for each in change.calls] == ["key", "make-key", "note"]


@pytest.mark.parametrize("more", [{"keep": [".."]}, {"keep": ["a\\b"]}, {"keep": [""]}, {"name": "C:\\", "keep": []}])
def test_invalid_registries_are_refused(more: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        one(**{"type": "UnlistedRegistries", "name": FOLDER, **more})
