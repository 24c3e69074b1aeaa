# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions read only the variables that they need."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from unit.roles.templates import ROLES, templar, value

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import MissingVariableError
from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import cni, table, windows_settings

LOOKUP = "lookup('winkube.node.role_decision', '{}')"


def host(**variables: t.Any) -> t.Any:
    """The variables of a host, as they are."""
    return table.of_host(variables, lambda template: template)


def test_an_unknown_variable_is_refused() -> None:
    with pytest.raises(
        ValueError, match="variable: expected a variable that a role decides, such as cluster_support_demo_services"
    ):
        table.decide("cni_plugin", host())


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (LOOKUP.format("x"), "variable: expected a variable that a role decides, such as .*, got 'x'"),
        ("lookup('winkube.node.role_decision', 'a', 'b')", "role_decision: expected the name of one variable, got 2"),
        (LOOKUP.format("node_join_token_ttl"), "ansible_play_batch: expected a variable of this name, got none"),
        (LOOKUP.format("node_join_name_is_proven"), "node_join_info.self_named: expected a variable of this name"),
    ],
)
def test_the_lookup_refuses_invalid_terms(expression: str, message: str) -> None:
    known = {"inventory_hostname": "one", "node_join_info": {"computer_name": "WIN1"}}
    with pytest.raises(AnsibleError, match=message):
        value(templar(["node_join"], known), expression)


def test_the_example_of_the_lookup() -> None:
    found = templar([], {"container_runtime": "moby"})
    assert value(found, LOOKUP.format("kubernetes_node_cri_socket")) == "npipe:////./pipe/cri-dockerd"


def test_a_token_that_is_missing_is_named_without_the_others() -> None:
    tokens = {"node_join_tokens": {"tokens": {"other": "abcdef.0123456789abcdef"}}}
    known = {"node_join_cluster": {"api_server": "h:6443", "ca_cert_hash": "sha256:0"}, "node_join_name": "win1"}
    found = templar(["kubernetes_node", "cni", "node_join"], {"inventory_hostname": "win1", **known, **tokens})
    with pytest.raises(AnsibleError, match=r"node_join_tokens\.tokens\.win1: expected a variable") as refused:
        value(found, "node_join_configuration")
    assert "abcdef" not in str(refused.value)


def test_variables_of_the_cluster_are_listed() -> None:
    """Preflight compares unknown variables with these names."""
    text = Path(windows_settings.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r'of_cluster\("(\w+)"', text)) == set(windows_settings.CLUSTER_VARIABLES)


class TestParts:
    def test_a_part_is_read_without_the_rest(self) -> None:
        found = host(result={"nodes": {"a": {"ready": True}}})
        assert found.part("result", "nodes", "a", "ready") is True
        assert found.part("result", "nodes", "b", "ready", default="unknown") == "unknown"
        assert found.part("other", default=None) is None
        assert found.has("result", "nodes", "a")
        assert not found.has("result", "msg")
        with pytest.raises(MissingVariableError, match=r"result\.nodes\.b: expected a variable of this name"):
            found.part("result", "nodes", "b")

    def test_a_part_of_a_template(self) -> None:
        found = table.of_host({"result": "{{ other }}"}, lambda _template: {"nodes": {"a": 1}})
        assert found.part("result", "nodes", "a") == 1

    def test_variables_of_other_hosts(self) -> None:
        found = host(hostvars={"a": {"facts": {"name": "n", "empty": None}}})
        assert found.of_host("a", "facts", "name") == "n"
        assert found.of_host("a", "facts", "other", default=5) == 5
        assert found.of_host("b", "facts") == ""
        assert found.of_host("a", "facts", "empty", default=5) is None


def test_tokens_that_were_just_made_come_first() -> None:
    hosts = {
        "a": {"cni_accounts": {"tokens": {"one": "1"}}},
        "b": {"cni_accounts_made": {"skipped": True}},
        "c": {"cni_accounts_made": {"tokens": {"one": "1", "two": "2"}}},
    }
    known: dict[str, t.Any] = {"groups": {"all": list(hosts)}, "cni_account_secrets": ["one", "two"]}
    found = templar(["cni"], {**known, "hostvars": hosts})
    assert value(found, "cni_tokens") == {"one": "1", "two": "2"}
    assert value(found, "cni_tokens_known") is True
    del hosts["c"]
    found = templar(["cni"], {**known, "hostvars": hosts})
    assert value(found, "cni_missing_tokens") == ["two"]
    assert value(found, "cni_tokens_known") is False


