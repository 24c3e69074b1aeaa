# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The complete result of cluster_info for a cluster over HTTP."""

from __future__ import annotations

import base64
import datetime
import re
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from unit import outcomes
from unit.fake_cluster import FakeCluster, add_node, run_module

from ansible_collections.winkube.node.plugins.module_utils import cluster_access, control_plane_info
from ansible_collections.winkube.node.plugins.modules import (
    cluster_info,
)
from simulator.machine import certificate_store

pytestmark = pytest.mark.waits


def facts(name: str, **more: t.Any) -> dict[str, t.Any]:
    """Return cluster_info's result for such a node."""
    found = {
        "ready": True,
        "pod_cidr": "10.0.1.0/24",
        "os": "",
        "version": "v1.37.0",
        "unschedulable": False,
        "cordon_owner": "",
        "addresses": [name, "192.0.2.5"],
        "internal_ip": "192.0.2.5",
        "labels": {},
        "network_runs_as": "",
        "pod_network": "",
        "overlay_address": "",
        "network_pods": [],
        "generation": "",
        "replacement": {},
    }
    return {**found, **more}


def config_map(cluster: FakeCluster, place: str, **data: str) -> None:
    namespace, _slash, name = place.partition("/")
    cluster.add(f"api/v1/namespaces/{namespace}/configmaps/{name}", data=data)


def certificate() -> x509.Certificate:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=9)
    return certificate_store.self_signed(x509.Name.from_rfc4514_string("CN=ca"), [], until)[0]


def discoverable(cluster: FakeCluster) -> str:
    """Publish the address of the control plane in the cluster, and return the CA."""
    pem = certificate().public_bytes(control_plane_info.Encoding.PEM)
    entry = {"server": "https://k8s.example:6443", "certificate-authority-data": base64.b64encode(pem).decode()}
    text = f"clusters:\n- cluster: {entry}\n"
    config_map(cluster, "kube-public/cluster-info", kubeconfig=text)
    return pem.decode()


def test_information_of_a_new_cluster(cluster: FakeCluster) -> None:
    ca = discoverable(cluster)
    found = run_module(cluster_info, cluster)
    assert re.fullmatch("sha256:[0-9a-f]{64}", found["ca_cert_hash"])
    assert found == {
        "changed": False,
        "api_server": "k8s.example:6443",
        "ca_cert_hash": control_plane_info.ca_hash(ca.encode()),
        "ca_certificate": ca,
        # This server refuses requests without credentials.
        "cluster_info_public": False,
        "kubernetes_version": "v1.37.1",
        "node_version": "1.37.1",
        "flannel": {},
        "calico": {},
        "cluster_name": "kubernetes",
        "pod_subnet": "",
        "service_subnet": "",
        "dns_domain": "cluster.local",
        "cluster_dns": [],
        "dns_service": "",
        "unbound_daemon_sets": [],
        "foreign_daemon_sets": [],
        "nodes": {},
    }
    assert cluster.asked == []


@pytest.mark.parametrize(("status", "public"), [(200, True), (401, False), (403, False), (404, True), (500, True)])
def test_cluster_info_is_public_if_it_can_be_read_without_credentials(
    cluster: FakeCluster, status: int, public: bool
) -> None:
    discoverable(cluster)
    cluster.anonymous_status = status
    assert run_module(cluster_info, cluster)["cluster_info_public"] is public


