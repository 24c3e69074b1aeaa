# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether Windows nodes can take part in a cluster's Calico; kubespray's variables of Calico."""

from __future__ import annotations

import dataclasses
import re
import typing as t

import pytest
from unit.calico_facts import bgp, facts, installation, pool
from unit.plugins.plugin_utils.preflight.test_cluster import CLUSTER, NODE

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import (
    calico,
    cluster,
    flannel,
    kubespray_calico,
    kubespray_flannel,
)

HOST = dataclasses.replace(NODE, cni_plugin="calico")
OPERATOR = {"namespace": "calico-system", "backend": ""}


def problems(known: dict[str, t.Any], **host: t.Any) -> list[str]:
    return [str(one) for one in calico.problems(dataclasses.replace(HOST, **host), known)]


@pytest.mark.parametrize(
    ("known", "host"),
    [
        (facts(), {}),
        (facts(), {"calico_mode": "vxlan"}),
        (bgp(), {}),
        (facts(vxlan={"vni": None, "port": None, "mtu": 9000}), {}),
        (facts(strict_affinity=False), {"set_strict_affinity": True}),
        (facts(pools=[pool(), pool(name="old", ipip="Always", disabled=True)]), {}),
        (facts(typha="calico-typha"), {}),
        (facts(installation=installation(), **OPERATOR), {}),
        (facts(installation=installation(windows_dataplane="Disabled"), **OPERATOR), {"enable_calico_windows": True}),
        (facts(installation=installation(), typha="t", typha_secure=True, **OPERATOR), {}),
        (facts(windows_daemon_set="other", typha="t", typha_secure=True), {}),
    ],
)
def test_windows_nodes_can_take_part(known: dict[str, t.Any], host: dict[str, t.Any]) -> None:
    assert problems(known, **host) == []


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, "no DaemonSet calico-node"),
        (facts(has_etcd=True), "calico_datastore"),
        (facts(strict_affinity=False), "calico_ipam_strictaffinity: true"),
        (facts(version="3.26.4"), "expected 3.27.3 or later"),
        (facts(version=""), "Calico's version in the image of the DaemonSet calico-node"),
        (facts(pools=[pool(ipip="Always", vxlan="Never")], backend="bird"), "calico_ipip_mode"),
        (facts(pools=[pool(vxlan="CrossSubnet")]), "vxlanMode of the IPPool default-pool"),
        (facts(pools=[pool(), pool(name="v6", cidr="fd85::/112")]), "cidr of the IPPool v6"),
        (facts(pools=[pool(disabled=True)]), "Create an IPPool"),
        (facts(pools=[pool(cidr="10.99.0.0/16")]), "expected a network that contains 10.99.0.0/16"),
        (facts(backend="bird"), "calico_network_backend"),
        (bgp(backend="vxlan"), "expected bird"),
        (facts(uses_host_local=True), "calico_ipam_host_local: false"),
        (facts(vxlan={"vni": 4095, "port": 4789, "mtu": None}), "calico_vxlan_vni"),
        (facts(vxlan={"vni": 4096, "port": 8472, "mtu": None}), "calico_vxlan_port"),
        (facts(felix={"bpfEnabled": True}), "calico_bpf_enabled: false"),
        (facts(felix={"wireguardEnabled": True}), "calico_wireguard_enabled: false"),
        (facts(felix={"wireguardEnabledV6": True}), "wireguardEnabledV6"),
        (facts(typha="calico-typha", typha_secure=True), "typha_secure: false"),
        (facts(installation=installation(windows_dataplane="Disabled"), **OPERATOR), "calicoNetwork.windowsDataplane"),
        (facts(installation=installation(service_cidrs=[]), **OPERATOR), "expected [10.233.0.0/18]"),
        (facts(installation=installation(api_server=""), **OPERATOR), "kubernetes-services-endpoint"),
        (facts(installation=installation(api_server="localhost:6443"), **OPERATOR), "kubernetes-services-endpoint"),
    ],
)
def test_a_setting_that_windows_nodes_cannot_take_part_in_is_named(known: dict[str, t.Any], expected: str) -> None:
    (problem,) = problems(known)
    assert expected in problem


