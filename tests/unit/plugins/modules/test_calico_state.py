# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What cluster_info reads of Calico, over HTTP."""

from __future__ import annotations

import typing as t

import pytest
from unit.calico_facts import facts, installation, pool
from unit.fake_cluster import FakeCluster, run_module
from unit.plugins.modules.test_cluster_info_module import discoverable

from ansible_collections.winkube.node.plugins.modules import cluster_info

pytestmark = pytest.mark.waits

CRDS = "apis/crd.projectcalico.org/v1"


def calico(cluster: FakeCluster, *networks: str) -> dict[str, t.Any]:
    discoverable(cluster)
    found: dict[str, t.Any] = run_module(cluster_info, cluster, networks=list(networks or ["calico"]))["calico"]
    return found


def daemon_set(cluster: FakeCluster, name: str = "kube-system/calico-node", **variables: str) -> None:
    """Add a DaemonSet whose container calico-node has these variables."""
    namespace, short = name.split("/")
    env = [{"name": key, "value": value} for key, value in variables.items()]
    env.append({"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
    spec = {
        "containers": [{"name": "calico-node", "env": env}, {"name": "other", "env": [{"name": "X", "value": "1"}]}]
    }
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
