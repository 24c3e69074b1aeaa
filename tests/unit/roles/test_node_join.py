# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where nodes find the control plane, according to the variables of the role node_join."""

from __future__ import annotations

import itertools
import json
import typing as t

import pytest
import yaml
from ansible.template import Templar
from unit.roles.templates import ROLES as ROLES_FOLDER
from unit.roles.templates import holds, rendered, task, templar, value

ROLES = ("windows_settings", "container_runtime", "cni", "kubernetes_node", "node_join")
API_SERVER = "lb-apiserver.kubernetes.local:6443"
CLUSTER = {
    "api_server": API_SERVER,
    "node_version": "1.36.2",
    "ca_certificate": "a certificate",
    "ca_cert_hash": "sha256:00",
    "pod_subnet": "10.244.0.0/16",
    "service_subnet": "10.96.0.0/12",
    "nodes": {},
}


def known(**variables: t.Any) -> Templar:
    """Return what templates see on a host that is going to join."""
    facts = {"computer_name": "WIN1", "cni": {}}
    run = {"node_join_cluster": CLUSTER, "node_join_info": facts, "node_join_tokens": {"tokens": {"win1": "a.b"}}}
    return templar(ROLES, {"inventory_hostname": "win1", "groups": {}, "hostvars": {}, **run, **variables})


def test_a_node_joins_at_the_endpoint_that_the_cluster_names() -> None:
    found = known()
    assert value(found, "node_join_discovery") == ""
    discovery = yaml.safe_load(value(found, "node_join_configuration"))["discovery"]
    assert discovery["bootstrapToken"]["apiServerEndpoint"] == API_SERVER
    assert value(found, "cni_api_server") == API_SERVER


def test_a_node_joins_at_the_endpoint_that_it_is_given() -> None:
    found = known(node_join_api_server="10.3.0.1:6443")
    (cluster,) = json.loads(value(found, "node_join_discovery"))["clusters"]
    # kubeadm searches for the cluster without a name, or for a current context.
    assert cluster["name"] == ""
    assert cluster["cluster"]["server"] == "https://10.3.0.1:6443"
    assert cluster["cluster"]["certificate-authority-data"]
    discovery = yaml.safe_load(value(found, "node_join_configuration"))["discovery"]
    assert set(discovery) == {"file", "tlsBootstrapToken"}
    # flannel and kube-proxy use it, too.
    assert value(found, "cni_api_server") == "10.3.0.1:6443"
    # The cluster's own endpoint needs no file.
    assert value(known(node_join_api_server=API_SERVER), "node_join_discovery") == ""


def test_machines_are_asked_about_the_endpoint_that_they_will_use() -> None:
    asked = task("node_join", "info.yml")["winkube.node.join_info"]
    found = known(node_join_api_server="10.3.0.1:6443", windows_settings_hosts={"a": "10.3.0.1"})
    options = {name: value(found, asked[name].strip()[2:-2]) for name in ("cluster_server", "api_server", "hosts")}
    assert options == {"cluster_server": API_SERVER, "api_server": "10.3.0.1:6443", "hosts": {"a": "10.3.0.1"}}


@pytest.mark.parametrize(
    ("skew", "limit", "accepted"),
    [(0.4, 240, True), (-239, 240, True), (600, 240, False), (-600, 240, False), (600, 0, True), (600, 900, True)],
)
def test_a_clock_that_is_far_off_is_refused(skew: float, limit: int, accepted: bool) -> None:
    facts = {"computer_name": "WIN1", "cni": {}, "clock_skew": skew}
    found = known(node_join_info=facts, node_join_clock_skew_limit=limit)
    (check,) = (
        one["ansible.builtin.assert"]
        for one in yaml.safe_load((ROLES_FOLDER / "node_join/tasks/converge.yml").read_text(encoding="utf-8"))
        if "clock_problem" in str(one.get("ansible.builtin.assert", ""))
    )
    assert bool(value(found, check["that"])) is accepted
    # If the preparation has set the clock, this decides.
    set_right = known(node_join_info=facts, node_prepare_converged={"clock_skew": 0.1})
    assert value(set_right, check["that"])


