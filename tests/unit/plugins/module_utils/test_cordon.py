# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The owner of a cordon is recorded, so that a run uncordons only nodes that it cordoned."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils.cordon import (
    ANNOTATION,
    CordonMark,
    cordon_patch,
    read_cordon,
    uncordon_patch,
)

MARK = CordonMark("patch_nodes", "controller", "2026-11-21T12:00:00Z")


def node(unschedulable: bool = False, annotation: str | None = None) -> dict[str, t.Any]:
    annotations = {"other": "x"} | ({} if annotation is None else {ANNOTATION: annotation})
    spec = {"unschedulable": True} if unschedulable else {}
    return {"metadata": {"name": "n", "resourceVersion": "7", "annotations": annotations}, "spec": spec}


def patched(before: dict[str, t.Any], patch: dict[str, t.Any] | None) -> dict[str, t.Any]:
    """Return the result of a strategic merge patch for a node. Null removes a key."""
    if patch is None:
        return before
    assert patch["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    annotations = before["metadata"]["annotations"] | patch["metadata"]["annotations"]
    spec = before["spec"] | patch["spec"]
    metadata = before["metadata"] | {
        "annotations": {key: value for key, value in annotations.items() if value is not None}
    }
    return {"metadata": metadata, "spec": {key: value for key, value in spec.items() if value is not None}}


def test_a_cordon_records_its_owner_and_is_removed_completely() -> None:
    cordoned = patched(node(), cordon_patch(node(), MARK))
    assert read_cordon(cordoned) == (True, MARK)
    assert read_cordon(cordoned).is_of("patch_nodes")
    assert patched(cordoned, uncordon_patch(cordoned, "patch_nodes")) == node()


def test_a_node_that_was_cordoned_before_stays_cordoned() -> None:
    before = node(unschedulable=True)
    assert cordon_patch(before, MARK) is None
    assert uncordon_patch(before, "patch_nodes") is None


def test_another_owners_cordon_stays() -> None:
    cordoned = patched(node(), cordon_patch(node(), MARK))
    assert not read_cordon(cordoned).is_of("upgrade_nodes")
    assert cordon_patch(cordoned, CordonMark("upgrade_nodes", "controller", "now")) is None
    assert uncordon_patch(cordoned, "upgrade_nodes") is None


def test_a_mark_that_outlived_its_cordon_counts_no_more() -> None:
    # A user ran `kubectl uncordon`.
    lifted = node(annotation=MARK.to_text())
    assert not read_cordon(lifted).is_of("patch_nodes")
    again = patched(lifted, cordon_patch(lifted, MARK._replace(since="later")))
    assert read_cordon(again) == (True, MARK._replace(since="later"))
    assert patched(lifted, uncordon_patch(lifted, "patch_nodes")) == node()


@pytest.mark.parametrize("text", ["", "yes", "[]", "null", "{}", '{"by": "patch_nodes"}', "{"])
def test_an_unreadable_mark_belongs_to_another_owner(text: str) -> None:
    cordoned = node(unschedulable=True, annotation=text)
    assert not read_cordon(cordoned).is_of("patch_nodes")
    assert uncordon_patch(cordoned, "patch_nodes") is None


@given(st.text(), st.text(), st.text())
def test_a_mark_survives_its_annotation(by: str, on: str, since: str) -> None:
    mark = CordonMark(by, on, since)
    assert read_cordon(node(True, mark.to_text())).mark == mark