def test_revisions_come_from_the_host_that_applied_them() -> None:
    template = {"metadata": {"labels": {"winkube.node/revision": "a"}}}
    results = [{"result": {"kind": "DaemonSet", "spec": {"template": template}}}]
    hosts: dict[str, t.Any] = {
        "a": {"cni_applied": {"skipped": True}},
        "b": {"cni_applied": {"result": {"results": results}}},
    }
    found = templar(["cni"], {"ansible_play_hosts_all": ["a", "b"], "hostvars": hosts})
    assert value(found, "cni_applied_revisions") == ["a"]
    assert value(templar(["cni"], {"ansible_play_hosts_all": ["a"], "hostvars": hosts}), "cni_applied_revisions") == []


def test_a_kubeconfig_names_the_api_server(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("clusters: [{cluster: {server: 'https://k8s.example:6443'}}]", encoding="utf-8")
    proxy = {"http_proxy": "http://proxy:3128", "no_proxy": "a.example", "kubeconfig": str(kubeconfig)}
    found = templar(["windows_settings"], {"groups": {}, "hostvars": {}, **proxy})
    assert value(found, "winkube_no_proxy").split(",") == [
        *("a.example", "localhost", "127.0.0.1", "k8s.example", ".svc", ".cluster.local"),
    ]


def test_every_decision_belongs_to_a_role() -> None:
    roles = tuple(f"{path.name}_" for path in ROLES.iterdir())
    assert [name for name in table.DECISIONS if not name.startswith((*roles, "winkube_"))] == []


LOCAL = "169.254.25.10"
KUBESPRAY = {"enable_nodelocaldns": True, "kube_service_addresses": "10.233.0.0/18"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, []),
        ({"winkube_cluster": {"cluster_dns": ["10.96.0.10"], "dns_service": ""}}, []),
        ({"winkube_cluster": {"cluster_dns": [LOCAL], "dns_service": "10.233.0.3"}}, ["10.233.0.3"]),
        ({"winkube_cluster": {"cluster_dns": [LOCAL], "dns_service": ""}}, []),
        (KUBESPRAY, ["10.233.0.3"]),
        ({**KUBESPRAY, "enable_nodelocaldns": "false"}, []),
        ({**KUBESPRAY, "nodelocaldns_ip": "10.0.0.53"}, []),
        ({"enable_nodelocaldns": True}, []),
        # The cluster knows better than the inventory.
        ({**KUBESPRAY, "winkube_cluster": {"cluster_dns": ["10.233.0.10"], "dns_service": ""}}, []),
    ],
)
def test_dns_that_replaces_the_kubelets(variables: dict[str, t.Any], expected: list[str]) -> None:
    found = templar(["kubernetes_node"], {"groups": {}, "hostvars": {}, **variables})
    assert value(found, "kubernetes_node_cluster_dns") == expected


def configuration_by_pod(plugin: str, **variables: t.Any) -> dict[str, t.Any]:
    """Return the CNI configuration that kube-proxy's pod writes, as cluster.yml applies it without any Windows host."""
    known = {"cni_plugin": plugin, "cni_pods_subnet": "10.233.64.0/18", "cni_services_subnet": "10.233.0.0/18"}
    found = templar(["cni"], {"groups": {}, "hostvars": {}, "cni_api_server": "lb:6443", **known, **variables})
    files = next(one["data"] for one in value(found, "cni_cluster_objects") if "cni-head.json" in one.get("data", ()))
    document: dict[str, t.Any] = json.loads(files["cni-head.json"])
    return document


def test_without_hosts_pods_get_the_dns_that_windows_nodes_reach() -> None:
    def servers(**cluster: t.Any) -> list[str]:
        (plugin,) = configuration_by_pod("azure", winkube_cluster=cluster)["plugins"]
        return list(plugin["dns"]["Nameservers"])

    wire_server = "168.63.129.16"
    assert servers(cluster_dns=[LOCAL], dns_service="10.233.0.3") == ["10.233.0.3", wire_server]
    assert servers(cluster_dns=["10.233.0.10"], dns_service="10.233.0.3") == ["10.233.0.10", wire_server]
    assert servers(cluster_dns=["10.233.0.10"]) == ["10.233.0.10", wire_server]


