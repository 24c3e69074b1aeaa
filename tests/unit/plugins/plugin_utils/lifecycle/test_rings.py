# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The ring of a node, from its host's variables or a label of the node, and the order of the rings."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import maintenance, rings
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.rings import problems

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("own", "label", "labels", "ring"),
    [
        ("", "", {ZONE: "a"}, ""),
        ("", ZONE, {ZONE: "a"}, "a"),
        ("", ZONE, {"site": "a"}, ""),
        # The host's own ring wins.
        ("canary", ZONE, {ZONE: "a"}, "canary"),
        ("canary", "", {}, "canary"),
    ],
)
def test_the_ring_of_a_host(own: str, label: str, labels: dict[str, str], ring: str) -> None:
    assert rings.ring_name(own, label, labels) == ring


def ordered(names: list[str], order: list[str], *, by_label: bool) -> list[str]:
    """Return the names of rings in the order in which a rollout works on them."""
    records = [
        {
            "host": name or "none",
            "stage": "waiting",
            "work": True,
            "ring": name,
            "ring_place": rings.ring_place(name, order, by_label=by_label),
        }
        for name in names
    ]
    return maintenance.select(records, [str(one["host"]) for one in records]).chosen


@pytest.mark.parametrize(
    ("order", "by_label", "found"),
    [
        # Without a label, hosts that have no ring come first, as if their ring were the first name.
        ([], False, ["none", "zone2", "zone10", "zone11"]),
        ([], True, ["zone2", "zone10", "zone11", "none"]),
        (["zone11"], True, ["zone11", "zone2", "zone10", "none"]),
        (["zone11"], False, ["zone11", "none", "zone2", "zone10"]),
        (["Zone10", "unknown", "zone02"], True, ["zone10", "zone2", "zone11", "none"]),
    ],
)
def test_the_order_of_rings(order: list[str], by_label: bool, found: list[str]) -> None:
    assert ordered(["zone10", "", "zone11", "zone2"], order, by_label=by_label) == found


def test_the_overview_shows_the_rings_in_their_order() -> None:
    def record(host: str, ring: str, place: int, **more: bool) -> dict[str, object]:
        return {"host": host, "ring": ring, "ring_place": place, **more}

    late = record("late", "b", 1, ours=True)
    chosen = [record("one", "c", 0), record("two", "B", 1), record("three", "b", 1), record("four", "", 2)]
    assert rings.overview(chosen) == ["c: one", "B: two, three", "no ring: four"]
    assert rings.overview([late, *chosen])[:2] == ["left unfinished by an earlier run: late", "c: one"]
    assert rings.overview([late, *chosen[1:3]]) == rings.overview([]) == []


@pytest.mark.parametrize(
    ("label", "nodes", "text"),
    [
        ("", [{}, {}], ""),
        (ZONE, [], ""),
        (ZONE, [{}, {ZONE: ""}], ""),
        (ZONE, [{}, {"site": "a"}], f"expected a label of at least one node of this run, got '{ZONE}'"),
    ],
)
def test_a_label_that_no_node_has_is_refused(label: str, nodes: list[dict[str, str]], text: str) -> None:
    problem = rings.label_problem(label, nodes)
    assert (text in problem) if text else problem == ""


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, []),
        ({"node_maintenance_ring_label": ZONE, "node_maintenance_ring_order": ["b", "a"]}, []),
        ({"node_maintenance_ring_label": "a b"}, ["node_maintenance_ring_label"]),
        ({"node_maintenance_ring_label": ZONE, "node_maintenance_drain": False}, ["node_maintenance_ring_label"]),
        ({"node_maintenance_ring_label": ZONE, "node_maintenance_drain": "no"}, ["node_maintenance_ring_label"]),
        ({"node_maintenance_ring_label": "", "node_maintenance_drain": False}, []),
        ({"node_maintenance_ring_order": ["b", "", "B"]}, [f"node_maintenance_ring_order[{item}]" for item in (1, 2)]),
        ({"node_maintenance_ring_order": ["a", "a"]}, ["node_maintenance_ring_order[1]"]),
        # The type is checked elsewhere.
        ({"node_maintenance_ring_order": "b"}, []),
    ],
)
def test_the_label_and_the_order_are_checked_before_any_node_is_touched(
    values: dict[str, object], wrong: list[str]
) -> None:
    assert [problem.variable for problem in problems(values)] == wrong
