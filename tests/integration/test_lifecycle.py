# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The whole life of three nodes: join, upgrade by one minor version, then by two, reset, join to a second cluster.

Both clusters are real control planes if there is one. Kubernetes allows kubelets that are three minor versions older
than the API server, and the real kubeadm 1.34.4 joins nodes to an API server of 1.37.1. This is a variant of
test_site.py, test_upgrade_nodes.py and test_reset_nodes.py, which test each part alone, and of molecule's scenario
`lifecycle`.
"""

from __future__ import annotations

import base64
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, bootstrap_tokens, cluster_api, link_variables, node_name
from integration.reset_machines import differences, machine_state
from integration.test_upgrade_nodes import BETWEEN, FIRST, LAST, REPLICAS, SECOND, deploy
from kubernetes import client, config
from simulator_tests.waiting import wait_for

from simulator.cluster.cluster import SimulatedCluster, start_cluster
from simulator.kubernetes_node.programs.versions import version_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.variant,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("lifecycle"),
]

WINDOWS = {"n1": "2019", "n2": "2022", "n3": "2025"}
NODES = {node_name(host) for host in WINDOWS}
VERSIONS = {"join": FIRST, "by one": SECOND, "by two": LAST, "join second": LAST}
"""The version of the nodes after each run."""
BUDGETS = {"join": 5, "by one": 10, "by two": 10, "reset": 6, "join second": 5}
"""The largest number of remote commands for each node."""
_NETWORK = {"flannel-windows": len(NODES), "kube-proxy-windows": len(NODES)}
PODS: Mapping[str, dict[str, int]] = {
    **dict.fromkeys(("join", "by one", "by two"), _NETWORK | {"web": REPLICAS}),
    "reset": {},
    "join second": _NETWORK,
}
"""The pods that run after each run."""
OTHERS = (
    # Programs and archives of the other version.
    "files c:\\k\\",
    "files c:\\programdata\\winkube\\cache\\kubernetes\\",
    # Its folder `upgrade` is gone. Patches, images and bundles use it as well, so it stays.
    "files c:\\windows\\winkube:",
)
"""Expected differences between the prepared machines and the same machines after upgrades and reset."""


@dataclass
class Life:
    """The runs in their order, and what was found after each of them."""

    site: Site
    runs: dict[str, PlayRun] = field(default_factory=dict)
    commands: dict[str, dict[str, int]] = field(default_factory=dict)
    nodes: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)
    """The nodes of the cluster: version, and whether they are Ready."""
    programs: dict[str, set[str]] = field(default_factory=dict)
    """The versions of the kubelet.exe on all machines."""
    traces: dict[str, list[str]] = field(default_factory=dict)
    """Where the machines mention the first cluster."""
    left: list[str] = field(default_factory=list)
    """Differences between the prepared machines and the same machines after the reset."""
    tokens: dict[str, set[str]] = field(default_factory=dict)
    """The ids of the first cluster's bootstrap tokens."""
    pods: dict[str, dict[str, int]] = field(default_factory=dict)
    """The number of pods that run, by the name of their app."""

    def run(self, name: str, playbook: str, *options: str, **variables: Any) -> None:
        """Run a playbook on all hosts at once."""
        self.runs[name] = self.site.run(playbook, *options, "--forks", "3", variables=variables).expect()
        self.commands[name] = {host: self.site.counters(host)["remote_commands"] for host in WINDOWS}
        kubelet = r"C:\k\kubelet.exe"
        self.programs[name] = {str(version_of(self.site.machine(host), kubelet)) for host in WINDOWS}

    def record(self, name: str, api: client.ApiClient) -> None:
        """Record what the cluster and the machines contain. Pods need a moment after a run."""
        core, first = client.CoreV1Api(api), self.site.world.cluster
        assert first is not None

        def settled() -> bool:
            self.pods[name] = running_pods(core)
            return self.pods[name] == PODS[name]

        with contextlib.suppress(AssertionError):  # A test compares them.
            wait_for(settled, "the expected pods run", 90)
        self.nodes[name] = {
            node.metadata.name: (
                node.status.node_info.kubelet_version.removeprefix("v"),
                any(one.type == "Ready" and one.status == "True" for one in node.status.conditions or ()),
            )
            for node in core.list_node().items
        }
        self.traces[name] = [f"{host}: {text}" for host in WINDOWS for text in traces(self.site, host, first)]
        self.tokens[name] = set(bootstrap_tokens(self.site))


def running_pods(core: client.CoreV1Api) -> dict[str, int]:
    """Return the number of pods that run, by the name of their app."""
    labels = [
        pod.metadata.labels or {}
        for pod in core.list_pod_for_all_namespaces().items
        if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp
    ]
    return dict(Counter(found.get("app") or found.get("k8s-app") or "" for found in labels))


