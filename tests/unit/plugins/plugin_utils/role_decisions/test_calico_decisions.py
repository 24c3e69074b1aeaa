# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a run changes in Calico on the Linux side, and how a node changes from or to Calico."""

from __future__ import annotations

import typing as t

import pytest
from unit.calico_facts import facts, installation
from unit.roles import rendered
from unit.roles.templates import holds, task, templar, value
from unit.roles.templates import rendered as rendered_text

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions import calico

LABEL = "winkube.node/pod-network"


def test_strict_affinity() -> None:
    assert calico.affinity({}) == {}
    assert calico.affinity(facts()) == {}
    assert calico.affinity(facts(strict_affinity=False))["spec"] == {"strictAffinity": True}
    new = calico.affinity(facts(strict_affinity=False, has_ipam_configuration=False))
    assert new["spec"] == {"strictAffinity": True, "autoAllocateBlocks": True}
    assert (new["kind"], new["metadata"]["name"]) == ("IPAMConfig", "default")


def windows(**given: t.Any) -> list[dict[str, t.Any]]:
    return calico.windows_objects(facts(installation=installation(**given)), "10.1.0.0/16", "10.3.0.1:6443")


def test_windows_in_the_operator() -> None:
    assert calico.windows_objects({}, "10.1.0.0/16", "10.3.0.1:6443") == []
    assert calico.windows_objects(facts(), "10.1.0.0/16", "10.3.0.1:6443") == []
    assert windows() == []
    (endpoint,) = windows(api_server="localhost:6443")
    assert endpoint["data"] == {"KUBERNETES_SERVICE_HOST": "10.3.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    assert endpoint["metadata"] == {"name": "kubernetes-services-endpoint", "namespace": "tigera-operator"}
    (changed,) = windows(windows_dataplane="Disabled")
    assert changed["spec"] == {"calicoNetwork": {"windowsDataplane": "HNS"}}
    (changed,) = windows(service_cidrs=[])
    assert changed["spec"] == {"serviceCIDRs": ["10.1.0.0/16"], "calicoNetwork": {"windowsDataplane": "HNS"}}


def test_objects_from_before_the_operator_are_removed() -> None:
    former = facts(installation=installation(), has_former_daemon_set=True)
    daemon_set, config_map = calico.former_objects(former)
    assert (daemon_set["apiVersion"], daemon_set["kind"]) == ("apps/v1", "DaemonSet")
    assert daemon_set["metadata"] == {"namespace": "kube-system", "name": "calico-node-windows"}
    assert (config_map["apiVersion"], config_map["kind"]) == ("v1", "ConfigMap")
    assert config_map["metadata"] == {"namespace": "kube-system", "name": "cni-config-windows"}
    assert calico.former_objects(facts(installation=installation())) == []
    # Without the operator, this DaemonSet runs Calico.
    assert calico.former_objects(facts(has_former_daemon_set=True)) == []
    assert calico.former_objects({}) == []


@pytest.mark.parametrize(("plugin", "count"), [("calico", 2), ("flannel", 0)])
def test_only_a_host_with_calico_removes_them(plugin: str, count: int) -> None:
    cluster = {"calico": facts(installation=installation(), has_former_daemon_set=True)}
    assert len(decided({}, "cni_calico_former_objects", cni_plugin=plugin, node_join_cluster=cluster)) == count


def decided(recorded: dict[str, t.Any], name: str, **variables: t.Any) -> t.Any:
    """Return a decision on the host win1 whose node has the recorded network."""
    information = {"computer_name": "WIN1", "joined": True, "cni": recorded}
    known = rendered.node(node_join_info=information, **variables)
    return value(known, name)


FLANNEL = {"plugin": "flannel", "mode": "vxlan", "network": "flannel.4096"}
VXLAN = {"plugin": "calico", "mode": "vxlan", "network": "Calico"}
BGP = {"plugin": "calico", "mode": "bgp", "network": "Calico"}
TO_FLANNEL = {"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"}
TO_CALICO = {"cni_plugin": "calico", "cni_calico_mode": "vxlan"}
FEATURES = ["RemoteAccess", "RSAT-RemoteAccess-PowerShell", "Routing"]


@pytest.mark.parametrize(
    ("recorded", "mode", "networks"),
    [
        (VXLAN, "vxlan", []),
        (VXLAN, "bgp", ["Calico", "External"]),
        (BGP, "vxlan", ["Calico", "External"]),
        ({}, "", []),
    ],
)
def test_hns_networks_go_with_their_type(recorded: dict[str, str], mode: str, networks: list[str]) -> None:
    assert decided(recorded, "cni_former_hns_networks", cni_plugin="calico", cni_calico_mode=mode) == networks


@pytest.mark.parametrize(
    ("plugin", "kinds"),
    [("calico", ["ClusterRole", "ClusterRoleBinding", "Secret", "ServiceAccount"]), ("sdnoverlay", [])],
)
def test_the_account_of_flannel_goes_with_flannel(plugin: str, kinds: list[str]) -> None:
    removed = decided(FLANNEL, "cni_former_account_objects", cni_plugin=plugin)
    assert [one["kind"] for one in removed] == kinds
    assert {one["metadata"]["name"] for one in removed} <= {"flannel-windows"}
    assert decided({}, "cni_former_account_objects", cni_plugin=plugin) == []
    assert decided(VXLAN, "cni_former_account_objects", cni_plugin="azure") == []


@pytest.mark.parametrize(("other", "count"), [("flannel", 0), ("sdnbridge", 0), ("azure", 4), ("unknown", 4)])
def test_the_account_stays_for_other_hosts_of_the_run(other: str, count: int) -> None:
    """A node that has just joined has no annotations of flannel yet."""
    hosts = {"win1": {}, "win2": {"cni_plugin": other, "cni_run_as": "service"}}
    known = {"hostvars": hosts, "ansible_play_hosts": [*hosts], "ansible_play_hosts_all": [*hosts]}
    assert len(decided(FLANNEL, "cni_former_account_objects", **TO_CALICO, **known)) == count


@pytest.mark.parametrize(
    ("name", "annotation", "stays"),
    [
        ("win2", "flannel.alpha.coreos.com/backend-type", True),
        ("win2", "projectcalico.org/IPv4Address", False),
        # Its own annotations may reappear while its flanneld ends.
        ("win1", "flannel.alpha.coreos.com/backend-type", False),
    ],
)
def test_the_account_stays_while_other_nodes_use_it(name: str, annotation: str, stays: bool) -> None:
    nodes = {"resources": [{"metadata": {"name": name, "annotations": {annotation: "x"}}}, {"metadata": {"name": "n"}}]}
    known = {"winkube_node_name": "win1", "cni_former_account_nodes": nodes}
    assert decided(FLANNEL, "cni_former_account_stays", **TO_CALICO, **known) is stays


def test_a_daemon_set_of_others_is_not_removed() -> None:
    cluster = {"foreign_daemon_sets": ["kube-system/calico-node-windows"]}
    for name in ("cni_former_daemon_sets", "cni_former_config_maps"):
        assert decided(VXLAN, name, **TO_FLANNEL, node_join_cluster=cluster) == []


def test_a_node_that_leaves_calico() -> None:
    flannel = {"cni_plugin": "flannel", "cni_flannel_backend": "vxlan"}
    assert decided(VXLAN, "cni_former_hns_networks", **flannel) == ["Calico", "External"]
    metadata = decided(VXLAN, "cni_former_metadata", **flannel)
    assert metadata["labels"] == {LABEL: None}
    assert metadata["annotations"]["projectcalico.org/IPv4VXLANTunnelAddr"] is None
    assert decided(VXLAN, "cni_former_daemon_sets", **flannel) == ["kube-system/calico-node-windows"]
    assert decided(VXLAN, "cni_former_config_maps", **flannel) == ["kube-system/cni-config-windows"]
    files = decided(VXLAN, "cni_former_files", **flannel)
    assert {r"C:\etc\cni\net.d\10-calico.conflist", r"C:\etc\cni\net.d\calico-kubeconfig"} <= set(files)
    assert {r"C:\var\run\calico", r"C:\var\lib\calico"} <= set(files)
    gone = [one["type"] + " " + one.get("name", one.get("key", "")) for one in decided(
        VXLAN, "cni_recorded_resources", **flannel) if one.get("state") == "absent"]  # fmt: skip
    assert {r"File C:\opt\cni\bin\calico.exe", "FirewallRule OverlayTraffic4789UDP"} <= set(gone)
    assert r"Registry HKLM:\Software\Tigera" in gone


@pytest.mark.parametrize(
    ("recorded", "variables", "features"),
    [
        (BGP, TO_FLANNEL, FEATURES),
        (BGP, TO_CALICO, FEATURES),
        # The role windows_features installs a feature in any case.
        (BGP, {**TO_FLANNEL, "windows_features_names": ["Containers", "routing"]}, FEATURES[:2]),
        (BGP, {**TO_CALICO, "cni_calico_mode": "bgp"}, None),
        (VXLAN, TO_FLANNEL, None),
        (VXLAN, {**TO_CALICO, "cni_calico_mode": "bgp"}, None),
    ],
)
def test_the_router_goes_with_bgp(
    recorded: dict[str, str], variables: dict[str, t.Any], features: list[str] | None
) -> None:
    found = decided(recorded, "cni_recorded_resources", **variables)
    routers = [one for one in found if one["type"] == "RemoteAccessRouting"]
    expected = {"type": "RemoteAccessRouting", "name": "BGP", "features": features, "state": "absent"}
    assert routers == ([] if features is None else [expected])
    # The record comes last, so that an interrupted run removes the router again.
    assert found[-1]["type"] == "File"


def test_a_node_that_gets_calico_is_labelled_only_after_its_former_network_is_gone() -> None:
    to_calico = {"cni_plugin": "calico", "cni_calico_mode": "vxlan"}
    assert LABEL not in decided(FLANNEL, "cni_node_labels", **to_calico)
    assert decided(FLANNEL, "cni_new_labels", **to_calico) == {LABEL: "calico"}
    assert "labels" not in decided(FLANNEL, "cni_former_metadata", **to_calico)
    assert decided(VXLAN, "cni_node_labels", **to_calico)[LABEL] == "calico"
    assert decided(VXLAN, "cni_new_labels", **to_calico) == {}
    assert decided(VXLAN, "cni_former_config_maps", **to_calico) == []


@pytest.mark.parametrize(
    ("recorded", "joined", "variables", "expected"),
    [
        # The file with the labels of a live node is the same before and after its network has changed.
        (FLANNEL, True, TO_CALICO, "calico"),
        (VXLAN, True, TO_CALICO, "calico"),
        (VXLAN, True, TO_FLANNEL, None),
        (FLANNEL, True, TO_FLANNEL, None),
        ({}, False, TO_CALICO, "calico"),
        # The pods of the new network must not run on the node before the former network is gone.
        (FLANNEL, False, TO_CALICO, None),
    ],
)
def test_the_label_in_the_file_of_the_kubelet(
    recorded: dict[str, str], joined: bool, variables: dict[str, t.Any], expected: str | None
) -> None:
    information = {"computer_name": "WIN1", "joined": joined, "cni": recorded}
    labels = value(rendered.node(node_join_info=information, **variables), "winkube_node_labels")
    assert labels.get(LABEL) == expected


@pytest.mark.parametrize(
    ("joined", "addressed", "expected"),
    [
        (True, {}, "10.0.0.1"),
        (False, {}, ""),
        (False, {"win1": "10.0.0.9"}, "10.0.0.9"),
        (True, {"win1": "10.0.0.9"}, "10.0.0.9"),
    ],
)
def test_the_address_of_a_node_that_joined_again_is_not_that_of_the_old_one(
    joined: bool, addressed: dict[str, str], expected: str
) -> None:
    known = rendered.node(
        cni_plugin="calico",
        node_join_info={"computer_name": "WIN1", "node_name": "win1", "joined": joined, "cni": {}},
        node_join_cluster={**rendered.CLUSTER, "nodes": {"win1": {"overlay_address": "10.0.0.1"}}},
        node_join_addressed={"nodes": {name: {"overlay_address": address} for name, address in addressed.items()}},
    )
    assert value(known, "node_join_overlay_address") == expected


def test_the_mode_without_a_cluster_is_the_one_that_kubespray_will_create() -> None:
    assert decided({}, "cni_network_identity", cni_plugin="calico")["mode"] == "vxlan"
    bird = {"calico_network_backend": "bird"}
    assert decided({}, "cni_network_identity", cni_plugin="calico", **bird)["mode"] == "bgp"


@pytest.mark.parametrize(
    ("recorded", "plugin", "selector"),
    [
        (VXLAN, "flannel", f"{LABEL}=calico"),
        (VXLAN, "calico", ""),
        # flannel's DaemonSet needs no label.
        (FLANNEL, "calico", ""),
        ({}, "calico", ""),
    ],
)
def test_nodes_that_need_the_daemon_set_of_a_former_network(
    recorded: dict[str, str], plugin: str, selector: str
) -> None:
    assert decided(recorded, "cni_former_node_selector", cni_plugin=plugin) == selector


@pytest.mark.parametrize(("selector", "refused"), [("", True), (f"{LABEL}=calico", False)])
def test_only_a_daemon_set_that_needs_no_label_must_not_be_removed_too_early(selector: str, refused: bool) -> None:
    known = {
        "cni_former_daemon_sets": ["kube-system/calico-node-windows"],
        "cni_former_node_selector": selector,
        "cni_remove_daemon_sets": False,
        "node_join_removal_problem": "win2 may need it",
    }
    refusal = task("node_join", "names.yml", "Refuse to remove DaemonSets of a network from nodes that may need them")
    assert holds(templar([], known), refusal["when"]) is refused


@pytest.mark.parametrize(
    ("nodes", "stays"),
    [
        ({}, False),
        ({"resources": []}, False),
        # In check mode, the node itself keeps its label.
        ({"resources": [{"metadata": {"name": "win1"}}]}, False),
        ({"resources": [{"metadata": {"name": "win1"}}, {"metadata": {"name": "win2"}}]}, True),
    ],
)
def test_the_daemon_set_stays_while_another_node_needs_it(nodes: dict[str, t.Any], stays: bool) -> None:
    known = {"winkube_node_name": "win1", "cni_former_nodes": nodes}
    assert decided(VXLAN, "cni_former_network_stays", cni_plugin="flannel", **known) is stays
    for name in ("Remove the DaemonSets of a former network", "Remove the ConfigMaps of these DaemonSets"):
        condition = task("cni", "replace_network.yml", name)["when"]
        assert holds(templar([], {"cni_former_network_stays": stays}), condition) is not stays


@pytest.mark.parametrize(
    ("labels", "adapters", "timeout", "guarded"),
    [
        ({LABEL: "calico"}, ["Ethernet"], 0, True),
        ({LABEL: "calico"}, [], 0, False),
        ({LABEL: "calico"}, None, 0, False),
        # The cleanup itself waits for a network whose pods need no label, and restores the addresses.
        ({}, ["Ethernet"], 300, False),
    ],
)
def test_static_addresses_are_guarded_until_calico_has_made_its_network(
    labels: dict[str, str], adapters: list[str] | None, timeout: int, guarded: bool
) -> None:
    result = {} if adapters is None else {"static_adapters": adapters}
    known = templar([], {"cni_new_labels": labels, "cni_network_removed": result})
    cleanup = task("cni", "replace_network.yml", "Remove the network of the former CNI plugin")
    assert rendered_text(known, cleanup["winkube.node.hns_cleanup"]["network_timeout"]) == timeout
    guard = task("cni", "replace_network.yml", "Guard the static address while the new network is created")
    assert holds(known, guard["when"]) is guarded


@pytest.mark.parametrize(
    ("guard", "allowed"), [({"skipped": True}, True), ({"guard": {"key": "1"}}, True), ({"unreachable": True}, False)]
)
def test_calico_starts_only_if_the_guard_did(guard: dict[str, t.Any], allowed: bool) -> None:
    label = task("cni", "replace_network.yml", "Let the pods of the new network run on the node")
    known = templar([], {"cni_new_labels": {LABEL: "calico"}, "cni_guard": guard})
    assert holds(known, label["when"]) is allowed


ARCHIVE = {
    "cni_plugin": "calico",
    "cni_calico_mode": "vxlan",
    "cni_calico_version": "v3.31.5",
    "cni_calico_url": "https://files.example/calico.tar",
    "cni_calico_sha256": 64 * "a",
}


def test_an_archive_replaces_the_registry() -> None:
    artifact = next(one for one in decided({}, "cni_resources", **ARCHIVE) if one["type"] == "Artifact")
    assert (artifact["kind"], artifact["version"], artifact["sha256"]) == ("calico-images", "3.31.5", 64 * "a")
    assert artifact["urls"] == ["https://files.example/calico.tar"]
    names = [f"quay.io/calico/{name}-windows:v3.31.5" for name in ("cni", "node")]
    expected = [{"name": name, "archive": artifact["path"]} for name in names]
    assert decided({}, "cni_network_images", **ARCHIVE) == expected
    # Without an archive, the images come from their registry.
    pulled = {**ARCHIVE, "cni_calico_url": ""}
    assert decided({}, "cni_network_images", **pulled) == names
    assert not [one for one in decided({}, "cni_resources", **pulled) if one["type"] == "Artifact"]


@pytest.mark.parametrize(
    "unneeded", [{"cni_calico_version": ""}, {"winkube_cluster": {"calico": facts(installation=installation())}}]
)
def test_an_archive_that_no_daemon_set_of_ours_needs(unneeded: dict[str, t.Any]) -> None:
    assert decided({}, "cni_network_images", **{**ARCHIVE, **unneeded}) == []
    assert not [one for one in decided({}, "cni_resources", **{**ARCHIVE, **unneeded}) if one["type"] == "Artifact"]


@pytest.mark.parametrize(
    ("addressed", "variables", "restarted"),
    [
        ({"nodes": {"win1": {"has_pods": True}}}, {}, True),
        ({"nodes": {"win1": {"has_pods": False}}}, {}, False),
        # Its network has not just started.
        ({"nodes": {"win2": {"has_pods": True}}}, {}, False),
        ({"skipped": True}, {}, False),
        ({"nodes": {"win1": {"has_pods": True}}}, {"ansible_check_mode": True}, False),
        # The role node_maintenance does it.
        ({"nodes": {"win1": {"has_pods": True}}}, {"node_join_defers": True}, False),
    ],
)
def test_pods_on_a_node_whose_network_has_just_started(
    addressed: dict[str, t.Any], variables: dict[str, bool], restarted: bool
) -> None:
    condition = task("node_join", "addressed.yml", "Restart pods that lost their network when Calico started")["when"]
    known = {"ansible_check_mode": False, "node_join_defers": False, "node_join_name": "win1", **variables}
    assert holds(templar([], {**known, "node_join_addressed": addressed}), condition) is restarted
