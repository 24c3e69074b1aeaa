# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several networks, versions of Windows and runtimes in one run: from vanilla machines, and from a full cache.

The last tests break the nodes, and node_doctor.yml names the causes.

tests/unit/plugins/plugin_utils/pod_networks/test_matrix.py checks all combinations without machines. Nodes with Calico
need a cluster of their own: test_kubespray_calico.py (VXLAN) and test_calico_bgp.py.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.joined_nodes import wait_for
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from integration.test_docker_runtime import docker_variables

from simulator.artifacts import catalog
from simulator.kubernetes_node.hns.objects import HnsState

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("test_network_matrix")]

PATCHED = 6899
"""The update build revision of Windows Server 2025 with KB5066835, from which on it has overlay networks."""
AZURE = {"subnet": "10.244.0.0/16", "primary": "10.244.0.4", "secondary": ["10.244.0.5", "10.244.0.6"]}
ARCHIVE = "packages.aks.azure.com/azure-cni/v1.6.21/binaries/azure-vnet-cni-windows-amd64-v1.6.21.zip"
PROXY = r"C:\k\kube-proxy\config.yaml"
LATE_POLLS = 2
FIRST, SECOND, DRIFT = 12, 3, 1
"""The largest number of remote commands, for every network, runtime and way to run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Host:
    """A host: its machine, its variables, and the HNS network that it gets."""

    windows: str
    variables: dict[str, Any]
    network: tuple[str, str] | None
    """Type and name; None if no pod has run yet that would create it."""
    machine: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_overlay(self) -> bool:
        return self.network is not None and self.network[0] == "Overlay"


SERVICE = {"cni_run_as": "service"}
HOSTS = {
    "bridge19": Host(
        windows="2019", variables={"cni_flannel_backend": "host-gw", **SERVICE}, network=("L2Bridge", "cbr0")
    ),
    "overlay25": Host(
        windows="2025",
        variables={"cni_flannel_backend": "vxlan", **SERVICE},
        network=("Overlay", "flannel.4096"),
        machine={"ubr": PATCHED},
    ),
    "docker22": Host(
        windows="2022",
        variables={"container_runtime": "moby", "cni_flannel_backend": "vxlan"},
        network=("Overlay", "flannel.4096"),
    ),
    "sdn22": Host(
        windows="2022",
        variables={"cni_plugin": "sdnoverlay", "container_runtime_containerd_version": "1.7.35", **SERVICE},
        network=("Overlay", "vxlan0"),
    ),
    "azure22": Host(
        windows="2022",
        variables={
            "cni_plugin": "azure",
            "cni_azure_vnet_sha256": hashlib.sha256(catalog.content(ARCHIVE) or b"").hexdigest(),
            "kubernetes_node_kubelet_configuration": {"maxPods": 2},
            **SERVICE,
        },
        network=None,
        machine={"azure": AZURE},
    ),
    # The only network of this run whose programs are pods.
    "pods25": Host(windows="2025", variables={"cni_plugin": "sdnbridge"}, network=("L2Bridge", "l2bridge")),
}


def start(start_site: SiteFactory) -> Site:
    machines = [
        {"name": name, "windows": host.windows, "link_drop_seconds": 0.3, **host.machine}
        for name, host in HOSTS.items()
    ]
    # Kubernetes 1.36 works with containerd 1.7.
    site = start_site(*machines, cluster={"kind": "memory", "version": "1.36.3"})
    site.host_variables = {name: dict(host.variables) for name, host in HOSTS.items()}
    site.host_variables["docker22"] |= docker_variables(site)
    return site


def run(site: Site, key: str, playbook: str = "site.yml") -> PlayRun:
    """Run a playbook, and keep the counters of the nodes under a key of `Site.counted`."""
    found = site.run(playbook).expect()
    site.counted[key] = {name: site.counters(name) for name in HOSTS}
    return found


def networks(site: Site, name: str) -> dict[str, str]:
    """Return the types of the HNS networks of a host by name."""
    status: Any = site.node(name).status()
    return {one["name"]: one["type"] for one in status["hns"]["networks"]}


@pytest.fixture(scope="module")
def joined(start_site: SiteFactory) -> Site:
    site = start(start_site)
    run(site, "first")
    return site


def expect_network(site: Site, name: str) -> None:
    """Check node, HNS network, kube-proxy's configuration, and the reservation of its source address."""
    host, node = HOSTS[name], cluster_nodes(site)[node_name(name)]
    assert node["ready"]
    if host.network is not None:
        kind, network = host.network
        wait_for(lambda: networks(site, name).get(network) == kind, f"{network} of {name}: {networks(site, name)}")
    files = site.machine(name).files
    winkernel = yaml.safe_load(files.read_text(PROXY))["winkernel"]
    assert winkernel["networkName"] == (host.network[1] if host.network else "azure")
    assert ("sourceVip" in winkernel) is host.is_overlay
    if host.is_overlay:
        reserved = rf"C:\var\lib\cni\networks\{winkernel['networkName']}\{winkernel['sourceVip']}"
        assert files.is_file(reserved)
        assert winkernel["sourceVip"] == f"{node['pod_cidr'].rpartition('.')[0]}.254"


