# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Preflight's messages about versions, networks, names, and conflicts with a cluster, in full."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit import outcomes

from ansible_collections.winkube.node.plugins.module_utils.addresses import is_loopback
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import (
    cluster,
    networks,
)
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as checks

URL = "https://dl.example/a.zip"
Values = dict[str, t.Any]


def texts(problems: t.Iterable[object]) -> list[str]:
    return [str(problem) for problem in problems]


NODE = cluster.HostVariables(
    kubernetes="1.36.2",
    runtime="containerd",
    containerd="2.3.7",
    cni_plugin="flannel",
    backend="vxlan",
    pods="10.233.64.0/18",
    services="10.233.0.0/18",
    api_server="",
    hosts={},
    address="192.0.2.4",
)
VXLAN = {"Type": "vxlan", "VNI": 4096, "Port": 4789}
FLANNEL = {"config_map": "kube-flannel/kube-flannel-cfg", "net_conf": {"Network": "10.233.64.0/18", "Backend": VXLAN}}
CLUSTER: Values = {
    "kubernetes_version": "v1.36.2",
    "pod_subnet": "10.233.64.0/18",
    "service_subnet": "10.233.0.0/18",
    "api_server": "192.0.2.1:6443",
    "flannel": FLANNEL,
}
CLUSTERS: dict[str, tuple[Values, Values]] = {
    "as it is": ({}, {}),
    "a version that is none": ({"kubernetes": "1.36"}, {}),
    "a cluster that says no version": ({}, {"kubernetes_version": None}),
    "a version with a suffix": ({}, {"kubernetes_version": "v1.36.2+k3s1"}),
    "too new": ({"kubernetes": "1.37.0"}, {}),
    "too old": ({"kubernetes": "1.31.0"}, {"kubernetes_version": "v1.37.1"}),
    "a runtime that does not fit": ({"containerd": "2.9.0"}, {}),
    "Docker, whose version does not matter": ({"runtime": "moby", "containerd": "2.9.0"}, {}),
    "Docker and a version that nobody supports": (
        {"runtime": "moby", "kubernetes": "1.20.0"},
        {"kubernetes_version": "v1.20.0"},
    ),
    "other networks": ({"pods": "10.0.0.0/16", "services": "10.1.0.0/16"}, {"flannel": None}),
    "one of two networks": ({}, {"pod_subnet": "fd00::/56,10.233.64.0/18"}),
    "networks of another plugin": ({"pods": "10.0.0.0/16", "cni_plugin": "none"}, {}),
    "a cluster that says no networks": ({"pods": "x"}, {"pod_subnet": "", "service_subnet": None, "flannel": {}}),
    "another backend": ({"backend": "host-gw"}, {}),
    "a backend that Windows does not have": (
        {},
        {"flannel": {**FLANNEL, "net_conf": {"Backend": {"Type": "wireguard"}}}},
    ),
    "a backend that nobody knows": ({}, {"flannel": {"config_map": "a/b"}}),
    "vxlan as on Linux": ({}, {"flannel": {**FLANNEL, "net_conf": {"Backend": {"Type": "vxlan"}}}}),
    "vxlan with another VNI": ({}, {"flannel": {**FLANNEL, "net_conf": {"Backend": {**VXLAN, "VNI": 5}}}}),
    "vxlan with another port": ({}, {"flannel": {**FLANNEL, "net_conf": {"Backend": {**VXLAN, "Port": 5}}}}),
    "host-gw with another VNI": (
        {"backend": "host-gw"},
        {"flannel": {**FLANNEL, "net_conf": {"Backend": {"Type": "host-gw", "VNI": 5}}}},
    ),
    "flannel's own network": (
        {},
        {"flannel": {**FLANNEL, "net_conf": {"Network": "10.9.0.0/16", "Backend": VXLAN}}},
    ),
    "an endpoint without a port": ({"api_server": "k8s.example"}, {}),
    "an endpoint of one's own": ({"api_server": "k8s.example:6443"}, {"api_server": "127.0.0.1:6443"}),
    "an endpoint on the node itself": ({}, {"api_server": "localhost:6443"}),
    "an own endpoint on the node itself": ({"api_server": "127.0.0.1:6443"}, {}),
    "a name of the hosts file": ({"hosts": {"lb.example": "127.0.0.1"}}, {"api_server": "lb.example:6443"}),
    "a name elsewhere": ({"hosts": {"lb.example": "192.0.2.9"}}, {"api_server": "lb.example:6443"}),
    "a node on the controller": ({"address": "127.0.0.1"}, {"api_server": "localhost:6443"}),
}


