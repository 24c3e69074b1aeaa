# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cleanup removes: all objects without an owner, and none that has one."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.hns_models import AZURE, CNI, DOCKER, OTHER, Model, Pod, models, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import (
    CleanupPlan,
    CleanupRequest,
    ScopeError,
    check_request,
)
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import HnsFacts, read_facts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult

CNIS = ("cbr0", "azure")


def facts_of(model: Model, **more: t.Any) -> HnsFacts:
    return read_facts(model.observation(**more))


def pod(number: int, kind: str, network: t.Mapping[str, str] = CNI, **more: t.Any) -> Pod:
    return Pod(number=number, kind=kind, network=network, **{"isolated": False, "named": True, "born": True, **more})


def ids(items: t.Iterable[t.Any]) -> set[str]:
    return {item.id for item in items}


@settings(deadline=None)
@given(models(), st.sampled_from([None, [], ["cbr0"], ["nat", "lab"]]))
def test_scope_stale_removes_only_objects_without_owners(model: Model, protected: list[str] | None) -> None:
    names = None if protected is None else tuple(protected)
    request = CleanupRequest(scope="stale", protected=names, pods_without_endpoints=True)
    plan = make_plan(request, facts_of(model))

    def open_network(one: Pod) -> bool:
        name = one.network["name"]
        return name in CNIS if protected is None else name not in protected

    # Leases show which pods are being created. Without them, a pod that neither observation lists counts as gone.
    gone = ("gone",) if model.leases else ("gone", "creating")
    stale = {one.endpoint_id for one in model.pods if one.kind in gone and one.born and open_network(one)}
    assert ids(plan.endpoints) == stale
    # For a policy list, all its endpoints must be gone: removed now, or missing in all observations.
    there = {one.endpoint_id for one in model.pods}
    for item in plan.policies:
        assert item.endpoints
        assert not (item.endpoints & there) - stale
    removed = ids(plan.policies)
    for number, refers in enumerate(model.policies):
        requested = {model.reference(one) for one in refers}
        if requested and not (requested & there) - stale:
            assert f"{number:08X}-2222-4000-8000-000000000000" in removed
    # No namespace of a running or starting pod, or of the host.
    kept = {one.namespace_id for one in model.pods if one.of_pod and one.kind not in gone} | {"E" * 8}
    assert not ids(plan.namespaces) & kept
    assert not plan.networks
    assert not plan.stop
    assert not plan.containers
    assert not plan.disruptive


@settings(deadline=None)
@given(models(), st.sampled_from(["all", "networks"]), st.booleans())
def test_the_other_scopes_stay_on_their_networks(model: Model, scope: t.Literal["all", "networks"], keep: bool) -> None:
    networks = ("cbr0",) if scope == "networks" else ()
    request = CleanupRequest(scope=scope, networks=networks, keep_running_containers=keep)
    facts = facts_of(model)
    check_request(request, facts)
    plan = make_plan(request, facts)
    targets = CNIS if scope == "all" else ("cbr0",)
    assert {item.network_name for item in plan.endpoints} <= set(targets)
    assert {item.name for item in plan.networks} <= set(targets)
    lives = {
        one.endpoint_id for one in model.pods if one.kind in ("live", "creating") and one.network["name"] in targets
    }
    known = {one.endpoint_id for one in model.pods if one.kind == "live" or (one.kind == "creating" and model.leases)}
    if keep:
        assert not ids(plan.endpoints) & known
        assert not plan.containers
    else:
        assert lives <= ids(plan.endpoints)
        assert {item.name for item in plan.networks} == set(targets)
    # A network is removed only if nothing else is left on it.
    for network in plan.networks:
        on_it = {one.endpoint_id for one in model.pods if one.network["name"] == network.name}
        assert on_it <= ids(plan.endpoints)
    assert set(plan.start) == set(plan.stop) <= {"kubelet"}


@settings(deadline=None)
@given(models())
def test_nothing_is_stale_when_the_runtime_does_not_answer(model: Model) -> None:
    broken = CallResult(ok=False, exit_code=1, stderr="connection error", error=CallError(id="NativeCommandError"))
    for name in ("1.pods", "2.ctr"):
        plan = make_plan(CleanupRequest(scope="stale"), facts_of(model, **{name: broken}))
        assert plan.empty
        assert "connection error" in plan.kept[0].why


