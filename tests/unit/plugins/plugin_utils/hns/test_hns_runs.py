# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete cleanups with a node of prepared responses, and their options."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ansible.errors import AnsibleConnectionFailure
from unit import outcomes
from unit.hns_models import Model, result
from unit.hns_nodes import FILES, JOURNAL, SERVICES, failed, nodes, station

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup import options as hns_options
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch import BatchOptions
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.cleanup import Cleanup, CleanupOptions
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import FactsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Batch,
    Call,
    CallResult,
    Observation,
    Progress,
    State,
    Stopped,
)

Answer = Callable[[Batch], Observation] | Exception


def good(batch: Batch) -> Observation:
    """Return the response of a node on which every call succeeds and nothing is left."""
    after = [call.id for call in batch.calls if call.id.endswith("-after")]
    calls = {call.id: CallResult(ok=True, seconds=0.25) for call in batch.calls}
    return Observation(calls={**calls, **{name: result([]) for name in after}})


def but(stopped: str = "", **more: CallResult) -> Callable[[Batch], Observation]:
    """Return a good response except for some calls. `__` stands for a dot, and `_` for a dash."""
    given = {name.replace("__", ".").replace("_", "-"): answer for name, answer in more.items()}

    def answer(batch: Batch) -> Observation:
        end = Stopped(id=stopped, reason="error") if stopped else None
        return dataclasses.replace(good(batch), calls={**good(batch).calls, **given}, stopped=end)

    return answer