@pytest.mark.parametrize(
    ("plugin", "variables", "expected"),
    [
        ("azure", {}, True),
        ("azure", {"cni_block_wireserver": "never"}, False),
        ("sdnbridge", {}, False),
        ("sdnbridge", {"cni_block_wireserver": "always"}, True),
        ("sdnbridge", {"kubernetes_node_cloud_provider": "azure"}, True),
        ("sdnbridge", {"kubernetes_node_cloud_provider": "external"}, False),
        ("sdnbridge", {"winkube_play_in_azure": True}, True),
    ],
)
def test_without_hosts_wireserver_is_closed_where_all_machines_are_in_azure(
    plugin: str, variables: dict[str, t.Any], expected: bool
) -> None:
    assert ("168.63.129.16/32" in json.dumps(configuration_by_pod(plugin, **variables))) is expected


@pytest.mark.parametrize(
    ("recorded", "variables", "expected"),
    [
        ({}, {}, []),
        ({}, {"cni_run_as": "service"}, ["flanneld", "kube-proxy"]),
        # The run removes them.
        ({"plugin": "flannel", "services": True}, {}, ["flanneld", "kube-proxy"]),
        ({"plugin": "flannel", "services": True}, {"cni_plugin": "none"}, ["flanneld", "kube-proxy"]),
        ({"plugin": "flannel"}, {"cni_plugin": "none"}, []),
    ],
)
def test_services_that_depend_on_the_kubelet(
    recorded: dict[str, t.Any], variables: dict[str, t.Any], expected: list[str]
) -> None:
    known = {"inventory_hostname": "win1", "groups": {}, "hostvars": {}, **variables}
    found = templar(["container_runtime", "cni"], {**known, "winkube_node_information": {"cni": recorded}})
    assert value(found, "winkube_network_services") == expected


