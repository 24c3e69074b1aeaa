# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The complete results for HNS nodes: the calls, the owners, and what a cleanup removes, does and reports."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from unit import outcomes
from unit.hns_models import result
from unit.hns_nodes import CARD, PROGRAMS, SECOND, SERVICES, failed, lines, nodes

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch import BatchOptions, batch_calls
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch_result import read_done
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.outcome import CleanupOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import (
    CleanupPlan,
    CleanupRequest,
    ScopeError,
    check_request,
)
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.planning import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import journal, runtime, services, uplink
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import (
    FactsOptions,
    HnsFacts,
    facts_calls,
    read_facts,
    to_result,
)
from ansible_collections.winkube.node.plugins.plugin_utils.hns.guard import addresses
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Call,
    CallResult,
    Observation,
    Stopped,
)
from ansible_collections.winkube.node.plugins.plugin_utils.wire.scopes import Scope


def test_the_observing_calls() -> None:
    options = FactsOptions(hns_timeout=5.0, grace=1.5, conf_dirs=("C:\\c",), programs=PROGRAMS, extra_files=("C:\\x",))
    found = {
        "facts": facts_calls(FactsOptions()),
        "facts with options": facts_calls(options),
        "stop services": services.stop_calls(("kube-proxy", "kubelet")),
        "start services": services.start_calls(("kubelet", "kube-proxy")),
        "restart HNS": services.restart_hns_calls(90.0, 30.0),
        "guard": addresses.calls([CARD, SECOND], "key", network_timeout=61, settle=1.5),
        "look at the guard": addresses.inspection_calls(),
        "give a card its settings back": uplink.restore_calls(CARD, Scope("p."), seconds=7),
        "write the journal": (journal.Journal(key="key", services=("kubelet",), uplinks=(CARD,)).write_call(),),
        "remove the journal": (journal.remove_call(("a", "b")),),
    }
    outcomes.check("hns/asking_calls", {case: outcomes.calls(calls) for case, calls in found.items()})


def test_the_report_of_a_node_is_complete() -> None:
    found: dict[str, Any] = {}
    for case, seen in nodes().items():
        document = to_result(read_facts(seen))
        if case not in ("containerd", "docker"):
            # Only the owners differ.
            document = {
                key: ", ".join(f"{one['id'][:8]} {one['state']} {one.get('owner', '')}" for one in value)
                if key in ("endpoints", "policy_lists", "namespaces")
                else value
                for key, value in document.items()
                if key not in ("networks", "services")
            }
        found[case] = lines(document)
    outcomes.check("hns/facts", found)


WISHES: dict[str, CleanupRequest] = {
    "stale": CleanupRequest(scope="stale"),
    "stale everywhere": CleanupRequest(scope="stale", protected=(), stopped_containers=True),
    "networks": CleanupRequest(scope="networks", networks=("cbr0",)),
    "networks that are not there": CleanupRequest(scope="networks", networks=("x",), missing_ok=True),
    "networks but running ones": CleanupRequest(
        scope="networks", networks=("cbr0", "azure"), keep_running_containers=True
    ),
    "all": CleanupRequest(scope="all"),
    "all but protected": CleanupRequest(scope="all", protected=("cbr0", "nat")),
    "all and Docker's": CleanupRequest(scope="all", protected=()),
}


def brief(plan: CleanupPlan) -> dict[str, Any]:
    """Return a plan with one line for each object."""
    return {
        "items": [f"{one.type} {one.name[:20]} {one.id[:8]}: {one.why}" for one in plan.items],
        "kept": [f"{one.type} {one.name}: {one.why}" for one in plan.kept],
        "containers": [f"{one.kind} {one.id[:8]} {one.namespace}" for one in plan.containers],
        "ids": " ".join(one.id[:8] for one in (*plan.policies, *plan.endpoints, *plan.namespaces, *plan.networks)),
        "files": plan.files,
        "routes": [str(one) for one in plan.routes],
        "services": " ".join((*plan.stop, "then", *plan.start)),
        "uplinks": " ".join(one.alias for one in plan.uplinks),
        "repair": plan.repair,
        "left": f"{plan.networks_left} {plan.external_left} {plan.port_pools}",
        "journal": plan.journal.key if plan.journal else "",
        "empty, disruptive": f"{plan.empty} {plan.disruptive}",
    }


