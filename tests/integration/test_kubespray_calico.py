# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubespray's sample inventory plus one group of Windows hosts: nodes on Calico over VXLAN."""

from __future__ import annotations

import ipaddress
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration import kubespray_sample
from integration.conftest import SiteFactory
from integration.playbooks import QUICK, ROOT, PlayRun, Site, cluster_api, cluster_nodes, link_variables, simulated_pins
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns

pytestmark = pytest.mark.integration

HOST = "windows01"
CNI = r"C:\etc\cni\net.d"
PROXY = r"C:\k\kube-proxy\config.yaml"
AFFINITY = {"cni_calico_set_strict_affinity": True}
FIRST, SECOND, DRIFT = 12, 3, 1
"""The largest number of remote commands, as with flannel."""


@pytest.fixture(scope="module")
def site(start_site: SiteFactory, cluster_kind: str) -> Site:
    calico = {"install": "kubespray", "linux_nodes": 2}
    cluster = {"kind": cluster_kind, "calico": calico, **kubespray_sample.NETWORKS}
    site = start_site({"name": HOST, "windows": "2022"}, cluster=cluster)
    kubespray_sample.write(site.folder / "sample")
    return site


def run_sample(site: Site, playbook: str = "site.yml", *options: str, **variables: Any) -> PlayRun:
    """Run a playbook with kubespray's inventory and one more file: the group of the Windows hosts.

    `variables` are variables of this group.
    """
    world = site.world
    assert world.cluster is not None
    assert world.registry is not None
    assert world.artifacts is not None
    group = {
        "hosts": {HOST: {"ansible_host": site.machine(HOST).address, "kubernetes_node_hostname": HOST}},
        "vars": {**link_variables(), "kubeconfig": str(world.cluster.kubeconfig), **variables},
    }
    windows = site.folder / "windows.yml"
    windows.write_text(json.dumps({"node_windows": group}), encoding="utf-8")
    # Simulated downloads and registries instead of the publishers', and pauses for them.
    mirror = {"mirrors": [world.registry.url]}
    simulated = {
        "artifact_mirror": world.artifacts.url,
        "artifact_upstream": False,
        **simulated_pins(),
        **QUICK,
        "container_runtime_registries": dict.fromkeys(("registry.k8s.io", "mcr.microsoft.com", "quay.io"), mirror),
    }
    command = [str(Path(sys.executable).with_name("ansible-playbook")), str(ROOT / "playbooks" / playbook)]
    command += ["-i", str(site.folder / "sample"), "-i", str(windows), *options, "-e", json.dumps(simulated)]
    site.node(HOST).server.counters.reset()
    return site.execute(command, timeout=600)


@pytest.fixture(scope="module")
def refused(site: Site) -> PlayRun:
    """A run with kubespray's default, in which strict affinity is off."""
    return run_sample(site)


@pytest.fixture(scope="module")
def first(site: Site, refused: PlayRun) -> PlayRun:
    run = run_sample(site, **AFFINITY).expect()
    site.counted["first"] = {HOST: site.counters(HOST)}
    return run


def custom(site: Site, plural: str, name: str) -> dict[str, Any]:
    api = client.CustomObjectsApi(cluster_api(site))
    found: dict[str, Any] = api.get_cluster_custom_object("crd.projectcalico.org", "v1", plural, name)
    return found


def test_strict_affinity_is_never_changed_without_a_request(site: Site, refused: PlayRun) -> None:
    assert refused.exit_code != 0
    assert "calico_ipam_strictaffinity: true" in refused.output
    assert "cni_calico_set_strict_affinity: true" in refused.output
    assert custom(site, "ipamconfigs", "default")["spec"]["strictAffinity"] is False
    assert site.counters(HOST)["remote_commands"] == 0
    assert HOST not in cluster_nodes(site)
    assert not site.machine(HOST).files.exists(r"C:\k")


def test_the_windows_group_is_all_that_a_node_needs(site: Site, first: PlayRun) -> None:
    node = cluster_nodes(site)[HOST]
    assert node["ready"]
    assert node["labels"]["winkube.node/pod-network"] == "calico"
    assert custom(site, "ipamconfigs", "default")["spec"]["strictAffinity"] is True
    assert "kubespray's next run resets it" in " ".join(first.output.split())


