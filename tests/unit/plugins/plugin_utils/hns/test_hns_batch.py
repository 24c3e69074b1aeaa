# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The batch of a cleanup: its order, its size, the calls that always run, and parsing its results."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from hypothesis import given, settings
from unit.hns_models import CNI, Model, Pod, models, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch import BatchOptions, batch_calls
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch_result import read_done
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.outcome import CleanupOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupPlan, CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import (
    FactsOptions,
    facts_calls,
    read_facts,
)
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.uplink import Uplink
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    MAX_BATCH_BYTES,
    Batch,
    Call,
    CallError,
    CallResult,
    Observation,
    Stopped,
)

KEY = "k" * 8
CARD = Uplink(mac="00-AA", alias="Ethernet", addresses=(("10.0.0.5", 24),), routes=(("0.0.0.0/0", "10.0.0.1", 1),))


def many(live: int, gone: int) -> Model:
    kinds = ["live"] * live + ["gone"] * gone
    pods = [
        Pod(number=number, kind=kind, network=CNI, isolated=False, named=True, born=True)
        for number, kind in enumerate(kinds)
    ]
    return Model(pods=pods, policies=[[len(kinds) - 1]])


def plan_of(model: Model, scope: t.Literal["stale", "networks", "all"] = "stale") -> CleanupPlan:
    return make_plan(CleanupRequest(scope=scope), read_facts(model.observation()))


def calls_of(plan: CleanupPlan, **more: t.Any) -> tuple[Call, ...]:
    return batch_calls(plan, KEY, BatchOptions(**more))


def test_the_number_of_calls_does_not_depend_on_the_number_of_objects() -> None:
    small, large = plan_of(many(3, 2)), plan_of(many(300, 200))
    assert [call.id for call in calls_of(small)] == [call.id for call in calls_of(large)]
    listings = [call.command for call in calls_of(large) if call.command.startswith("Get-Hns")]
    # Each kind is listed before and after its removal, and not once more.
    assert sorted(listings) == sorted(2 * ["Get-HnsPolicyList", "Get-HnsEndpoint", "Get-HnsNamespace"])
    wire = json.dumps(Batch(calls=calls_of(large)).to_wire())
    assert len(wire) < MAX_BATCH_BYTES / 10


def test_an_observation_lists_each_kind_once_or_twice_with_a_grace_period() -> None:
    once = [call.command for call in facts_calls(FactsOptions()) if call.command.startswith("Get-Hns")]
    twice = [call.command for call in facts_calls(FactsOptions(grace=15)) if call.command.startswith("Get-Hns")]
    assert sorted(once) == ["Get-HnsEndpoint", "Get-HnsNamespace", "Get-HnsNetwork", "Get-HnsPolicyList"]
    assert sorted(twice) == sorted(once * 2)


def test_objects_are_removed_in_the_documented_order() -> None:
    plan = dataclasses.replace(
        plan_of(many(2, 2), "all"),
        uplinks=(CARD,),
        port_pools=3,
        networks_left=0,
        external_left=0,
        files=("C:\\k\\azure-vnet.json",),
        stop=("kube-proxy", "kubelet"),
        start=("kubelet", "kube-proxy"),
    )
    ids = [call.id for call in calls_of(plan)]
    order = ["journal", "stop.kube-proxy", "stop.kubelet", "containers.0", "remove-policies", "remove-endpoints",
             "remove-namespaces", "remove-networks", "uplink.0.check", "port-pools", "files", "networks-after",
             "start.kubelet", "start.kube-proxy", "network-again", "settle", "uplink-again.0.check",
             "journal-done"]  # fmt: skip
    assert [name for name in ids if name in order] == order
    # The next network may be a different one. Only its type determines whether it uses the adapter.
    (again,) = [call for call in calls_of(plan) if call.id == "network-again"]
    assert again.until == {"Type": ["l2bridge", "overlay", "transparent", "l2tunnel"]}
    assert len(ids) == len(set(ids))
    # A network that stays would be found at once, because the same CNI plugin creates the removed ones again.
    partly = dataclasses.replace(plan, external_left=1)
    (again,) = [call for call in calls_of(partly) if call.id == "network-again"]
    assert again.until == {"Name": [item.name for item in plan.networks if item.external]} != {"Name": []}


