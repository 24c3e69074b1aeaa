# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which pods of a node are evicted, kept or protected, and when its HostProcess DaemonSets work again."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils import pods

HOST_PROCESS = {"windowsOptions": {"hostProcess": True}}


def owner(kind: str, name: str = "set") -> list[dict[str, t.Any]]:
    return [{"kind": kind, "name": name, "uid": "1", "controller": True}]


def pod(name: str = "web", **changes: t.Any) -> dict[str, t.Any]:
    """Return a running and ready pod of a ReplicaSet."""
    metadata = {"namespace": "default", "name": name, "ownerReferences": owner("ReplicaSet")}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    parts: dict[str, t.Any] = {"metadata": metadata, "spec": {"containers": [{"name": "a"}]}, "status": status}
    return {key: value | changes.get(key, {}) for key, value in parts.items()}


def daemon_pod(name: str, daemon_set: str, *ids: str, ready: bool = True) -> dict[str, t.Any]:
    """Return a pod of a HostProcess DaemonSet with containers of these ids."""
    return pod(
        name,
        metadata={"ownerReferences": owner("DaemonSet", daemon_set)},
        spec={"securityContext": HOST_PROCESS},
        status={
            "containerStatuses": [{"containerID": one} for one in ids],
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    )


def test_a_pod_of_a_controller_is_evicted() -> None:
    assert pods.sort_pods([pod()], force=False, delete_emptydir_data=False).evict == [pod()]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_of_a_daemon_set_is_deleted(phase: str) -> None:
    # kubernetes/kubectl pkg/drain/filters.go, daemonSetFilter: finished pods can be removed.
    finished = pod(metadata={"ownerReferences": owner("DaemonSet")}, status={"phase": phase})
    assert pods.sort_pods([finished], force=False, delete_emptydir_data=False).evict == [finished]


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"ownerReferences": owner("DaemonSet")}},
        # kubernetes.core's k8s_drain evicts this one: ansible-collections/kubernetes.core#622.
        {"metadata": {"ownerReferences": owner("DaemonSet")}, "spec": {"volumes": [{"name": "run", "emptyDir": {}}]}},
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": owner("Node")}},
    ],
    ids=["daemon set", "daemon set with emptyDir", "static"],
)
def test_some_pods_stay_whatever_is_allowed(changes: dict[str, t.Any]) -> None:
    found = pods.sort_pods([pod(**changes)], force=True, delete_emptydir_data=True)
    assert (found.evict, list(found.ignored), found.refused) == ([], ["default/web"], {})


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"metadata": {"ownerReferences": []}}, "force"),
        ({"metadata": {"ownerReferences": [{"kind": "Anything", "name": "x", "uid": "1"}]}}, "force"),
        ({"spec": {"volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}]}}, "delete_emptydir_data"),
    ],
    ids=["no owner", "no controller", "emptyDir"],
)
def test_losing_data_of_pods_needs_its_own_permission(changes: dict[str, t.Any], option: str) -> None:
    allowed = {"force": False, "delete_emptydir_data": False}
    found = pods.sort_pods([pod(**changes)], **allowed)
    assert found.evict == []
    assert f"{option}: true allows this" in found.refused["default/web"]
    assert not pods.sort_pods([pod(**changes)], **allowed | {option: True}).refused
    other = next(name for name in allowed if name != option)
    assert pods.sort_pods([pod(**changes)], **allowed | {other: True}).refused


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_loses_nothing(phase: str) -> None:
    one = pod(metadata={"ownerReferences": []}, status={"phase": phase})
    assert pods.sort_pods([one], force=False, delete_emptydir_data=False).evict == [one]


def test_a_pod_that_is_going_needs_no_permission() -> None:
    one = pod(metadata={"ownerReferences": [], "deletionTimestamp": "2026-11-21T12:00:00Z"})
    assert pods.sort_pods([one], force=False, delete_emptydir_data=False).evict == [one]


@given(
    st.lists(
        st.builds(
            lambda number, kind, mirror, volumes, phase: pod(
                f"p{number}",
                metadata={"ownerReferences": owner(kind) if kind else None, "annotations": mirror},
                spec={"volumes": volumes},
                status={"phase": phase},
            ),
            st.integers(0, 99),
            st.sampled_from(["", "DaemonSet", "ReplicaSet", "Job"]),
            st.sampled_from([None, {}, {"kubernetes.io/config.mirror": "x"}]),
            st.sampled_from([None, [], [{"emptyDir": {}}], [{"hostPath": {"path": "C:\\"}}]]),
            st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        ),
        unique_by=pods.pod_name,
    ),
    st.booleans(),
    st.booleans(),
)
def test_every_pod_is_sorted_once(listed: list[dict[str, t.Any]], force: bool, emptydir: bool) -> None:
    found = pods.sort_pods(listed, force=force, delete_emptydir_data=emptydir)
    names = [*map(pods.pod_name, found.evict), *found.ignored, *found.refused]
    assert sorted(names) == sorted(map(pods.pod_name, listed))
    if force and emptydir:
        assert not found.refused


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}, {"key": "x", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "x", "operator": "Exists"}]}, False),
        ({}, True),
        (None, False),
    ],
)
def test_a_budget_covers_what_its_selector_selects(selector: dict[str, t.Any] | None, covers: bool) -> None:
    budget = {"metadata": {"name": "guard"}, "spec": {"selector": selector}}
    one = pod(metadata={"labels": {"app": "web"}})
    assert pods.covering([budget], one) == (["guard"] if covers else [])