def test_information_of_a_cluster_with_everything(cluster: FakeCluster) -> None:
    discoverable(cluster)
    cluster.objects["version"] = {"gitVersion": "v1.36.4+k3s1"}
    networking = "{podSubnet: 10.0.0.0/16, serviceSubnet: 10.1.0.0/16, dnsDomain: site.example}"
    kubeadm = f"clusterName: prod\nnetworking: {networking}\n"
    config_map(cluster, "kube-system/kubeadm-config", ClusterConfiguration=kubeadm)
    config_map(cluster, "kube-system/kubelet-config", kubelet="clusterDNS: [10.1.0.10]")
    config_map(cluster, "kube-flannel/kube-flannel-cfg", **{"net-conf.json": '{"Network": "10.0.0.0/16"}'})
    for name, spec in (
        ("any", {}),
        ("linux", {"nodeSelector": {"kubernetes.io/os": "linux"}}),
        ("affine", {"affinity": {"nodeAffinity": {"x": [{"key": "kubernetes.io/os"}]}}}),
    ):
        cluster.add(f"apis/apps/v1/namespaces/site/daemonsets/{name}", spec={"template": {"spec": spec}})
    labels = {
        "kubernetes.io/os": "windows",
        "winkube.node/network-runs-as": "service",
        "winkube.node-restriction.kubernetes.io/generation": "g1",
    }
    record = '{"name": "a-g2", "generation": "g2", "old": ""}'
    mark = '{"by": "patch_nodes", "on": "me", "since": "now"}'
    annotations = {"winkube.node/cordoned": mark, "winkube.node/replaced-by": record}
    add_node(cluster, "a", metadata={"labels": labels, "annotations": annotations},
             spec={"podCIDR": "10.0.1.0/24", "unschedulable": True})  # fmt: skip
    add_node(cluster, "b", spec={}, status={})
    images = {"containers": [{"image": "flannel:1"}], "nodeName": "a"}
    for namespace, app, name in (
        ("kube-flannel", {"app": "flannel-windows", "winkube.node/revision": "r1"}, "f"),
        ("kube-system", {"k8s-app": "kube-proxy-windows"}, "p"),
        ("kube-system", {"k8s-app": "other"}, "o"),
    ):
        owners = [{"kind": "DaemonSet" if name == "f" else "Job", "name": "owner", "controller": True}]
        metadata = {"labels": app, "ownerReferences": owners}
        cluster.add(f"api/v1/namespaces/{namespace}/pods/{name}", metadata=metadata, spec=images)
    found = run_module(cluster_info, cluster, purposes=["read"])
    assert found == {
        **run_module(cluster_info, cluster),
        "nodes": found["nodes"],
        "kubernetes_version": "v1.36.4+k3s1",
        "node_version": "1.36.4",
        "flannel": {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": {"Network": "10.0.0.0/16"}},
        "cluster_name": "prod",
        "pod_subnet": "10.0.0.0/16",
        "service_subnet": "10.1.0.0/16",
        "dns_domain": "site.example",
        "cluster_dns": ["10.1.0.10"],
        "dns_service": "",
        "unbound_daemon_sets": [{"namespace": "site", "name": "any", "owner": "", "managers": {}}],
    }
    pods = [
        {"namespace": "kube-flannel", "name": "f", "revision": "r1", "daemon_set": "owner", "ready": False},
        {"namespace": "kube-system", "name": "p", "revision": "", "daemon_set": "", "ready": False},
    ]
    more = {"os": "windows", "unschedulable": True, "cordon_owner": "patch_nodes", "network_runs_as": "service"}
    more |= {"generation": "g1", "replacement": {"name": "a-g2", "generation": "g2", "old": ""}}
    more["labels"] = labels
    nothing = {"ready": False, "pod_cidr": "", "version": "", "addresses": [], "internal_ip": ""}
    assert found["nodes"] == {"a": facts("a", network_pods=pods, **more), "b": facts("b", **nothing)}
    assert list(run_module(cluster_info, cluster, nodes=["b"])["nodes"]) == ["b"]
    assert run_module(cluster_info, cluster)["nodes"]["a"]["network_pods"] == []


@pytest.mark.parametrize(
    ("place", "key", "text", "why"),
    [
        ("kube-system/kubeadm-config", "ClusterConfiguration", "networking: []",
         "networking: expected an object, got a list"),
        ("kube-system/kubelet-config", "kubelet", "clusterDNS: x", "clusterDNS: expected a list, got a string"),
        ("kube-system/kubelet-config", "kubelet", "clusterDNS: [1]", "clusterDNS[0]: expected a string, got a number"),
        ("kube-system/kubelet-config", "kubelet", "{", "expected YAML"),
    ],
)  # fmt: skip
def test_a_config_map_that_cannot_be_used_is_named(
    cluster: FakeCluster, place: str, key: str, text: str, why: str
) -> None:
    discoverable(cluster)
    config_map(cluster, place, **{key: text})
    message = f"the ConfigMap {place} of the cluster at {cluster.url} cannot be used: {key}: {why}"
    assert run_module(cluster_info, cluster) == {"failed": True, "msg": message}


def add_daemon_set(cluster: FakeCluster, place: str, *, revision: str) -> None:
    """Add a DaemonSet for Windows nodes, with this collection's mark if there is a revision."""
    namespace, name = place.split("/")
    labels = {"k8s-app": name, **({"winkube.node/revision": revision} if revision else {})}
    template = {"metadata": {"labels": labels}, "spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}}
    cluster.add(f"apis/apps/v1/namespaces/{namespace}/daemonsets/{name}", spec={"template": template})


def test_daemon_sets_of_others_with_known_names_are_listed(cluster: FakeCluster) -> None:
    discoverable(cluster)
    add_daemon_set(cluster, "kube-flannel/kube-flannel-windows", revision="a")
    for place in ("kube-system/calico-node-windows", "site/calico-node-windows"):
        add_daemon_set(cluster, place, revision="")
    assert run_module(cluster_info, cluster)["foreign_daemon_sets"] == ["kube-system/calico-node-windows"]


def test_the_right_to_remove_a_former_network_is_checked(cluster: FakeCluster) -> None:
    discoverable(cluster)
    add_daemon_set(cluster, "kube-flannel/kube-flannel-windows", revision="a")
    add_daemon_set(cluster, "kube-system/calico-node-windows", revision="")
    cluster.denied = lambda given: given["resourceAttributes"]["verb"] == "delete"
    found = run_module(cluster_info, cluster, purposes=["change_network"], networks=["azure"])
    why = "(to remove flannel when the network of Windows nodes changes)"
    account = "flannel-windows in namespace kube-flannel"
    assert found["missing_access"] == [
        f"delete daemonsets.apps kube-flannel-windows in namespace kube-flannel {why}",
        f"delete configmaps kube-flannel-windows in namespace kube-flannel {why}",
        f"delete clusterroles.rbac.authorization.k8s.io flannel-windows {why}",
        f"delete clusterrolebindings.rbac.authorization.k8s.io flannel-windows {why}",
        f"delete secrets {account} {why}",
        f"delete serviceaccounts {account} {why}",
    ]
    # Hosts with flannel keep it.
    assert not run_module(cluster_info, cluster, purposes=["change_network"], networks=["flannel"]).get("failed")


@pytest.mark.parametrize(("os", "is_needed"), [("windows", True), ("linux", False)])
def test_the_right_to_remove_the_account_of_services_is_checked(cluster: FakeCluster, os: str, is_needed: bool) -> None:
    discoverable(cluster)
    metadata = {"labels": {"kubernetes.io/os": os}, "annotations": {"flannel.alpha.coreos.com/backend-type": "vxlan"}}
    add_node(cluster, "a", metadata=metadata)
    cluster.denied = lambda given: given["resourceAttributes"]["verb"] == "delete"
    found = run_module(cluster_info, cluster, purposes=["change_network"], networks=["calico"])
    assert any("delete secrets flannel-windows" in one for one in found.get("missing_access", ())) is is_needed


@pytest.mark.parametrize("operator", [True, False])
def test_the_right_to_remove_what_the_operator_replaces_is_checked(cluster: FakeCluster, operator: bool) -> None:
    discoverable(cluster)
    add_daemon_set(cluster, f"{'calico' if operator else 'kube'}-system/calico-node", revision="")
    add_daemon_set(cluster, "kube-system/calico-node-windows", revision="a")
    if operator:
        cluster.add("apis/operator.tigera.io/v1/installations/default", spec={"calicoNetwork": {"bgp": "Disabled"}})
    cluster.denied = lambda given: given["resourceAttributes"]["verb"] == "delete"
    found = run_module(cluster_info, cluster, purposes=["change_network"], networks=["calico"])
    why = "(to remove Calico when the network of Windows nodes changes)"
    expected = [
        f"delete daemonsets.apps calico-node-windows in namespace kube-system {why}",
        f"delete configmaps cni-config-windows in namespace kube-system {why}",
    ]
    assert found.get("missing_access", []) == (expected if operator else [])


def test_missing_rights_of_the_kubeconfigs_user_are_listed(cluster: FakeCluster) -> None:
    cluster.denied = lambda spec: spec["resourceAttributes"]["resource"] in ("signers", "pods", "secrets")
    found = run_module(cluster_info, cluster, purposes=["join", "tokens", "approve", "drain"])
    lines = [
        "create, delete secrets in namespace kube-system (to create and delete bootstrap tokens)",
        (
            "approve signers.certificates.k8s.io kubernetes.io/kube-apiserver-client-kubelet "
            "(to approve certificate requests)"
        ),
        "get, list pods (to find a node's pods)",
        "create pods/eviction (to evict pods)",
    ]
    assert found == {
        "failed": True,
        "msg": f"the user of kubeconfig {cluster.kubeconfig} lacks permissions that this run needs in the cluster at "
        f"{cluster.url}. Grant these permissions:\n" + "\n".join(f"- {line}" for line in lines),
        "missing_access": lines,
    }
    asked = [one.body["spec"]["resourceAttributes"] for one in cluster.asked]
    assert {"verb": "create", "resource": "pods", "subresource": "eviction"} in asked
    assert {"verb": "create", "resource": "secrets", "namespace": "kube-system"} in asked
    # A role may be limited to names, except for objects that do not exist yet.
    signer = {"resource": "signers", "group": "certificates.k8s.io"}
    assert {"verb": "approve", **signer, "name": "kubernetes.io/kube-apiserver-client-kubelet"} in asked
    assert len(asked) == len({str(sorted(one.items())) for one in asked})


def test_a_cluster_that_is_not_reached_is_reported(cluster: FakeCluster, tmp_path: Path) -> None:
    found = run_module(cluster_info, cluster, context="gone")
    assert found["msg"].startswith("a request to the API server http://127.0.0.1:1 failed: MaxRetryError: ")
    found = run_module(cluster_info, cluster, kubeconfig=str(tmp_path / "none"))
    assert found["msg"].startswith(f"kubeconfig '{tmp_path}/none' cannot be used: ")
    cluster.objects["version"] = {}
    discoverable(cluster)
    words = "the response to GET /version cannot be used: gitVersion: expected a string, got nothing"
    message = f"a request to the API server {cluster.url} failed: {words}"
    assert run_module(cluster_info, cluster) == {"failed": True, "msg": message}
    cluster.fail("GET", "version", 200, b"<html>")
    assert run_module(cluster_info, cluster)["msg"].endswith("cannot be used: expected JSON, got a different format")
    cluster.fail("GET", "version", 403, {"message": "it quotes what was sent"})
    assert run_module(cluster_info, cluster)["msg"].endswith("failed: 403 Forbidden")


def test_the_rights_that_each_purpose_needs() -> None:
    found = {
        purpose: [f"{', '.join(need.verbs)} {cluster_access.describe(need)}" for need in needs]
        for purpose, needs in cluster_access.NEEDS.items()
    }
    outcomes.check("cluster/needs", found)


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ({"kube-dns": "10.1.0.10", "coredns": "10.1.0.3"}, "10.1.0.10"),
        ({"coredns": "10.1.0.3"}, "10.1.0.3"),
        ({"kube-dns": "None", "coredns": "10.1.0.3"}, "10.1.0.3"),
        ({}, ""),
    ],
)
def test_the_dns_service_replaces_an_address_that_only_linux_nodes_serve(
    cluster: FakeCluster, services: dict[str, str], expected: str
) -> None:
    discoverable(cluster)
    config_map(cluster, "kube-system/kubelet-config", kubelet="clusterDNS: [169.254.25.10]")
    for name, address in services.items():
        cluster.add(f"api/v1/namespaces/kube-system/services/{name}", spec={"clusterIP": address})
    found = run_module(cluster_info, cluster)
    assert (found["cluster_dns"], found["dns_service"]) == (["169.254.25.10"], expected)
