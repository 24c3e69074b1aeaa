# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cleanup from end to end: lost batches, earlier ones, nodes that do not come back, conflicting options."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible.errors import AnsibleConnectionFailure
from unit.hns_models import CNI, Model, Pod, result

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup import options as hns_options
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.batch import BatchOptions
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.cleanup import Cleanup, CleanupOptions
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupRequest, ScopeError
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import FactsOptions
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Batch,
    Call,
    CallResult,
    Observation,
    Progress,
)

JOURNAL = {
    "path": "C:\\ProgramData\\winkube\\hns\\cleanup.json",
    "exists": True,
    "content": '{"key": "earlier", "services": ["kubelet"], "uplinks": []}',
}


@dataclasses.dataclass
class FakeNode:
    """A node with one stale endpoint, and scripted faults of its batches."""

    script: list[t.Any] = dataclasses.field(default_factory=list)
    journal: bool = False
    earlier: str = "finished"
    name: str = "win"
    on_progress: t.Callable[[Progress], None] | None = None
    events: list[str] = dataclasses.field(default_factory=list)

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        self.events.append("observe")
        pod = Pod(number=0, kind="gone", network=CNI, isolated=False, named=True, born=True)
        more = {"files": result([JOURNAL])} if self.journal else {}
        return Model(pods=[pod], policies=[]).observation(**more)

    def run(self, batch: Batch, *, step: str = "", private: bool = False) -> Observation:
        self.events.append("run")
        event = self.script.pop(0) if self.script else None
        if isinstance(event, Exception):
            if self.on_progress:
                self.on_progress(Progress(id="remove-networks", done=9, total=len(batch.calls)))
            raise event
        if event == "singly":
            assert all("." in call.id for call in batch.calls if call.command == "Remove-HnsEndpoint")
            event = None
        self.journal = False
        calls = {call.id: CallResult(ok=True) for call in batch.calls}
        return Observation(calls={**calls, **(event or {})})

    def wait(self, key: str, *, step: str) -> Observation:
        self.events.append(f"wait {key}")
        return Observation(state=t.cast("t.Any", self.earlier))

    def reboot(self, *, step: str = "") -> None:
        self.events.append("reboot")


def cleanup(node: FakeNode, scope: t.Any = "stale", **more: t.Any) -> Cleanup:
    options = CleanupOptions(facts=FactsOptions(), batch=BatchOptions())
    session = NodeSession(t.cast("t.Any", node), notify=more.pop("notify", None))
    return Cleanup(session, CleanupRequest(scope=scope), options, **more)


def test_users_see_each_step_when_it_happens() -> None:
    lines: list[str] = []
    node = FakeNode([BatchLost("lost", Progress(id="remove-endpoints", done=3, total=9))])
    cleanup(node, notify=lines.append).run()
    assert lines[0] == "win: observe: 1 endpoint, 1 namespace to remove"
    assert lines[1].startswith("win: hns_cleanup stale at remove-networks (9 of ")
    assert lines[-1].startswith("win: remove: ")
    # Hundreds of nodes without anything to do print nothing.
    quiet: list[str] = []
    cleanup(FakeNode(), "networks", notify=quiet.append, check_mode=True).run()
    assert not quiet


def test_a_lost_batch_causes_a_new_observation() -> None:
    node = FakeNode([BatchLost("lost", Progress(id="remove-endpoints", done=3, total=9))])
    outcome = cleanup(node).run()
    assert node.events == ["observe", "run", "observe", "run"]
    assert "lost the batch at remove-endpoints (3 of 9 calls done)" in outcome.steps[1]["result"]
    assert len(outcome.removed) == 2


def test_batches_that_are_lost_again_and_again_end() -> None:
    node = FakeNode([BatchLost("lost", None)] * 20)
    with pytest.raises(NodeError, match="not clean after 6 attempts"):
        cleanup(node).run()


def test_a_node_that_never_comes_back_is_reported_with_the_finished_work() -> None:
    work = cleanup(FakeNode([AnsibleConnectionFailure("win: hns_cleanup all: connection refused")]), "all")
    with pytest.raises(AnsibleConnectionFailure) as error:
        work.run()
    text = str(error.value)
    assert "did not come back" in text
    assert "it last reported progress at remove-networks (9 of" in text
    assert "The batch's task: stop kubelet, remove 1 endpoint, 1 namespace, 2 networks, start kubelet." in text


@pytest.mark.parametrize(("state", "observations"), [("finished", 2), ("lost", 2), ("unknown", 1)])
def test_an_earlier_cleanup_is_waited_for(state: str, observations: int) -> None:
    node = FakeNode(journal=True, earlier=state)
    cleanup(node).run()
    assert node.events[:2] == ["observe", "wait earlier"]
    assert node.events.count("observe") == observations
    assert node.events[-1] == "run"


def test_check_mode_only_observes() -> None:
    node = FakeNode(journal=True)
    outcome = cleanup(node, check_mode=True).run()
    assert node.events == ["observe"]
    assert outcome.plan.items


def test_objects_behind_one_that_stops_a_cmdlet_are_tried_alone() -> None:
    left = result([{"ID": "00000000-0000-4000-8000-000000000000"}])
    stuck = {"remove-endpoints": CallResult(ok=False), "endpoints-after": left}
    node = FakeNode([stuck, "singly"])
    outcome = cleanup(node).run()
    assert node.events == ["observe", "run", "run"]
    assert len(outcome.removed) == 2


DEFAULTS = {name: spec.get("default") for name, spec in hns_options.CLEANUP_OPTIONS.items()}


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({"scope": "stale", "networks": ["cbr0"]}, "networks: expected no networks with scope stale, got"),
        ({"scope": "networks"}, "networks: expected names of networks, because scope is networks"),
        ({"scope": "all", "hns_timeout": 0}, "hns_timeout: expected a number of seconds greater than 0, got 0"),
        ({"scope": "stale", "grace": -1}, "grace: expected a number of seconds, 0 or more, got -1"),
        ({"scope": "all", "timeout": 0}, "timeout: expected a number of seconds greater than 0, got 0"),
        (
            {"scope": "all", "restart_timeout": -5},
            "restart_timeout: expected a number of seconds greater than 0, got -5",
        ),
        (
            {"scope": "all", "port_pool_timeout": -5},
            "port_pool_timeout: expected a number of seconds, 0 or more, got -5",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, t.Any], messages: str) -> None:
    with pytest.raises(ScopeError) as error:
        hns_options.cleanup_request({**DEFAULTS, **options})
    assert str(error.value).startswith(messages)


def test_only_scope_stale_needs_may_restart_and_observes_twice() -> None:
    for scope, restart, grace in (("stale", False, 15.0), ("networks", True, 0.0), ("all", True, 0.0)):
        options = hns_options.cleanup_options({**DEFAULTS, "scope": scope})
        assert (options.may_restart, options.facts.grace, options.may_reboot) == (restart, grace, False)
    assert hns_options.cleanup_options({**DEFAULTS, "scope": "stale", "allow_hns_restart": True}).may_restart
