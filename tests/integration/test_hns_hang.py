# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A hanging HNS, nodes that disappear permanently, pods that are created during a cleanup: the resulting messages."""

from __future__ import annotations

import dataclasses
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from integration.actions import connect, run_action
from integration.networks import free_network
from integration.patching import no_pauses

from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts import services
from simulator.fleet import Fleet
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.cri.shims import Sandbox
from simulator.kubernetes_node.hns import fixtures
from simulator.machine.faults import set_fault as inject
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault

pytestmark = [
    pytest.mark.waits,
    pytest.mark.integration,
    pytest.mark.xdist_group("hns_hang"),
    pytest.mark.usefixtures("no_pauses"),
]
__all__ = ["no_pauses"]

JOURNAL = r"C:\ProgramData\winkube\hns\cleanup.json"
QUICK = {"grace": 0.05, "hns_timeout": 0.5, "timeout": 60, "restart_timeout": 5, "port_pool_timeout": 10}
NodeFactory = Callable[[], Machine]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    network = free_network()
    nodes = [
        MachineSettings.read({"name": f"HANG-{number}", "address": f"{network}.{number}", "windows": "2022",
                       "features": ["Containers"], "link_drop_seconds": 0.2, "port_pool_seconds": 1,
                       "reboot_seconds": 0.2, "time_scale": 0.02, "pause_scale": 0.1})
        for number in range(1, 14)
    ]  # fmt: skip
    # The link does not come back.
    nodes.append(
        MachineSettings.read(
            {"name": "GONE", "address": f"{network}.99", "features": ["Containers"], "link_drop_seconds": 3600}
        )
    )
    with Fleet(nodes) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def node(fleet: Fleet) -> NodeFactory:
    unused = itertools.count(1)

    def take() -> Machine:
        machine = fleet.machine(f"HANG-{next(unused)}")
        fixtures.install(machine)
        return machine

    return take


def cleanup(machine: Machine, scope: str, *, kind: str = "psrp", **more: Any) -> dict[str, Any]:
    with connect(machine, kind) as connection:
        return run_action(connection, "hns_cleanup", {"scope": scope, **QUICK, **more})


def steps(result: dict[str, Any]) -> list[str]:
    return [step["step"] for step in result["steps"]]


def running(machine: Machine) -> set[str]:
    names = ("containerd", "kubelet", "kube-proxy", "hns")
    return {name for name in names if (found := machine.services.get(name)) and found.state == "Running"}


EVERYTHING = {"containerd", "kubelet", "kube-proxy", "hns"}


def hang(machine: Machine, **more: Any) -> None:
    machine.families.faults["hns_hang"](machine, {"until": "restart", **more})


def test_stale_reports_the_hang_and_touches_nothing(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2, stale=2)
    before = set(machine.part(hns.HnsState).endpoints)
    hang(machine)
    result = cleanup(machine, "stale")
    assert result["failed"]
    assert "HNS does not respond: Get-HnsPolicyList did not return within 0.5 s" in result["msg"]
    assert "allow_hns_restart" in result["msg"]
    assert steps(result) == ["wait"]
    assert result["remote_commands"] == 1
    assert set(machine.part(hns.HnsState).endpoints) == before
    assert running(machine) == EVERYTHING


def test_stale_restarts_hns_on_a_drained_node(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=0, stale=2)
    hang(machine)
    result = cleanup(machine, "stale", allow_hns_restart=True)
    assert not result.get("failed"), result
    assert steps(result)[:2] == ["wait", "restart hns"]
    assert result["changed"]
    assert running(machine) == EVERYTHING
    assert not machine.files.exists(JOURNAL)


@pytest.mark.parametrize("scope", ["networks", "all"])
def test_the_other_scopes_restart_hns_and_continue(node: NodeFactory, scope: str) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2, stale=2)
    hang(machine)
    result = cleanup(machine, scope, **({"networks": ["cbr0"]} if scope == "networks" else {}))
    assert not result.get("failed"), result
    assert steps(result)[:3] == ["wait", "restart hns", "observe"]
    assert not machine.part(hns.HnsState).networks
    assert running(machine) == EVERYTHING


def test_a_removal_that_hangs_is_continued_after_the_restart(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2, stale=2)
    hang(machine, commands=["Remove-HnsEndpoint"])
    result = cleanup(machine, "all")
    assert not result.get("failed"), result
    assert steps(result).index("wait") > steps(result).index("remove")
    assert not machine.part(hns.HnsState).networks
    assert running(machine) == EVERYTHING
    assert not machine.files.exists(JOURNAL)


def test_the_node_reboots_only_if_allowed(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2)
    boots = machine.power.boots
    hang(machine, until="reboot", stop_fails=True)
    refused = cleanup(machine, "all", restart_timeout=1)
    assert refused["failed"]
    assert "allow_reboot is false" in refused["msg"]
    assert steps(refused) == ["wait", "restart hns"]
    assert machine.power.boots == boots
    assert running(machine) == EVERYTHING
    result = cleanup(machine, "all", allow_reboot=True, restart_timeout=1)
    assert not result.get("failed"), result
    assert result["rebooted"]
    assert steps(result)[:3] == ["wait", "restart hns", "reboot"]
    assert machine.power.boots == boots + 1
    assert not machine.part(hns.HnsState).networks
    assert running(machine) == EVERYTHING