def plan_of(case: str, facts: HnsFacts) -> CleanupPlan:
    return make_plan(WISHES[case], facts)


def test_the_plans_of_cleanups() -> None:
    facts = {case: read_facts(seen) for case, seen in nodes().items() if case != "nothing"}
    found: dict[str, Any] = {}
    for case in WISHES:
        found[case] = brief(plan_of(case, facts["containerd"]))
        found[f"{case}: warnings"] = warnings_of(case, facts["containerd"])
    outcomes.check("hns/plans", found)
    found = {}
    for node in ("docker", "the runtime does not answer", "an interrupted cleanup", "containerd without leases"):
        for case in ("stale everywhere", "networks but running ones"):
            found[f"{case}: {node}"] = brief(plan_of(case, facts[node]))
            found[f"{case}: {node}: warnings"] = warnings_of(case, facts[node])
    outcomes.check("hns/more_plans", found)


def warnings_of(case: str, facts: HnsFacts) -> object:
    """Return the warnings about a request, or why it is rejected."""
    try:
        return check_request(WISHES[case], facts)
    except ScopeError as error:
        return error


KEY = "key"


def test_the_calls_of_a_cleanup() -> None:
    facts = read_facts(nodes()["containerd"])
    options = BatchOptions(hns_timeout=5.0, port_pool_timeout=6, network_timeout=7, programs=PROGRAMS)
    found = {}
    for case in ("stale", "networks", "all and Docker's"):
        plan = plan_of(case, facts)
        found[case] = outcomes.calls(_short(batch_calls(plan, KEY, options)))
        singly = dataclasses.replace(options, singly=True)
        found[f"{case}, one by one"] = [call.id for call in batch_calls(plan, KEY, singly)]
    interrupted = plan_of("stale", read_facts(nodes()["an interrupted cleanup"]))
    found["after an interrupted cleanup"] = [call.id for call in batch_calls(interrupted, KEY, options)]
    docked = plan_of("all and Docker's", read_facts(nodes()["docker"]))
    found["docker"] = outcomes.calls(call for call in batch_calls(docked, KEY, options) if "containers" in call.id)
    outcomes.check("hns/batches", found)


def _short(calls: tuple[Call, ...]) -> list[Call]:
    # Another golden file contains the restoration of an adapter's settings.
    return [call for call in calls if "uplink" not in call.id or call.id.endswith(".check")]


LISTS = ("changes", "diff", "kept", "removed")