FIXES = re.compile(r"(Set|set|If) (\w+_\w+|the variable)|(Change|Upgrade|Install|Create|Drain|Enable) ")
"""How the hint of a problem begins to say what to change: a variable, or an object of the cluster."""
SETTINGS: list[dict[str, t.Any]] = [
    {"has_etcd": True},
    {"version": "v3.26.4"},
    {"strict_affinity": False},
    {"pools": [pool(ipip="Always")]},
    {"pools": [pool(vxlan="CrossSubnet")]},
    {"pools": [pool(cidr="fd00::/64")]},
    {"pools": []},
    {"vxlan": {"vni": 1, "port": 4789, "mtu": None}},
    {"vxlan": {"vni": 4096, "port": 8472, "mtu": None}},
    {"felix": {"bpfEnabled": True}},
    {"uses_host_local": True},
    {"typha": "calico-typha", "typha_secure": True},
    {**OPERATOR, "installation": installation(windows_dataplane="Disabled")},
    {**OPERATOR, "installation": installation(cni_type="AmazonVPC")},
]


@pytest.mark.parametrize("known", [{}, *SETTINGS], ids=lambda known: ", ".join(known) or "no Calico")
def test_each_problem_says_what_to_change(known: dict[str, t.Any]) -> None:
    found = calico.problems(HOST, facts(**known) if known else {})
    assert found
    for one in found:
        # The datastore cannot be changed without a new cluster.
        assert FIXES.search(one.hint) or "calico_" in one.variable, one


@pytest.mark.parametrize(
    ("plugin", "linux", "fix"),
    [
        ("flannel", "vxlan", "flannel_backend_type: vxlan"),
        ("sdnbridge", "vxlan", "cni_plugin to flannel or sdnoverlay"),
    ],
)
def test_another_backend_of_flannel_names_the_variable(plugin: str, linux: str, fix: str) -> None:
    node = dataclasses.replace(NODE, cni_plugin=plugin, backend="host-gw")
    (one,) = flannel.problems(node, {"config_map": "a/b", "net_conf": {"Backend": {"Type": linux}}})
    assert f"Set {fix}" in one.hint


def test_the_mode_is_that_of_the_cluster() -> None:
    (problem,) = problems(facts(), calico_mode="bgp")
    assert problem.startswith("cni_calico_mode: expected vxlan")


@pytest.mark.parametrize(
    ("version", "is_usable"),
    [
        ("3.27.3", False), ("3.28.0", True), ("3.29.7", True), ("3.30.0", False), ("3.31.4", False),
        ("3.31.5", True), ("3.32.0", False), ("3.32.1", False), ("3.32.2", True), ("3.33.0", True),
    ],
)  # fmt: skip
def test_versions_without_usable_bgp(version: str, is_usable: bool) -> None:
    assert (problems(bgp(version=version)) == []) is is_usable
    assert problems(facts(version=version)) == []


@pytest.mark.parametrize(("version", "usable"), [("3.27.3", "3.28.0"), ("3.30.0", "3.31.5"), ("3.32.0", "3.32.2")])
def test_the_message_names_a_version_that_works(version: str, usable: str) -> None:
    (problem,) = problems(bgp(version=version))
    assert f"expected another version with BGP, such as {usable}, got" in problem


def test_the_check_is_part_of_the_comparison_with_the_cluster() -> None:
    known = {**CLUSTER, "calico": facts(strict_affinity=False)}
    assert "strictAffinity" in str(cluster.problems(HOST, known))
    assert cluster.problems(HOST, {**CLUSTER, "calico": facts()}) == []


@pytest.mark.parametrize(
    ("known", "host", "expected"),
    [
        ({}, {}, []),
        (facts(), {}, []),
        (facts(vxlan={"vni": 4096, "port": 4789, "mtu": 1450}), {}, []),
        # The MTU is a finding (linux_side.py), and compared with each node's network adapter.
        (facts(vxlan={"vni": 4096, "port": 4789, "mtu": 8950}), {}, []),
        (bgp(vxlan={"vni": 4096, "port": 4789, "mtu": 8950}), {}, []),
        (facts(strict_affinity=False), {"set_strict_affinity": True}, ["next run resets it"]),
        (facts(), {"set_strict_affinity": True}, []),
        (
            facts(installation=installation(windows_dataplane="Disabled", api_server="")),
            {"enable_calico_windows": True},
            ["ConfigMap tigera-operator/kubernetes-services-endpoint", "Installation default"],
        ),
        (facts(installation=installation()), {"enable_calico_windows": True}, []),
        (facts(), {"enable_calico_windows": True}, []),
        (facts(installation=installation(), has_former_daemon_set=True), {}, ["kube-system/calico-node-windows"]),
        (facts(has_former_daemon_set=True), {}, []),
    ],
)
def test_warnings(known: dict[str, t.Any], host: dict[str, t.Any], expected: list[str]) -> None:
    changes = cluster.requested_changes(dataclasses.replace(HOST, **host), {"calico": known})
    warnings = [*map(str, changes)]
    assert len(warnings) == len(expected)
    assert all(text in warning for text, warning in zip(expected, warnings, strict=True))


