# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A rollout in rings by a label of the nodes, with a check between them, and outside of its maintenance windows."""

from __future__ import annotations

import datetime

import pytest
from integration import joined_nodes
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api
from integration.rollouts import statuses
from integration.test_patch_nodes import cordons
from kubernetes import client

from simulator.kubernetes_node.programs.versions import version_of

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("rollout_rings")]

BEFORE, AFTER = "1.36.3", "1.37.1"
LABEL = "topology.kubernetes.io/zone"
# Neither the hosts nor the names of the rings are in the order of the rollout.
RINGS = {"a": "west-1", "b": "west-2", "c": "west-1"}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    variables = {"kube_version": AFTER, "cni_plugin": "none", "node_maintenance_serial": 2}
    rings = {"node_maintenance_ring_label": LABEL, "node_maintenance_ring_order": ["west-2"]}
    found = start_site(
        *(joined_nodes.server(host) for host in RINGS),
        cluster={"kind": "memory", "version": AFTER},
        **variables,
        **rings,
    )
    joined_nodes.join(found, list(RINGS), BEFORE)
    for host, ring in RINGS.items():
        client.CoreV1Api(cluster_api(found)).patch_node(host, {"metadata": {"labels": {LABEL: ring}}})
    return found


@pytest.fixture(scope="module")
def closed(site: Site) -> PlayRun:
    """Return a run at a time that is in none of the maintenance windows."""
    begin, end = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours) for hours in (3, 4))
    window = f"{begin:%H:%M}-{end:%H:%M}"
    return site.run("upgrade_nodes.yml", variables={"node_maintenance_windows": [window]})


def test_a_label_that_no_node_has_is_refused(site: Site) -> None:
    run = site.run("upgrade_nodes.yml", variables={"node_maintenance_ring_label": "example.com/ring"}).expect(2)
    assert "expected a label of at least one node of this run, got 'example.com/ring'" in run.messages("a")
    assert {version_of(site.machine(host), r"C:\k\kubelet.exe") for host in RINGS} == {BEFORE}
    assert cordons(site) == {}


def test_no_node_is_drained_outside_of_the_maintenance_windows(site: Site, closed: PlayRun) -> None:
    closed.expect()
    assert "is outside the maintenance windows" in closed.output
    assert 0 < closed.output.index('"west-2: b"') < closed.output.index('"west-1: a, c"')
    assert statuses(site, "upgrade") == dict.fromkeys(RINGS, "not_started")
    assert cordons(site) == {}
    assert {version_of(site.machine(host), r"C:\k\kubelet.exe") for host in RINGS} == {BEFORE}


@pytest.fixture(scope="module")
def stopped(site: Site, closed: PlayRun) -> PlayRun:
    """Return a run whose check between the rings fails."""
    gate = ["sh", "-c", "echo two alerts >&2; exit 3"]
    return site.run("upgrade_nodes.yml", variables={"node_maintenance_soak": 1, "node_maintenance_gate": gate})


def test_the_next_ring_waits_for_a_healthy_cluster(site: Site, stopped: PlayRun) -> None:
    stopped.expect(2)
    assert statuses(site, "upgrade") == {"a": "failed", "b": "upgraded", "c": "failed"}
    assert "node_maintenance_gate ended with 3: two alerts" in stopped.messages("a")
    assert "Pausing for" in stopped.output
    assert cordons(site) == {}
    assert version_of(site.machine("a"), r"C:\k\kubelet.exe") == BEFORE


def test_the_next_run_continues_with_the_next_ring(site: Site, stopped: PlayRun) -> None:
    site.run("upgrade_nodes.yml", variables={"node_maintenance_gate": ["false"]}).expect()
    # No node of the earlier ring was changed in this run, so there is nothing to check.
    assert statuses(site, "upgrade") == {"a": "upgraded", "b": "up_to_date", "c": "upgraded"}