@pytest.mark.parametrize(
    ("recorded", "variables", "daemon_sets", "files"),
    [
        ({}, {"cni_plugin": "none"}, [], []),
        ({"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}, {}, [], []),
        (
            {"plugin": "flannel", "mode": "host-gw", "network": "cbr0"},
            {"cni_plugin": "none"},
            ["kube-flannel/kube-flannel-windows"],
            [
                "C:\\etc\\cni\\net.d\\10-flannel.conf",
                "C:\\run\\flannel\\subnet.env",
                "C:\\var\\lib\\cni\\flannel",
            ],
        ),
        (
            {"plugin": "sdnbridge", "mode": "bridge", "network": "l2bridge"},
            {},
            [],
            ["C:\\etc\\cni\\net.d\\10-sdnbridge.conf"],
        ),
        ({"plugin": "other", "mode": "x", "network": "y"}, {}, [], []),
    ],
)
def test_what_a_former_network_leaves(
    recorded: dict[str, t.Any], variables: dict[str, t.Any], daemon_sets: list[str], files: list[str]
) -> None:
    known = {"inventory_hostname": "win1", "groups": {}, "hostvars": {}, **variables}
    found = templar(["container_runtime", "cni"], {**known, "winkube_node_information": {"cni": recorded}})
    assert value(found, "cni_former_daemon_sets") == daemon_sets
    assert value(found, "cni_former_files") == files


FLANNEL = {f"flannel.alpha.coreos.com/{name}" for name in ("backend-data", "backend-type", "kube-subnet-manager")}


@pytest.mark.parametrize(
    ("recorded", "plugin", "label", "annotations"),
    [
        ({"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}, "calico", False, FLANNEL),
        # flanneld runs there, too.
        ({"plugin": "flannel", "mode": "host-gw", "network": "cbr0"}, "sdnbridge", False, set()),
        ({"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}, "flannel", False, set()),
        ({"plugin": "calico", "mode": "bgp", "network": "Calico"}, "calico", True, {"projectcalico.org/IPv4Address"}),
        ({"plugin": "calico", "mode": "vxlan", "network": "Calico"}, "none", True, {"projectcalico.org/IPv4Address"}),
        ({}, "calico", False, set()),
    ],
)
def test_the_nodes_metadata_of_a_former_network_go(
    recorded: dict[str, t.Any], plugin: str, label: bool, annotations: set[str]
) -> None:
    known = {"inventory_hostname": "win1", "groups": {}, "hostvars": {}, "cni_plugin": plugin}
    found = templar(["container_runtime", "cni"], {**known, "winkube_node_information": {"cni": recorded}})
    metadata = value(found, "cni_former_metadata")
    assert metadata.get("labels") == ({"winkube.node/pod-network": None} if label else None)
    assert annotations <= set(metadata.get("annotations", {}))
    assert bool(annotations) == ("annotations" in metadata)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cni_plugin": "calico"}, ["kube-proxy-windows"]),
        ({"cni_plugin": "azure"}, ["kube-proxy-windows"]),
        # The DaemonSets do not run on a node whose network and kube-proxy are services now.
        ({"cni_plugin": "azure", "cni_run_as": "service"}, []),
        ({"container_runtime": "moby"}, []),
    ],
)
def test_the_daemon_sets_of_replaced_pods_are_awaited(given: dict[str, str], expected: list[str]) -> None:
    pod = {"namespace": "kube-system", "name": "p", "revision": "", "daemon_set": "kube-proxy-windows"}
    known = {"inventory_hostname": "a", "groups": {}, "hostvars": {}, "cni_pods_to_replace": [pod], **given}
    found = value(templar(["container_runtime", "cni"], known), "cni_daemon_sets_to_await")
    assert found == [{"namespace": "kube-system", "name": name} for name in expected]


@pytest.mark.parametrize(
    ("kubespray", "expected"),
    [("", "flannel"), ("cni", "none"), ("custom_cni", "none"), ("calico", "calico"), ("cilium", "cilium")],
)
def test_the_network_of_kubespray(kubespray: str, expected: str) -> None:
    given = {"kube_network_plugin": kubespray} if kubespray else {}
    assert value(templar(["cni"], {"groups": {}, "hostvars": {}, **given}), "cni_plugin") == expected


def test_a_former_networks_plugins_and_registry_values_go_before_the_record() -> None:
    recorded = {"plugin": "azure", "mode": "bridge", "network": "azure"}
    known = {"inventory_hostname": "win1", "groups": {}, "hostvars": {}, "winkube_node_information": {"cni": recorded}}
    resources = value(templar(["container_runtime", "cni"], known), "cni_recorded_resources")
    assert [(one["type"], one.get("value_name") or one["name"].rpartition("\\")[2]) for one in resources] == [
        ("Registry", "SDNRemoteArpMacAddress"),
        ("File", "azure-vnet.exe"),
        ("File", "azure-vnet-ipam.exe"),
        ("Directory", ".winkube-archive-Azure_CNI"),
        ("File", "cni.json"),
    ]
    assert [one.get("state", "present") for one in resources] == [*["absent"] * 4, "present"]
    # A restart of HNS would remove flannel's new network.
    assert not any("restarts" in one for one in resources)
    # host-local.exe and flannel.exe are plugins of flannel, too.
    known["winkube_node_information"] = {"cni": {"plugin": "sdnbridge", "mode": "bridge", "network": "l2bridge"}}
    resources = value(templar(["container_runtime", "cni"], known), "cni_recorded_resources")
    assert [one["name"].rpartition("\\")[2] for one in resources] == [
        "sdnbridge.exe",
        ".winkube-archive-Microsoft_s_CNI_plugins",
        "cni.json",
    ]


def test_the_networks_on_whose_nodes_daemon_sets_run() -> None:
    hosts: dict[str, t.Any] = {
        "a": {},
        "b": {"cni_flannel_backend": "host-gw"},
        "c": {"cni_plugin": "sdnbridge"},
        "d": {"cni_plugin": "sdnbridge", "cni_run_as": "service"},
        "e": {"container_runtime": "moby"},
        # The pods of flannel and kube-proxy would run there, too.
        "f": {"cni_plugin": "none"},
        "g": {"cni_plugin": "none", "container_runtime": "docker"},
    }
    own = {"inventory_hostname": "a", "cni_plugin": "flannel", "cni_run_as": "daemonset"}
    found = host(**own, cni_flannel_backend="vxlan", ansible_play_hosts_all=list(hosts), hostvars=hosts)
    assert cni.networks_of_pods(found) == {"a": "flannel vxlan", "b": "flannel host-gw", "c": "sdnbridge", "f": "none"}
