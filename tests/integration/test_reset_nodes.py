# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""reset_nodes.yml: joined machines become like prepared ones that never joined, and join another cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, node_name
from integration.power_cuts import started_after_a_power_cut
from integration.reset_machines import differences, machine_state
from kubernetes import client, config

from simulator.cluster.cluster import SimulatedCluster, start_cluster
from simulator.machine.files import FileSystem

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("reset_nodes")]

JOINED = {"pods": "2019", "services": "2022"}
FRESH = "fresh"
HOSTS = {**JOINED, FRESH: "2025"}
SERVICES = ["containerd", "kubelet", "kube-proxy", "flanneld"]
"""The services of a node whose network runs as services, in the order in which they start."""
CONFIRMED = {"reset_confirmation": True}
STRANGER = "192.0.2.77"
TARGET = r"C:\volumes\data"
POD = r"C:\var\lib\kubelet\pods\0b5f8c5e-0000-4000-8000-000000000000\volumes"


@dataclass
class Story:
    """The machines, their states before they joined, and the runs in their order."""

    site: Site
    prepared: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, PlayRun] = field(default_factory=dict)
    checked: dict[str, list[str]] = field(default_factory=dict)
    """What the dry run changed, by host."""
    started: list[str] = field(default_factory=list)
    """The order in which services started after a power cut."""
    nodes: dict[str, set[str]] = field(default_factory=dict)
    """Names of the cluster's nodes after each run."""
    left: dict[str, list[str]] = field(default_factory=dict)
    """What differs from the prepared machine, by run and host."""

    def run(self, name: str, playbook: str, *options: str, **variables: Any) -> PlayRun:
        self.runs[name] = self.site.run(playbook, *options, variables=variables)
        return self.runs[name]

    def compare(self, run: str, *hosts: str) -> None:
        for host in hosts:
            self.left[f"{run} {host}"] = differences(self.prepared[host], machine_state(self.site.machine(host)))


def link(files: FileSystem, path: str, target: str) -> None:
    """Create a symbolic link to a folder, as the kubelet does in volumes."""
    files.make_directory(path.rpartition("\\")[0])
    files.real(path).symlink_to(files.real(target))


@pytest.fixture(scope="module")
def other_cluster() -> Iterator[SimulatedCluster]:
    """Yield a second cluster with its own CA."""
    with start_cluster(kind="memory", cluster_name="other") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def story(start_site: SiteFactory, other_cluster: SimulatedCluster) -> Story:
    """Prepare, join, cut the power, reset, reset again, join another cluster, and reset when that cluster is gone."""
    nodes = [{"name": name, "windows": windows, "link_drop_seconds": 0.2} for name, windows in HOSTS.items()]
    site = start_site(*nodes, cluster={"kind": "memory"})
    site.host_variables = {"services": {"cni_run_as": "service"}}
    story = Story(site)
    story.run("prepare", "site.yml", "--tags", "install").expect()
    files = site.machine("pods").files
    files.make_directory(TARGET)
    files.write_text(f"{TARGET}\\kept.txt", "kept")
    story.prepared = {host: machine_state(site.machine(host)) for host in HOSTS}
    story.run("join", "site.yml", "--tags", "join", "--limit", "pods,services").expect()
    story.started = started_after_a_power_cut(site.machine("services"), SERVICES)
    link(files, f"{POD}\\kubernetes.io~configmap\\config\\..data", TARGET)
    check(story)
    story.run("reset", "reset_nodes.yml", **CONFIRMED)
    story.compare("reset", *HOSTS)
    story.nodes["reset"] = names_of(cluster_api(site))
    story.run("again", "reset_nodes.yml", "--limit", ",".join(JOINED), **CONFIRMED)
    site.variables["kubeconfig"] = str(other_cluster.kubeconfig)
    story.run("join other", "site.yml", "--tags", "join", "--limit", "services")
    story.nodes["join other"] = names_of(config.new_client_from_config(str(other_cluster.kubeconfig)))
    other_cluster.stop()
    story.run("gone", "reset_nodes.yml", "--limit", "services", **CONFIRMED)
    story.run("without", "reset_nodes.yml", "--limit", "services", node_reset_without_cluster=True, **CONFIRMED)
    story.compare("without", "services")
    return story


