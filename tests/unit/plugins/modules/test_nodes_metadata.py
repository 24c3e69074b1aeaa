# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Labels and annotations of nodes, with an API over HTTP."""

from __future__ import annotations

import typing as t

import pytest
from unit.fake_cluster import Asked, FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.modules import nodes_metadata

pytestmark = pytest.mark.waits

METADATA = {
    "a": {"labels": {"site": "a", "former": None, "number": 5}, "annotations": {"example.com/owner": "me"}},
    "b": {"labels": {"site": "b"}},
}


def run(cluster: FakeCluster, **options: t.Any) -> dict[str, t.Any]:
    add_node(cluster, "a", metadata={"labels": {"site": "x", "former": "y", "kept": "z"}})
    add_node(cluster, "b", metadata={"labels": {"site": "b"}})
    return run_module(nodes_metadata, cluster, metadata=METADATA, **options)


def test_only_what_differs_is_changed(cluster: FakeCluster) -> None:
    labels = {"site": "a", "former": None, "number": "5"}
    annotations = {"example.com/owner": "me"}
    assert run(cluster) == {
        "changed": True,
        "nodes": {"a": {"labels": labels, "annotations": annotations}, "b": {"labels": {}, "annotations": {}}},
    }
    assert cluster.asked == [
        Asked("PATCH", "api/v1/nodes/a", {"metadata": {"labels": labels, "annotations": annotations}})
    ]


def test_a_second_run_changes_nothing(cluster: FakeCluster) -> None:
    add_node(
        cluster, "a", metadata={"labels": {"site": "a", "number": "5"}, "annotations": {"example.com/owner": "me"}}
    )
    add_node(cluster, "b", metadata={"labels": {"site": "b"}})
    assert run_module(nodes_metadata, cluster, metadata=METADATA)["changed"] is False
    assert cluster.asked == []


def test_a_dry_run_changes_nothing_and_skips_nodes_that_do_not_exist(cluster: FakeCluster) -> None:
    assert run(cluster, check_mode=True)["changed"] is True
    found = run_module(nodes_metadata, cluster, check_mode=True, metadata={"new": {"labels": {"site": "a"}}})
    assert found == {"changed": False, "nodes": {}}
    assert cluster.asked == []


def test_a_node_that_does_not_exist_is_an_error(cluster: FakeCluster) -> None:
    found = run_module(nodes_metadata, cluster, metadata={"gone": {"labels": {"site": "a"}}})
    assert found == {
        "failed": True,
        "msg": "labels and annotations of nodes cannot be set: the cluster has no node gone",
        "nodes": {},
    }


def test_a_conflict_is_tried_again(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_metadata, "POLL_SECONDS", 0.001)
    cluster.fail("PATCH", "api/v1/nodes/a", 409)
    assert run(cluster)["changed"] is True
    cluster.fail("PATCH", "api/v1/nodes/a", 403, {"message": "no right"})
    cluster.asked.clear()
    found = run(cluster, timeout=0)
    assert found["msg"].startswith("labels and annotations of nodes cannot be set: no right")
