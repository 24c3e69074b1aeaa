# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A reset from end to end on a simulated machine: its batch, and what happens when parts of it fail."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from unit.direct_node import DirectNode
from unit.roles import resource_cases

from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup import options as hns_options
from ansible_collections.winkube.node.plugins.plugin_utils.hns.cleanup.plan import CleanupRequest
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import reset_plan
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.reset import Reset, ResetOptions
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.reset_plan import KubeadmReset
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_reset
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.roles import of_role
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns import fixtures
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

KUBEADM = r"C:\k\kubeadm.exe"
KUBECONFIG = "clusters:\n- cluster:\n    server: https://lb.example:6443\n"


class Resetting(DirectNode):
    """A node that records the calls of its batches, and loses some of them."""

    def __init__(self, machine: Machine, *, lost: int = 0, earlier: str = "finished") -> None:
        super().__init__(machine)
        self.batches: list[Batch] = []
        self.lost = lost
        self.earlier = earlier
        self.waited: list[str] = []

    def run(self, batch: Batch, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        if batch.key is None:
            return super().run(batch)
        self.batches.append(batch)
        if self.lost:
            self.lost -= 1
            # The machine went down after the first calls.
            super().run(dataclasses.replace(batch, calls=batch.calls[:3]))
            raise BatchLost("node-1: the node lost the batch", None)
        return super().run(batch)

    def wait(self, key: str, *, step: str) -> Observation:
        self.waited.append(key)
        return Observation(state=t.cast("t.Any", self.earlier))


@pytest.fixture(autouse=True)
def simulated_kubeadm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeadm_real, "find", lambda dummy: None)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    settings = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "features": ["Containers"]}
    quick = {"link_drop_seconds": 0, "time_scale": 0.01, "first_delay": 0.02}
    machine = Machine(MachineSettings.read({**settings, **quick}), tmp_path / "m")
    machine.power_on()
    yield machine
    machine.power.power_off()


def join(machine: Machine, kubernetes: str = "1.36.3") -> None:
    """Make the machine a node with pods, as far as a reset is concerned."""
    fixtures.install(machine, kubernetes=kubernetes)
    fixtures.populate(machine, "flannel-host-gw", running=2, stale=1)
    for path in (node_paths.KUBELET_CONF, node_paths.KUBELET_CONFIG, rf"{node_paths.KUBERNETES}\pki\ca.crt"):
        machine.files.make_directory(path.rpartition("\\")[0])
        machine.files.write_text(path, KUBECONFIG)
    machine.files.write_text(r"C:\etc\cni\net.d\10-flannel.conf", '{"name": "cbr0", "type": "flannel"}')


def options(**more: t.Any) -> ResetOptions:
    defaults = {name: spec.get("default") for name, spec in hns_options.CLEANUP_OPTIONS.items()}
    return ResetOptions(
        kubeadm=KubeadmReset(program=KUBEADM, cri_socket=node_paths.CONTAINERD_PIPE, timeout=60),
        request=CleanupRequest(scope="all", containers="pods", stays_stopped=node_reset.service_names()),
        hns=hns_options.cleanup_options({**defaults, "scope": "all", **more}),
    )


def reset(node: Resetting, *, check_mode: bool = False, **more: t.Any) -> Reset:
    resources = tuple(load(of_role("node_reset", resource_cases.variables({}))))
    session = NodeSession(t.cast("t.Any", node))
    work = Reset(session, resources, options(**more), check_mode=check_mode)
    work.run()
    return work


def result(work: Reset, shown: t.Literal["plan", "done", "nothing"] = "done") -> dict[str, t.Any]:
    return work.outcome.to_result(name="node-1", diff=True, shown=shown)


def state(machine: Machine) -> dict[str, t.Any]:
    services = {name: getattr(machine.services.get(name), "state", None) for name in ("kubelet", "kube-proxy")}
    files = (node_paths.KUBELET_CONF, reset_plan.NOTE, reset_plan.CONFIGURATION)
    return {
        **services,
        "networks": [one.name for one in machine.part(hns.HnsState).networks.values()],
        "files": [path for path in files if machine.files.exists(path)],
        "kubelet folder": [entry.name for entry in machine.files.listing(node_paths.KUBELET)],
        "cni": machine.files.listing(r"C:\etc\cni\net.d"),
    }


CLEAN = {
    "kubelet": "Stopped",
    "kube-proxy": None,
    "networks": [],
    "files": [],
    "kubelet folder": ["pki", "pods"],
    "cni": [],
}


def test_a_node_is_reset_with_two_remote_commands(machine: Machine) -> None:
    join(machine)
    node = Resetting(machine)
    found = result(reset(node))
    assert state(machine) == CLEAN
    assert node.remote_commands == 2
    assert (found["changed"], found["joined"], found["server"]) == (True, True, "lb.example:6443")
    assert found["warnings"] == []
    assert {"Service", "StateFolder", "HnsNetwork", "Container"} <= {one["type"] for one in found["changes"]}
    again = Resetting(machine)
    found = result(reset(again))
    assert (found["changed"], found["needed"], again.remote_commands) == (False, False, 1)


