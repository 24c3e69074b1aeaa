# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete runs of preflight, with all results."""

from __future__ import annotations

import typing as t
from pathlib import Path

from unit import outcomes
from unit.action_run import run

from ansible_collections.winkube.node.plugins.action import preflight

URL = "https://dl.example/a.zip"
SOURCES = "cni_artifact_sources"
Values = dict[str, t.Any]
DOCKER = {"container_runtime_moby_version": "28.5.2", "container_runtime_cri_dockerd_version": "0.3.21"}


HOST: Values = {
    "inventory_hostname": "win1",
    "ansible_host": "192.0.2.1",
    "ansible_connection": "psrp",
    "ansible_play_hosts_all": ["win1", "win2"],
    "groups": {"node_windows": ["win3"], "node-windows": ["win4"]},
    "hostvars": {
        "win1": {"kubernetes_node_hostname": "a"},
        "win2": {"kubernetes_node_hostname": "a b"},
        "win3": {"kubernetes_node_hostname": "A"},
        "win4": {},
    },
}
GOOD = {"hostvars": {name: {} for name in ("win1", "win2", "win3", "win4")}}
RUNS: dict[str, tuple[Values, Values]] = {
    "good": ({"kubernetes_version": "1.36.2", "containerd_version": "2.3.7"}, GOOD),
    "of another host": ({"kubernetes_version": "1.36.2"}, {"inventory_hostname": "win2"}),
    "all kinds of problems": (
        {"kubernetes_version": "1.36.2", "containerd_version": "1.6.0", "join": True},
        {
            "cni_plugin": "x",
            "cni_plugn": 1,
            "kube_versoin": "1.36.1",
            "cni_pods_subnet": "x",
            "container_runtime_sandbox_image": "pause",
            "kubernetes_node_install_dir": "k",
            "windows_patches_public": ["KB1"],
            "node_maintenance_serial": 0,
            "node_join_kubeconfig": "",
            "ansible_psrp_cert_validation": "ignore",
            "cni_plugins_sha256": "x",
            "clustr_name": "x",
        },
    ),
    "told, but no failure": ({"kubernetes_version": "1.36.2", "fail": False}, {}),
    "without a version": ({"kubernetes_version": ""}, GOOD),
    "without a version where it joins": ({"kubernetes_version": "", "join": True}, GOOD),
    "without a version where a cluster is asked": (
        {"kubernetes_version": ""},
        {**GOOD, "node_join_purposes": [], "node_join_kubeconfig": "/a"},
    ),
    "without a version, with a kubeconfig only": ({"kubernetes_version": ""}, {**GOOD, "node_join_kubeconfig": "/a"}),
    "docker": ({"kubernetes_version": "1.36.2", "container_runtime": "docker", "containerd_version": "1"}, GOOD),
    "moby": ({"kubernetes_version": "1.36.2", "container_runtime": "moby"}, {**GOOD, **DOCKER}),
    "an insecure connection": ({}, {**GOOD, "ansible_psrp_cert_validation": "ignore"}),
    "an insecure connection that is allowed": (
        {},
        {**GOOD, "ansible_psrp_cert_validation": "ignore", "allow_insecure_connection": "yes"},
    ),
    "no connection": ({}, {**GOOD, "ansible_connection": "ssh"}),
    "strict": (
        {},
        {
            **GOOD,
            SOURCES: {"verify": "strict"},
            "cni_plugins_url": URL,
            "node_prepare_roles": ["cni"],
            "cni_plugin": "flannel",
        },
    ),
    "unverified": ({}, {**GOOD, "cni_plugins_url": URL, "node_prepare_roles": ["cni"], "cni_plugin": "flannel"}),
    "a proxy": ({}, {**GOOD, "windows_settings_http_proxy": "http://p.example:1"}),
    "a proxy for https": ({}, {**GOOD, "windows_settings_https_proxy": "http://p.example:1"}),
    "a proxy and a kubeconfig": (
        {},
        {**GOOD, "windows_settings_http_proxy": "http://p.example:1", "node_join_kubeconfig": "/a"},
    ),
    "drained without a kubeconfig": (
        {},
        {**GOOD, "node_maintenance_kubeconfig": "", "node_maintenance_drain": True},
    ),
    "not drained": (
        {"drain": False},
        {**GOOD, "node_maintenance_kubeconfig": "", "node_maintenance_drain": True},
    ),
}


def test_whole_runs() -> None:
    outcomes.check(
        "preflight/runs",
        {name: run(preflight, options, {**HOST, **values}) for name, (options, values) in RUNS.items()},
    )


def test_a_kubeconfig_must_exist_on_the_controller(tmp_path: Path) -> None:
    there = tmp_path / "admin.conf"
    there.write_text("", encoding="utf-8")
    for path, expected in ((there, 0), (tmp_path / "none", 1)):
        values = {**HOST, **GOOD, "node_join_kubeconfig": str(path), "node_join_delegate": "127.0.0.1"}
        assert len(run(preflight, {"join": True}, values)["problems"]) == expected


def test_only_the_types_of_the_chosen_roles_are_checked_on_a_host_that_is_no_node() -> None:
    values = {
        "inventory_hostname": "localhost",
        "cluster_support_demoo": True,
        "cluster_support_log_outputs": [{"name": "forward"}, "s3cret"],
        "cluster_support_demo_timeout": "soon",
        "kube_versoin": "1.36.1",
        # Only nodes have these variables.
        "kubernetes_node_install_dir": 1,
        "cni_plugn": "flannel",
    }
    result = run(preflight, {"roles": ["cluster_support"]}, values)
    assert result["msg"].startswith("localhost: nothing was changed, because of its variables:")
    assert sorted(one.partition(":")[0].partition(" (")[0] for one in result["problems"]) == [
        "cluster_support_demo_timeout",
        "cluster_support_demoo",
        "cluster_support_log_outputs[1]",
        "cni_plugn",
        "kube_versoin",
    ]
    assert "s3cret" not in str(result)


def test_what_a_network_cannot_do_is_refused_on_a_host_that_is_no_node() -> None:
    values = {"inventory_hostname": "localhost", "cni_plugin": "flannel", "cni_network_policy": "calico"}
    (problem,) = run(preflight, {"roles": ["cluster_support", "cni"]}, values)["problems"]
    assert problem.startswith("cni_network_policy: expected an empty value with flannel")
    assert run(preflight, {"roles": ["cluster_support"]}, values)["problems"] == []
