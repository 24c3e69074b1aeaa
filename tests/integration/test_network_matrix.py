# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several networks, versions of Windows and runtimes in one run: from vanilla machines, and from a full cache.

Nodes with Calico need a cluster of their own for each mode. These runs are variants of test_kubespray_calico.py (VXLAN)
and test_calico_bgp.py. The last tests break the nodes, and node_doctor.yml names the causes.

tests/unit/plugins/plugin_utils/pod_networks/test_matrix.py checks all combinations without machines.
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
from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns.objects import HnsState

pytestmark = pytest.mark.integration

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
OLD_CONTAINERD = {"container_runtime_containerd_version": "1.7.35"}
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
        variables={"cni_plugin": "sdnoverlay", **OLD_CONTAINERD, **SERVICE},
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fleet:
    """Hosts that are in one run, because one cluster can have their networks."""

    hosts: dict[str, Host]
    calico: dict[str, Any] = dataclasses.field(default_factory=dict)
    """How Calico is installed in the cluster; empty if it is not."""


def calico_fleet(kind: str, prefix: str, **options: Any) -> Fleet:
    """Return hosts with each version of Windows that Calico supports."""
    network = (kind, "Calico")
    plugin = {"cni_plugin": "calico"}
    hosts = {
        f"{prefix}19": Host(windows="2019", variables={**plugin, **OLD_CONTAINERD}, network=network),
        f"{prefix}22": Host(windows="2022", variables=plugin, network=network),
    }
    return Fleet(hosts=hosts, calico={"install": "kubespray", "strict_affinity": True, "linux_nodes": 1, **options})


FLEETS = {
    "networks": Fleet(hosts=HOSTS),
    "calico": calico_fleet("Overlay", "calico"),
    "calico-bgp": calico_fleet("L2Bridge", "bgp", backend="bird", vxlan_mode="Never"),
}


def of_fleets(*names: str) -> pytest.MarkDecorator:
    """Run a test with these fleets, each in a group of its own."""
    params = [
        pytest.param(
            FLEETS[name],
            id=name,
            marks=[
                pytest.mark.xdist_group(f"network_matrix-{name}"),
                *([] if name == "networks" else [pytest.mark.variant]),
            ],
        )
        for name in names
    ]
    return pytest.mark.parametrize("fleet", params, indirect=True, scope="module")


ALL_FLEETS = of_fleets(*FLEETS)


@pytest.fixture(scope="module")
def fleet(request: pytest.FixtureRequest) -> Fleet:
    found: Fleet = request.param
    return found


def start(start_site: SiteFactory, fleet: Fleet) -> Site:
    machines = [
        {"name": name, "windows": host.windows, "link_drop_seconds": 0.3, **host.machine}
        for name, host in fleet.hosts.items()
    ]
    calico = {"calico": fleet.calico} if fleet.calico else {}
    # Kubernetes 1.36 works with containerd 1.7.
    site = start_site(*machines, cluster={"kind": "memory", "version": "1.36.3", **calico})
    site.host_variables = {name: dict(host.variables) for name, host in fleet.hosts.items()}
    if "docker22" in fleet.hosts:
        site.host_variables["docker22"] |= docker_variables(site)
    assert site.world.registry is not None
    mirror = {"mirrors": [site.world.registry.url]}
    names = ("registry.k8s.io", "mcr.microsoft.com", "quay.io")
    site.variables["container_runtime_registries"] = dict.fromkeys(names, mirror)
    return site


def run(site: Site, key: str, playbook: str = "site.yml") -> PlayRun:
    """Run a playbook, and keep the counters of the nodes under a key of `Site.counted`."""
    found = site.run(playbook).expect()
    site.counted[key] = {name: site.counters(name) for name in site.hosts()}
    return found


def networks(site: Site, name: str) -> dict[str, str]:
    """Return the types of the HNS networks of a host by name."""
    status: Any = site.node(name).status()
    return {one["name"]: one["type"] for one in status["hns"]["networks"]}


