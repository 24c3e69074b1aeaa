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
    deletes = task("node_join", "join.yml", "Delete the node of a machine that joins again")
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
    deletes = task("node_join", "join.yml", "Delete the bootstrap tokens")
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
