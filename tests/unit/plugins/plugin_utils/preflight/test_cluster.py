# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A host's variables that conflict with the cluster."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import cluster as checks
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.host import HostVariables
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import Version, skew_problem

NODE = HostVariables(
    kubernetes="1.36.2",
    runtime="containerd",
    containerd="2.3.7",
    cni_plugin="flannel",
    backend="host-gw",
    pods="10.233.64.0/18",
    services="10.233.0.0/18",
    api_server="",
    hosts={},
    address="10.3.0.4",
)
CLUSTER: dict[str, t.Any] = {
    "kubernetes_version": "v1.36.2",
    "pod_subnet": "10.233.64.0/18",
    "service_subnet": "10.233.0.0/18",
    "api_server": "10.3.0.1:6443",
    "flannel": {},
    "unbound_daemon_sets": [],
}


def problems_of(cluster: t.Mapping[str, t.Any] | None = None, **node: t.Any) -> list[str]:
    """Return the problems of NODE for CLUSTER, after changes to both."""
    return [str(one) for one in checks.problems(dataclasses.replace(NODE, **node), {**CLUSTER, **(cluster or {})})]


def test_a_host_that_fits_has_no_problem() -> None:
    assert problems_of() == []
    assert problems_of({"kubernetes_version": "v1.36.4+k3s1"}) == []
    assert problems_of({"kubernetes_version": "v1.36.4-eks-1a2b3c"}) == []


@pytest.mark.parametrize(
    ("kubelet", "server", "message"),
    [
        ("1.34.4", "1.34.0", None),
        ("1.34.0", "1.37.1", None),
        ("1.33.9", "1.37.1", "expected 1.34 to 1.37"),
        ("1.35.0", "1.34.4", "expected 1.31 to 1.34"),
        ("2.0.0", "1.37.1", "expected 1.34 to 1.37"),
    ],
)
def test_the_version_skew_policy(kubelet: str, server: str, message: str | None) -> None:
    problem = skew_problem(Version.parse(kubelet), Version.parse(server))
    assert (message or "") in (problem or "")
    assert (problem is None) is (message is None)


def test_a_kubelet_newer_than_the_api_server_is_refused() -> None:
    (problem,) = problems_of({"kubernetes_version": "v1.34.4"}, kubernetes="1.37.1")
    for text in ("kubernetes_node_version (from kube_version)", "'1.37.1'", "1.34.4", "1.31 to 1.34"):
        assert text in problem


@pytest.mark.parametrize("runtime", ["containerd", "moby"])
def test_a_cluster_whose_version_is_not_supported_is_refused(runtime: str) -> None:
    (problem,) = problems_of({"kubernetes_version": "v1.29.1"}, kubernetes="1.29.1", runtime=runtime)
    assert "1.30 to 1.37" in problem


@pytest.mark.parametrize(
    ("cluster", "node"),
    [
        ({"pod_subnet": "10.233.64.0/18,fd00::/56", "service_subnet": "10.233.0.0/18,fd01::/112"}, {}),
        # A cluster that does not publish it, and a network other than flannel.
        ({"pod_subnet": ""}, {"pods": "10.1.0.0/16"}),
        ({}, {"pods": "10.1.0.0/16", "cni_plugin": "none"}),
    ],
)
def test_networks_that_may_be(cluster: dict[str, t.Any], node: dict[str, t.Any]) -> None:
    assert problems_of(cluster, **node) == []


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ({"pods": "10.244.0.0/16"}, ["kube_pods_subnet", "10.244.0.0/16", "10.233.64.0/18"]),
        ({"services": "10.96.0.0/12"}, ["kube_service_addresses", "10.96.0.0/12", "10.233.0.0/18"]),
    ],
)
def test_networks_that_are_not_the_clusters_are_refused(node: dict[str, t.Any], named: list[str]) -> None:
    (problem,) = problems_of(**node)
    for text in named:
        assert text in problem


