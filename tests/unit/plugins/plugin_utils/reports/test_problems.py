# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Problems of many hosts, each printed once."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.reports import problems


def test_a_problem_that_hosts_share_is_one_line() -> None:
    found = {"a": ["x", "y"], "b": ["x", "x"], "c": ["x"], "d": ["z"]}
    assert problems.lines(found) == ["- a, b, c: x", "- a: y", "- d: z"]
    assert problems.lines({"a": ["x"], "b": ["x"], "c": ["x"]}) == ["- all 3 hosts: x"]
    many = {f"n{number:02}": ["x"] for number in range(30)} | {"good": []}
    assert problems.lines(many) == ["- n00, n01, n02, n03, n04, n05, n06, n07 and 22 more: x"]
    assert problems.lines({"a": []}) == []


def test_the_summary_counts_each_problem_once() -> None:
    found: dict[str, list[str]] = {"a": ["x"], "b": ["x"], "c": []}
    text = problems.summary(found)
    assert text == "no node was touched, because of a problem in the variables of a, b; it is listed above"
    found["c"] = ["y"]
    assert "2 problems in the variables of all 3 hosts; they are listed above" in problems.summary(found)
