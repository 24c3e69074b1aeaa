# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Several networks, versions of Windows and runtimes in one run: from vanilla machines, and from a full cache.

Nodes with Calico need a cluster of their own for each mode. These runs are variants of test_kubespray_calico.py (VXLAN)
and test_calico_bgp.py. The last tests restart the nodes and then break them, and node_doctor.yml names the causes.

The cluster's kubelets use kubespray's nodelocaldns. The node with Docker has the proxies of a site.

tests/unit/plugins/plugin_utils/pod_networks/test_matrix.py checks all combinations without machines.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.network_fleets import ALL_FLEETS, NETWORKS, NODELOCALDNS, SITE_PROXY, Fleet, Host, start
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.power_cuts import started_after_a_power_cut
from integration.test_docker_runtime import DAEMON, PRIVATE, SECRETS, pods_on, tokens
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.hns.objects import HnsState
from simulator.kubernetes_node.kubelet import settings

pytestmark = pytest.mark.integration

PROXY = r"C:\k\kube-proxy\config.yaml"
LATE_POLLS = 2
FIRST, SECOND, DRIFT = 12, 3, 1
"""The largest number of remote commands, for every network, runtime and way to run."""
LABEL = "winkube.node/network-runs-as"
SERVICES = {
    "bridge19": ["containerd", "kubelet", "kube-proxy", "flanneld"],
    # On an overlay, kube-proxy needs flannel's network.
    "overlay25": ["containerd", "kubelet", "flanneld", "kube-proxy"],
    "docker22": ["docker", "cri-dockerd", "kubelet", "flanneld", "kube-proxy"],
}
"""The services of nodes on which flannel runs as a service. Each one depends on the one before it."""
OVERLAYS = ("overlay25", "docker22")
"""Those of them with flannel's overlay."""


@pytest.fixture(scope="module")
def fleet(request: pytest.FixtureRequest) -> Fleet:
    found: Fleet = request.param
    return found


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
def site(start_site: SiteFactory, fleet: Fleet) -> Site:
    return start(start_site, fleet)


@pytest.fixture(scope="module")
def first(site: Site) -> PlayRun:
    return run(site, "first")


@pytest.fixture
def joined(site: Site, first: PlayRun) -> Site:
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


@NETWORKS
def test_a_cluster_of_both_runtimes(joined: Site) -> None:
    nodes = {name: cluster_nodes(joined)[node_name(name)] for name in joined.hosts()}
    assert nodes["docker22"]["runtime"] == "docker://29.2.1"
    # Docker cannot run HostProcess containers, so none is scheduled there. On the others, the network is a service.
    labels = {name: one["labels"].get(LABEL) for name, one in nodes.items()}
    assert labels == dict.fromkeys(nodes, "service") | {"pods25": None}
    assert {name: pods_on(joined, name) for name in SERVICES} == {name: {} for name in SERVICES}
    running = {"flannel-windows": "Running", "kube-proxy-windows": "Running"}
    wait_for(lambda: pods_on(joined, "pods25") == running, "the pods of the network run", 30)
    assert joined.machine("pods25").services.get("flanneld") is None


@NETWORKS
@pytest.mark.parametrize("host", SERVICES)
def test_services_run_one_after_the_other(joined: Site, host: str) -> None:
    found = {name: joined.machine(host).services.get(name) for name in SERVICES[host]}
    states = {name: (one.state, one.start_mode, one.dependencies) for name, one in found.items() if one is not None}
    before = [[], *([name] for name in SERVICES[host])]
    assert states == {
        name: ("Running", "Automatic", needed) for name, needed in zip(SERVICES[host], before, strict=False)
    }


@NETWORKS
def test_the_node_with_docker_uses_its_endpoint(joined: Site) -> None:
    dropin = joined.machine("docker22").files.read_text(r"C:\etc\kubernetes\kubelet.conf.d\50-windows.conf")
    assert "containerRuntimeEndpoint: npipe:////./pipe/cri-dockerd" in dropin
    status: Any = joined.node("docker22").status()
    assert r"C:\ProgramData\docker" in status["defender"]["ExclusionPath"]
    assert status["environment"]["CONTAINER_RUNTIME_ENDPOINT"] == "npipe:////./pipe/cri-dockerd"


@NETWORKS
def test_docker_has_the_proxies_of_the_site(joined: Site, first: PlayRun) -> None:
    machine, registry = joined.machine("docker22"), joined.world.registry
    proxies = json.loads(machine.files.read_text(DAEMON))["proxies"]
    assert (proxies["http-proxy"], proxies["https-proxy"]) == (SITE_PROXY, SITE_PROXY)
    excepted = set(proxies["no-proxy"].split(","))
    assert registry is not None
    assert {registry.address, ".example.org", "localhost", ".svc"} <= excepted
    assert machine.files.sddl(DAEMON).endswith(PRIVATE)
    assert "Pr0xy-Secret" not in first.output
    # It is only in dockerd's own file. Its service has no environment with the password.
    assert "Pr0xy-Secret" not in str(
        machine.registry.data(r"HKLM\SYSTEM\CurrentControlSet\Services\docker", "Environment")
    )