@settings(deadline=None)
@given(models())
def test_mandatory_calls_always_run(model: Model) -> None:
    plan = dataclasses.replace(plan_of(model, "all"), uplinks=(CARD,))
    calls = {call.id: call for call in calls_of(plan)}
    for name, call in calls.items():
        if name.startswith(("start.", "uplink", "journal-done")):
            assert call.always, name
            assert call.on_error == "continue"
    if plan.stop:
        first = next(iter(calls))
        assert first == "journal"
        assert calls[first].long
        written = json.loads(str(calls[first].parameters["content"]))
        assert set(written["services"]) == set(plan.stop)
        assert written["key"] == KEY
        assert set(calls["journal-done"].needs) == {*(f"start.{name}" for name in plan.start), "uplink.0.check"}


def test_scope_stale_runs_attached_and_rechecks_owners() -> None:
    plan = plan_of(many(3, 2))
    calls = {call.id: call for call in calls_of(plan)}
    assert not any(call.long or call.command.endswith("-Service") for call in calls.values())
    source = calls["remove-endpoints"].input
    assert source is not None
    assert source.where["ID"] == [item.id for item in plan.endpoints]
    assert source.where["SharedContainers"] == sorted(pod.sandbox for pod in many(3, 2).pods[3:])


# --- Results.


def answers(plan: CleanupPlan, left: t.Iterable[str] = (), **more: CallResult) -> Observation:
    """Return the observation in which all calls succeed, and these endpoints are left."""
    calls = {call.id: CallResult(ok=True) for call in calls_of(plan)}
    calls["endpoints-after"] = result([{"ID": one.lower()} for one in left])
    return Observation(calls={**calls, **more})


def test_objects_that_could_not_be_removed_are_named_and_the_rest_is_gone() -> None:
    plan = plan_of(many(3, 3))
    stuck = plan.endpoints[1]
    message = CallResult(ok=True, warnings=("HcnDeleteEndpoint -- HRESULT: 2147500037",))
    done = read_done(plan, answers(plan, [stuck.id], **{"remove-endpoints": message}))
    assert [item.id for item in done.left] == [stuck.id]
    assert len(done.items) == len(plan.items) - 1
    (failure,) = done.failures
    assert stuck.name in failure
    assert "2147500037" in failure
    assert not done.aborted


def test_a_cmdlet_that_gives_up_is_followed_by_one_for_each_object() -> None:
    plan = plan_of(many(3, 3))
    error = CallResult(ok=False, error=CallError(id="System.Exception", message="no"))
    done = read_done(plan, answers(plan, [item.id for item in plan.endpoints], **{"remove-endpoints": error}))
    assert done.aborted
    single = [call for call in calls_of(plan, singly=True) if call.command == "Remove-HnsEndpoint"]
    assert [t.cast("t.Any", call.input).where["ID"] for call in single] == [item.id for item in plan.endpoints]
    assert {call.on_error for call in single} == {"continue"}


def test_skipped_calls_are_counted_not_listed() -> None:
    plan = plan_of(many(30, 30), "all")
    late = CallResult(ok=False, error=CallError(id="CommandTimeout", message="Stop-Service did not end within 120 s"))
    seen = Observation(
        calls={"journal": CallResult(ok=True), "stop.kubelet": late}, stopped=Stopped(id="stop.kubelet", reason="error")
    )
    done = read_done(plan, seen)
    assert done.failures == (
        "stop.kubelet: Stop-Service did not end within 120 s",
        f"HNS objects that the cleanup did not reach: {sum(item.type.startswith('Hns') for item in plan.items)}",
    )
    # A service that cannot be stopped is not HNS.
    assert done.hang == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("remove-endpoints", "Remove-HnsEndpoint"),
        ("endpoints-after", "Get-HnsEndpoint"),
        ("policies", "Get-HnsPolicyList"),
        ("remove-networks-again", "Remove-HnsNetwork"),
    ],
)
def test_a_call_without_an_answer_of_hns_is_a_hang(name: str, message: str) -> None:
    plan = plan_of(many(3, 3))
    late = CallResult(ok=False, error=CallError(id="CommandTimeout"))
    assert read_done(plan, answers(plan, **{name: late})).hang == message


def test_the_diff_has_the_full_list() -> None:
    model = many(300, 200)
    facts = read_facts(model.observation())
    plan = make_plan(CleanupRequest(scope="stale"), facts)
    outcome = CleanupOutcome(scope="stale")
    outcome.plan_made(plan, facts)
    shown = outcome.to_result(name="win", diff=True, check_mode=True, remote_commands=1)
    assert shown["changed"]
    assert shown["counts"]["endpoints"] == 200
    text = "".join(block["before"] for block in shown["diff"])
    for pod in model.pods[300:]:
        assert f"{pod.sandbox}_cbr0" in text
    assert not any(block["after"] for block in shown["diff"])