@pytest.mark.parametrize(("joined", "ready", "rejoin"), [*itertools.product([True, False], repeat=3)])
def test_a_node_is_deleted_only_where_its_machine_is_new_and_that_was_asked_for(
    joined: bool, ready: bool, rejoin: bool
) -> None:
    deletes = task("node_join", "join_machine.yml", "Delete the node of a machine that joins again")
    assert deletes["kubernetes.core.k8s"]["state"] == "absent"
    found = known(
        node_join_info={"joined": joined, "computer_name": "WIN1", "cni": {}},
        node_join_is_ready=ready,
        node_join_rejoin=rejoin,
    )
    assert holds(found, deletes["when"]) is (not joined and ready and rejoin)


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("tokens", "made"),
    [({"token_ids": {"win1": "abcdef"}}, True), ({"token_ids": {}}, False), ({"skipped": True}, False)],
)
def test_tokens_are_deleted_where_this_run_made_some(dry: bool, tokens: dict[str, t.Any], made: bool) -> None:
    deletes = task("node_join", "join_machine.yml", "Delete the bootstrap tokens")
    found = known(node_join_tokens=tokens, ansible_check_mode=dry)
    assert holds(found, deletes["when"]) is (made and not dry)
    assert deletes["winkube.node.bootstrap_token"]["state"] == "absent"
    if made:
        assert rendered(found, deletes["winkube.node.bootstrap_token"]["token_ids"]) == ["abcdef"]


@pytest.mark.parametrize("verify", [True, False])
def test_variables_decide_how_the_cluster_is_queried(verify: bool) -> None:
    asked = task("node_join", "check.yml")["winkube.node.cluster_info"]
    found = known(
        node_join_verify_ca=verify,
        node_join_kubeconfig="/home/me/admin.conf",
        node_join_kubeconfig_context="prod",
        node_join_purposes=["read", "join"],
        node_join_networks=["calico"],
    )
    assert {name: rendered(found, text) for name, text in asked.items()} == {
        "kubeconfig": "/home/me/admin.conf",
        "context": "prod",
        "verify_ca": verify,
        "purposes": ["read", "join"],
        "networks": ["calico"],
    }


KUBEADM_TOKENS = {
    "node_join_token_source": "control_plane",
    "node_join_kubeadm_tokens": {"results": [{"item": "win1", "stdout": "abcdef.0123456789abcdef"}]},
}


def test_a_token_of_a_control_plane_host_is_used_and_deleted_there() -> None:
    found = known(**KUBEADM_TOKENS, node_join_tokens={"skipped": True}, ansible_check_mode=False)
    bootstrap = yaml.safe_load(value(found, "node_join_configuration"))["discovery"]["bootstrapToken"]
    assert bootstrap["token"] == "abcdef.0123456789abcdef"
    assert value(found, "node_join_token_ids") == {"win1": "abcdef"}
    over_api = task("node_join", "join_machine.yml", "Delete the bootstrap tokens")
    over_ssh = task("node_join", "join_machine.yml", "Delete the bootstrap tokens on the control plane host")
    assert [holds(found, one["when"]) for one in (over_api, over_ssh)] == [False, True]
    # The whole token is in no command line.
    assert over_ssh[COMMAND]["argv"][1:] == ["token", "delete", "{{ item.value }}"]


COMMAND = "ansible.builtin.command"


def test_a_dry_run_needs_no_token_of_a_control_plane_host() -> None:
    empty = {"node_join_token_source": "control_plane", "node_join_kubeadm_tokens": {"skipped": True}}
    found = known(**empty, ansible_check_mode=True)
    assert "token: ''" in value(found, "node_join_configuration")
    assert value(found, "node_join_token_ids") == {}


@pytest.mark.parametrize(
    ("approval", "group"), [("run", "winkube:node-token"), ("cluster", "kubeadm:default-node-token")]
)
def test_what_kubeadm_creates_tokens_with(approval: str, group: str) -> None:
    creates = task("node_join", "join_machine.yml", "Create a bootstrap token for each node on the control plane host")
    found = known(
        node_join_approval=approval, node_join_token_ttl=900, item="win1", node_join_control_plane_kubeadm="/a/b"
    )
    assert [rendered(found, word) for word in creates[COMMAND]["argv"]] == [
        "/a/b",
        "token",
        "create",
        "--ttl=900s",
        f"--groups=system:bootstrappers:{group}",
        "--description=winkube.node run: win1",
    ]
    assert creates["no_log"] is True


