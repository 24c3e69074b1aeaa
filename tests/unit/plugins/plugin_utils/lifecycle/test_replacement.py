# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which nodes are replaced, by which machines, and in which order."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.replacement_record import (
    ANNOTATION,
    ReplacementRecord,
    read_replacement,
)
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import replacement

RECORD = {"name": "win1-g2", "generation": "g2", "old": "reset"}


def node(**more: t.Any) -> dict[str, t.Any]:
    return {"os": "windows", "generation": "", "replacement": {}, **more}


@pytest.mark.parametrize(
    ("name", "generation", "former", "new"),
    [
        ("win1", "2026-11", "", "win1-2026-11"),
        ("win1-2026-10", "2026-11", "2026-10", "win1-2026-11"),
        # Only the generation of the node itself is removed.
        ("win1-2026-10", "2026-11", "2026-09", "win1-2026-10-2026-11"),
        ("win1-1-35-4", "1.36.3", "1.35.4", "win1-1-36-3"),
    ],
)
def test_a_new_machine_is_named_after_the_old_node(name: str, generation: str, former: str, new: str) -> None:
    assert replacement.default_name(name, generation, former) == new


@pytest.mark.parametrize(
    ("nodes", "status"),
    [
        ({}, "not_a_node"),
        ({"win1": node()}, "replace"),
        ({"win1": node(generation="g1")}, "replace"),
        ({"win1": node(generation="g2")}, "up_to_date"),
        # The new machine of another node, which has joined and has no label yet.
        ({"win1": node(), "win0": node(replacement={"name": "win1", "generation": "g2", "old": ""})}, "up_to_date"),
        ({"win1": node(), "win0": node(replacement={"name": "win1", "generation": "g1", "old": ""})}, "replace"),
        # A new machine has no other generation. Kubelets can change annotations, but not this label.
        (
            {"win1": node(generation="g1"), "win0": node(replacement={"name": "win1", "generation": "g2", "old": ""})},
            "replace",
        ),
    ],
)
def test_nodes_of_other_generations_are_replaced(nodes: dict[str, t.Any], status: str) -> None:
    found = replacement.plan("h1", "win1", nodes, "g2")
    assert (found.host, found.node, found.status, found.problem) == ("h1", "win1", status, "")
    assert found.new == ("win1-g2" if status == "replace" else "")
    assert (found.begun, found.old) == (False, "")


def test_a_replacement_that_has_begun_keeps_its_new_machine() -> None:
    # The new machine has joined already.
    nodes = {"win1": node(replacement=RECORD), "win1-g2": node(generation="g2")}
    found = replacement.plan("h1", "win1", nodes, "g2")
    assert (found.new, found.begun, found.old, found.problem) == ("win1-g2", True, "reset", "")


@pytest.mark.parametrize(
    ("own", "others", "name", "text"),
    [
        ({"os": "linux"}, {}, "", "win1 has the operating system linux, expected windows"),
        ({}, {"win1-g2": node()}, "", "the cluster already has a node win1-g2"),
        ({}, {}, "Win1_b", "lower-case letters, digits and hyphens, got 'Win1_b'"),
        ({}, {}, 64 * "a", "at most 63"),
        ({}, {}, "win1", "the cluster already has a node win1,"),
        (
            {"replacement": RECORD},
            {},
            "other",
            "names the unfinished new machine win1-g2 of generation g2, expected other",
        ),
        (
            {"replacement": {**RECORD, "generation": "g1"}},
            {},
            "",
            "run the playbook with node_replace_generation=g1",
        ),
        ({"replacement": read_replacement({"metadata": {"annotations": {ANNOTATION: "{"}}})}, {}, "", "cannot be read"),
    ],
)
def test_nodes_that_cannot_be_replaced(own: dict[str, t.Any], others: dict[str, t.Any], name: str, text: str) -> None:
    problem = replacement.plan("h1", "win1", {"win1": node(**own), **others}, "g2", name).problem
    assert text in problem


def test_windows_would_not_distinguish_the_names() -> None:
    long = "windows-node-01"
    assert "first 15 characters differ" in replacement.plan("h", long, {long: node()}, "g2").problem
    assert replacement.plan("h", long[1:], {long[1:]: node()}, "g2").problem == ""


def test_shared_names_are_found() -> None:
    plans = [
        {"host": "a", "new": "x"},
        {"host": "b", "new": "x"},
        {"host": "c", "new": "y"},
        {"host": "d", "new": ""},
        {},
    ]
    assert replacement.shared_names(plans) == {"x": ["a", "b"]}


@pytest.mark.parametrize(("text", "valid"), [("1", True), ("25%", True), (" 3 ", True), ("100%", True)])
def test_a_surge_is_a_number_or_a_percentage(text: str, valid: bool) -> None:
    assert replacement.is_surge(text) is valid


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-1", "", "all", "1.5"])
def test_other_surges_are_refused(text: str) -> None:
    assert not replacement.is_surge(text)


@pytest.mark.parametrize(
    ("surge", "nodes", "size"), [("1", 9, 1), ("4", 2, 4), ("25%", 4, 1), ("25%", 5, 2), ("1%", 9, 1), ("100%", 3, 3)]
)
def test_percentages_are_rounded_up(surge: str, nodes: int, size: int) -> None:
    assert replacement.surge_size(surge, nodes) == size


def plans(*hosts: str) -> list[dict[str, t.Any]]:
    return [{"host": host, "new": f"{host}2"} for host in hosts]


def test_new_machines_and_old_ones_take_turns() -> None:
    found = replacement.turns(plans("a", "b", "c"), {}, "2")
    assert found.hosts == ["a2", "b2", "a", "b", "c2", "c"]
    assert found.sizes == [2, 2, 1, 1]


def test_a_batch_has_machines_of_one_ring() -> None:
    found = replacement.turns(
        plans("a", "b", "c"), {"a": {"ring": "1"}, "b": {"ring": "1"}, "c": {"ring": "2"}}, "100%"
    )
    assert found.hosts == ["a2", "b2", "a", "b", "c2", "c"]
    assert found.sizes == [2, 2, 1, 1]


def test_nothing_is_replaced() -> None:
    assert replacement.turns([], {}, "50%") == replacement.Turns([], [])


def test_a_record_is_read_as_it_was_written() -> None:
    text = ReplacementRecord(**RECORD).to_text()
    assert read_replacement({"metadata": {"annotations": {ANNOTATION: text}}}) == RECORD
    assert read_replacement({"metadata": {}}) == {}
    strange = [json.dumps({**RECORD, name: "a\n\x1b[2J"}) for name in RECORD]
    for broken in ("", "[]", '{"name": "a"}', "null", *strange):
        found = read_replacement({"metadata": {"annotations": {ANNOTATION: broken}}})
        assert found == {"name": "unreadable", "generation": "unreadable", "old": ""}