def test_the_results_of_a_cleanup_are_read_and_reported() -> None:
    facts = read_facts(nodes()["containerd"])
    plan = dataclasses.replace(plan_of("all", facts), uplinks=(CARD,))
    calls = {call.id: CallResult(ok=True, seconds=0.5) for call in batch_calls(plan, KEY, BatchOptions())}
    left = [item.id for item in plan.items if item.type in ("Endpoint", "endpoint", "HnsEndpoint")][:1]
    files = [{"path": item.id, "exists": number == 0} for number, item in enumerate(plan.items) if item.type == "File"]
    empty = {f"{kind}-after": result([]) for kind in ("policies", "endpoints", "namespaces", "networks")}
    good = {**calls, **empty, "files-after": result([{**one, "exists": False} for one in files])}
    cases: dict[str, Observation] = {
        "all is gone": Observation(calls=good),
        "things are left": Observation(
            calls={
                **good,
                "endpoints-after": result([{"ID": one.lower()} for one in left]),
                "files-after": result(files),
                "remove-endpoints": failed("HRESULT 5", warnings=("slow",)),
                "files": failed("in use"),
                "port-pools": failed("late"),
                "containers.0": failed("exit code 1", stderr=" no such sandbox "),
                "route.0": failed("gone"),
                "start.kubelet": failed("did not start"),
                "uplink.0.check": failed("unmet"),
                "uplink.0.address.0": CallResult(ok=True),
            }
        ),
        "stopped": Observation(calls={"journal": failed("no room")}, stopped=Stopped(id="journal", reason="error")),
        "nothing was reached": Observation(),
        "HNS hangs": Observation(calls={**good, "networks-after": failed("late", "CommandTimeout")}),
    }
    found: dict[str, Any] = {}
    for case, seen in cases.items():
        done = read_done(plan, seen)
        message: list[str] = []
        reported = CleanupOutcome(scope="all", notify=message.append)
        reported.plan_made(plan, facts)
        reported.batch_done(plan, done)
        document = reported.to_result(name="host", diff=True, check_mode=False, remote_commands=3)
        found[case] = {
            "items": " ".join(item.id[:8] for item in done.items),
            "left": " ".join(item.id[:8] for item in done.left),
            **{
                name: getattr(done, name) for name in ("failures", "warnings", "restored", "started", "hang", "aborted")
            },
            "seconds": done.seconds,
            "told": message,
            "result": lines({key: value for key, value in document.items() if key not in LISTS}),
            "lists": [len(document.get(key, ())) for key in LISTS],
        }
    planned = CleanupOutcome(scope="all")
    planned.plan_made(plan, facts)
    preview = lines(planned.to_result(name="host", diff=True, check_mode=True, remote_commands=1))
    outcomes.check("hns/check_mode", preview)
    found["intent"] = [
        planned.intent(True),
        planned.intent(False),
        planned.last_known_progress(True),
        planned.last_known_progress(False),
    ]
    outcomes.check("hns/results", found)


def test_services_are_ordered_and_read() -> None:
    names = ("kube-proxy", "flanneld", "kubelet", "containerd", "hns", "CalicoFelix")
    seen = {**SERVICES}
    outcomes.check(
        "hns/services",
        {
            "start with an overlay": services.start_order(names, overlay=True),
            "start": services.start_order(names, overlay=False),
            "stop": services.stop_order(names),
            "read": services.read(seen),
            "runtimes": services.installed_runtimes(services.read(seen)),
            "nothing": services.read({}),
        },
    )


def test_a_guard_reports_what_it_did() -> None:
    fine = CallResult(ok=True)
    seen = {
        "mine": fine,
        "first.0.address.0": fine,
        "second.0.dns": fine,
        "second.0.route.0": CallResult(ok=True, skipped="there"),
        "second.0.dns.there": fine,
        "first.1.address.1": failed(),
        "second.0.check": fine,
        "second.1.check": failed(),
    }
    assert addresses.restored([CARD, SECOND], seen) == {"Ethernet": "address.0, dns"}
    assert addresses.failures([CARD, SECOND], seen) == (
        f"Storage does not have its static address 10.1.0.5; {addresses.NOTE} on the node contains its former settings",
    )
    assert addresses.failures([CARD], {})[0].startswith("Ethernet does not have")
    assert [addresses.replaced(one) for one in (seen, {}, {"mine": failed()})] == [False, False, True]
    assert addresses.time_limit([CARD, SECOND], network_timeout=60, settle=1.5) == 661.5
    document = addresses.to_json([CARD, SECOND], "key")
    content = result([{"content": json.dumps(document)}])
    assert addresses.noted({"note": content}) == ("key", (CARD, SECOND)) == addresses.from_json(document)
    for nothing in ({}, {"note": failed()}, {"note": result([])}, {"note": result([{"content": "{"}])}):
        assert addresses.noted(nothing) == ("", ())
    assert uplink.without_routes(CARD, {("0.0.0.0/0", "10.0.0.1")}).routes == ()
    assert uplink.without_routes(CARD, {("0.0.0.0/0", "10.0.0.2")}) == CARD


def test_the_runtime_asks_each_namespace_once() -> None:
    asked = [call.arguments[1] for call in runtime.calls(PROGRAMS) if call.id.startswith("ctr-of:")]
    assert asked == ["x"]