@pytest.mark.parametrize("name", HOSTS)
def test_the_network_is_the_right_one(joined: Site, name: str) -> None:
    expect_network(joined, name)


@pytest.mark.parametrize("name", HOSTS)
def test_the_first_run_is_within_the_budget(joined: Site, name: str) -> None:
    # While all hosts start containers at the same time, a batch may outlast its first poll. The tests with one host per
    # network have no such allowance.
    assert joined.counted["first"][name]["remote_commands"] <= FIRST + LATE_POLLS


@pytest.fixture(scope="module")
def second(joined: Site) -> PlayRun:
    return run(joined, "second")


@pytest.mark.parametrize("name", HOSTS)
def test_a_second_run_changes_nothing(joined: Site, second: PlayRun, name: str) -> None:
    assert second.recap[name]["changed"] == 0, second.changes(name)
    assert joined.counted["second"][name]["remote_commands"] <= SECOND


def test_the_drift_check_finds_nothing_with_one_command(joined: Site, second: PlayRun) -> None:
    run(joined, "drift", "plan.yml")
    assert {name: counted["remote_commands"] for name, counted in joined.counted["drift"].items()} == dict.fromkeys(
        HOSTS, DRIFT
    )


def diagnoses(site: Site) -> dict[str, dict[str, Any]]:
    """Return the hosts in the report of node_doctor.yml."""
    document = json.loads((site.folder / "build" / "doctor.json").read_text(encoding="utf-8"))
    return dict(document["hosts"])


def test_the_doctor_finds_nothing_on_healthy_nodes(joined: Site) -> None:
    joined.run("node_doctor.yml").expect()
    found = diagnoses(joined)
    assert {name: (one["status"], one["causes"]) for name, one in found.items()} == dict.fromkeys(HOSTS, ("Ready", []))
    assert {joined.counters(name)["remote_commands"] for name in HOSTS} == {2}


def test_the_doctor_names_what_is_missing(joined: Site, second: PlayRun) -> None:
    machine = joined.machine
    machine("bridge19").services.stop("kube-proxy", force=True)
    proxy = yaml.safe_load(machine("overlay25").files.read_text(PROXY))
    del proxy["winkernel"]["sourceVip"]
    machine("overlay25").files.write_text(PROXY, yaml.safe_dump(proxy))
    machine("docker22").services.stop("docker", force=True)
    machine("sdn22").files.delete(r"C:\opt\cni\bin\sdnoverlay.exe")
    machine("azure22").files.delete(r"C:\etc\cni\net.d\10-azure.conflist")
    state = machine("pods25").part(HnsState)
    state.networks = {key: one for key, one in state.networks.items() if one.name != "l2bridge"}
    joined.run("node_doctor.yml").expect(2)
    assert {name: one["causes"][0]["cause"] for name, one in diagnoses(joined).items()} == {
        "bridge19": "kube_proxy_stopped",
        "overlay25": "source_vip_missing",
        "docker22": "runtime_stopped",
        "sdn22": "cni_plugin_missing",
        "azure22": "cni_configuration_missing",
        "pods25": "hns_network_missing",
    }


@pytest.mark.variant
def test_all_networks_come_from_a_full_cache(start_site: SiteFactory) -> None:
    site = start(start_site)
    site.run("site.yml", "--tags", "install").expect()
    artifacts = site.world.artifacts
    assert artifacts is not None
    artifacts.reset()
    site.run("site.yml").expect()
    for name in HOSTS:
        expect_network(site, name)
    assert artifacts.status()["total"] == 0


def test_networks_that_cannot_share_a_run_are_refused(start_site: SiteFactory) -> None:
    site = start_site(
        {"name": "old25", "windows": "2025"},
        {"name": "pods22", "windows": "2022"},
        cluster={"kind": "memory"},
        flannel_backend_type="vxlan",
    )
    site.host_variables = {"pods22": {"cni_plugin": "sdnbridge"}}
    refused = site.run("site.yml").expect(2)
    assert "got 'flannel vxlan (old25), sdnbridge (pods22)'" in refused.output.replace("\n", " ")
    site.host_variables = {"pods22": {"cni_plugin": "none"}}
    unpatched = site.run("site.yml", "--limit", "old25").expect(2)
    assert "has the update build revision 2314, expected 6899 (KB5066835)" in unpatched.messages("old25")
    assert unpatched.recap["old25"]["changed"] == 0