def test_an_object_that_appears_between_two_observations_is_kept() -> None:
    young = Model(pods=[pod(0, "live"), pod(1, "gone", born=False)], policies=[])
    assert make_plan(CleanupRequest(scope="stale"), facts_of(young)).empty


def test_an_empty_namespace_is_kept_while_pods_are_created() -> None:
    request = CleanupRequest(scope="stale")
    model = Model(pods=[pod(0, "live")], policies=[], orphans=1)
    assert ids(make_plan(request, facts_of(model)).namespaces) == {"F0000000"}
    assert make_plan(request, facts_of(dataclasses.replace(model, pods=[pod(0, "live"), pod(1, "creating")]))).empty
    # A containerd without such leases does not show it.
    assert make_plan(request, facts_of(dataclasses.replace(model, leases=False))).empty


def test_a_load_balancer_with_a_live_endpoint_is_kube_proxys_to_change() -> None:
    model = Model(pods=[pod(0, "live"), pod(1, "gone"), pod(2, "remote")], policies=[[0, 1], [1], [2, 1], [7], []])
    plan = make_plan(CleanupRequest(scope="stale"), facts_of(model))
    assert [item.name for item in plan.policies] == ["10.96.0.1:1/TCP", "10.96.0.1:3/TCP"]


def test_protected_networks_and_their_endpoints_are_named() -> None:
    model = Model(pods=[pod(0, "gone", DOCKER), pod(1, "gone", OTHER), pod(2, "gone", AZURE)], policies=[])
    plan = make_plan(CleanupRequest(scope="stale"), facts_of(model))
    assert [item.network_name for item in plan.endpoints] == ["azure"]
    assert sorted(kept.why for kept in plan.kept) == [
        "network lab is protected (protected_networks)",
        "network nat is protected (protected_networks)",
    ]


def docker(*containers: tuple[str, str, str]) -> dict[str, t.Any]:
    lines = "".join(
        f'{{"ID":"{identity}","Names":"{name}","State":"{state}"}}\n' for identity, name, state in containers
    )
    output = CallResult(ok=True, exit_code=0, stdout=lines)
    return {"installed": "docker", "1.docker": output, "2.docker": output}


def test_endpoints_of_stopped_docker_containers_are_kept_by_default() -> None:
    model = Model(pods=[pod(0, "gone", DOCKER), pod(1, "gone", DOCKER), pod(2, "gone", DOCKER)], policies=[])
    running, stopped, vanished = model.pods
    output = docker((running.sandbox, "web", "running"), (stopped.sandbox, "old", "exited"))
    request = CleanupRequest(scope="stale", protected=())
    assert ids(make_plan(request, facts_of(model, **output)).endpoints) == {vanished.endpoint_id}
    more = make_plan(dataclasses.replace(request, stopped_containers=True), facts_of(model, **output))
    assert ids(more.endpoints) == {stopped.endpoint_id, vanished.endpoint_id}
    assert {item.why for item in more.items if item.type == "HnsEndpoint"} == {
        "old is not running",
        f"{vanished.sandbox[:12]} does not exist",
    }


class SharedPod(Pod):
    """A pod with an endpoint that its sandbox and another container (an id with another first digit) share."""

    @property
    def other(self) -> str:
        return "f" + self.sandbox[1:]

    def endpoint(self) -> dict[str, t.Any]:
        return {**super().endpoint(), "Name": "Ethernet", "SharedContainers": [self.sandbox, self.other]}


@pytest.mark.parametrize("stopped_first", [True, False])
def test_an_endpoint_is_in_use_while_one_of_its_containers_runs(stopped_first: bool) -> None:
    shared = SharedPod(number=0, kind="gone", network=DOCKER, isolated=False, named=False, born=True)
    states = ("exited", "running") if stopped_first else ("running", "exited")
    request = CleanupRequest(scope="stale", protected=(), stopped_containers=True)

    def plan(*states: str) -> CleanupPlan:
        output = docker((shared.sandbox, "one", states[0]), (shared.other, "two", states[1]))
        return make_plan(request, facts_of(Model(pods=[shared], policies=[]), **output))

    assert not plan(*states).endpoints
    assert ids(plan("exited", "exited").endpoints) == {shared.endpoint_id}