class Answers:
    """A node with prepared responses, which records the calls.

    Args:
        observations: one response for each observation; the last one repeats.
        runs: one response for each batch.
        earlier: the result of an earlier batch.
    """

    name = "node-1"
    remote_commands = 0

    def __init__(
        self, *observations: Observation, runs: Sequence[Answer] = (good,), earlier: State = "finished"
    ) -> None:
        self._observations, self._runs, self._earlier = list(observations), list(runs), earlier
        self.on_progress: Any = None
        self.noted: list[str] = []

    def observe(self, calls: Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        self.noted.append(step)
        return self._observations.pop(0) if len(self._observations) > 1 else self._observations[0]

    def run(self, batch: Batch, *, step: str = "", private: bool = False, system: bool = False) -> Observation:
        # Another golden file contains the restoration of an adapter's settings.
        ids = [call.id for call in batch.calls if "uplink" not in call.id]
        self.noted.append(f"{step}: {' '.join(ids)}")
        answer = self._runs.pop(0)
        if isinstance(answer, AnsibleConnectionFailure) and "progress" not in str(answer):
            raise answer
        self.on_progress(Progress(id=ids[1], done=1, total=len(ids)))
        if isinstance(answer, Exception):
            raise answer
        return answer(batch)

    def wait(self, key: str, *, step: str) -> Observation:
        self.noted.append(f"{step}: {key}")
        return Observation(state=self._earlier)

    def reboot(self, *, step: str = "") -> None:
        self.noted.append(f"reboot: {step}")


def calm() -> Observation:
    return Model(pods=[], policies=[]).observation()


def whole(**more: CallResult) -> Observation:
    return station().observation(**{**FILES, **SERVICES, **more})


HANGS = nodes()["HNS hangs"]
LATE = failed("late", "CommandTimeout")
LOST = BatchLost("lost", Progress(id="remove-endpoints", done=3, total=9))
STUCK = result([{"ID": "00000002-0000-4000-8000-000000000000"}])
UNREACHABLE = AnsibleConnectionFailure("node-1: no route")
UNREACHABLE_LATER = AnsibleConnectionFailure("node-1: no route after it reported progress")
NO_ADVICE: dict[str, Any] = {"may_restart": False}


@dataclasses.dataclass
class Case:
    node: Answers
    request: CleanupRequest = dataclasses.field(default_factory=lambda: CleanupRequest(scope="stale"))
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    check_mode: bool = False


def cases() -> dict[str, Case]:
    everything = CleanupRequest(scope="all", protected=())
    networks = CleanupRequest(scope="networks", networks=("cbr0",))
    removed_only = result([*SERVICES["services"].output])
    journal = whole(files=result([JOURNAL]))
    return {
        "nothing to do": Case(Answers(calm())),
        "stale": Case(Answers(whole())),
        "all": Case(Answers(whole()), everything),
        "networks in check mode": Case(Answers(whole()), networks, check_mode=True),
        "stuck once": Case(Answers(whole(), runs=[but(remove_endpoints=failed(), endpoints_after=STUCK), good])),
        "stuck twice": Case(Answers(whole(), runs=[but(remove_endpoints=failed(), endpoints_after=STUCK)] * 2)),
        "lost once": Case(Answers(whole(), calm(), runs=[LOST])),
        "lost without news": Case(Answers(whole(), calm(), runs=[BatchLost("lost", None)])),
        "lost for ever": Case(Answers(whole(), runs=[LOST] * 9)),
        "an earlier cleanup": Case(Answers(journal, whole())),
        "an earlier cleanup that nobody knows": Case(Answers(journal, earlier="unknown")),
        "an earlier cleanup in check mode": Case(Answers(journal), check_mode=True),
        "unreachable": Case(Answers(whole(), runs=[UNREACHABLE]), everything),
        "unreachable after news": Case(Answers(whole(), runs=[UNREACHABLE_LATER]), everything),
        "unreachable, and no network goes": Case(Answers(whole(), runs=[UNREACHABLE])),
        "unreachable while HNS restarts": Case(Answers(HANGS, runs=[UNREACHABLE])),
        "HNS hangs, and a restart helps": Case(Answers(HANGS, calm(), runs=[good])),
        "HNS hangs with a journal": Case(
            Answers(
                station().observation(**{**SERVICES, "files": result([JOURNAL]), "2.endpoints": LATE}),
                calm(),
                earlier="unknown",
            )
        ),
        "HNS hangs, and nothing helps": Case(Answers(HANGS, runs=[but(answer=LATE)]), options={"may_reboot": True}),
        "HNS hangs, and a reboot helps": Case(
            Answers(HANGS, calm(), runs=[but(answer=LATE, restart_hns=failed("stuck"))]), options={"may_reboot": True}
        ),
        "HNS hangs, and nothing is allowed": Case(Answers(HANGS), options=NO_ADVICE),
        "HNS hangs, and a reboot is not allowed": Case(
            Answers(HANGS, runs=[but("stop.kubelet", stop__kubelet=failed())])
        ),
        "HNS hangs in check mode": Case(Answers(HANGS), check_mode=True),
        "HNS hangs, and the restart is lost": Case(Answers(HANGS, calm(), runs=[LOST])),
        "HNS hangs during the removal": Case(Answers(whole(), calm(), runs=[but(endpoints_after=LATE), good])),
        "HNS hangs while it removes endpoints": Case(Answers(whole(), calm(), runs=[but(remove_endpoints=LATE), good])),
        "no HNS": Case(Answers(nodes()["no HNS"])),
        "HNS fails": Case(Answers(nodes()["HNS fails"])),
        "the runtime does not answer": Case(Answers(nodes()["the runtime does not answer"])),
        "no such network": Case(Answers(whole()), CleanupRequest(scope="networks", networks=("x",))),
        "a protected network is not there": Case(
            Answers(whole()), CleanupRequest(scope="stale", protected=("x", "NAT"))
        ),
        "a protected network is not there in scope all": Case(
            Answers(whole()), CleanupRequest(scope="all", protected=("x",))
        ),
        "Docker's network is protected and not there": Case(
            Answers(whole(**{"1.networks": result([]), "2.networks": result([])})),
            CleanupRequest(scope="all", protected=("nat",)),
        ),
        "stuck among everything": Case(
            Answers(whole(), runs=[but(remove_endpoints=failed(), endpoints_after=STUCK), good]), everything
        ),
        "a service does not stop in time": Case(Answers(whole(), runs=[but(stop__kubelet=LATE)]), networks),
        "services only": Case(Answers(whole(services=removed_only)), networks),
    }


def transcript(case: Case) -> dict[str, Any]:
    messages: list[str] = []
    usual = CleanupOptions(facts=FactsOptions(hns_timeout=5.0), batch=BatchOptions(), restart_timeout=7.0)
    options = dataclasses.replace(usual, **case.options)
    work = Cleanup(
        NodeSession(cast("Any", case.node), notify=messages.append), case.request, options, check_mode=case.check_mode
    )
    found: dict[str, Any] = {"asked": case.node.noted, "said": messages}
    try:
        work.run()
    except (NodeError, AnsibleConnectionFailure) as error:
        found["error"] = str(error)
    document = work.outcome.to_result(name="node-1", diff=True, check_mode=case.check_mode, remote_commands=2)
    parts = {key: [json.dumps(one) for one in document.pop(key, ())] for key in ("changes", "diff")}
    return {**found, "result": json.dumps(document), **(parts if len(str(parts)) < 4000 else {})}


def test_every_cleanup_has_the_recorded_calls_and_report() -> None:
    outcomes.check("hns/runs", {name: transcript(case) for name, case in cases().items()})


def test_options_of_the_module_are_passed_on() -> None:
    defaults = {name: spec.get("default") for name, spec in hns_options.CLEANUP_OPTIONS.items()}
    changed = {
        "hns_timeout": 1.5,
        "cni_conf_dirs": ["C:\\c"],
        "crictl": "a",
        "ctr": "b",
        "docker": "c",
        "containerd_namespaces": ["d"],
        "networks": ["cbr0"],
        "ignore_missing": True,
        "protected_networks": ["nat"],
        "keep_running_containers": True,
        "stopped_containers": True,
        "state_files": ["C:\\x"],
        "grace": 2.5,
        "port_pool_timeout": 0,
        "network_timeout": 0,
        "restart_timeout": 8,
        "allow_hns_restart": True,
        "allow_reboot": True,
    }
    found: dict[str, Any] = {"specification": {name: str(spec) for name, spec in hns_options.CLEANUP_OPTIONS.items()}}
    for scope in ("stale", "all"):
        found[f"{scope} by default"] = hns_options.cleanup_options({**defaults, "scope": scope})
        found[f"{scope} wished by default"] = hns_options.cleanup_request({**defaults, "scope": scope})
    for scope in ("stale", "networks"):
        found[f"{scope} changed"] = hns_options.cleanup_options({**changed, "scope": scope})
    found["changed wish"] = hns_options.cleanup_request({**defaults, **changed, "scope": "networks"})
    # The defaults are the same for callers other than the module.
    assert hns_options.facts_options(defaults) == FactsOptions()
    plain = CleanupOptions(facts=FactsOptions(), batch=BatchOptions())
    assert hns_options.cleanup_options({**defaults, "scope": "all"}) == plain
    outcomes.check("hns/options", found)
