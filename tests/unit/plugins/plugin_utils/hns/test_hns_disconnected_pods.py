# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pods that run without an HNS endpoint are stopped on request, and no other pods are."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from unit.hns_models import AZURE, CNI, Model, Pod, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import HnsFacts, read_facts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult


def facts_of(model: Model, **more: CallResult) -> HnsFacts:
    return read_facts(model.observation(**more))


def pod(number: int, kind: str, network: t.Mapping[str, str] = CNI) -> Pod:
    return Pod(number=number, kind=kind, network=network, isolated=False, named=True, born=True)


def ids(items: t.Iterable[t.Any]) -> set[str]:
    return {item.id for item in items}


class AfterRestart(Model):
    """A node whose HNS has restarted: its second pod still runs, but has no endpoint."""

    def listed(self, first: bool) -> dict[str, t.Any]:
        found, lost = super().listed(first), self.pods[1]
        return found | {
            "endpoints": [one for one in found["endpoints"] if one["ID"].upper() != lost.endpoint_id.upper()]
        }


def test_pods_that_lost_their_endpoints_are_stopped_on_request() -> None:
    model = AfterRestart(pods=[pod(0, "live"), pod(1, "live"), pod(2, "live", AZURE)], policies=[])
    request = CleanupRequest(scope="networks", networks=("cbr0",))
    on_network, lost, other = (one.sandbox for one in model.pods)
    assert ids(make_plan(request, facts_of(model)).containers) == {on_network}
    plan = make_plan(dataclasses.replace(request, pods_without_endpoints=True), facts_of(model))
    assert ids(plan.containers) == {on_network, lost}
    assert other not in ids(plan.containers)
    # Without a network to remove, nothing is stopped.
    gone = dataclasses.replace(request, networks=("flannel.4096",), missing_ok=True, pods_without_endpoints=True)
    assert make_plan(gone, facts_of(model)).containers == ()


@dataclasses.dataclass
class Disconnected(Model):
    """A node on which Calico removed the network of its second pod. The third pod is HostProcess."""

    healed: bool = False
    """Whether the second pod has its endpoint again at the second observation."""

    def listed(self, first: bool) -> dict[str, t.Any]:
        lost, host_process = self.pods[1:3]
        gone = {host_process.endpoint_id, host_process.namespace_id}
        if first or not self.healed:
            gone.add(lost.endpoint_id)
        return {
            kind: [one for one in items if one["ID"].upper() not in gone]
            for kind, items in super().listed(first).items()
        }


def test_scope_stale_stops_only_pods_that_lost_their_endpoint() -> None:
    model = Disconnected(pods=[pod(0, "live"), pod(1, "live"), pod(2, "live"), pod(3, "gone")], policies=[])
    request = CleanupRequest(scope="stale")
    assert make_plan(request, facts_of(model)).containers == ()
    request = dataclasses.replace(request, pods_without_endpoints=True)
    plan = make_plan(request, facts_of(model))
    assert [(one.kind, one.name) for one in plan.containers] == [("pod", "default/web-1")]
    why = "it runs without an HNS endpoint; the kubelet starts the pod again"
    assert [(one.name, one.why) for one in plan.items if one.type == "Container"] == [("default/web-1", why)]
    assert (plan.stop, plan.networks) == ((), ())
    assert make_plan(request, facts_of(dataclasses.replace(model, healed=True))).containers == ()


def test_a_pod_that_does_not_run_is_left_to_the_kubelet() -> None:
    model = Disconnected(pods=[pod(0, "live"), pod(1, "live"), pod(2, "live")], policies=[])
    listed = json.loads(model.observation().calls["2.pods"].stdout)["items"]
    listed[1]["state"] = "SANDBOX_NOTREADY"
    pods = CallResult(ok=True, exit_code=0, stdout=json.dumps({"items": listed}))
    request = CleanupRequest(scope="stale", pods_without_endpoints=True)
    assert make_plan(request, facts_of(model, **{"2.pods": pods})).containers == ()


def test_an_endpoint_that_names_no_pod_belongs_to_the_namespace_that_lists_it() -> None:
    one = pod(0, "live")
    endpoint = {**one.endpoint(), "Name": "eth0", "SharedContainers": [], "Namespace": None}
    more = {f"{scope}.endpoints": result([endpoint]) for scope in "12"}
    request = CleanupRequest(scope="stale", pods_without_endpoints=True)
    assert make_plan(request, facts_of(Model(pods=[one], policies=[]), **more)).containers == ()