def test_the_steps_of_the_batch_are_in_order(machine: Machine) -> None:
    join(machine)
    node = Resetting(machine)
    reset(node)
    ids = [call.id for call in node.batches[0].calls]
    order = ["note", "stop.kube-proxy", "stop.kubelet", "containers.0", "kubeadm-reset", "remove-networks", "end-1"]
    positions = [ids.index(name) for name in order]
    assert positions == sorted(positions)
    # The machine is observed again after everything else.
    assert all(name.startswith("after.") for name in ids[positions[-1] + 1 :])
    assert not [name for name in ids if name.startswith("start.")]
    assert node.batches[0].long


@pytest.mark.parametrize(
    ("version", "arguments"),
    [
        ("1.36.3", ("reset", "--config", reset_plan.CONFIGURATION)),
        ("1.30.4", ("reset", "--force", "--cleanup-tmp-dir", "--cri-socket", node_paths.CONTAINERD_PIPE)),
    ],
)
def test_kubeadm_gets_what_its_version_accepts(machine: Machine, version: str, arguments: tuple[str, ...]) -> None:
    join(machine, version)
    node = Resetting(machine)
    assert result(reset(node))["warnings"] == []
    calls = {call.id: call for call in node.batches[0].calls}
    assert calls["kubeadm-reset"].arguments == arguments
    written = "configuration" in calls
    assert written == version.startswith("1.36")
    if written:
        document = yaml.safe_load(str(calls["configuration"].parameters["content"]))
        assert (document["kind"], document["apiVersion"]) == ("ResetConfiguration", "kubeadm.k8s.io/v1beta4")


def test_check_mode_changes_nothing(machine: Machine) -> None:
    join(machine)
    before = state(machine)
    node = Resetting(machine)
    work = reset(node, check_mode=True)
    assert (state(machine), node.batches) == (before, [])
    found = result(work, "plan")
    assert found["changed"] is True
    assert any("cbr0" in one["before"] for one in found["diff"] if isinstance(one["before"], str))
    found = result(work, "nothing")
    assert (found["changed"], found["changes"], found["needed"], "diff" in found) == (False, [], True, False)


@pytest.mark.parametrize("lost", [1, 2])
def test_a_lost_batch_is_completed(machine: Machine, lost: int) -> None:
    join(machine)
    node = Resetting(machine, lost=lost)
    reset(node)
    assert state(machine) == CLEAN
    assert len(node.batches) == lost + 1


def test_a_machine_that_loses_every_batch_fails(machine: Machine) -> None:
    join(machine)
    with pytest.raises(NodeError, match=r"reset: still there after 4 attempts: .*StateFolder"):
        reset(Resetting(machine, lost=9))


def test_an_earlier_reset_is_waited_for(machine: Machine) -> None:
    join(machine)
    machine.files.make_directory(node_paths.PROGRAM_DATA)
    machine.files.write_text(reset_plan.NOTE, '{"key": "earlier"}')
    node = Resetting(machine)
    reset(node)
    assert node.waited == ["earlier"]
    assert state(machine) == CLEAN


@pytest.mark.parametrize("note", ["", "not JSON", "[]", '{"key": null}'])
def test_a_damaged_note_is_removed(machine: Machine, note: str) -> None:
    reset(Resetting(machine))
    machine.files.make_directory(node_paths.PROGRAM_DATA)
    machine.files.write_text(reset_plan.NOTE, note)
    node = Resetting(machine)
    reset(node)
    assert (node.waited, machine.files.exists(reset_plan.NOTE)) == ([], False)


def test_a_machine_that_was_never_prepared_gets_nothing(machine: Machine) -> None:
    node = Resetting(machine)
    found = result(reset(node))
    assert (found["changed"], found["needed"], found["prepared"], node.batches) == (False, False, False, [])
    assert not machine.files.exists(node_paths.KUBELET)


@pytest.mark.parametrize(
    ("program", "warning"),
    [
        (b"", "kubeadm.exe is missing or cannot be run, so Ansible does its work"),
        (make("kubeadm", "1.36.3"), "kubeadm reset failed, so Ansible did its work"),
    ],
)
def test_a_machine_is_reset_without_kubeadm(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, program: bytes, warning: str
) -> None:
    join(machine)
    if program:
        monkeypatch.setattr(reset_plan.kubeadm_config, "reset_configuration", lambda *dummy: "kind: nonsense")
        machine.files.write_bytes(KUBEADM, program)
    else:
        machine.files.delete(KUBEADM)
    found = result(reset(Resetting(machine)))
    assert state(machine) == CLEAN
    assert warning in found["warnings"][0]


def test_what_cannot_be_removed_is_named(machine: Machine) -> None:
    join(machine)
    machine.files.make_directory(r"C:\var\log\pods")
    machine.files.write_text(r"C:\var\log\pods\a.log", "x")
    with machine.files.open.hold(r"C:\var\log\pods\a.log", "w", "r"), pytest.raises(NodeError) as raised:
        reset(Resetting(machine))
    assert r"StateFolder C:\var\log\pods" in str(raised.value)
    assert "A program still uses files" in str(raised.value)