@NETWORKS
def test_tokens_are_for_the_services_only(joined: Site, first: PlayRun) -> None:
    secret = tokens(joined)
    for host in SERVICES:
        files = joined.machine(host).files
        for name, account in SECRETS.items():
            path = rf"C:\etc\kubernetes\{account}.kubeconfig"
            token = json.loads(files.read_text(path))["users"][0]["user"]["token"]
            assert token.encode() == base64.b64decode(secret[name])
            assert files.sddl(path).endswith(PRIVATE)
            assert token not in first.output
            assert token not in json.dumps(first.report)


@NETWORKS
@pytest.mark.parametrize("host", OVERLAYS)
def test_pods_get_an_address_and_services_a_load_balancer(joined: Site, host: str) -> None:
    assert joined.world.registry is not None
    image = f"{joined.world.registry.address}:{joined.world.registry.port}/pause:3.10.2"
    spec = {
        "nodeName": node_name(host),
        "containers": [{"name": "app", "image": image}],
        "tolerations": [{"operator": "Exists"}],
    }
    core = client.CoreV1Api(cluster_api(joined))
    core.create_namespaced_pod("default", {"metadata": {"name": host, "labels": {"app": "app"}}, "spec": spec})
    wait_for(lambda: core.read_namespaced_pod(host, "default").status.phase == "Running", "the pod runs", 30)
    subnet = cluster_nodes(joined)[node_name(host)]["pod_cidr"]
    status: Any = joined.node(host).status()
    (network,) = [one for one in status["hns"]["networks"] if one["name"] == "flannel.4096"]
    assert (network["type"], network["vni"], network["subnet"]) == ("Overlay", 4096, subnet)
    assert core.read_namespaced_pod(host, "default").status.pod_ip.startswith(f"{subnet.rpartition('.')[0]}.")
    # kube-proxy creates it.
    wait_for(lambda: joined.node(host).status()["hns"]["policies"], "services have load balancers", 30)
    core.delete_namespaced_pod(host, "default", grace_period_seconds=0)


@NETWORKS
def test_pods_use_a_name_server_that_windows_nodes_reach(joined: Site) -> None:
    service = client.CoreV1Api(cluster_api(joined)).read_namespaced_service("kube-dns", "kube-system")
    flags = [r"--config=C:\var\lib\kubelet\config.yaml", r"--config-dir=C:\etc\kubernetes\kubelet.conf.d"]
    assert joined.world.cluster is not None
    for host in joined.hosts():
        machine = joined.machine(host)
        # kubeadm's own file has the cluster's setting, which the drop-in replaces.
        assert NODELOCALDNS in machine.files.read_text(r"C:\var\lib\kubelet\config.yaml")
        effective = settings.read(machine, flags, joined.world.cluster.version)
        assert (host, effective.cluster_dns) == (host, [service.spec.cluster_ip])


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun) -> PlayRun:
    return run(site, "second")


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


def balanced(site: Site, host: str, former: set[str]) -> bool:
    """Return whether all load balancers have the source address in kube-proxy's configuration, after a restart."""
    machine = site.machine(host)
    source, store = yaml.safe_load(machine.files.read_text(PROXY))["winkernel"]["sourceVip"], hns.store(machine)
    vips, addresses = {one.source_vip for one in store.policies()}, {one.address for one in store.endpoints()}
    # The boot removed the network, and its load balancers with it.
    is_new = not former & {one.id for one in store.networks() if one.name == "flannel.4096"}
    return is_new and source in addresses and vips == {source}


@NETWORKS
@pytest.mark.parametrize("host", SERVICES)
def test_services_start_in_the_same_order_after_a_power_cut(joined: Site, second: PlayRun, host: str) -> None:
    machine = joined.machine(host)
    former = {one.id for one in hns.store(machine).networks()}
    assert started_after_a_power_cut(machine, SERVICES[host]) == SERVICES[host]
    if host in OVERLAYS:
        wait_for(lambda: balanced(joined, host, former), "services have load balancers with the source address", 60)
        # host-local gives it to no pod.
        source = source_address(joined, host, "flannel.4096", cluster_nodes(joined)[node_name(host)]["pod_cidr"])
        assert yaml.safe_load(machine.files.read_text(PROXY))["winkernel"]["sourceVip"] == source


# The last test with these nodes.
@NETWORKS
def test_the_doctor_names_what_is_missing(joined: Site, second: PlayRun) -> None:
    wait_for(lambda: all(one["ready"] for one in cluster_nodes(joined).values()), "all nodes are ready again")
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
def test_networks_that_cannot_share_a_run_or_run_on_a_machine_are_refused(start_site: SiteFactory) -> None:
    site = start_site(
        {"name": "old25", "windows": "2025"},
        {"name": "metal22", "windows": "2022"},
        {"name": "pods22", "windows": "2022"},
        cluster={"kind": "memory"},
        flannel_backend_type="vxlan",
    )
    azure = {"cni_plugin": "azure", "cni_run_as": "service", "cni_azure_vnet_sha256": "0" * 64}
    site.host_variables = {"metal22": azure, "pods22": {"cni_plugin": "sdnbridge"}}
    refused = site.run("site.yml").expect(2)
    assert "got 'flannel vxlan (old25), sdnbridge (pods22)'" in refused.output.replace("\n", " ")
    run = site.run("site.yml", "--limit", "old25,metal22").expect(2)
    assert "has the update build revision 2314, expected 6899 (KB5066835)" in run.messages("old25")
    assert "it is not an Azure virtual machine" in run.messages("metal22")
    assert {name: run.changes(name) for name in ("old25", "metal22")} == {"old25": [], "metal22": []}
