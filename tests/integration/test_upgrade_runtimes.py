# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""upgrade_nodes.yml with another version of containerd or Docker only; Kubernetes keeps its version.

This is a variant of test_upgrade_together.py, which upgrades containerd together with Kubernetes.
"""

from __future__ import annotations

import hashlib

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.rollouts import report, statuses
from integration.test_docker_runtime import docker_variables
from integration.test_patch_nodes import cordons

from simulator.artifacts import catalog

pytestmark = [
    pytest.mark.integration,
    pytest.mark.variant,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("upgrade_runtimes"),
]

HOSTS = ("moby", "other")
OLD = {"moby": "docker://29.2.0", "other": "containerd://1.7.35"}
NEW = {"moby": "docker://29.2.1", "other": "containerd://2.4.2"}
DOCKER = "download.docker.com/win/static/stable/x86_64/docker-{}.zip"
MOST_COMMANDS = 10


def runtimes(site: Site) -> dict[str, str]:
    """Return the container runtime that each host's kubelet reported to the cluster."""
    nodes = cluster_nodes(site)
    return {host: nodes[node_name(host)]["runtime"] for host in HOSTS}


def versions(site: Site, runtime: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the variables with the version of each host's runtime."""
    numbers = {host: text.rpartition("/")[2] for host, text in runtime.items()}
    archive = catalog.content(DOCKER.format(numbers["moby"]))
    assert archive is not None
    return {
        "moby": {
            "container_runtime_moby_version": numbers["moby"],
            "container_runtime_moby_sha256": hashlib.sha256(archive).hexdigest(),
        },
        "other": {"container_runtime_containerd_version": numbers["other"]},
    }


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a cluster with a node with Docker and one with containerd."""
    servers = [{"name": host, "windows": "2022", "link_drop_seconds": 0.5} for host in HOSTS]
    site = start_site(*servers, cluster={"kind": "memory"}, node_upgrade_roles=["container_runtime", "kubernetes_node"])
    site.host_variables["moby"] = docker_variables(site, container_runtime="moby")
    for host, variables in versions(site, OLD).items():
        site.host_variables.setdefault(host, {}).update(variables)
    site.run("site.yml").expect()
    assert runtimes(site) == OLD
    return site


@pytest.fixture(scope="module")
def upgraded(site: Site) -> PlayRun:
    """Return the run that upgrades both runtimes."""
    for host, variables in versions(site, NEW).items():
        site.host_variables[host].update(variables)
    run = site.run("upgrade_nodes.yml")
    site.counted["upgraded"] = {host: site.counters(host) for host in HOSTS}
    return run


def test_the_runtimes_are_upgraded_while_the_nodes_are_drained(site: Site, upgraded: PlayRun) -> None:
    upgraded.expect()
    assert runtimes(site) == NEW
    assert statuses(site, "upgrade") == dict.fromkeys(HOSTS, "upgraded")
    # One node after the other.
    assert upgraded.output.count("TASK [winkube.node.node_maintenance : Cordon and drain]") == len(HOSTS)
    assert cordons(site) == {}


def test_kubernetes_keeps_its_version(site: Site, upgraded: PlayRun) -> None:
    assert {host: entry["steps"] for host, entry in report(site, "upgrade").items()} == {host: [] for host in HOSTS}
    nodes = cluster_nodes(site)
    assert {node["ready"] for node in nodes.values()} == {True}
    assert {node["version"] for node in nodes.values()} == {"v1.37.1"}


def test_an_upgrade_of_a_runtime_stays_within_its_remote_commands(site: Site, upgraded: PlayRun) -> None:
    upgraded.expect()
    counted = {host: found["remote_commands"] for host, found in site.counted["upgraded"].items()}
    assert max(counted.values()) <= MOST_COMMANDS, counted


def test_a_second_run_changes_nothing(site: Site, upgraded: PlayRun) -> None:
    again = site.run("upgrade_nodes.yml").expect()
    assert {host: again.changes(host) for host in HOSTS} == {host: [] for host in HOSTS}
    assert statuses(site, "upgrade") == dict.fromkeys(HOSTS, "up_to_date")
