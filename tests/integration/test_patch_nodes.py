# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patching a fleet in service: twenty nodes, ten at a time, a disruption budget, a failure, cuts of link and power."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.memory import AVAILABLE, measure
from integration.playbooks import PlayRun, Site, cluster_api
from integration.rollouts import report
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.hns.objects import DETACHED
from simulator.kubernetes_node.hns.service import HnsStore
from simulator.machine import faults

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.xdist_group("patch_nodes")]

BEFORE, PATCH = "KB5046616", "KB5048654"
OLD_BUILD, NEW_BUILD = "20348.2849", "20348.2966"
CURRENT_VERSION = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
ANNOTATION = "winkube.node/cordoned"
# The scheduler orders nodes by load and then by name, so the nodes to be patched get the pods.
LACKING = [f"a{number:02}" for number in range(12)]
PATCHED = [f"p{number:02}" for number in range(8)]
FAILS, CUT, STALE, POWER = LACKING[1], LACKING[2], LACKING[3], LACKING[4]
KILLED, CORDONED = "k00", "k01"
REPLICAS, MAY_BE_AWAY = 12, 4
MEMORY_MB = 400
FAILURE = {"kind": "update_fails", "kb": PATCH, "hresult": "0x800f0922", "at": "install", "times": None}
LINK_CUT = {"kind": "update_cut", "kb": PATCH, "at": "install", "action": "link", "seconds": 3}
POWER_CUT = {"kind": "update_cut", "kb": PATCH, "at": "install", "action": "power_reset"}


@dataclass
class Rollout:
    """A run, and the observations during it."""

    run: PlayRun
    nodes: Mapping[str, Mapping[str, Any]]
    commands: Mapping[str, int]
    samples: list[tuple[float, int]] = field(default_factory=list)
    fewest: int = REPLICAS

    def hosts(self, status: str) -> list[str]:
        return sorted(host for host, entry in self.nodes.items() if entry["status"] == status)


def server(name: str, updates: str, **more: object) -> dict[str, object]:
    """Return a server of the fleet with one update, to which Windows Update offers the other one."""
    quick = {"update_seconds": 10, "update_settle_seconds": 5, "reboot_seconds": 0.3}
    return joined_nodes.server(name, updates=[updates], windows_update={"offers": [PATCH]}, **quick, **more)


def build(site: Site, host: str) -> str:
    """Return build and UBR of a machine as Windows reports them."""
    registry = site.machine(host).registry
    return f"{registry.data(CURRENT_VERSION, 'CurrentBuild')}.{registry.data(CURRENT_VERSION, 'UBR')}"


def cordons(site: Site) -> dict[str, str | None]:
    """Return the cordoned nodes, each with the mark of the run that cordoned it; None for a node without a mark."""
    nodes = client.CoreV1Api(cluster_api(site)).list_node().items
    marks = {node.metadata.name: (node.metadata.annotations or {}).get(ANNOTATION) for node in nodes}
    free = [node.metadata.name for node in nodes if not node.spec.unschedulable]
    assert not [name for name in free if marks[name]], "a node that takes pods has a mark"
    return {name: mark for name, mark in marks.items() if name not in free}


def serving(api: client.ApiClient) -> list[str]:
    """Return the nodes of the pods in service."""
    found = client.CoreV1Api(api).list_namespaced_pod("default", label_selector="app=web").items
    return [
        pod.spec.node_name
        for pod in found
        if not pod.metadata.deletion_timestamp
        and any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ())
    ]


