# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The patch formats and selectors of the cluster in memory, without a server: directives, orders, hostile input."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cluster.memory.apply import server_side_apply
from simulator.cluster.memory.errors import ApiErrorResponse
from simulator.cluster.memory.json_patches import json_patch, merge_patch
from simulator.cluster.memory.selectors import labels_match, selector_matches
from simulator.cluster.memory.strategic import strategic_merge

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OPS = st.sampled_from(["add", "remove", "replace", "test", "move", "copy"]) | VALUES
PATHS = st.sampled_from(["", "/", "/0", "/-", "/0/1", "/~1"]) | VALUES


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        ({"taints": [{"key": "a"}]}, {"taints": []}, {"taints": []}),
        (
            {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]},
            {"conditions": [{"type": "B", "status": "False"}, {"type": "C", "status": "True"}]},
            {
                "conditions": [
                    {"type": "A", "status": "True"},
                    {"type": "B", "status": "False"},
                    {"type": "C", "status": "True"},
                ]
            },
        ),
        (
            {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "x"}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 8080}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "x", "hostPort": 8080}]}]},
        ),
        (
            {"volumes": [{"name": "a", "emptyDir": {}}]},
            {"volumes": [{"name": "a", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]},
            {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
        ),
        (
            {"env": [{"name": "a"}, {"name": "b"}]},
            {"$setElementOrder/env": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "env": [{"name": "c"}]},
            {"env": [{"name": "c"}, {"name": "b"}, {"name": "a"}]},
        ),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["c"]}, {"finalizers": ["a", "b", "c"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"env": [{"name": "a"}]}, {"env": [{"$patch": "replace"}, {"name": "z"}]}, {"env": [{"name": "z"}]}),
        ({}, {"env": [{"name": "a", "$patch": "delete"}]}, {"env": []}),
    ],
)  # fmt: skip
def test_strategic_merge(target: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy((target, patch))
    assert strategic_merge(target, patch) == expected
    assert (target, patch) == before


def test_an_element_without_its_key_is_refused() -> None:
    with pytest.raises(ApiErrorResponse, match="does not contain declared merge key: name"):
        strategic_merge({}, {"containers": [{"image": "x"}]})


@given(VALUES, VALUES)
def test_merge_patch_is_stable_and_changes_nothing_it_was_given(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == before


@given(VALUES)
def test_json_patch_replaces_the_whole_document(value: Any) -> None:
    assert json_patch({"a": [1, 2]}, [{"op": "replace", "path": "", "value": value}]) == value


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3], "b/c": {"d~e": 0}}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2], "b/c": {"d~e": 0}}),
        ([{"op": "remove", "path": "/b~1c/d~0e"}], {"a": [1, 2], "b/c": {}}),
        ([{"op": "copy", "from": "/a/1", "path": "/x"}], {"a": [1, 2], "b/c": {"d~e": 0}, "x": 2}),
        ([{"op": "move", "from": "/a", "path": "/b~1c/f"}], {"b/c": {"d~e": 0, "f": [1, 2]}}),
    ],
)
def test_json_patch_operations(operations: list[dict[str, Any]], expected: Any) -> None:
    assert json_patch({"a": [1, 2], "b/c": {"d~e": 0}}, operations) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nothing"},
        {"op": "add", "path": "/a/9", "value": 1},
        {"op": "replace", "path": "/no/where", "value": 1},
        {"op": "test", "path": "/a/0", "value": 9},
        {"op": "jump", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "replace", "path": "/a/1", "value": 1},
        {"op": "copy", "path": "/a"},
        {"op": "remove", "path": ""},
    ],
)
def test_json_patches_that_cannot_be_applied_are_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(ApiErrorResponse) as error:
        json_patch({"a": [1]}, [operation])
    assert error.value.code == 422
    assert str(error.value) == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize("operations", [{}, "[]", 1, 1.5, True, [1], ["x"], [[]], [{"op": 1}], [{"path": []}]])
def test_a_json_patch_of_the_wrong_types_is_malformed(operations: Any) -> None:
    with pytest.raises(ApiErrorResponse, match="json: cannot unmarshal") as error:
        json_patch({"a": [1]}, operations)
    assert error.value.code == 400


@given(VALUES, st.lists(st.fixed_dictionaries({}, optional={"op": OPS, "path": PATHS, "from": PATHS, "value": VALUES})))
def test_a_json_patch_is_applied_or_refused_and_changes_nothing_it_was_given(target: Any, operations: Any) -> None:
    before = copy.deepcopy((target, operations))
    with contextlib.suppress(ApiErrorResponse):
        json_patch(target, operations)
    assert (target, operations) == before


def daemon(**env: str) -> dict[str, Any]:
    container = {"name": "a", "image": "i", "env": [{"name": key, "value": value} for key, value in env.items()]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d"},
        "spec": {"containers": [container]},
    }


def test_apply_owns_elements_of_lists() -> None:
    live = server_side_apply(None, daemon(A="1", B="2"), "one", False, "t0")
    live = server_side_apply(live, daemon(A="1", C="3"), "one", False, "t1")
    assert live["spec"]["containers"] == daemon(A="1", C="3")["spec"]["containers"]
    other = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "labels": {"x": "1"}}}
    live = server_side_apply(live, other, "two", False, "t2")
    assert [one["manager"] for one in live["metadata"]["managedFields"]] == ["one", "two"]
    live = server_side_apply(live, daemon(A="1"), "one", False, "t3")
    assert live["metadata"]["labels"] == {"x": "1"}, "what another manager owns stays"
    with pytest.raises(ApiErrorResponse, match=r'conflict with "one": \.spec\.containers\[.*\]\.env\[.*\]\.value'):
        server_side_apply(live, daemon(A="9"), "two", False, "t4")


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ("", {}, True),
        ("a==1", {"a": "1"}, True),
        ("a!=1", {}, True),
        ("a notin (1, 2),b", {"a": "3", "b": ""}, True),
        ("a notin (1,2)", {"a": "2"}, False),
        ("!a,b in (x)", {"b": "x"}, True),
        ("kubernetes.io/os=windows", {"kubernetes.io/os": "windows"}, True),
    ],
)
def test_label_selectors(selector: str, labels: dict[str, str], expected: bool) -> None:
    assert labels_match(selector, labels) is expected


def test_a_selector_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ApiErrorResponse, match="unable to parse requirement"):
        labels_match("a in", {})


def test_selector_objects() -> None:
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["x"]}]}
    assert selector_matches(selector, {"a": "1"})
    assert not selector_matches(selector, {"a": "1", "b": "x"})
    assert not selector_matches(None, {})
    assert selector_matches({}, {"any": "thing"})
