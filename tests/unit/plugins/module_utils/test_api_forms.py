# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Objects with an invalid structure: all objects that pass the check can be read."""

from __future__ import annotations

import copy
import typing as t

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.module_utils import api_forms, bootstrap_tokens, node_csr, pods
from ansible_collections.winkube.node.plugins.module_utils.cluster_state import describe_node, unbound_daemon_sets
from ansible_collections.winkube.node.plugins.module_utils.cordon import (
    CordonMark,
    cordon_patch,
    read_cordon,
    uncordon_patch,
)
from ansible_collections.winkube.node.plugins.modules import node_csr_approval, nodes_ready

META = {"name": "n", "namespace": "s", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}, "annotations": {}}
NODE = {
    "metadata": {**META, "annotations": {"winkube.node/cordoned": '{"by": "site", "on": "c", "since": "s"}'}},
    "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": True},
    "status": {
        "conditions": [{"type": "Ready", "status": "False", "message": "m", "lastHeartbeatTime": "t"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"bootID": "b", "kubeletVersion": "v1.37.1"},
    },
}
CONTAINER = {"securityContext": {"windowsOptions": {"hostProcess": True}}}
POD = {
    "metadata": {**META, "ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": True}]},
    "spec": {**CONTAINER, "nodeName": "n", "volumes": [{"emptyDir": {}}], "containers": [CONTAINER]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{"containerID": "c", "state": {"waiting": {"reason": "r"}}}],
    },
}
EXPRESSION = {"key": "a", "operator": "In", "values": ["b"]}
BUDGET = {"metadata": META, "spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [EXPRESSION]}}}
REQUIRED = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
    }
}
DAEMON_SET = {
    "metadata": META,
    "spec": {"template": {"spec": {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": REQUIRED}}}},
}
REQUEST = {
    "metadata": META,
    "spec": {"signerName": "s", "username": "system:bootstrap:aaaaaa", "usages": ["client auth"], "request": "eA=="},
    "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="},
}
BINDING = {"metadata": META, "roleRef": {"name": "system:node-bootstrapper"}, "subjects": [{"name": "a"}]}


class Cluster:
    """A cluster with these objects."""

    def __init__(self, found: list[t.Any]) -> None:
        self.found = found

    def items(self, *_path: str, form: api_forms.Form) -> list[t.Any]:
        return self.found


def read_node(node: t.Any) -> None:
    mark = CordonMark("site", "here", "now")
    describe_node(node, {})
    nodes_ready.describe(node, "b")
    node_csr_approval.mark(node)
    node_csr_approval.is_ready(node)
    read_cordon(node)
    cordon_patch(node, mark)
    uncordon_patch(node, "site")


def read_pod(pod: t.Any) -> None:
    pods.sort_pods([pod], force=False, delete_emptydir_data=False)
    pods.host_process_missing([pod], {"s/d": ["c"], "s/e": []})


def read_binding(binding: t.Any) -> None:
    try:
        bootstrap_tokens.changed_subjects(binding, bootstrap_tokens.bindings(kube_proxy=False)[0])
    except ValueError as error:
        assert "expected the role" in str(error)  # noqa: PT017 - not raised for all


READERS: t.Mapping[str, tuple[dict[str, t.Any], api_forms.Form, t.Callable[[t.Any], object]]] = {
    "node": (NODE, api_forms.NODE, read_node),
    "pod": (POD, api_forms.POD, read_pod),
    "budget": (BUDGET, api_forms.BUDGET, lambda found: pods.covering([found], POD)),
    "daemon set": (
        DAEMON_SET,
        api_forms.DAEMON_SET,
        lambda found: (unbound_daemon_sets([found]), pods.may_run_on(found, {})),
    ),
    "request": (
        REQUEST,
        api_forms.SIGNING_REQUEST,
        lambda found: [node_csr.decide([found], {"n": "aaaaaa"}, ()), node_csr.approval(found, "m", "now")],
    ),
    "binding": (BINDING, api_forms.BINDING, read_binding),
}
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner))


def places(value: t.Any, place: tuple[t.Any, ...] = ()) -> t.Iterator[tuple[t.Any, ...]]:
    """Yield all positions in an object."""
    yield place
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*place, key))


def put(value: t.Any, place: tuple[t.Any, ...], item: t.Any) -> t.Any:
    """Return the object with another value at a position."""
    if not place:
        return item
    found = copy.deepcopy(value)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = item
    return found


@pytest.mark.parametrize("kind", READERS)
def test_an_object_of_the_api_has_its_form(kind: str) -> None:
    found, form, read = READERS[kind]
    assert api_forms.problem(found, form) == ""
    read(found)


@given(kind=st.sampled_from(sorted(READERS)), data=st.data(), item=VALUES)
def test_a_value_of_the_right_form_can_be_read(kind: str, data: st.DataObject, item: t.Any) -> None:
    found, form, read = READERS[kind]
    changed = put(found, data.draw(st.sampled_from(list(places(found)))), item)
    if not api_forms.problem(changed, form):
        read(changed)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("item", [None, True, 1, "x", [], [1], {}, {"a": 1}])
def test_a_wrong_value_is_refused_at_any_place(kind: str, item: t.Any) -> None:
    found, form, read = READERS[kind]
    for place in places(found):
        changed = put(found, place, item)
        if not api_forms.problem(changed, form):
            read(changed)


@given(value=VALUES)
@example(value={"items": None})
def test_a_problem_is_one_line(value: t.Any) -> None:
    message = api_forms.problem(value, api_forms.list_of(api_forms.NODE))
    assert "\n" not in message
    assert not message or "expected" in message
