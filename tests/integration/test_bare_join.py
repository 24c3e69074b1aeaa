# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine with the kubelet's launcher joins an overlay with `kubeadm join` alone, without any run of a playbook.

test_image.py does the same with a machine from an image, and compares it with a machine that a playbook joined.
test_azure_and_sdn_networks.py does so with networks whose CNI configuration kube-proxy's pod writes.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.joined_nodes import prepare, server
from integration.launcher_machines import install_launcher, join_alone
from integration.playbooks import Site, cluster_api
from integration.states import state_of
from kubernetes import client, dynamic
from simulator_tests.kubernetes_node.manifests import BASE
from simulator_tests.waiting import wait_for
from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.waits]

HOST = "bare"
LABELS = {"winkube.node/pod-network": "flannel"}


@pytest.fixture(scope="module")
def site(cluster_kind: str, kubeadm: None, start_site: SiteFactory) -> Site:
    return start_site(server(HOST), cluster={"kind": cluster_kind})


@pytest.fixture(scope="module")
def machine(site: Site) -> Machine:
    """Return a machine with everything that an image contains, and a cluster with the DaemonSets."""
    prepare(site, HOST)
    machine = site.machine(HOST)
    install_launcher(machine, LABELS, programs=("kubectl", "kube-proxy"))
    apply(site)
    return machine


def apply(site: Site) -> None:
    """Apply the DaemonSets of flannel and kube-proxy."""
    assert site.world.cluster is not None
    cluster = ClusterSettings(
        api_server=site.world.cluster.server.removeprefix("https://"),
        conf_dir=r"C:\etc\cni\net.d",
        install_dir=r"C:\k",
        folders={"flannel_dir": r"C:\opt\flannel", "bin_dir": r"C:\opt\cni\bin"},
        images={"host_process_image": BASE},
        cluster_cidr="10.244.0.0/16",
    )
    api = dynamic.DynamicClient(cluster_api(site))
    for one in samples.network().cluster_objects(cluster):
        api.resources.get(api_version=one["apiVersion"], kind=one["kind"]).create(
            body=one, namespace=one["metadata"].get("namespace")
        )


@pytest.fixture(scope="module")
def node(site: Site, machine: Machine) -> Any:
    """Run nothing but `kubeadm join`, and return the node."""
    return client.CoreV1Api(cluster_api(site)).read_node(join_alone(site, machine))


def test_the_node_has_the_labels_of_the_image(node: Any) -> None:
    assert LABELS.items() <= node.metadata.labels.items()


def test_the_pods_run_without_anything_that_a_playbook_makes(site: Site, machine: Machine, node: Any) -> None:
    def running() -> set[str]:
        pods = client.CoreV1Api(cluster_api(site)).list_pod_for_all_namespaces().items
        return {
            pod.metadata.owner_references[0].name
            for pod in pods
            if pod.status.container_statuses and all(one.ready for one in pod.status.container_statuses)
        }

    wait_for(lambda: running() == {"kube-flannel-windows", "kube-proxy-windows"}, "the pods run", 60)
    text = yaml.safe_load(machine.files.read_text(r"C:\k\kube-proxy\config.yaml"))
    assert text["hostnameOverride"] == node.metadata.name
    assert text["winkernel"]["sourceVip"] == f"{node.spec.pod_cidr.rpartition('.')[0]}.254"


# Unit tests of join_info refuse it, too.
@pytest.mark.variant
def test_a_machine_that_is_not_prepared_does_not_join(start_site: SiteFactory) -> None:
    site = start_site({"name": "plain"}, cluster={"kind": "memory"})
    before = state_of(site.machine("plain"))
    run = site.run("join_nodes.yml").expect(2)
    assert "prepared" in run.messages("plain")
    assert state_of(site.machine("plain")) == before