def test_the_operator_is_not_enabled_while_other_networks_run() -> None:
    calico = facts(installation={**installation(), "windows_dataplane": "Disabled"})
    nodes = {
        "linux": {"os": "linux"},
        "win-calico": {"os": "windows", "overlay_address": "10.0.0.1"},
        "win-flannel": {"os": "windows", "overlay_address": ""},
    }
    host = dataclasses.replace(HOST, enable_calico_windows=True)
    (problem,) = cluster.linux_problems(host, {"calico": calico, "nodes": nodes})
    assert "win-flannel" in str(problem)
    assert "win-calico" not in str(problem)
    nodes.pop("win-flannel")
    assert cluster.linux_problems(host, {"calico": calico, "nodes": nodes}) == []


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"cni_type": "AmazonVPC"}, "cni.type"), ({"linux_dataplane": "BPF"}, "linuxDataplane")],
)
def test_what_the_operator_cannot_do_on_windows_is_refused_even_on_request(settings: dict[str, str], text: str) -> None:
    host = dataclasses.replace(HOST, enable_calico_windows=True)
    known = facts(installation={**installation(), **settings})
    assert text in str(cluster.linux_problems(host, {"calico": known}))


def test_pools_with_different_encapsulations_are_refused() -> None:
    first = facts()["pools"][0]
    known = facts(pools=[first, {**first, "name": "other", "vxlan": "Never"}])
    assert "Always and Never" in str(cluster.linux_problems(HOST, {"calico": known}))


BIRD = {"calico_network_backend": "bird", "calico_vxlan_mode": "Never"}


def of_variables(values: dict[str, t.Any] | None = None, **kubespray: t.Any) -> list[str]:
    known = {"cni_plugin": "calico", **(values or {})}
    return [str(one) for one in kubespray_calico.problems(known, lambda name: kubespray.get(name, ""))]


@pytest.mark.parametrize(
    "kubespray",
    [
        {},
        {"calico_network_backend": "vxlan", "calico_vxlan_mode": "Always", "calico_ipip_mode": "Never"},
        {**BIRD, "calico_version": "3.31.5"},
        {"calico_datastore": "kdd", "calico_bpf_enabled": False, "calico_wireguard_enabled": "false"},
        {"calico_vxlan_vni": 5000, "calico_vxlan_port": "4789", "calico_version": "v3.31.5"},
        {"calico_ipam_strictaffinity": True, "calico_version": "{{ a.template.of.kubespray }}"},
    ],
)
def test_variables_that_windows_nodes_can_take_part_in(kubespray: dict[str, t.Any]) -> None:
    assert of_variables(**kubespray) == []


@pytest.mark.parametrize(
    ("kubespray", "expected"),
    [
        ({"calico_ipip_mode": "Always"}, "calico_ipip_mode: expected Never"),
        ({"calico_datastore": "etcd"}, "calico_datastore: expected kdd"),
        ({"calico_bpf_enabled": True}, "calico_bpf_enabled: expected false"),
        ({"calico_wireguard_enabled": "true"}, "calico_wireguard_enabled: expected false"),
        ({"calico_ipam_host_local": True}, "calico_ipam_host_local: expected false"),
        ({"calico_ipam_strictaffinity": False}, "calico_ipam_strictaffinity: expected true"),
        ({"calico_vxlan_mode": "CrossSubnet"}, "calico_vxlan_mode: expected Always"),
        ({"calico_network_backend": "none"}, "calico_network_backend: expected vxlan or bird"),
        ({"calico_network_backend": "bird"}, "calico_vxlan_mode: expected Never"),
        ({"calico_vxlan_mode": "Never"}, "calico_network_backend: expected bird"),
        ({"calico_vxlan_vni": 4095}, "calico_vxlan_vni: expected 4096 or more"),
        ({"calico_vxlan_port": 8472}, "calico_vxlan_port: expected 4789"),
        ({"calico_version": "3.27.2"}, "calico_version: expected 3.27.3 or later"),
        ({**BIRD, "calico_version": "v3.31.0"}, "calico_version: expected another version with BGP, such as 3.31.5"),
    ],
)
def test_variables_that_windows_nodes_cannot_take_part_in(kubespray: dict[str, t.Any], expected: str) -> None:
    (problem,) = of_variables(**kubespray)
    assert problem.startswith(expected)
    assert of_variables({"cni_plugin": "none"}, **kubespray) == []