def check(story: Story) -> None:
    """Make a dry run while the cluster has the node of another machine under the name of the third host."""
    api = client.CoreV1Api(cluster_api(story.site))
    metadata = {"name": node_name(FRESH), "labels": {"kubernetes.io/os": "windows"}}
    api.create_node({"metadata": metadata})
    # Each kubelet also reports the name of its node.
    addresses = [
        {"type": "InternalIP", "address": STRANGER},
        {"type": "Hostname", "address": node_name(FRESH)},
    ]
    api.patch_node_status(node_name(FRESH), {"status": {"addresses": addresses}})
    before = {host: machine_state(story.site.machine(host)) for host in ("services", FRESH)}
    story.run("check", "reset_nodes.yml", "--check", "--diff", "--limit", ",".join(before))
    story.checked = {host: differences(before[host], machine_state(story.site.machine(host))) for host in before}
    story.nodes["check"] = names_of(api.api_client)
    api.delete_node(node_name(FRESH))


def names_of(api: client.ApiClient) -> set[str]:
    return {node.metadata.name for node in client.CoreV1Api(api).list_node().items}


def test_a_dry_run_shows_what_would_be_removed(story: Story) -> None:
    run = story.runs["check"].expect(2)
    changes = set(run.changes("services"))
    assert {"Service flanneld", "Service kube-proxy", "Service kubelet", r"StateFolder C:\var\lib\kubelet"} <= changes
    assert r"File C:\etc\kubernetes\kubelet.conf" in changes
    assert [change for change in changes if change.startswith("HnsNetwork ")], changes
    assert r"--- before: StateFolder C:\var\lib\kubelet" in run.output
    # Programs of a joined machine write logs, and flannel adds routes when it learns about other nodes.
    ours = [line for line in story.checked["services"] if "\\log\\" not in line and not line.startswith("network ")]
    assert ours == story.checked[FRESH] == []


def test_the_node_of_another_machine_is_refused_before_anything_changes(story: Story) -> None:
    message = story.runs["check"].messages(FRESH)
    assert f"the cluster's node {node_name(FRESH)} is at {STRANGER}, {node_name(FRESH)}, expected one of" in message
    assert "The machine was not changed" in message
    assert node_name(FRESH) in story.nodes["check"]


def test_services_start_in_order_after_a_power_cut(story: Story) -> None:
    assert story.started == SERVICES


@pytest.mark.parametrize("host", HOSTS)
def test_a_machine_is_like_one_that_never_joined(story: Story, host: str) -> None:
    story.runs["reset"].expect()
    assert not story.left[f"reset {host}"], "\n".join(story.left[f"reset {host}"])


def test_the_nodes_are_gone(story: Story) -> None:
    assert story.nodes["reset"] == set()


def test_kubeadm_itself_did_its_part(story: Story) -> None:
    assert "kubeadm reset failed" not in story.runs["reset"].output


def test_a_machine_that_never_joined_is_left_alone(story: Story) -> None:
    run = story.runs["reset"]
    assert f"{FRESH}: nothing to reset: the machine has not joined a cluster" in run.output
    assert run.recap[FRESH]["changed"] == 0
    assert run.commands(FRESH) == 1


@pytest.mark.parametrize("host", JOINED)
def test_a_reset_takes_few_remote_commands(story: Story, host: str) -> None:
    assert story.runs["reset"].commands(host) <= 6
    again = story.runs["again"].expect()
    assert (again.commands(host), again.recap[host]["changed"]) == (1, 0)
    assert f"{host}: nothing to reset" in again.output


def test_a_machine_joins_another_cluster(story: Story) -> None:
    story.runs["join other"].expect()
    assert story.nodes["join other"] == {node_name("services")}


def test_no_machine_is_contacted_if_its_cluster_is_gone(story: Story) -> None:
    run = story.runs["gone"].expect(2)
    assert "If this cluster no longer exists or cannot be reached, set node_reset_without_cluster: true" in run.output
    assert run.commands("services") == 0


def test_a_machine_whose_cluster_is_gone_is_reset_on_request(story: Story) -> None:
    story.runs["without"].expect()
    assert not story.left["without services"], "\n".join(story.left["without services"])