def flannel(**backend: object) -> dict[str, t.Any]:
    """Return a cluster whose Linux nodes use flannel with a backend."""
    conf = {"Network": "10.233.64.0/18", "Backend": backend}
    return {"flannel": {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": conf}}


@pytest.mark.parametrize(
    ("backend", "own"),
    [({"Type": "host-gw"}, "host-gw"), ({"Type": "vxlan", "VNI": 4096, "Port": 4789}, "vxlan")],
)
def test_valid_flannel_settings_have_no_problem(backend: dict[str, object], own: str) -> None:
    assert problems_of(flannel(**backend), backend=own) == []


@pytest.mark.parametrize(
    ("backend", "own", "named"),
    [
        # The values of flannel's own manifest, and of kubespray.
        ({"Type": "vxlan"}, "host-gw", ["cni_flannel_backend (from flannel_backend_type)", "'host-gw'", "vxlan"]),
        ({"Type": "host-gw"}, "vxlan", ["flannel_backend_type", "'vxlan'", "expected host-gw"]),
        ({"Type": "vxlan"}, "vxlan", ["VNI 1, Port 8472", '"VNI": 4096, "Port": 4789', "flannel_vxlan_vni"]),
        ({"Type": "vxlan", "VNI": 4096}, "vxlan", ["VNI 4096, Port 8472"]),
        ({"Type": "wireguard"}, "vxlan", ["'wireguard'", "expected host-gw or vxlan"]),
        ({}, "vxlan", ["Backend.Type", "''"]),
    ],
)
def test_another_flannel_is_refused(backend: dict[str, object], own: str, named: list[str]) -> None:
    (problem,) = problems_of(flannel(**backend), backend=own)
    for text in ("kube-flannel/kube-flannel-cfg", *named):
        assert text in problem
    assert problems_of(flannel(**backend), backend=own, cni_plugin="none") == []


def test_flannels_network_is_the_pods() -> None:
    other = {"Network": "10.244.0.0/16", "Backend": {"Type": "host-gw"}}
    (problem,) = problems_of({"flannel": {"config_map": "a/b", "net_conf": other}})
    assert "10.244.0.0/16" in problem


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:6443", "localhost:6443", "[::1]:6443", "LOCALHOST:6443", "127.1.2.3:6443"]
)
def test_an_endpoint_on_loopback_is_refused(endpoint: str) -> None:
    (problem,) = problems_of({"api_server": endpoint})
    for text in ("node_join_api_server", endpoint, "HOST:PORT"):
        assert text in problem
    assert problems_of({"api_server": endpoint}, api_server="k8s.example.com:6443") == []
    # Simulated servers run on the machine of their control plane.
    assert problems_of({"api_server": endpoint}, address="127.50.0.22") == []


def test_a_hosts_entry_must_not_be_a_loopback_address() -> None:
    cluster = {"api_server": "lb-apiserver.kubernetes.local:6443"}
    assert problems_of(cluster) == problems_of(cluster, hosts={"lb-apiserver.kubernetes.local": "10.3.0.9"}) == []
    assert problems_of(cluster, hosts={"lb-apiserver.kubernetes.local": "127.0.0.1"})


@pytest.mark.parametrize(
    "text",
    ["k8s.example.com", "https://k8s.example.com:6443", "k8s:port", "k8s:0", "k8s:65536", ":6443", "fd00::1:6443"],
)
def test_an_invalid_endpoint_is_refused(text: str) -> None:
    (problem,) = problems_of(api_server=text)
    assert "node_join_api_server" in problem
    assert text in problem


@pytest.mark.parametrize(
    ("endpoint", "hosts", "name"),
    [
        ("10.3.0.1:6443", {}, ""),
        ("[fd00::1]:6443", {}, ""),
        ("K8s.example.com:6443", {}, "k8s.example.com"),
        ("k8s.example.com:6443", {"k8s.example.com": "10.3.0.1"}, ""),
        ("", {}, ""),
    ],
)
def test_which_name_a_node_has_to_resolve(endpoint: str, hosts: dict[str, str], name: str) -> None:
    assert checks.name_to_resolve(endpoint, hosts) == name


@pytest.mark.parametrize(
    ("proxy", "given", "kubeconfig", "reported"),
    [
        ("http://proxy:3128", {"cni_pods_subnet"}, "", True),
        ("http://proxy:3128", set(), "/k", False),
        ("http://proxy:3128", {"cni_pods_subnet", "cni_services_subnet"}, "", False),
        ("", set(), "", False),
    ],
)
def test_a_no_proxy_without_the_clusters_networks_is_reported(
    proxy: str, given: set[str], kubeconfig: str, reported: bool
) -> None:
    assert bool(checks.proxy_warnings(proxy, given, kubeconfig)) is reported


LOCAL = {"cluster_dns": ["169.254.25.10"]}


@pytest.mark.parametrize(
    ("cluster", "node"), [({"cluster_dns": ["10.233.0.3"]}, {}), (LOCAL, {"cluster_dns": ("10.233.0.3",)})]
)
def test_dns_that_windows_nodes_reach(cluster: dict[str, t.Any], node: dict[str, t.Any]) -> None:
    assert problems_of(cluster, **node) == []


def test_dns_that_only_linux_nodes_serve_is_refused() -> None:
    (problem,) = problems_of(LOCAL)
    for text in ("kube-system/kubelet-config", "169.254.25.10", "kube-dns or coredns", "kubernetes_node_cluster_dns"):
        assert text in problem


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ({"address": "10.233.64.9"}, ["ansible_host", "the pods, 10.233.64.0/18"]),
        ({"address": "10.233.0.9"}, ["ansible_host", "the services, 10.233.0.0/18"]),
    ],
)
def test_a_node_inside_the_clusters_networks_is_refused(node: dict[str, t.Any], named: list[str]) -> None:
    (problem,) = problems_of(**node)
    for text in named:
        assert text in problem
    assert problems_of(**node, cni_plugin="none") == []


@pytest.mark.parametrize(
    ("plugin", "backend", "message"),
    [
        ("sdnbridge", "host-gw", None),
        (
            "sdnbridge",
            "vxlan",
            "cni_plugin (from kube_network_plugin): expected flannel's backend host-gw on Linux nodes",
        ),
        ("sdnoverlay", "host-gw", "expected flannel's backend vxlan on Linux nodes, got 'sdnoverlay'"),
    ],
)
def test_microsofts_plugins_need_flannel_on_linux_nodes(plugin: str, backend: str, message: str | None) -> None:
    conf = {"Network": "10.233.64.0/18", "Backend": {"Type": backend}}
    flannel = {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": conf}
    problems = problems_of({"flannel": flannel}, cni_plugin=plugin)
    assert len(problems) == (0 if message is None else 1)
    assert (message or "") in "".join(problems)


def test_a_version_from_the_cluster_is_compared_with_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    flannel = catalogue.network("flannel")
    older = dataclasses.replace(flannel.supported, kubernetes=catalogue.Span(oldest="1.30", newest="1.31"))
    known = {**catalogue.catalogue(), "flannel": dataclasses.replace(flannel, supported=older)}
    monkeypatch.setattr(checks, "catalogue", lambda: known)
    (problem,) = problems_of()
    assert problem.startswith("cni_plugin (from kube_network_plugin): expected Kubernetes 1.30 to 1.31 with flannel")