def test_ready_host_process_sets_miss_nothing() -> None:
    listed = [daemon_pod("flannel-1", "flannel", "new"), pod("web")]
    assert pods.host_process_missing(listed, {"default/flannel": ["old"]}) == []


def test_missing_volumes_are_reported() -> None:
    stale = daemon_pod("proxy-1", "proxy", "old", "new")
    waits = daemon_pod("flannel-1", "flannel", ready=False)
    waits["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    gone = daemon_pod("csi-1", "csi", "x")
    gone["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    before = {"default/proxy": ["old"], "default/csi": ["x"]}
    assert pods.host_process_missing([stale, waits, gone], before) == [
        "DaemonSet default/csi has no pod on this node",
        "pod default/flannel-1 is not ready (ImagePullBackOff)",
        "the kubelet has not reported DaemonSet default/proxy since the reboot",
    ]


def test_only_host_process_pods_are_waited_for() -> None:
    plain = daemon_pod("logs-1", "logs", ready=False)
    plain["spec"] = {"containers": [{"name": "a"}]}
    by_container = daemon_pod("csi-1", "csi", ready=False)
    by_container["spec"] = {"containers": [{"name": "a", "securityContext": HOST_PROCESS}]}
    assert pods.host_process_missing([plain, by_container], {}) == ["pod default/csi-1 is not ready"]


@pytest.mark.parametrize(
    ("selection", "runs"),
    [
        ({}, True),
        ({"nodeSelector": {"os": "windows"}}, True),
        ({"nodeSelector": {"os": "linux"}}, False),
        ({"terms": [[("os", "In", ["windows"]), ("zone", "NotIn", ["b"])]]}, True),
        ({"terms": [[("os", "In", ["windows"]), ("zone", "Exists", [])]]}, False),
        # One of several terms is sufficient.
        ({"terms": [[("zone", "Exists", [])], [("os", "Exists", [])]]}, True),
        ({"nodeSelector": {"os": "linux"}, "terms": [[("os", "Exists", [])]]}, False),
        # Operators that are not known to the module select the node.
        ({"terms": [[("cores", "Gt", ["4"])]]}, True),
    ],
)
def test_a_daemon_set_selects_nodes_by_labels(selection: dict[str, t.Any], runs: bool) -> None:
    terms = [
        {"matchExpressions": [{"key": key, "operator": operator, "values": values} for key, operator, values in term]}
        for term in selection.get("terms", [])
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"nodeSelector": selection.get("nodeSelector"), "affinity": {"nodeAffinity": required} if terms else None}
    assert pods.may_run_on({"spec": {"template": {"spec": spec}}}, {"os": "windows"}) is runs