def test_the_first_control_plane_host_is_the_default() -> None:
    groups = {"kube_control_plane": ["cp1", "cp2"], "kube-master": ["old"]}
    assert value(known(groups=groups), "node_join_control_plane") == "cp1"
    assert value(known(groups={"kube-master": ["old"]}), "node_join_control_plane") == "old"
    assert value(known(), "node_join_control_plane") == ""


def test_a_cluster_info_that_is_not_public_is_replaced_by_a_kubeconfig_with_the_token() -> None:
    found = known(node_join_cluster={**CLUSTER, "cluster_info_public": False})
    document = json.loads(value(found, "node_join_discovery"))
    assert document["users"][0]["user"] == {"token": "a.b"}
    assert document["clusters"][0]["cluster"]["server"] == f"https://{API_SERVER}"
    discovery = yaml.safe_load(value(found, "node_join_configuration"))["discovery"]
    assert set(discovery) == {"file", "tlsBootstrapToken"}


def test_labels_that_a_kubelet_may_set_are_registered_and_all_are_set_through_the_api() -> None:
    labels = {"site": "a", "node-role.kubernetes.io/windows": "", "gone": None}
    found = known(node_join_node_labels=labels, node_join_node_annotations={"a": "b"})
    arguments = yaml.safe_load(value(found, "node_join_configuration"))["nodeRegistration"]["kubeletExtraArgs"]
    assert arguments == [{"name": "node-labels", "value": "site=a"}]
    assert value(found, "node_join_kubelet")["command_line"].endswith(" --node-labels=site=a")
    assert value(found, "node_join_expected_metadata") == {"labels": labels, "annotations": {"a": "b"}}
    assert value(known(), "node_join_expected_metadata") == {}
    assert value(known(), "node_join_kubelet") == {}


def test_one_task_sets_the_labels_of_all_hosts() -> None:
    own = {"node_join_info": {"node_name": "n-a"}, "node_join_own_metadata": {"labels": {"site": "a"}}}
    hosts = {"a": own, "b": {"node_join_info": {"node_name": "n-b"}}}
    found = known(hostvars=hosts, ansible_play_batch=["a", "b"])
    assert value(found, "node_join_metadata_of_nodes") == {"n-a": {"labels": {"site": "a"}}}


def test_the_run_waits_for_the_pods_of_the_daemon_sets_that_it_applied() -> None:
    objects = [
        {"kind": "DaemonSet", "metadata": {"namespace": "kube-flannel", "name": "flannel-windows"}},
        {"kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "kube-proxy-windows"}},
    ]
    hosts = {
        name: {"node_join_info": {"node_name": f"n-{name}"}, "node_join_later": name == "later", **more}
        for name, more in {"a": {}, "docker": {"container_runtime": "moby"}, "later": {}}.items()
    }
    hosts["a"]["cni_applied"] = {"result": {"results": [{"result": one} for one in objects]}}
    found = known(hostvars=hosts, ansible_play_batch=list(hosts), ansible_play_hosts_all=list(hosts))
    assert value(found, "node_join_awaited_daemon_sets") == {"n-a": ["kube-flannel/flannel-windows"]}


LOST = {"unreachable": True, "msg": "the connection is lost"}


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, True),
        ({"node_prepare_converged": {"changed": True}, "node_join_result": {"skipped": True}}, True),
        ({"node_join_info": LOST}, False),
        ({"node_prepare_converged": {"failed": True}}, False),
        ({"node_join_domain_joined": {"skipped": True}, "node_join_guard": {"changed": True}}, True),
        ({"node_join_domain_joined": {"failed": True}}, False),
        ({"node_join_guard": LOST}, False),
        ({"node_join_result": {"failed": True, "msg": "kubeadm join: no"}}, False),
        ({"node_join_converged": LOST}, False),
    ],
)
def test_the_run_does_not_wait_for_a_host_that_failed_in_a_block_with_a_rescue_section(
    more: dict[str, t.Any], counts: bool
) -> None:
    # replace_nodes.yml has such a block, and the failed host stays in its batch.
    own = {"node_join_info": {"node_name": "n-a", "joined": False}}
    hosts = {"a": {**own, **more}, "b": {"node_join_info": {"node_name": "n-b", "joined": False}}}
    found = known(hostvars=hosts, ansible_play_batch=["a", "b"], ansible_play_hosts_all=["a", "b"])
    expected = ["n-a", "n-b"] if counts else ["n-b"]
    for name in ("node_join_play_nodes", "node_join_joining_nodes", "node_join_awaited_nodes"):
        assert value(found, name) == expected, name