def deploy(site: Site) -> None:
    """Deploy pods of which only some may be unavailable at a time."""
    api, labels = cluster_api(site), {"app": "web"}
    container = {"name": "web", "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022"}
    pod = {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [container]}
    spec = {
        "replicas": REPLICAS,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    client.AppsV1Api(api).create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    guard = {"maxUnavailable": MAY_BE_AWAY, "selector": {"matchLabels": labels}}
    client.PolicyV1Api(api).create_namespaced_pod_disruption_budget(
        "default", {"metadata": {"name": "guard"}, "spec": guard}
    )
    wait_for(lambda: len(serving(api)) == REPLICAS, "all pods serve", 60)


def leave_stale_endpoint(site: Site, host: str) -> str:
    """Create an endpoint of a pod whose end was not noticed (microsoft/Windows-Containers#631), and return its id."""
    store, container = HnsStore(site.machine(host)), shims.new_id()
    network = next(item for item in store.networks() if item.name == "cbr0")
    address = f"{network.subnet.rpartition('.')[0]}.250"
    name = cni.endpoint_name("win-bridge", "cbr0", container)
    endpoint = store.add_endpoint(name, network.id, address, container=container, namespace="gone")
    endpoint.state, endpoint.shared = DETACHED, []
    return endpoint.id


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a cluster in which some nodes lack a patch, with pods in service on them."""
    lacking = {name: server(name, BEFORE) for name in [*LACKING, KILLED, CORDONED]}
    lacking[FAILS]["update_faults"] = [FAILURE]
    lacking[CUT]["update_faults"] = [LINK_CUT]
    lacking[POWER]["update_faults"] = [POWER_CUT]
    found = start_site(
        *lacking.values(),
        *(server(name, PATCH) for name in PATCHED),
        cluster={"kind": "memory"},
        windows_patches_public=[PATCH],
        windows_patches_settle_timeout=20,
        windows_patches_contact_timeout=1,
        node_maintenance_serial=10,
        node_maintenance_max_failed=1,
    )
    joined_nodes.join(found, list(lacking))
    joined_nodes.register(found, PATCHED)
    deploy(found)
    return found


@pytest.fixture(scope="module")
def stale(site: Site) -> str:
    return leave_stale_endpoint(site, STALE)


@pytest.fixture(scope="module")
def rollout(site: Site, stale: str) -> Rollout:
    """Return a run over twenty nodes, ten at a time, twelve of which lack the patch."""
    api, fewest = cluster_api(site), [REPLICAS]
    command = site.command("patch_nodes.yml", "--forks", "10", "--limit", f"!{KILLED},!{CORDONED}")
    run, samples = measure(site, command, lambda: fewest.append(len(serving(api))), seconds=0.4)
    commands = {host: site.counters(host)["remote_commands"] for host in site.hosts()}
    return Rollout(run, report(site, "patch"), commands, samples, min(fewest))


def test_all_nodes_except_the_failing_one_are_patched(site: Site, rollout: Rollout) -> None:
    rollout.run.expect(2)
    assert rollout.hosts("failed") == [FAILS], rollout.run.output[-5000:]
    assert rollout.hosts("patched") == sorted({*LACKING} - {FAILS})
    assert rollout.hosts("up_to_date") == PATCHED
    assert {host: build(site, host) for host in LACKING} == dict.fromkeys(LACKING, NEW_BUILD) | {FAILS: OLD_BUILD}


def test_a_node_that_lost_power_during_patching_starts_over(site: Site, rollout: Rollout) -> None:
    assert site.node(POWER).status()["boots"] == 3
    assert (rollout.nodes[POWER]["status"], rollout.nodes[POWER]["reboots"]) == ("patched", 1)


def test_only_the_one_that_failed_is_left_cordoned(site: Site, rollout: Rollout) -> None:
    ((name, mark),) = cordons(site).items()
    assert name == FAILS
    assert json.loads(mark or "")["by"] == "patch_nodes"
    assert {*LACKING} - {FAILS} <= joined_nodes.ready_nodes(site)


def test_the_pods_moved_within_their_budget(site: Site, rollout: Rollout) -> None:
    places = serving(cluster_api(site))
    assert len(places) == REPLICAS
    assert FAILS not in places
    assert rollout.fewest >= REPLICAS - MAY_BE_AWAY


def test_the_report_contains_the_patches(rollout: Rollout) -> None:
    entry = rollout.nodes[LACKING[0]]
    assert (entry["os_build_before"], entry["os_build_after"], entry["reboots"]) == (OLD_BUILD, NEW_BUILD, 1)
    assert [(patch["name"], patch["status"]) for patch in entry["patches"]] == [(PATCH, "installed")]
    failed = rollout.nodes[FAILS]
    assert (failed["cordoned"], failed["os_build_after"]) == (True, OLD_BUILD)
    assert "0x800F0922" in failed["patches"][0]["message"]
    assert f"11 patched, {len(PATCHED)} up_to_date, 1 failed" in rollout.run.output
    row = next(line for line in rollout.run.output.splitlines() if line.startswith(f"{LACKING[0]} "))
    assert row.split()[1:4] == [OLD_BUILD, "->", NEW_BUILD]


def test_a_node_without_missing_patches_is_only_observed(site: Site, rollout: Rollout) -> None:
    assert {host: rollout.commands[host] for host in PATCHED} == dict.fromkeys(PATCHED, 1)
    assert {site.node(host).status()["boots"] for host in PATCHED} == {1}


def test_a_patched_node_takes_few_commands(rollout: Rollout) -> None:
    usual = [rollout.commands[host] for host in LACKING if host not in (FAILS, CUT, STALE, POWER)]
    # One to observe, six and a poll to install and reboot (docs/patches.md), one for HNS. A busy machine polls twice.
    assert set(usual) <= {9, 10}


def test_stale_endpoints_are_gone(site: Site, stale: str, rollout: Rollout) -> None:
    assert stale not in [item.id for item in HnsStore(site.machine(STALE)).endpoints()]


@pytest.mark.skipif(not AVAILABLE, reason="needs Linux' /proc/PID/smaps_rollup")
def test_the_controller_needs_little_memory(rollout: Rollout) -> None:
    peak, processes = max(rollout.samples)
    assert max(count for _, count in rollout.samples) > 10, "measured too rarely"
    assert peak < MEMORY_MB, f"peak {peak:.0f} MB in {processes} processes"


@pytest.fixture(scope="module")
def killed(site: Site, rollout: Rollout) -> None:
    """Kill a second run in the middle, while two more nodes install. One of them was cordoned by a user before."""
    faults.set_fault(site.machine(FAILS), {"kind": "update_faults_clear"})
    client.CoreV1Api(cluster_api(site)).patch_node(CORDONED, {"spec": {"unschedulable": True}})
    site.variables["node_maintenance_serial"] = 2
    command = site.command("patch_nodes.yml", "--limit", f"{KILLED},{CORDONED}")
    with (site.folder / "killed").open("w") as output:
        run = subprocess.Popen(
            command, cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            wait_for(lambda: pending(site, KILLED), "the patch is going in", 60)
        finally:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    assert set(cordons(site)) == {FAILS, KILLED, CORDONED}


def pending(site: Site, host: str) -> bool:
    return bool(site.machine(host).power.pending_reasons()) or build(site, host) == NEW_BUILD


@pytest.fixture(scope="module")
def again(site: Site, killed: None) -> Rollout:
    """Return the next run over the rest and one more node. One of the rest is temporarily off, as in a reboot."""
    hosts = [FAILS, KILLED, CORDONED, LACKING[0]]
    site.machine(KILLED).power.power_off()
    threading.Timer(5, site.machine(KILLED).power_on).start()
    run = site.run("patch_nodes.yml", "--limit", ",".join(hosts))
    return Rollout(run, report(site, "patch"), {host: site.counters(host)["remote_commands"] for host in hosts})


def test_the_next_run_continues_where_the_last_one_stopped(site: Site, again: Rollout) -> None:
    again.run.expect(0)
    assert {build(site, host) for host in [*LACKING, KILLED, CORDONED]} == {NEW_BUILD}
    assert again.commands[LACKING[0]] == 1


def test_no_node_is_left_cordoned_that_was_not_so_before(site: Site, again: Rollout) -> None:
    assert cordons(site) == {CORDONED: None}
    assert again.nodes[CORDONED]["cordoned"]
    assert not again.nodes[KILLED]["cordoned"]


# test_live_nodes.py and test_reset_nodes.py drain nodes.
@pytest.mark.variant
def test_other_playbooks_can_drain_and_restore_a_node(site: Site, again: Rollout) -> None:
    host, role = LACKING[0], "winkube.node.node_maintenance"
    drained = f"node_maintenance_drained.nodes['{host}']"
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.import_role": {"name": role}},
        {"ansible.builtin.assert": {"that": [f"{drained}.ours", f"{drained}.cordoned_by is search('disks')"]}},
        {"ansible.builtin.import_role": {"name": role, "tasks_from": "restore"}},
    ]
    play = {"hosts": host, "gather_facts": False, "vars": {"node_maintenance_owner": "disks"}, "tasks": tasks}
    site.run([play]).expect(0)
    assert cordons(site) == {CORDONED: None}


def test_machines_without_a_cluster(start_site: SiteFactory) -> None:
    """Patch one at a time. A host that is off and one that fails exceed the limit of failures, and stop the rollout."""
    names = ["m0", "m1", "m2", "off"]
    plain = {name: server(name, BEFORE) for name in names}
    plain["m1"]["update_faults"] = [FAILURE]
    limits = {"windows_patches_settle_timeout": 20, "windows_patches_contact_timeout": 1}
    site = start_site(*plain.values(), windows_patches_public=[PATCH], **limits)
    site.machine("off").power.power_off()
    run = site.run(
        "patch_nodes.yml", variables={"node_maintenance_drain": False, "node_maintenance_max_failed": 1}
    ).expect(2)
    nodes = report(site, "patch")
    assert [nodes[name]["status"] for name in names] == ["patched", "failed", "not_started", "failed"], run.output[
        -5000:
    ]
    assert [build(site, name) for name in names] == [NEW_BUILD, OLD_BUILD, OLD_BUILD, OLD_BUILD]
    assert nodes["off"]["message"]
    assert "node_maintenance_max_failed" in run.output
    assert site.counters("m2")["remote_commands"] == 1


@pytest.mark.parametrize(
    ("variables", "messages"),
    [
        ({"windows_patches_public": []}, ["windows_patches_public and windows_patches_private are both empty"]),
        (
            {
                "node_maintenance_max_failed": "some",
                "node_maintenance_kubeconfig": "/nowhere",
                "node_maintenance_serial": 0,
                "node_maintenance_x": 1,
                "windows_patches_public": "KB5048654,KB50",
                "windows_patches_private": [{"url": "https://h/kb5046616.msu?sig=SECRET"}],
            },
            [
                *("node_maintenance_max_failed: expected", "got 'some'"),
                *("node_maintenance_kubeconfig", "node_maintenance_serial: expected", "an unknown name"),
                *("got 'KB50'", "windows_patches_private[0].sha256"),
            ],
        ),
        ({"node_maintenance_node_name": "nobody"}, ["nobody: the cluster has no node of this name"]),
    ],
)
def test_bad_input_is_refused_before_a_node_is_touched(
    site: Site, variables: dict[str, Any], messages: list[str]
) -> None:
    run = site.run("patch_nodes.yml", "--limit", PATCHED[0], variables=variables)
    assert run.exit_code == 2
    assert [text for text in messages if text not in run.output] == [], run.output[-3000:]
    assert "SECRET" not in run.output
    assert site.counters(PATCHED[0])["remote_commands"] == 0