@pytest.mark.parametrize(
    ("pods", "pool", "expected"),
    [
        ("10.233.64.0/18", "10.233.64.0/20", []),
        ("10.233.64.0/18", "10.5.0.0/16", ["calico_pool_cidr: expected a network inside 10.233.64.0/18"]),
        ("10.233.64.0/18", "fd00::/64", ["calico_pool_cidr: expected a network inside 10.233.64.0/18"]),
        ("10.233.64.0/18", "{{ kube_pods_subnet }}", []),
        ("", "10.5.0.0/16", []),
    ],
)
def test_calicos_pool_is_a_part_of_the_pods_network(pods: str, pool: str, expected: list[str]) -> None:
    found = of_variables({"cni_pods_subnet": pods}, calico_pool_cidr=pool)
    assert [text.partition(" (")[0] for text in found] == expected


@pytest.mark.parametrize(
    ("cni_mtu", "kubespray", "expected"),
    [
        (1350, {"calico_mtu": 1350}, []),
        (1350, {"calico_mtu": 1500}, ["calico_mtu: expected 1350 (cni_mtu), got 1500"]),
        ("1350", {"calico_mtu": "1500"}, ["calico_mtu: expected 1350 (cni_mtu), got 1500"]),
        (1350, {"calico_mtu": 1350, "calico_veth_mtu": 1440}, ["calico_veth_mtu: expected 1350 (cni_mtu), got 1440"]),
        (1350, {"calico_mtu": 1500, "calico_veth_mtu": 1350}, []),
        (1350, {"calico_veth_mtu": 1440}, []),
        (0, {"calico_mtu": 1500}, []),
        (1350, {"calico_mtu": 0}, []),
        (1350, {}, []),
    ],
)
def test_cni_mtu_is_that_of_kubespray(cni_mtu: t.Any, kubespray: dict[str, t.Any], expected: list[str]) -> None:
    found = of_variables({"cni_mtu": cni_mtu}, **kubespray)
    assert [text.partition(". ")[0] for text in found] == expected


@pytest.mark.parametrize(
    ("values", "kubespray", "variables"),
    [
        ({"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"}, {}, []),
        ({"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"}, {"flannel_vxlan_vni": "4096"}, []),
        (
            {"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"},
            {"flannel_vxlan_vni": 1, "flannel_vxlan_port": 8472},
            ["flannel_vxlan_vni", "flannel_vxlan_port"],
        ),
        ({"cni_plugin": "sdnoverlay"}, {"flannel_vxlan_port": 8472}, ["flannel_vxlan_port"]),
        ({"cni_plugin": "flannel", "cni_flannel_backend": "host-gw"}, {"flannel_vxlan_vni": 1}, []),
        ({"cni_plugin": "calico", "cni_calico_mode": "vxlan"}, {"flannel_vxlan_vni": 1}, []),
        ({"cni_plugin": "weave"}, {"flannel_vxlan_vni": 1}, []),
    ],
)
def test_kubesprays_vxlan_of_flannel(values: dict[str, str], kubespray: dict[str, t.Any], variables: list[str]) -> None:
    found = kubespray_flannel.problems(values, lambda name: kubespray.get(name, ""))
    assert [one.variable for one in found] == variables


def test_the_run_may_set_strict_affinity_itself() -> None:
    assert of_variables({"cni_calico_set_strict_affinity": True}, calico_ipam_strictaffinity=False) == []


@pytest.mark.parametrize(
    ("folders", "host", "fields"),
    [
        ({}, {}, []),
        ({"cniBinDir": "C:\\Opt\\CNI\\bin\\"}, {}, []),
        ({}, {"cni_bin_dir": "", "cni_conf_dir": ""}, []),
        ({"cniBinDir": "/k/azurecni/bin"}, {}, ["cniBinDir"]),
        ({"cniBinDir": "/k/azurecni/bin"}, {"cni_bin_dir": "C:\\k\\azurecni\\bin"}, []),
        ({"cniConfigDir": "/k/azurecni/netconf", "cniLogDir": "/logs"}, {}, ["cniConfigDir", "cniLogDir"]),
        ({}, {"cni_conf_dir": "C:\\etc\\other"}, ["cniConfigDir"]),
    ],
)
def test_the_operators_folders_are_those_of_the_nodes(
    folders: dict[str, str], host: dict[str, str], fields: list[str]
) -> None:
    known = installation()
    known["windows_folders"] |= folders
    own = {"cni_bin_dir": "C:\\opt\\cni\\bin", "cni_conf_dir": "C:\\etc\\cni\\net.d", **host}
    found = problems(facts(installation=known), **own)
    assert [text.partition(" ")[0] for text in found] == [f"windowsNodes.{field}" for field in fields]
    # The folders matter even if this run enables Windows.
    assert len(problems(facts(installation=known), enable_calico_windows=True, **own)) == len(fields)