def expect_network(site: Site, name: str, host: Host) -> None:
    """Check node, HNS network, kube-proxy's configuration, and its source address."""
    node = cluster_nodes(site)[node_name(name)]
    assert node["ready"], name
    if host.network is not None:
        kind, network = host.network
        wait_for(lambda: networks(site, name).get(network) == kind, f"{network} of {name}: {networks(site, name)}")
    files = site.machine(name).files
    winkernel = yaml.safe_load(files.read_text(PROXY))["winkernel"]
    expected = host.network[1] if host.network else "azure"
    assert (name, winkernel["networkName"]) == (name, expected)
    assert (name, "sourceVip" in winkernel) == (name, host.is_overlay)
    if host.is_overlay:
        assert (name, winkernel["sourceVip"]) == (name, source_address(site, name, expected, node["pod_cidr"]))


def source_address(site: Site, name: str, network: str, pod_cidr: str) -> str:
    """Return the address that is reserved on a node for kube-proxy: Calico's own endpoint, or one of host-local."""
    if network == "Calico":
        (endpoint,) = [one for one in hns.store(site.machine(name)).endpoints() if one.name == "Calico_ep"]
        return endpoint.address
    address = f"{pod_cidr.rpartition('.')[0]}.254"
    assert site.machine(name).files.is_file(rf"C:\var\lib\cni\networks\{network}\{address}"), name
    return address


@pytest.fixture(scope="module")
def joined(start_site: SiteFactory, fleet: Fleet) -> Site:
    site = start(start_site, fleet)
    run(site, "first")
    return site


@ALL_FLEETS
def test_the_networks_are_the_right_ones(joined: Site, fleet: Fleet) -> None:
    for name, host in fleet.hosts.items():
        expect_network(joined, name, host)


@ALL_FLEETS
def test_the_first_run_is_within_the_budget(joined: Site) -> None:
    # While all hosts start containers at the same time, a batch may outlast its first poll. The tests with one host per
    # network have no such allowance.
    counted = {name: one["remote_commands"] for name, one in joined.counted["first"].items()}
    assert not {name: number for name, number in counted.items() if number > FIRST + LATE_POLLS}


@pytest.fixture(scope="module")
def second(joined: Site) -> PlayRun:
    return run(joined, "second")


@ALL_FLEETS
def test_a_second_run_changes_nothing(joined: Site, fleet: Fleet, second: PlayRun) -> None:
    assert not {name: second.changed_tasks(name) for name in fleet.hosts if second.recap[name]["changed"]}
    assert max(counted["remote_commands"] for counted in joined.counted["second"].values()) <= SECOND


@ALL_FLEETS
def test_the_drift_check_finds_nothing_with_one_command(joined: Site, fleet: Fleet, second: PlayRun) -> None:
    run(joined, "drift", "plan.yml")
    assert {name: counted["remote_commands"] for name, counted in joined.counted["drift"].items()} == dict.fromkeys(
        fleet.hosts, DRIFT
    )


def diagnoses(site: Site) -> dict[str, dict[str, Any]]:
    """Return the hosts in the report of node_doctor.yml."""
    document = json.loads((site.folder / "build" / "doctor.json").read_text(encoding="utf-8"))
    return dict(document["hosts"])


@ALL_FLEETS
def test_the_doctor_finds_nothing_on_healthy_nodes(joined: Site, fleet: Fleet) -> None:
    joined.run("node_doctor.yml").expect()
    found = {name: (one["status"], one["causes"]) for name, one in diagnoses(joined).items()}
    assert found == dict.fromkeys(fleet.hosts, ("Ready", []))
    assert {joined.counters(name)["remote_commands"] for name in fleet.hosts} == {2}


@of_fleets("networks")
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
@ALL_FLEETS
def test_all_networks_come_from_a_full_cache(start_site: SiteFactory, fleet: Fleet) -> None:
    site = start(start_site, fleet)
    site.run("site.yml", "--tags", "install").expect()
    artifacts = site.world.artifacts
    assert artifacts is not None
    artifacts.reset()
    site.run("site.yml").expect()
    for name, host in fleet.hosts.items():
        expect_network(site, name, host)
    assert artifacts.status()["total"] == 0


@pytest.mark.xdist_group("network_matrix-networks")
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