@pytest.mark.parametrize(
    ("cleanup", "message"),
    [
        (
            CleanupRequest(scope="networks", networks=("cbr1",)),
            "networks: expected the name or id of an existing network (azure, cbr0, lab, nat), got 'cbr1'",
        ),
        (
            CleanupRequest(scope="networks", networks=("NAT",)),
            "expected networks that are not protected (azure, cbr0), got 'nat', which protected_networks protects",
        ),
        (CleanupRequest(scope="networks", networks=("lab",)), "got 'lab'"),
        (
            CleanupRequest(scope="networks", networks=("cbr0",), protected=("cbr0",)),
            "that are not protected (azure, lab, nat)",
        ),
        (CleanupRequest(scope="networks", networks=("cbr0",), protected=(CNI["id"].lower(),)), "got 'cbr0'"),
        # A typo would protect nothing. Docker's network does not exist on every node.
        (
            CleanupRequest(scope="all", protected=("nat", "lba")),
            "protected_networks: expected the name or id of an existing network (azure, cbr0, lab, nat), got 'lba'",
        ),
    ],
)
def test_an_impossible_request_is_refused_with_an_alternative(cleanup: CleanupRequest, message: str) -> None:
    with pytest.raises(ScopeError) as error:
        check_request(cleanup, facts_of(Model(pods=[], policies=[])))
    assert message in str(error.value)


def test_a_missing_network_is_accepted_with_missing_ok() -> None:
    facts = facts_of(Model(pods=[], policies=[]))
    request = CleanupRequest(scope="networks", networks=("vxlan0", CNI["id"].lower()), missing_ok=True)
    check_request(request, facts)
    assert [item.name for item in make_plan(request, facts).networks] == ["cbr0"]


def test_a_dry_run_lists_the_owners_of_what_would_be_removed() -> None:
    plan = make_plan(CleanupRequest(scope="all"), facts_of(Model(pods=[pod(0, "live"), pod(1, "gone")], policies=[])))
    whys = [item.why for item in plan.items if item.type in ("HnsEndpoint", "HnsNamespace")]
    made = "Kubernetes or its CNI created it"
    assert whys == [
        f"{made}; default/web-0 uses it",
        f"{pod(1, 'gone').sandbox[:12]} does not exist",
        f"{made}; default/web-0 uses it",
        made,
    ]


def test_a_network_is_protected_by_its_id_too() -> None:
    model = Model(pods=[pod(0, "live"), pod(1, "live", AZURE)], policies=[])
    request = CleanupRequest(scope="all", protected=("nat", "{" + CNI["id"].lower() + "}"))
    check_request(request, facts_of(model))
    plan = make_plan(request, facts_of(model))
    assert [item.name for item in plan.networks] == ["azure"]
    assert ids(plan.endpoints) == {model.pods[1].endpoint_id}
    check_request(CleanupRequest(scope="all", protected=("gone",), missing_ok=True), facts_of(model))


def test_scope_stale_only_warns_of_a_missing_protected_network() -> None:
    """The scope removes no networks, and the list may apply to a whole fleet."""
    facts = facts_of(Model(pods=[], policies=[]))
    (message,) = check_request(CleanupRequest(scope="stale", protected=("nat", "lba")), facts)
    expected = "protected_networks: expected the name or id of an existing network (azure, cbr0, lab, nat), got 'lba'"
    assert message.startswith(expected)
    assert not check_request(CleanupRequest(scope="stale", protected=("nat", "lab")), facts)
    assert not check_request(CleanupRequest(scope="stale", protected=("lba",), missing_ok=True), facts)


def test_external_networks_that_stay_are_counted() -> None:
    facts = facts_of(Model(pods=[], policies=[]))
    assert make_plan(CleanupRequest(scope="networks", networks=("cbr0",)), facts).external_left == 2


def test_all_networks_of_a_name_are_removed_once() -> None:
    observation = Model(pods=[pod(0, "gone")], policies=[]).observation()
    twin = {"ID": "7" * 8, "Name": "cbr0", "Type": "L2Bridge", "Subnets": []}
    both = result([*observation.calls["1.networks"].output, twin])
    facts = facts_of(Model(pods=[pod(0, "gone")], policies=[]), **{"1.networks": both, "2.networks": both})
    request = CleanupRequest(scope="networks", networks=("cbr0", "CBR0", CNI["id"]))
    check_request(request, facts)
    plan = make_plan(request, facts)
    assert [item.id for item in plan.networks] == [CNI["id"], "7" * 8]
    assert len(plan.items) == len(set(plan.items))


