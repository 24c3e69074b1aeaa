# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""site.yml on nodes with pods: changes that disrupt pods are made on drained nodes, one at a time; others at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site
from integration.rollouts import cordoned_nodes, observed
from integration.test_patch_nodes import cordons

from simulator.machine import faults

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("live_nodes")]

NODES = ["n1", "n2"]
# Even if the join is not part of the run, the cluster is queried for live nodes.
OPTIONS = ("--skip-tags", "node_join", "--forks", "2")


@dataclass
class Watch:
    """Observations of the cluster and the machines during a run."""

    away: list[set[str]] = field(default_factory=list)
    """Nodes that were cordoned or not Ready, at each observation."""
    down_and_in_service: set[str] = field(default_factory=set)
    """Machines that were off while their nodes accepted pods."""


@contextmanager
def watched(site: Site) -> Iterator[Watch]:
    """Watch the nodes during a context."""
    watch = Watch()

    def machines_that_are_off() -> set[str]:
        return {name for name in NODES if site.machine(name).power.state != "on"}

    def observe(down: set[str], nodes: list[Any]) -> None:
        cordoned = cordoned_nodes(nodes)
        ready = {
            node.metadata.name
            for node in nodes
            if any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
        }
        watch.away.append(cordoned | ({*NODES} - ready))
        watch.down_and_in_service |= down - cordoned

    with observed(site, machines_that_are_off, observe):
        yield watch


def boots(site: Site) -> dict[str, Any]:
    return {name: site.node(name).status()["boots"] for name in NODES}


def commands(site: Site) -> dict[str, int]:
    return {name: site.counters(name)["remote_commands"] for name in NODES}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with two live nodes, on which two roles have changes to make."""
    servers = [joined_nodes.server(name, reboot_seconds=0.3) for name in NODES]
    found = start_site(
        *servers,
        cluster={"kind": "memory"},
        node_prepare_roles=["windows_settings", "windows_features"],
        windows_features_names=["Containers"],
    )
    joined_nodes.join(found, NODES)
    return found


@pytest.fixture(scope="module")
def refused(site: Site) -> PlayRun:
    return site.run("site.yml", *OPTIONS, variables={"kube_version": "1.36.3"})


# Unit tests also cover this (tests/unit/roles/test_live_nodes.py).
@pytest.mark.variant
def test_another_minor_version_is_refused_before_any_node_is_changed(site: Site, refused: PlayRun) -> None:
    refused.expect(2)
    message = refused.messages("n1")
    assert "kube_version" in message
    assert "1.37.1" in message
    assert "1.36.3" in message
    assert "upgrade_nodes.yml" in message
    assert commands(site) == dict.fromkeys(NODES, 1)
    assert refused.changes("n1") == []


FEATURES = {"windows_features_names": ["Containers", "Hyper-V"]}


@pytest.fixture(scope="module")
def checked(site: Site) -> PlayRun:
    run = site.run("site.yml", *OPTIONS, "--limit", "n1", "--check", variables=FEATURES).expect()
    assert cordons(site) == {}
    return run


def test_a_dry_run_shows_everything_and_drains_no_node(site: Site, checked: PlayRun) -> None:
    assert "WindowsFeature Hyper-V" in checked.changes("n1")
    assert site.node("n1").status()["boots"] == 1
    assert "Cordon and drain" not in checked.output


@pytest.fixture(scope="module")
def unable(site: Site, checked: PlayRun) -> PlayRun:
    """Return a run that cannot drain, because it has no kubeconfig."""
    return site.run("site.yml", *OPTIONS, "--limit", "n1", variables={**FEATURES, "kubeconfig": ""})


def test_without_a_kubeconfig_nothing_disrupts_a_node_that_has_joined(site: Site, unable: PlayRun) -> None:
    unable.expect(2)
    assert "Hyper-V" in unable.messages("n1")
    assert "expected the path of a kubeconfig" in unable.messages("n1")
    assert "node_maintenance_drain: false" in unable.messages("n1")
    assert "WindowsFeature Hyper-V" not in unable.changes("n1")
    assert len(unable.changes("n1")) > 10
    assert site.node("n1").status()["boots"] == 1


@pytest.fixture(scope="module")
def stopped(site: Site, unable: PlayRun) -> tuple[PlayRun, Watch]:
    """Return a run with changes of all settings and a feature, in which the first node does not become Ready."""
    site.variables |= FEATURES
    faults.set_fault(site.machine("n1"), {"kind": "service_hangs", "name": "kubelet", "value": True})
    with watched(site) as watch:
        run = site.run("site.yml", *OPTIONS, variables={"node_maintenance_ready_timeout": 2})
    site.counted["stopped"] = {name: site.counters(name) for name in NODES}
    return run, watch


def test_changes_that_disrupt_no_pods_are_applied_at_once_everywhere(
    site: Site, stopped: tuple[PlayRun, Watch]
) -> None:
    run, watch = stopped
    assert len(run.changes("n2")) > 10
    assert not {change for change in run.changes("n2") if change.startswith("WindowsFeature")}
    # The node that never was out of service.
    assert "n2" not in set().union(*watch.away)
    # The commands are the check for a join, observe and apply.
    assert site.counted["stopped"]["n2"]["remote_commands"] == 3


def test_a_node_that_fails_stops_the_rollout(site: Site, stopped: tuple[PlayRun, Watch]) -> None:
    run, watch = stopped
    run.expect(2)
    assert boots(site) == {"n1": 2, "n2": 1}
    ((name, mark),) = cordons(site).items()
    assert name == "n1"
    assert '"by":"site"' in (mark or "")
    assert set().union(*watch.away) == {"n1"}
    assert "not ready after 2 seconds" in run.messages("n1")
    assert "node_maintenance_max_failed" in run.messages("n2")


@pytest.fixture(scope="module")
def resumed(site: Site, stopped: tuple[PlayRun, Watch]) -> tuple[PlayRun, Watch]:
    """Return the next run, after the first node was repaired."""
    faults.set_fault(site.machine("n1"), {"kind": "service_hangs", "name": "kubelet", "value": False})
    site.machine("n1").services.start("kubelet")
    with watched(site) as watch:
        run = site.run("site.yml", *OPTIONS).expect()
    site.counted["resumed"] = {name: site.counters(name) for name in NODES}
    return run, watch


def test_one_node_at_a_time_is_out_of_service(site: Site, resumed: tuple[PlayRun, Watch]) -> None:
    _, watch = resumed
    assert max(map(len, watch.away)) == 1
    assert set().union(*watch.away) == {*NODES}
    assert watch.down_and_in_service == set()
    assert boots(site) == dict.fromkeys(NODES, 2)


def test_all_nodes_are_in_service_in_the_end(site: Site, resumed: tuple[PlayRun, Watch]) -> None:
    assert cordons(site) == {}
    assert joined_nodes.ready_nodes(site) == {*NODES}
    for name in NODES:
        assert site.node(name).status()["features"]["Hyper-V"] == "Installed"


def test_a_disruptive_change_takes_few_commands(site: Site, resumed: tuple[PlayRun, Watch]) -> None:
    # join_info and observe; when drained: observe, install, collect, reboot (1), and an observation of HNS.
    assert site.counted["resumed"]["n2"]["remote_commands"] == 7
