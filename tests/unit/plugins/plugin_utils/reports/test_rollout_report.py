# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the reports of all rollouts have in common."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.reports import rollout


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, 0.0),
        ({"started": 10.0}, 0.0),
        ({"started": 10.0, "finished": 100.0}, 1.5),
        # The clock of the controller was set back.
        ({"started": 100.0, "finished": 10.0}, 0.0),
    ],
)
def test_the_duration_of_the_work_on_a_node(record: dict[str, t.Any], expected: float) -> None:
    assert rollout.minutes(record) == expected


def test_a_rollout_that_stopped_early_is_explained_even_if_no_node_failed() -> None:
    statuses = ("upgraded", "failed", "not_started")
    done = rollout.counts({"a": {"status": "upgraded"}}, statuses)
    assert (done, rollout.summary(done)) == ({"upgraded": 1, "failed": 0, "not_started": 0}, ["1 upgraded"])
    stopped = rollout.counts({"a": {"status": "upgraded"}, "b": {"status": "not_started"}}, statuses)
    assert rollout.summary(stopped) == ["1 upgraded, 1 not_started", rollout.STOPPED]