GONE = {"id": "9" * 8, "name": "vxlan0", "type": "Overlay"}
"""A network that HNS does not list."""


def test_endpoints_of_a_missing_network_are_removed_too() -> None:
    model = Model(
        pods=[
            pod(0, "gone", GONE),
            pod(1, "live", GONE),
            pod(2, "host", GONE),
            pod(3, "gone", {**GONE, "name": "nat"}),
        ],
        policies=[],
    )
    stale = make_plan(CleanupRequest(scope="stale"), facts_of(model))
    assert ids(stale.endpoints) == {model.pods[0].endpoint_id}
    assert [kept.why for kept in stale.kept] == ["network nat is protected (protected_networks)"]
    everything = make_plan(CleanupRequest(scope="all"), facts_of(model))
    assert ids(everything.endpoints) == {one.endpoint_id for one in model.pods[:3]}
    kept = make_plan(CleanupRequest(scope="all", keep_running_containers=True), facts_of(model))
    assert model.pods[1].endpoint_id not in ids(kept.endpoints)


def test_a_remote_endpoint_with_the_address_of_a_pod_here_is_stale() -> None:
    """This is microsoft/Windows-Containers#631: its pod is gone, and the local pod with the address gets no traffic."""
    here = pod(0, "live", address="10.244.0.9")
    model = Model(
        pods=[
            here,
            pod(1, "remote", address="10.244.0.9"),
            pod(2, "remote", address="10.244.7.7"),
            # Those of a vanished pod, of the host, and on another network: no local pod has the address.
            pod(3, "gone", address="10.244.0.10"),
            pod(4, "remote", address="10.244.0.10"),
            pod(5, "remote", AZURE, address="10.244.0.9"),
            pod(6, "remote", address="10.244.0.9", born=False),
        ],
        policies=[[1], [0, 1]],
    )
    plan = make_plan(CleanupRequest(scope="stale"), facts_of(model))
    assert ids(plan.endpoints) == {model.pods[1].endpoint_id, model.pods[3].endpoint_id}
    assert "default/web-0 has its address now" in {item.why for item in plan.items}
    # Their load balancers send traffic to an address in use, so kube-proxy must change them.
    assert not plan.policies


def test_a_running_container_keeps_its_whole_network() -> None:
    model = Model(pods=[pod(0, "live"), pod(1, "gone"), pod(2, "host"), pod(3, "host", AZURE)], policies=[])
    plan = make_plan(CleanupRequest(scope="all", keep_running_containers=True), facts_of(model))
    assert ids(plan.endpoints) == {model.pods[1].endpoint_id, model.pods[3].endpoint_id}
    assert [item.name for item in plan.networks] == ["azure"]
    assert [(kept.type, kept.name) for kept in plan.kept] == [("HnsNetwork", "cbr0")]


@pytest.mark.parametrize("name", ["pods", "ctr"])
def test_nothing_is_removed_if_running_containers_are_kept_but_unknown(name: str) -> None:
    broken = CallResult(ok=False, exit_code=1, stderr="connection error", error=CallError(id="NativeCommandError"))
    model = Model(pods=[pod(0, "live"), pod(1, "gone")], policies=[])
    for request in (CleanupRequest(scope="networks", networks=("cbr0",)), CleanupRequest(scope="all")):
        broken_answers = {f"{number}.{name}": broken for number in (1, 2)}
        plan = make_plan(dataclasses.replace(request, keep_running_containers=True), facts_of(model, **broken_answers))
        assert not plan.endpoints
        assert not plan.containers
        assert "cbr0" not in {item.name for item in plan.networks}


def test_a_sandbox_under_construction_belongs_to_the_runtime() -> None:
    # containerd stops creating it when the network is gone. crictl does not list the sandbox yet.
    for others in ([], [pod(0, "live")]):
        model = Model(pods=[*others, pod(1, "creating")], policies=[])
        plan = make_plan(CleanupRequest(scope="all"), facts_of(model))
        assert ids(plan.endpoints) == {one.endpoint_id for one in model.pods}
        assert ids(plan.containers) == {one.sandbox for one in others}