def traces(site: Site, host: str, cluster: SimulatedCluster) -> list[str]:
    """Return the files, values and other items of a machine that contain the address or the CA of a cluster."""
    pem = cluster.ca_certificate
    marks = (
        cluster.server.removeprefix("https://"),
        pem.splitlines()[1],
        base64.b64encode(pem.encode()).decode()[:200],
        cluster.ca_hash,
    )
    found = []
    for section, items in machine_state(site.machine(host)).items():
        for key, value in items.items() if isinstance(items, Mapping) else [("", items)]:
            # The text of bytes is ASCII with escapes, so a mark is found in it as well.
            if any(mark in repr(value) for mark in marks):
                found.append(f"{section} {key}")
    return found


@pytest.fixture(scope="module")
def second_cluster() -> Iterator[SimulatedCluster]:
    """Yield a second cluster of the same kind, with its own CA and address."""
    with start_cluster(kind="auto", version=LAST, cluster_name="second") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def life(second_cluster: SimulatedCluster, start_site: SiteFactory) -> Life:
    """Return what happened to three nodes from their first join to their second one."""
    servers = [{"name": name, "windows": windows, "link_drop_seconds": 0.2} for name, windows in WINDOWS.items()]
    site = start_site(*servers, cluster={"kind": "auto", "version": LAST})
    site.variables["kube_version"] = FIRST
    site.host_variables["n2"] = link_variables("winrm")
    life = Life(site)
    life.run("prepare", "site.yml", "--tags", "install")
    prepared = {host: machine_state(site.machine(host)) for host in WINDOWS}
    life.run("join", "site.yml", "--tags", "join")
    deploy(site)
    life.record("join", cluster_api(site))
    life.run("by one", "upgrade_nodes.yml", kube_version=SECOND)
    life.record("by one", cluster_api(site))
    life.run("by two", "upgrade_nodes.yml", kube_version=LAST, node_upgrade_versions=[BETWEEN])
    life.record("by two", cluster_api(site))
    site.variables["kube_version"] = LAST
    # The pods of the last node could go nowhere, so their disruption budget would never allow its drain.
    client.PolicyV1Api(cluster_api(site)).delete_namespaced_pod_disruption_budget("guard", "default")
    life.run("reset", "reset_nodes.yml", reset_confirmation=True)
    life.record("reset", cluster_api(site))
    for host, before in prepared.items():
        life.left += [f"{host}: {text}" for text in differences(before, machine_state(site.machine(host)))]
    site.variables["kubeconfig"] = str(second_cluster.kubeconfig)
    life.run("join second", "site.yml", "--tags", "join")
    life.record("join second", config.new_client_from_config(str(second_cluster.kubeconfig)))
    return life


def test_both_clusters_are_of_the_same_kind(life: Life, second_cluster: SimulatedCluster) -> None:
    first = life.site.world.cluster
    assert first is not None
    assert (first.kind, first.version) == (second_cluster.kind, second_cluster.version)
    assert (first.server, first.ca_hash) != (second_cluster.server, second_cluster.ca_hash)


@pytest.mark.parametrize(("step", "version"), VERSIONS.items())
def test_nodes_are_ready_in_the_version_of_the_step(life: Life, step: str, version: str) -> None:
    assert life.nodes[step] == dict.fromkeys(NODES, (version, True))
    assert life.programs[step] == {version}


@pytest.mark.parametrize(("step", "most"), BUDGETS.items())
def test_each_step_takes_few_remote_commands(life: Life, step: str, most: int) -> None:
    assert max(life.commands[step].values()) <= most, life.commands[step]


@pytest.mark.parametrize(("step", "pods"), PODS.items())
def test_pods_run_after_each_step(life: Life, step: str, pods: dict[str, int]) -> None:
    assert life.pods[step] == pods


def test_the_reset_leaves_no_node(life: Life) -> None:
    assert life.nodes["reset"] == {}


def test_the_machines_forget_the_first_cluster(life: Life) -> None:
    for step in ("join", "by one", "by two"):
        assert {text.partition(":")[0] for text in life.traces[step]} == set(WINDOWS)
    assert life.traces["reset"] == []
    assert life.traces["join second"] == []


def test_the_machines_are_like_prepared_ones_of_another_version(life: Life) -> None:
    unexpected = [text for text in life.left if not text.partition(": ")[2].casefold().startswith(OTHERS)]
    assert not unexpected, "\n".join(text[:500] for text in unexpected)


def test_no_token_outlives_its_run(life: Life) -> None:
    assert len({frozenset(found) for found in life.tokens.values()}) == 1, life.tokens