def test_calico_makes_the_network_and_kube_proxy_gets_its_address(site: Site, first: PlayRun) -> None:
    machine = site.machine(HOST)
    networks = {network.name: network.kind for network in hns.store(machine).networks()}
    assert {networks["Calico"], networks["External"]} == {"Overlay"}
    endpoint = next(one for one in hns.store(machine).endpoints() if one.name == "Calico_ep")
    node = client.CoreV1Api(cluster_api(site)).read_node(HOST)
    published = node.metadata.annotations["projectcalico.org/IPv4VXLANTunnelAddr"]
    winkernel = yaml.safe_load(machine.files.read_text(PROXY))["winkernel"]
    assert winkernel["networkName"] == "Calico"
    assert winkernel["sourceVip"] == endpoint.address == str(ipaddress.ip_address(published) + 1)


def test_the_cni_configuration_has_the_networks_of_the_cluster(site: Site, first: PlayRun) -> None:
    files = site.machine(HOST).files
    (plugin,) = json.loads(files.read_text(rf"{CNI}\10-calico.conflist"))["plugins"]
    assert plugin["mode"] == "vxlan"
    # nodelocaldns serves Linux nodes only.
    assert plugin["DNS"]["Nameservers"] == ["10.233.0.3"]
    exceptions = plugin["policies"][0]["Value"]["ExceptionList"]
    assert exceptions == [kubespray_sample.NETWORKS["service_cidr"]]
    assert [entry.path for entry in files.listing(CNI)] == [rf"{CNI}\10-calico.conflist", rf"{CNI}\calico-kubeconfig"]


def test_the_pods_of_the_network_run(site: Site, first: PlayRun) -> None:
    api = client.CoreV1Api(cluster_api(site))

    def ready() -> set[str]:
        pods = api.list_namespaced_pod("kube-system", field_selector=f"spec.nodeName={HOST}").items
        return {
            pod.metadata.name.rpartition("-")[0]
            for pod in pods
            if all(status.ready for status in pod.status.container_statuses or ()) and pod.status.container_statuses
        }

    expected = {"calico-node-windows", "kube-proxy-windows"}
    wait_for(lambda: expected <= ready(), f"the pods of {expected} are ready", 60)


def test_calico_costs_no_more_than_flannel(site: Site, first: PlayRun) -> None:
    assert site.counted["first"][HOST]["remote_commands"] <= FIRST


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun) -> PlayRun:
    return run_sample(site, **AFFINITY).expect()


def test_a_second_run_changes_nothing(site: Site, second: PlayRun) -> None:
    assert second.recap[HOST]["changed"] == 0, second.changed_tasks(HOST)
    assert site.counters(HOST)["remote_commands"] <= SECOND


# test_calico_operator.py runs the drift check on a node with Calico, and test_network_matrix.py for other networks.
@pytest.mark.variant
def test_the_drift_check_takes_one_command(site: Site, second: PlayRun) -> None:
    run = run_sample(site, "plan.yml", **AFFINITY).expect()
    assert site.counters(HOST)["remote_commands"] == DRIFT
    assert "in_sync" in (site.folder / "build" / "plan.json").read_text(encoding="utf-8")
    assert run.recap[HOST]["failed"] == 0


def diagnosis(site: Site) -> dict[str, Any]:
    """Return the node's entry in the report of node_doctor.yml."""
    document = json.loads((site.folder / "build" / "doctor.json").read_text(encoding="utf-8"))
    return dict(document["hosts"][HOST])


def test_the_doctor_finds_nothing_on_a_healthy_node(site: Site, second: PlayRun) -> None:
    run_sample(site, "node_doctor.yml", **AFFINITY).expect()
    assert (diagnosis(site)["status"], diagnosis(site)["causes"]) == ("Ready", [])
    assert site.counters(HOST)["remote_commands"] == 2


# The last test: calico-node does not create the network again before it starts.
# test_network_matrix.py has the doctor name missing networks.
@pytest.mark.variant
def test_the_doctor_misses_the_network_of_calico(site: Site, second: PlayRun) -> None:
    state = site.machine(HOST).part(hns.HnsState)
    state.networks = {key: one for key, one in state.networks.items() if one.name != "Calico"}
    run_sample(site, "node_doctor.yml", **AFFINITY).expect(2)
    first_cause = diagnosis(site)["causes"][0]
    assert first_cause["cause"] == "hns_network_missing"
    assert first_cause["evidence"] == ["expected the network Calico (Overlay); networks in HNS: External"]
