# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cluster whose Calico the Tigera operator manages: the operator runs Calico on Windows nodes, on request."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from integration import kubespray_sample
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes
from integration.test_kubespray_calico import AFFINITY, DRIFT, FIRST, HOST, PROXY, SECOND, run_sample
from kubernetes import client

from simulator.kubernetes_node import hns

pytestmark = pytest.mark.integration

ENABLED = {**AFFINITY, "cni_calico_enable_windows": True}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory, cluster_kind: str) -> Site:
    calico = {"install": "operator", "windows": False, "service_cidrs": False, "services_endpoint": False}
    site = start_site(
        {"name": HOST, "windows": "2022"},
        cluster={"kind": cluster_kind, "calico": calico, **kubespray_sample.NETWORKS},
    )
    kubespray_sample.write(site.folder / "sample")
    apply_former_objects(site)
    return site


def apply_former_objects(site: Site) -> None:
    """Create what this collection applied before kubespray moved Calico from manifests to the operator."""
    labels = {"k8s-app": "calico-node-windows", "winkube.node/revision": "1"}
    spec = {"containers": [{"name": "node", "image": "quay.io/calico/node-windows:v3.31.5"}]}
    template = {"metadata": {"labels": labels}, "spec": {**spec, "nodeSelector": {"kubernetes.io/os": "windows"}}}
    selector = {"matchLabels": {"k8s-app": "calico-node-windows"}}
    body = {"metadata": {"name": "calico-node-windows"}, "spec": {"selector": selector, "template": template}}
    client.AppsV1Api(cluster_api(site)).create_namespaced_daemon_set("kube-system", body)
    config_map = {"metadata": {"name": "cni-config-windows"}, "data": {"config": "{}"}}
    client.CoreV1Api(cluster_api(site)).create_namespaced_config_map("kube-system", config_map)


@pytest.fixture(scope="module")
def refused(site: Site) -> PlayRun:
    return run_sample(site, **AFFINITY)


@pytest.fixture(scope="module")
def first(site: Site, refused: PlayRun) -> PlayRun:
    run = run_sample(site, **ENABLED).expect()
    site.counted["first"] = {HOST: site.counters(HOST)}
    return run


def installation(site: Site) -> dict[str, Any]:
    api = client.CustomObjectsApi(cluster_api(site))
    found: dict[str, Any] = api.get_cluster_custom_object("operator.tigera.io", "v1", "installations", "default")
    return found


def test_an_operator_without_windows_is_refused(site: Site, refused: PlayRun) -> None:
    assert refused.exit_code != 0
    text = " ".join(refused.output.split())
    assert "calicoNetwork.windowsDataplane of the Installation default" in text
    assert "serviceCIDRs of the Installation default" in text
    assert "tigera-operator/kubernetes-services-endpoint" in text
    assert not site.machine(HOST).files.exists(r"C:\k")


def test_the_operator_runs_calico_on_the_node(site: Site, first: PlayRun) -> None:
    assert cluster_nodes(site)[HOST]["ready"]
    spec = installation(site)["spec"]
    assert spec["calicoNetwork"]["windowsDataplane"] == "HNS"
    assert spec["serviceCIDRs"] == [kubespray_sample.NETWORKS["service_cidr"]]
    daemon_sets = client.AppsV1Api(cluster_api(site)).list_daemon_set_for_all_namespaces().items
    found = {one.metadata.namespace for one in daemon_sets if one.metadata.name == "calico-node-windows"}
    assert found == {"calico-system"}


def test_objects_from_before_the_operator_are_removed_with_a_warning(site: Site, first: PlayRun) -> None:
    # The test above shows that the DaemonSet is gone.
    config_maps = client.CoreV1Api(cluster_api(site)).list_namespaced_config_map("kube-system").items
    assert "cni-config-windows" not in {one.metadata.name for one in config_maps}
    text = " ".join(first.output.split())
    assert "this run changes the DaemonSet kube-system/calico-node-windows and the ConfigMap" in text
    assert "This run removes them." in text


def test_kube_proxy_has_the_address_of_the_endpoint(site: Site, first: PlayRun) -> None:
    machine = site.machine(HOST)
    endpoint = next(one for one in hns.store(machine).endpoints() if one.name == "Calico_ep")
    winkernel = yaml.safe_load(machine.files.read_text(PROXY))["winkernel"]
    assert winkernel == {"networkName": "Calico", "sourceVip": endpoint.address, "enableDSR": True}


# The drift check below finds the same differences.
@pytest.mark.variant
def test_a_second_run_changes_nothing(site: Site, first: PlayRun) -> None:
    run = run_sample(site, **ENABLED).expect()
    assert run.recap[HOST]["changed"] == 0, run.changed_tasks(HOST)
    assert site.counters(HOST)["remote_commands"] <= SECOND
    assert site.counted["first"][HOST]["remote_commands"] <= FIRST


def test_the_drift_check_takes_one_command(site: Site, first: PlayRun) -> None:
    run_sample(site, "plan.yml", **ENABLED).expect()
    assert site.counters(HOST)["remote_commands"] == DRIFT
