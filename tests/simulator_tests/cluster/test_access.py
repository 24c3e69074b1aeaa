# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The checks of a cluster before nodes are changed, by users with different rights, on both kinds of cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from simulator_tests.cluster.node_client import Client

from ansible_collections.winkube.node.plugins.module_utils.cluster_access import NEEDS, missing
from ansible_collections.winkube.node.plugins.module_utils.cluster_client import Cluster as ClusterClient
from ansible_collections.winkube.node.plugins.module_utils.cluster_state import flannel
from ansible_collections.winkube.node.plugins.modules import cluster_info
from simulator.cluster import SimulatedCluster

RBAC = "/apis/rbac.authorization.k8s.io/v1"
User = Callable[..., "Module"]


class Module:
    """The part of AnsibleModule that the modules use."""

    def __init__(self, kubeconfig: Path, purposes: tuple[str, ...] = ()) -> None:
        self.no_log_values: set[str] = set()
        self.params: dict[str, Any] = {"kubeconfig": str(kubeconfig), "context": None, "nodes": None, "verify_ca": True}
        self.params["purposes"] = list(purposes)
        self.params["networks"] = []

    def fail_json(self, **result: Any) -> NoReturn:
        raise AssertionError(result["msg"])


@pytest.fixture
def user(cluster: SimulatedCluster, admin: Client, tmp_path: Path) -> Iterator[User]:
    """Yield a function that creates a ServiceAccount with the rights for some purposes; delete the accounts."""
    made: list[str] = []

    def make(*granted: str, purposes: tuple[str, ...] = ()) -> Module:
        name = f"user-{uuid.uuid4().hex[:8]}"
        account = f"/api/v1/namespaces/default/serviceaccounts/{name}"
        admin.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        role = {"metadata": {"name": name}, "rules": [rule(need) for one in granted for need in NEEDS[one]]}
        code, body = admin.request("POST", f"{RBAC}/clusterroles", role)
        assert code == 201, body
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
        admin.request("POST", f"{RBAC}/clusterrolebindings", binding)
        made.extend([account, f"{RBAC}/clusterroles/{name}", f"{RBAC}/clusterrolebindings/{name}"])
        code, body = admin.request("POST", f"{account}/token", {"spec": {"expirationSeconds": 3600}})
        assert code == 201, body
        config = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {"token": body["status"]["token"]}
        path = tmp_path / name
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return Module(path, purposes)

    yield make
    for path in made:
        admin.request("DELETE", path)


def rule(need: Any) -> dict[str, Any]:
    """Return the rule of a ClusterRole that allows a need, restricted to its name unless it includes `create`."""
    names = {"resourceNames": [need.name]} if need.name and "create" not in need.verbs else {}
    return {"apiGroups": [need.group], "resources": [need.resource], "verbs": list(need.verbs)} | names


def test_an_administrator_lacks_nothing(cluster: SimulatedCluster) -> None:
    assert missing(ClusterClient(Module(cluster.kubeconfig)), NEEDS) == []


def test_all_missing_rights_of_a_user_are_listed(user: User) -> None:
    module = user()
    lacking = missing(ClusterClient(module), NEEDS)
    for text in (
        "create, delete secrets in namespace kube-system (to create and delete bootstrap tokens)",
        "get, create, patch daemonsets.apps kube-proxy-windows in namespace kube-system",
        "get configmaps cluster-info in namespace kube-public (to find the control plane)",
        "create pods/eviction (to evict pods)",
        "list nodes",
    ):
        assert any(line.startswith(text) for line in lacking), (text, lacking)


@pytest.mark.parametrize("purpose", NEEDS)
def test_the_rights_of_a_purpose_suffice_for_this_purpose_only(user: User, purpose: str) -> None:
    client = ClusterClient(user(purpose))
    assert missing(client, [purpose]) == []
    assert missing(client, ["drain" if purpose != "drain" else "join"])


def test_the_rights_to_read_suffice_for_cluster_info(user: User) -> None:
    module = user("read", purposes=("read",))
    found = cluster_info.read(module, ClusterClient(module))
    assert found["pod_subnet"] == "10.244.0.0/16"
    assert found["kubernetes_version"] == f"v{found['node_version']}"


def test_a_run_without_all_rights_is_refused_with_the_missing_ones(user: User) -> None:
    module = user("read", purposes=("read", "join", "tokens"))
    with pytest.raises(AssertionError, match="Grant these permissions:\n") as refused:
        cluster_info.read(module, ClusterClient(module))
    lines = str(refused.value).splitlines()[1:]
    assert all(line.startswith("- ") for line in lines)
    assert [line for line in lines if "secrets" in line]
    assert not [line for line in lines if "cluster-info" in line]


@pytest.mark.parametrize(
    ("space", "text"),
    [
        ("kube-flannel", '{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}'),
        ("kube-system", "no JSON"),
        ("kube-system", "[]"),
    ],
)
def test_flannels_settings_are_found_in_both_namespaces(
    cluster: SimulatedCluster, admin: Client, space: str, text: str
) -> None:
    admin.request("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    maps = f"/api/v1/namespaces/{space}/configmaps"
    body = {"metadata": {"name": "kube-flannel-cfg"}, "data": {"net-conf.json": text}}
    code, answer = admin.request("POST", maps, body)
    assert code == 201, answer
    try:
        found = flannel(ClusterClient(Module(cluster.kubeconfig)))
    finally:
        admin.request("DELETE", f"{maps}/kube-flannel-cfg")
    expected = {"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}} if "vxlan" in text else {}
    assert found == {"config_map": f"{space}/kube-flannel-cfg", "net_conf": expected}


def test_a_cluster_without_flannel_has_no_flannel_settings(cluster: SimulatedCluster) -> None:
    assert flannel(ClusterClient(Module(cluster.kubeconfig))) == {}


@pytest.mark.parametrize(
    ("server", "node"),
    [
        ("v1.34.4", "1.34.4"),
        ("v1.34.4+k3s1", "1.34.4"),
        ("v1.31.2-gke.1354000", "1.31.2"),
        ("v1.34.4-eks-1a2b3c", "1.34.4"),
        ("v1.38.0-rc.1", "1.38.0-rc.1"),
        ("", ""),
    ],
)
def test_the_version_for_nodes_is_upstreams(server: str, node: str) -> None:
    assert cluster_info.node_version(server) == node