def test_clusters() -> None:
    found: dict[str, object] = {
        name: texts(cluster.problems(dataclasses.replace(NODE, **node), {**CLUSTER, **other}))
        for name, (node, other) in CLUSTERS.items()
    }
    found["a proxy"] = cluster.proxy_warnings("http://p:1", ["cni_pods_subnet"], "")
    found["a proxy and a cluster"] = cluster.proxy_warnings("http://p:1", [], "/admin.conf")
    found["a proxy and all networks"] = cluster.proxy_warnings("http://p:1", networks.NETWORKS, "")
    found["no proxy"] = cluster.proxy_warnings("", [], "")
    outcomes.check("preflight/cluster", found)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("K8S.example:6443", "k8s.example", 6443),
        ("k8s.example", "k8s.example", None),
        ("[FD00::1]:65535", "fd00::1", 65535),
        ("fd00::1", "fd00::1", None),
        ("h:65536", "h", None),
        ("h:1", "h", 1),
        ("h:0", "h", None),
        ("h:x", "h", None),
        ("h:\u0661", "h", None),
        (":6443", ":6443", None),
        ("https://h:6443", "https://h:6443", None),
    ],
)
def test_an_endpoint_is_a_host_and_a_port(text: str, host: str, port: int | None) -> None:
    assert cluster.split_endpoint(f" {text} ") == (host, port)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("localhost.example", False),
        ("::1", True),
        ("[::1]", True),
        ("127.9.9.9", True),
        ("0.0.0.0", True),
        ("192.0.2.1", False),
    ],
)
def test_addresses_of_the_machine_itself(host: str, own: bool) -> None:
    assert is_loopback(host) is own


DOCKER = {"container_runtime_moby_version": "28.5.2", "container_runtime_cri_dockerd_version": "0.3.21"}


def test_versions_networks_names_and_numbers() -> None:
    roles = checks.roles()
    pod_networks = (
        "10.0.0.0/16",
        "10.1.0.0/16",
        "10.0.8.0/24",
        "fd00::/48, 10.0.0.0/16",
        "10.0.0.1",
        "10.0.0.1/16",
        "x",
        "",
    )
    found: dict[str, object] = {
        f"networks {pods!r} and {services!r}": texts(
            networks.network_problems({"cni_pods_subnet": pods, "cni_services_subnet": services}, roles)
        )
        for pods in pod_networks
        for services in ("10.1.0.0/16", "10.0.0.0/16")
    }
    same = dict.fromkeys(networks.NETWORKS, "10.0.0.0/16")
    found["a fallback"] = texts(networks.network_problems(same, roles, ["cni_pods_subnet"]))
    found["networks of another plugin"] = texts(networks.network_problems({**same, "cni_plugin": "none"}, roles))
    for kubernetes, containerd in (
        ("1.36.2", "2.3.7"),
        ("1.36", "2.3.7"),
        ("1.36.2", "x"),
        ("1.36.2", "1.6.0"),
        ("1.36.2", "2.9.0"),
        ("1.29.0", "2.3.7"),
    ):
        found[f"{kubernetes} with {containerd}"] = texts(checks.version_problems(kubernetes, containerd))
    for name, runtime, values in (
        ("moby", "moby", DOCKER),
        ("moby without versions", "moby", {}),
        ("docker without a URL", "docker", {"container_runtime_docker_version": "28.5.2", **DOCKER}),
        (
            "docker with a URL",
            "docker",
            {"container_runtime_docker_url": URL, **DOCKER, "container_runtime_docker_version": "28.5.2"},
        ),
        ("an old moby", "moby", {**DOCKER, "container_runtime_moby_version": "19.0.0"}),
        ("HostProcess images", "moby", {**DOCKER, "cni_flannel_image": "a", "cni_kube_proxy_image": "b"}),
        (
            "mirrors",
            "moby",
            {
                **DOCKER,
                "container_runtime_registries": {
                    "docker.io": {"mirrors": ["m"]},
                    "z.example": {"mirrors": ["m"]},
                    "r.example": {"mirrors": ["m"]},
                    "s": None,
                },
            },
        ),
    ):
        found[name] = texts(checks.docker_problems(runtime, "1.36.2", values))
    names = {
        "a": "win1",
        "b": "WIN1",
        "c": "123",
        "d": "a_b",
        "e": "a" * 63,
        "f": "a" * 64,
        "g": "a" * 15 + "b",
        "h": "-a",
        "i": "a-",
        "j": "x" * 15,
        "k": "x" * 14,
        "l": "3com",
    }
    found["names"] = texts(checks.name_problems(names))
    for path, joins, missing, role in (
        ("", False, True, "node_join"),
        ("", True, True, "node_join"),
        ("", True, False, "node_maintenance"),
        ("/a", False, True, "node_join"),
        ("/a", True, False, "node_join"),
        ("/a:/b", False, False, "node_join"),
    ):
        problems = checks.kubeconfig_problems(path, joins=joins, missing=missing, role=role)
        found[f"kubeconfig {path!r} {joins} {missing} {role}"] = texts(problems)
    for serial in (1, 0, -1, "1", " 10% ", "100%", "101%", "0%", [1], "x", "01"):
        found[f"serial {serial!r}"] = texts(checks.rollout_problems({"node_maintenance_serial": serial}))
    for failed in (0, 1, -1, "-1", "x", "-x", None):
        found[f"failed {failed!r}"] = texts(checks.rollout_problems({"node_maintenance_max_failed": failed}))
    outcomes.check("preflight/variables", found)


def test_roles_know_their_variables() -> None:
    outcomes.check(
        "preflight/sources", {role.name: dict(sorted(role.sources.items())) for role in checks.roles() if role.sources}
    )
