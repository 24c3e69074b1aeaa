# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Clusters with Calico: the objects that kubespray creates, and what the operator reports and renders."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, real_unavailable, start_cluster
from simulator.cluster.calico import CalicoInstallation
from simulator.cluster.calico.options import CalicoOptions

pytestmark = pytest.mark.waits

CRD = "/apis/crd.projectcalico.org/v1"
NETWORKS = {"pod_cidr": "10.233.64.0/18", "service_cidr": "10.233.0.0/18"}
DAEMON = "/apis/apps/v1/namespaces/calico-system/daemonsets/calico-node-windows"
Install = Callable[..., CalicoInstallation]


@pytest.fixture
def install() -> Iterator[Install]:
    """Yield a function that starts a cluster with Calico: `install(strict_affinity=True)`."""
    running: list[SimulatedCluster] = []

    def start(kind: str = "memory", **options: Any) -> CalicoInstallation:
        running.append(start_cluster(kind=kind, calico=options, **NETWORKS))  # type: ignore[arg-type]
        assert running[-1].calico is not None
        return running[-1].calico

    yield start
    for one in running:
        one.stop()


def wait_status(calico: CalicoInstallation, kind: str, text: str, name: str = "calico-windows") -> None:
    """Wait until the true condition of a TigeraStatus is of a kind, and its message contains a text."""

    def is_reached() -> bool:
        found, message = calico.status(name)
        return found == kind and text in message

    wait_for(is_reached, f"{name} is {kind}: {text}", 30)


def test_a_default_cluster_of_kubespray(install: Install) -> None:
    client = install(linux_nodes=1).client
    assert client.call("GET", f"{CRD}/ippools/default-pool")["spec"]["vxlanMode"] == "Always"
    felix = client.call("GET", f"{CRD}/felixconfigurations/default")["spec"]
    assert "vxlanVNI" not in felix
    assert client.call("GET", f"{CRD}/ipamconfigs/default")["spec"]["strictAffinity"] is False
    daemon = client.call("GET", "/apis/apps/v1/namespaces/kube-system/daemonsets/calico-node")
    pod = daemon["spec"]["template"]["spec"]
    variables = {item["name"]: item.get("value") for item in pod["containers"][0]["env"]}
    assert (variables["FELIX_VXLANVNI"], variables["FELIX_VXLANPORT"]) == ("4096", "4789")
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    data = client.call("GET", "/api/v1/namespaces/kube-system/configmaps/calico-config")["data"]
    assert data["calico_backend"] == "vxlan"
    assert client.find("/api/v1/namespaces/kube-system/services/kube-dns") is None
    service = client.call("GET", "/api/v1/namespaces/kube-system/services/coredns")
    assert service["spec"]["clusterIP"] == "10.233.0.3"
    kubelet = client.call("GET", "/api/v1/namespaces/kube-system/configmaps/kubelet-config")["data"]["kubelet"]
    assert "clusterDNS:\n- 169.254.25.10\n" in kubelet
    endpoint = client.call("GET", "/api/v1/namespaces/kube-system/configmaps/kubernetes-services-endpoint")
    assert endpoint["data"]["KUBERNETES_SERVICE_HOST"] == "localhost"
    (block,) = client.items(f"{CRD}/ipamblocks")
    assert (block["spec"]["affinity"], block["spec"]["cidr"]) == ("host:linux-1", "10.233.64.0/26")


def test_other_settings_of_kubespray(install: Install) -> None:
    client = install(
        backend="bird", vxlan_mode="Never", ipip_mode="Always", version="3.29.4", strict_affinity=None
    ).client
    data = client.call("GET", "/api/v1/namespaces/kube-system/configmaps/calico-config")["data"]
    assert (data["calico_backend"], data["cluster_type"]) == ("bird", "kubespray,bgp")
    assert client.call("GET", f"{CRD}/ippools/default-pool")["spec"]["ipipMode"] == "Always"
    assert client.find(f"{CRD}/ipamconfigs/default") is None
    daemon = client.call("GET", "/apis/apps/v1/namespaces/kube-system/daemonsets/calico-node")
    container = daemon["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "quay.io/calico/node:v3.29.4"
    assert "FELIX_VXLANVNI" not in [item["name"] for item in container["env"]]


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown Calico options: colour"):
        CalicoOptions.read({"colour": "red"})


@pytest.mark.parametrize("kind", ["memory", pytest.param("real", marks=pytest.mark.control_plane)])
def test_the_operator_waits_for_everything_that_windows_needs(install: Install, kind: str) -> None:
    if kind == "real" and (reason := real_unavailable()):
        pytest.skip(reason)
    calico = install(kind, install="operator", windows=True, service_cidrs=False)
    wait_status(calico, "Degraded", "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows")
    calico.patch_installation({"serviceCIDRs": ["10.233.0.0/18"]})
    wait_status(calico, "Degraded", "Invalid StrictAffinity, it must be set to 'true'")
    assert calico.client.find(DAEMON) is None
    calico.set_strict_affinity(True)
    wait_status(calico, "Available", "All Objects Available")

    pod = calico.client.call("GET", DAEMON)["spec"]["template"]["spec"]
    assert [item["name"] for item in pod["initContainers"]] == ["uninstall-calico", "install-cni"]
    assert [item["name"] for item in pod["containers"]] == ["felix", "node"]
    variables = {item["name"]: item.get("value") for item in pod["containers"][1]["env"]}
    assert (variables["CALICO_NETWORKING_BACKEND"], variables["VXLAN_VNI"]) == ("vxlan", "4096")
    assert variables["CNI_PLUGIN_TYPE"] == "Calico"
    generation = calico.client.call("GET", DAEMON)["metadata"]["generation"]
    time.sleep(1.0)
    assert calico.client.call("GET", DAEMON)["metadata"]["generation"] == generation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"services_endpoint": False},
            'Error reading services endpoint configmap: ConfigMap "kubernetes-services-endpoint" not found',
        ),
        (
            {"vxlan_mode": "CrossSubnet"},
            "IPv4 IPPool encapsulation VXLANCrossSubnet is not supported by Calico for Windows",
        ),
        (
            {"vxlan_mode": "Never", "ipip_mode": "Always"},
            "IPv4 IPPool encapsulation IPIP is not supported by Calico for Windows",
        ),
        ({"api_server": False}, "Waiting for IPAMConfiguration watch to be established"),
        (
            {"version": "3.30.5", "service_cidrs": False},
            "Installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows",
        ),
    ],
)
def test_the_operator_reports_what_is_wrong(install: Install, options: dict[str, Any], message: str) -> None:
    calico = install(install="operator", windows=True, strict_affinity=True, **options)
    wait_status(calico, "Degraded", message)
    assert calico.client.find(DAEMON) is None


def test_without_windows_the_operator_renders_nothing_for_it(install: Install) -> None:
    calico = install(install="operator", strict_affinity=True)
    wait_status(calico, "Available", "", "calico")
    assert calico.status() == ("", "")
    calico.patch_installation(
        {"calicoNetwork": {"windowsDataplane": "HNS"}, "serviceCIDRs": [NETWORKS["service_cidr"]]}
    )
    wait_status(calico, "Available", "")
    assert calico.client.find(DAEMON) is not None
    spec = calico.client.call("GET", "/apis/operator.tigera.io/v1/installations/default")["spec"]
    assert spec["windowsNodes"]["cniConfigDir"] == "/etc/cni/net.d"
