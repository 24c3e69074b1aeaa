# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What cluster_info reads of Calico, over HTTP."""

from __future__ import annotations

import typing as t

import pytest
from unit.calico_facts import facts, installation, pool
from unit.fake_cluster import FakeCluster, add_node, run_module
from unit.plugins.modules.test_cluster_info_module import discoverable

from ansible_collections.winkube.node.plugins.modules import cluster_info

pytestmark = pytest.mark.waits

CRDS = "apis/crd.projectcalico.org/v1"


def calico(cluster: FakeCluster, *networks: str) -> dict[str, t.Any]:
    discoverable(cluster)
    found: dict[str, t.Any] = run_module(cluster_info, cluster, networks=list(networks or ["calico"]))["calico"]
    return found


def daemon_set(
    cluster: FakeCluster, name: str = "kube-system/calico-node", *, image: str | None = None, **variables: str
) -> None:
    """Add a DaemonSet whose container calico-node has these variables."""
    namespace, short = name.split("/")
    env = [{"name": key, "value": value} for key, value in variables.items()]
    env.append({"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
    node = {"name": "calico-node", "env": env, **({} if image is None else {"image": image})}
    other = {"name": "other", "image": "site/other:v9.9.9", "env": [{"name": "X", "value": "1"}]}
    spec = {"containers": [other, node]}
    cluster.add(f"apis/apps/v1/namespaces/{namespace}/daemonsets/{short}", spec={"template": {"spec": spec}})


def kubespray(cluster: FakeCluster) -> None:
    """Add the objects of a cluster that kubespray created with its defaults, and strict affinity."""
    daemon_set(cluster, FELIX_VXLANVNI="4096", FELIX_VXLANPORT="4789")
    data = {"cluster_type": "kubespray", "calico_backend": "vxlan", "typha_service_name": "none"}
    cluster.add("api/v1/namespaces/kube-system/configmaps/calico-config", data=data)
    cluster.add(
        f"{CRDS}/clusterinformations/default", spec={"calicoVersion": "v3.31.5", "clusterType": "kubespray,k8s"}
    )
    cluster.add(f"{CRDS}/felixconfigurations/default", spec={"vxlanEnabled": True, "bpfEnabled": False})
    cluster.add(f"{CRDS}/ipamconfigs/default", spec={"strictAffinity": True, "autoAllocateBlocks": True})
    spec = {"cidr": "10.233.64.0/18", "ipipMode": "Never", "vxlanMode": "Always", "natOutgoing": True}
    cluster.objects[f"{CRDS}/ippools"] = {"items": [{"metadata": {"name": "default-pool"}, "spec": spec}]}


def test_a_cluster_without_calico(cluster: FakeCluster) -> None:
    assert calico(cluster) == {}


def test_only_the_networks_of_the_run_are_read(cluster: FakeCluster) -> None:
    kubespray(cluster)
    assert calico(cluster, "flannel") == {}


def test_a_cluster_of_kubespray(cluster: FakeCluster) -> None:
    kubespray(cluster)
    assert calico(cluster) == facts()


def test_objects_that_do_not_exist(cluster: FakeCluster) -> None:
    daemon_set(cluster)
    found = calico(cluster)
    assert found == facts(
        version="", cluster_type="", backend="", strict_affinity=False, has_ipam_configuration=False, pools=[],
        vxlan={"vni": None, "port": None, "mtu": None},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("quay.io/calico/node:v3.32.2", "v3.32.2"),
        ("registry.site:5000/calico/node:v3.32.2@sha256:0123", "v3.32.2"),
        ("calico/node:v3.32.2-arm64", "v3.32.2"),
        # Without a version in the tag, the version is the one that calico-node recorded.
        ("registry.site:5000/calico/node@sha256:0123", "v3.31.5"),
        ("registry.v3.32.2:5000/calico/node", "v3.31.5"),
        ("calico/node:master", "v3.31.5"),
        ("calico/node:v3.32", "v3.31.5"),
        (None, "v3.31.5"),
    ],
)
def test_the_version_of_calico_is_that_of_the_linux_nodes(
    cluster: FakeCluster, image: str | None, version: str
) -> None:
    kubespray(cluster)
    daemon_set(cluster, image=image)
    assert calico(cluster)["version"] == version


def test_variables_of_the_daemon_set_win(cluster: FakeCluster) -> None:
    kubespray(cluster)
    daemon_set(cluster, FELIX_VXLANVNI="5000", FELIX_VXLANMTU="1400", FELIX_BPFENABLED="True", FELIX_TYPHACAFILE="/ca")
    cluster.add(
        f"{CRDS}/felixconfigurations/default", spec={"vxlanVNI": 1, "vxlanPort": 8472, "wireguardEnabled": True}
    )
    cluster.add("api/v1/namespaces/kube-system/configmaps/calico-config", data={"typha_service_name": "calico-typha"})
    found = calico(cluster)
    assert found["vxlan"] == {"vni": 5000, "port": 8472, "mtu": 1400}
    assert found["felix"] == {"bpfEnabled": True, "wireguardEnabled": True, "wireguardEnabledV6": False}
    assert (found["typha"], found["typha_secure"]) == ("calico-typha", True)


def test_etcd_host_local_and_empty_modes(cluster: FakeCluster) -> None:
    daemon_set(cluster, ETCD_ENDPOINTS="https://etcd:2379")
    data = {"cni_network_config": '{"ipam": {"type": "host-local"}}'}
    cluster.add("api/v1/namespaces/kube-system/configmaps/calico-config", data=data)
    item = {"metadata": {"name": "p"}, "spec": {"cidr": "10.0.0.0/8", "disabled": True}}
    cluster.objects[f"{CRDS}/ippools"] = {"items": [item]}
    found = calico(cluster)
    assert found["has_etcd"]
    assert found["uses_host_local"]
    assert found["pools"] == [pool(name="p", cidr="10.0.0.0/8", vxlan="Never", disabled=True)]


@pytest.mark.parametrize(("labels", "owner"), [({}, "other"), ({"winkube.node/revision": "1"}, "winkube")])
def test_who_applied_the_daemon_set_for_windows(cluster: FakeCluster, labels: dict[str, str], owner: str) -> None:
    kubespray(cluster)
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    path = "apis/apps/v1/namespaces/kube-system/daemonsets/calico-node-windows"
    cluster.add(path, spec={"template": template})
    assert calico(cluster)["windows_daemon_set"] == owner


@pytest.mark.parametrize(
    ("namespace", "labels", "former"),
    [
        ("calico-system", {"winkube.node/revision": "1"}, True),
        ("calico-system", {}, False),
        # Beside manifests, this is the DaemonSet that runs Calico on Windows nodes.
        ("kube-system", {"winkube.node/revision": "1"}, False),
    ],
)
def test_the_daemon_set_from_before_the_operator(
    cluster: FakeCluster, namespace: str, labels: dict[str, str], former: bool
) -> None:
    daemon_set(cluster, f"{namespace}/calico-node")
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    path = "apis/apps/v1/namespaces/kube-system/daemonsets/calico-node-windows"
    cluster.add(path, spec={"template": template})
    assert calico(cluster)["has_former_daemon_set"] is former


@pytest.mark.parametrize(("managed", "pods"), [(False, ["calico"]), (True, [])])
def test_the_operator_replaces_its_pods_itself(cluster: FakeCluster, managed: bool, pods: list[str]) -> None:
    discoverable(cluster)
    daemon_set(cluster)
    if managed:
        cluster.add("apis/operator.tigera.io/v1/installations/default", spec={"calicoNetwork": {"bgp": "Disabled"}})
    add_node(cluster, "a")
    labels = {"k8s-app": "calico-node-windows", "winkube.node/revision": "1"}
    cluster.add("api/v1/namespaces/kube-system/pods/calico", metadata={"labels": labels}, spec={"nodeName": "a"})
    found = run_module(cluster_info, cluster, networks=["calico"], purposes=["read"])
    assert [pod["name"] for pod in found["nodes"]["a"]["network_pods"]] == pods


def test_the_tigera_operator(cluster: FakeCluster) -> None:
    daemon_set(cluster, "calico-system/calico-node")
    network = {"windowsDataplane": "HNS", "linuxDataplane": "Iptables", "bgp": "Disabled"}
    spec = {"serviceCIDRs": ["10.233.0.0/18"], "calicoNetwork": network}
    cluster.add("apis/operator.tigera.io/v1/installations/default", spec=spec)
    data = {"KUBERNETES_SERVICE_HOST": "10.3.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    path = "api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint"
    cluster.add(path, data=data)
    found = calico(cluster)
    assert found["namespace"] == "calico-system"
    assert found["installation"] == installation()
    cluster.add(path, data={})
    folders = {"cniBinDir": "/k/bin", "cniConfigDir": ""}
    cluster.add(
        "apis/operator.tigera.io/v1/installations/default", spec={"cni": {"type": "AmazonVPC"}, "windowsNodes": folders}
    )
    assert calico(cluster)["installation"] == installation(
        windows_dataplane="Disabled", service_cidrs=[], cni_type="AmazonVPC", api_server="",
        windows_folders={**installation()["windows_folders"], "cniBinDir": "/k/bin"},
    )  # fmt: skip