def test_a_service_that_does_not_start_is_named_and_the_next_run_starts_it(
    node: NodeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_START_DELAY", 0.1)
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=1)
    inject(machine, {"kind": "service_hangs", "name": "kube-proxy"})
    result = cleanup(machine, "all")
    assert result["failed"]
    assert "service kube-proxy did not start" in result["msg"]
    assert running(machine) == EVERYTHING - {"kube-proxy"}
    inject(machine, {"kind": "service_hangs", "name": "kube-proxy", "value": False})
    again = cleanup(machine, "all")
    assert not again.get("failed"), again
    assert [(change["type"], change["name"]) for change in again["changes"]] == [("Service", "kube-proxy")]
    assert running(machine) == EVERYTHING


# --- Nodes that disappear.


def test_a_node_that_stays_unreachable_is_reported_with_the_finished_work(node: NodeFactory, fleet: Fleet) -> None:
    machine = fleet.machine("GONE")
    fixtures.install(machine)
    # Enough pods for progress messages before the network is removed.
    fixtures.populate(machine, "flannel-host-gw", running=2)
    result = cleanup(machine, "all", timeout=3, reconnect_timeout=1)
    assert result["unreachable"]
    assert "did not come back" in result["msg"]
    assert "The batch's task: stop kube-proxy, kubelet, remove" in result["msg"]
    # Its progress, from its last message or from the steps before the network.
    reported = r"it last reported progress at \S+ \(\d+ of \d+ calls done\)"
    known = r"had by then stopped kube-proxy, kubelet, removed 1 policy list, 5 endpoints, 2 namespaces, 2 containers"
    assert re.search(f"{reported}|{known}", result["msg"]), result["msg"]
    assert "The next run reads the batch's result" in result["msg"]
    assert result["steps"][0]["step"] == "observe"


def test_a_reboot_in_the_middle_is_finished_by_the_same_run(node: NodeFactory, fleet: Fleet) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2)
    fleet.nodes[machine.host_name].server.set_fault(TransportFault("call", 9, callback=machine.power.reboot))
    result = cleanup(machine, "all")
    assert not result.get("failed"), result
    assert not result.get("unreachable"), result
    assert not machine.part(hns.HnsState).networks
    # Windows starts HNS when it is first used, which may be after the end of the run.
    assert running(machine) | {"hns"} == EVERYTHING
    assert not machine.files.exists(JOURNAL)


def test_an_incomplete_cleanup_is_repaired_by_any_scope(node: NodeFactory) -> None:
    machine = node()
    fixtures.populate(machine, "flannel-host-gw", running=2)
    machine.services.stop("kubelet")
    machine.files.make_directory(r"C:\ProgramData\winkube\hns")
    machine.files.write_text(JOURNAL, '{"key": "00000000-dead", "services": ["kubelet", "kube-proxy"], "uplinks": []}')
    facts = info(machine)
    assert facts["hns"]["interrupted_cleanup"]
    result = cleanup(machine, "stale")
    assert not result.get("failed"), result
    assert [(change["type"], change["name"]) for change in result["changes"]] == [("Service", "kubelet")]
    assert running(machine) == EVERYTHING
    assert not machine.files.exists(JOURNAL)
    assert not cleanup(machine, "stale")["changed"]


def info(machine: Machine) -> dict[str, Any]:
    with connect(machine) as connection:
        return run_action(connection, "hns_info", {"hns_timeout": 0.5})


# --- Pods that are created.


def test_a_pod_created_during_the_observation_keeps_its_endpoint(node: NodeFactory) -> None:
    machine = node()
    # The pod appears in the middle of the grace period.
    machine.settings = dataclasses.replace(machine.settings, pause_scale=1.0)
    put = fixtures.populate(machine, "flannel-host-gw", running=1, stale=1, creating=1)
    (endpoint,) = put.creating
    owner = machine.part(hns.HnsState).endpoints[endpoint].container
    # A containerd without leases, where only the age of an endpoint helps.
    shim = shims.settle(machine)
    shim.leases.clear()

    def appear() -> None:
        time.sleep(1.0)
        sandbox = Sandbox(owner, "late", "default", "uid-late", "10.244.0.99", "cbr0")
        shim.sandboxes[sandbox.id] = sandbox

    late = threading.Thread(target=appear)
    late.start()
    result = cleanup(machine, "stale", grace=2)
    late.join()
    assert not result.get("failed"), result
    assert endpoint in machine.part(hns.HnsState).endpoints
    assert put.stale[0] not in machine.part(hns.HnsState).endpoints


def test_hns_info_lists_owners_in_one_command(node: NodeFactory) -> None:
    machine = node()
    put = fixtures.populate(machine, "flannel-vxlan", running=2, stale=1, creating=1, orphans=1)
    facts = info(machine)
    assert facts["remote_commands"] == 1
    assert not facts["changed"]
    states = {item["id"]: item for item in facts["hns"]["endpoints"]}
    assert {states[one]["owner"] for one in put.running} == {"default/web-0", "default/web-1"}
    assert {states[one]["state"] for one in (*put.running, *put.creating)} == {"in use"}
    assert {states[one]["state"] for one in put.stale} == {"stale"}
    assert {states[one]["state"] for one in put.remote} == {"remote"}
    assert facts["hns"]["runtime"]["asked"]
    assert [item["name"] for item in facts["hns"]["networks"] if item["from_cni"]] == put.networks
    assert {item["name"] for item in facts["hns"]["services"]} >= {"containerd", "kubelet", "kube-proxy", "hns"}
    assert facts["hns"]["port_pools"] or facts["hns"]["state_files"]
    hang(machine)
    hung = info(machine)
    assert not hung["hns"]["answers"]
    assert hung["remote_commands"] == 1
