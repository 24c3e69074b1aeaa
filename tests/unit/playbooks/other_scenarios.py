# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of all playbooks except site.yml, and of roles that are used alone."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

from unit.playbooks.cluster_scenarios import clusters
from unit.playbooks.fleet import HOSTS, KUBECONFIG, LOST, RESULTS, cluster, facts, member
from unit.playbooks.rehearsal import Rehearsal
from unit.playbooks.reset_scenarios import RESETS
from unit.playbooks.upgrade_scenarios import upgrades

PLAIN: Mapping[str, Mapping[str, t.Any]] = {"win1": {"ansible_host": "10.0.0.21"}, "win2": {}}
BUNDLE = {
    "bundle_server": {"pid": 4711, "token": "t"},
    "bundle_info": {
        "bundle_sites": [{"url": "http://10.0.0.9:8080/t"}],
        "bundle_images": {"a": "b"},
        "bundle_patches": {"KB1": {"url": "http://10.0.0.9:8080/t/kb1.msu"}},
        "bundle_pushed": "C:\\bundle",
    },
}
BUNDLE_VARIABLES = {
    "bundle_dir": "/site/bundle",
    "bundle_public_key": "/site/key.pub",
    "bundle_max_age": 30,
    "bundle_allow_older": True,
    "bundle_bind": "10.0.0.9",
    "bundle_port": 8080,
    "bundle_certificate": "/site/cert.pem",
    "bundle_certificate_key": "/site/cert.key",
}
PATCHES = {"windows_patches_public": ["KB1"], "windows_patches_private": [{"file": "a.msu", "sha256": 64 * "a"}]}
PROXY = {"https_proxy": "http://proxy.example:3128", "no_proxy": "intranet.example"}
PASSED = {"problem": "", "page": "build/network.html"}
LOOSE = {"allow_unsupported_windows": True, "allowed_code_policies": ["site"]}


def images() -> dict[str, Rehearsal]:
    """Return runs that build images and bundles, and join machines from images."""
    builders = {"image_builders": ["win1"], "node_windows": ["win2"]}
    build = Rehearsal("build_image.yml", PLAIN, groups=builders, variables={"kube_version": "v1.36.3"})
    push = {**BUNDLE_VARIABLES, "bundle_push": True, **LOOSE, **PROXY}
    # A host with Docker comes first. The other one uses the default runtime.
    plain = {name: value for name, value in HOSTS["new"].items() if name != "container_runtime"}
    new = {"docker": HOSTS["docker"], "new": plain}
    return {
        "build_image/plain": build,
        "build_image/full": replace(
            build,
            variables={**build.variables, **push, **PATCHES, "image_disk_gib": 30, "winkube_image_hosts": "win2"},
            results=BUNDLE,
        ),
        "bundle/plain": Rehearsal("bundle.yml", PLAIN),
        "bundle/full": Rehearsal(
            "bundle.yml",
            PLAIN,
            variables={
                **BUNDLE_VARIABLES,
                **PATCHES,
                **PROXY,
                "bundle_key": "/site/key",
                "bundle_key_passphrase": "secret",
                "bundle_windows": ["2025"],
                "bundle_parallel": 2,
                "bundle_refresh": "yes",
                "bundle_prune": "yes",
                "windows_patches_source": "/site/patches",
                "kube_version": "v1.36.3",
                "container_runtime_registries": {"a.example": {"mirrors": ["http://m.example"]}},
            },
        ),
        "join_nodes/pushed-bundle": Rehearsal(
            "join_nodes.yml",
            new,
            {**RESULTS, **BUNDLE, "cluster_info": cluster()},
            {**KUBECONFIG, **push, "node_join_kubeconfig_context": "prod", "node_join_approval": "cluster"},
        ),
        "join_nodes/live": Rehearsal(
            "join_nodes.yml", {"live": HOSTS["live"]}, RESULTS, {"node_join_kubeconfig": "/site/own.conf"}
        ),
        "join_nodes/without-kubeconfig": Rehearsal("join_nodes.yml", {"live": HOSTS["live"]}, RESULTS),
    }


def inspections() -> dict[str, Rehearsal]:
    """Return runs that only read, or change little."""
    both = {"live": HOSTS["live"], "docker": HOSTS["docker"]}
    drift = {
        "drift_report": {
            "nodes": {
                "live": {"status": "differs", "drift": ["a", "b"]},
                "docker": {"status": "error", "message": "no route"},
            }
        }
    }
    in_sync = {"drift_report": {"nodes": {host: {"status": "in_sync"} for host in PLAIN}}}
    return {
        "plan/in-sync": Rehearsal("plan.yml", PLAIN, in_sync),
        "plan/drift": Rehearsal(
            "plan.yml",
            both,
            {**RESULTS, **drift, "Compare@docker": LOST, "Compare@live": {"changed": True}},
            {**KUBECONFIG, **LOOSE, "winkube_plan_report": "/site/plan.json"},
        ),
        "collect_logs/plain": Rehearsal("collect_logs.yml", PLAIN),
        "collect_logs/full": Rehearsal(
            "collect_logs.yml",
            {**PLAIN, "win3": {}},
            {"node_logs@win1": {"failed": True, "msg": "disk full"}, "node_logs@win2": LOST},
            {
                "collect_logs_dir": "/site/logs",
                "collect_logs_since": "1h",
                "collect_logs_limit_mb": 5,
                "collect_logs_sources": ["kubelet"],
                "collect_logs_namespaces": ["default"],
                "collect_logs_paths": ["C:\\x"],
                "hns_debug_scripts": "yes",
                "hns_debug_scripts_commit": 40 * "a",
                "hns_debug_scripts_dir": "D:\\debug",
                "hns_debug_scripts_sha256": 64 * "b",
                "artifact_cache": "D:\\cache",
                "artifact_mirror": "https://mirror.example",
                "artifact_sites": [{"url": "https://site.example"}],
                "artifact_upstream": "no",
                "artifact_limit_rate": "1M",
                "artifact_ignore_revocation": "yes",
                **PROXY,
                **LOOSE,
            },
        ),
        "collect_logs/scripts": Rehearsal(
            "collect_logs.yml",
            {"win1": {}},
            variables={
                "hns_debug_scripts": True,
                "hns_debug_scripts_commit": 40 * "a",
                "hns_debug_scripts_sha256": 64 * "b",
                "http_proxy": "http://proxy.example:3128",
            },
        ),
        "hns_report/plain": Rehearsal("hns_report.yml", PLAIN),
        "hns_report/trouble": Rehearsal(
            "hns_report.yml",
            {**PLAIN, "win3": {}},
            {"hns_info@win1": {"failed": True, "msg": "HNS hangs"}, "hns_info@win2": LOST},
            {"winkube_hns_timeout": 5, "hns_cleanup_containerd_namespaces": ["a"], "winkube_hns_summary": True},
        ),
        "verify_network/plain": Rehearsal("verify_network.yml", PLAIN, {"network_report": PASSED}, KUBECONFIG),
        "verify_network/failed": Rehearsal(
            "verify_network.yml",
            PLAIN,
            {"network_report": {"problem": "1 check failed", "page": "/site/network.html"}},
            {
                "node_join_kubeconfig": "/own.conf",
                "node_join_kubeconfig_context": "prod",
                "node_join_delegate": "localhost",
                "cni_network_policy": "calico",
                "verify_network_nodes": ["win1"],
                "verify_network_sample": 2,
                "verify_network_linux_nodes": 1,
                "verify_network_windows_image": "registry.example/agnhost:w",
                "verify_network_linux_image": "registry.example/agnhost:l",
                "verify_network_tolerations": [],
                "verify_network_outbound_url": "",
                "verify_network_node_port_from_controller": True,
                "verify_network_dns_domain": "corp.example",
                "verify_network_parallel": 3,
                "verify_network_attempts": 1,
                "verify_network_connect_timeout": 2,
                "verify_network_result_timeout": 4,
                "verify_network_pod_timeout": 6,
                "verify_network_timeout": 7,
                "verify_network_cleanup_timeout": 8,
                "verify_network_report": "/site/network.json",
                "verify_network_page": "/site/network.html",
                "verify_network_summary": True,
                "verify_network_allow_not_run": True,
            },
        ),
        "verify_network/denied": Rehearsal(
            "verify_network.yml",
            PLAIN,
            {"network_check": {"failed": True, "msg": "permissions are missing"}},
            KUBECONFIG,
        ),
        "verify_network/check": Rehearsal(
            "verify_network.yml",
            PLAIN,
            {"network_report": {"problem": "no check passed", "page": "build/network.html"}},
            {**KUBECONFIG, "verify_network_policy": "skip"},
            checks=True,
        ),
        "node_doctor/plain": Rehearsal(
            "node_doctor.yml", PLAIN, {"doctor_report": {"problems": dict.fromkeys(PLAIN, "")}}, KUBECONFIG
        ),
        "node_doctor/without-a-cluster": Rehearsal(
            "node_doctor.yml", PLAIN, {"doctor_report": {"problems": dict.fromkeys(PLAIN, "")}}
        ),
        "node_doctor/causes": Rehearsal(
            "node_doctor.yml",
            {"win1": {"kubernetes_node_hostname": "node-1"}, "win2": {"node_join_node_name": "node-2"}},
            {
                "nodes_info": {"failed": True, "msg": "the API server does not respond"},
                "node_diagnosis@win1": {"failed": True, "msg": "an answer from the node cannot be used"},
                "node_diagnosis@win2": LOST,
                "doctor_report": {"problems": {"win1": "not diagnosed: x", "win2": "not diagnosed: y"}},
            },
            {
                **KUBECONFIG,
                "node_join_kubeconfig_context": "prod",
                "node_join_delegate": "localhost",
                "kubernetes_node_install_dir": "D:\\k",
                "cni_conf_dir": "D:\\net.d",
                "cni_bin_dir": "D:\\bin",
                "node_doctor_clock_skew_limit": 60,
                "node_doctor_hns_timeout": 5,
                "node_doctor_hns_grace": 0,
                "node_doctor_report": "/site/doctor.json",
                "node_doctor_page": "/site/doctor.html",
                "allow_unsupported_windows": True,
            },
        ),
        "renew_winrm_certificates/plain": Rehearsal("renew_winrm_certificates.yml", PLAIN),
        "renew_winrm_certificates/full": Rehearsal(
            "renew_winrm_certificates.yml",
            PLAIN,
            variables={
                "winkube_hosts": "win2",
                "winkube_certificate_pins": {"win2": "aa"},
                "winkube_certificate_days": 1,
                "winkube_certificate_valid_days": 2,
                "winkube_certificate_force": True,
            },
        ),
    }


def tokens_and_hns() -> dict[str, Rehearsal]:
    """Return runs of join_token.yml, and of reset_nodes.yml that only clear HNS."""
    token = {
        "cluster_info": {"api_server": "lb:6443", "ca_cert_hash": "sha256:00"},
        "bootstrap_token": {"token": "aaaaaa.1", "token_id": "aaaaaa", "expires": "noon"},
    }
    three: Mapping[str, Mapping[str, t.Any]] = {"win1": {}, "win2": {}, "win3": {}}
    hns = Rehearsal("reset_nodes.yml", three, tags=["role::hns_cleanup"])
    broken = {"hns_cleanup@win1": {"failed": True, "msg": "HNS hangs"}}
    return {
        "join_token/plain": Rehearsal("join_token.yml", {}, token, KUBECONFIG),
        "join_token/full": Rehearsal(
            "join_token.yml",
            {},
            token,
            {
                "node_join_kubeconfig": "/own.conf",
                "node_join_kubeconfig_context": "prod",
                "winkube_token_ttl": 60,
                "winkube_token_file": "/site/token.json",
            },
        ),
        "reset_nodes/no": Rehearsal("reset_nodes.yml", three, {"pause": {"user_input": "no"}}),
        "reset_nodes/yes": replace(hns, results={"pause": {"user_input": "yes"}, **broken}),
        "reset_nodes/two-at-a-time": replace(hns, variables={"reset_confirmation": True, "winkube_serial": 2}),
        "reset_nodes/check": replace(hns, results=broken, checks=True),
    }


def patches() -> dict[str, Rehearsal]:
    """Return runs of patch_nodes.yml."""
    hosts = {name: {"ansible_host": f"10.0.0.{number}"} for number, name in enumerate(("one", "two", "done"), start=1)}
    see, install = "Check which patches are missing", "Install Windows patches"
    nodes = {name: {"status": "would drain", "ours": name == "two", "cordoned_before": name == "two"} for name in hosts}
    drained = {name: {"status": "drained", "cordoned_by": "patch_nodes", "pods": []} for name in hosts}
    results = {
        "Query the nodes in the cluster": {"nodes": nodes},
        f"{see}@one": {"changed": True, "missing": ["KB1"]},
        f"{see}@two": {"changed": True, "missing": ["KB1"]},
        f"{see}@done": {"changed": False},
        "Cordon and drain": {"changed": True, "nodes": drained},
        f"{install}@one": {"changed": True, "reboots": 1},
        f"{install}@two": {"changed": True, "reboots": 0},
        "Wait until the nodes and their HostProcess DaemonSets are ready": {"nodes": {}, "waiting": []},
        "Uncordon": {"nodes": {name: {"failed": False, "unschedulable": False} for name in hosts}},
    }
    run = Rehearsal("patch_nodes.yml", hosts, results, {**KUBECONFIG, **PATCHES})
    full = {
        "node_maintenance_kubeconfig_context": "prod",
        "node_maintenance_serial": 2,
        "node_maintenance_max_failed": 1,
        "node_maintenance_force": True,
        "node_maintenance_delete_emptydir_data": True,
        "node_maintenance_grace_period": 0,
        "node_maintenance_host_process": False,
        "hns_cleanup_containerd_namespaces": ["a"],
        "windows_patches_source": "https://mirror.example/patches",
        "windows_patches_reconnect_timeout": 400,
        "winkube_patch_report": "/site/patch.json",
        **LOOSE,
        **PROXY,
    }
    lost_hns = {"Remove stale HNS endpoints, and restart pods without an endpoint@one": LOST, f"{see}@done": LOST}
    return {
        "patch_nodes/plain": run,
        "patch_nodes/full": replace(
            run, variables={**run.variables, **BUNDLE_VARIABLES, **full}, results={**results, **BUNDLE}
        ),
        "patch_nodes/check": replace(run, checks=True),
        "patch_nodes/nothing": replace(run, variables=KUBECONFIG),
        "patch_nodes/without-drain": replace(run, variables={**PATCHES, "node_maintenance_drain": False}),
        "patch_nodes/one-fails": replace(
            run, results={**results, f"{install}@one": {"failed": True, "msg": "0x800f0982"}}
        ),
        "patch_nodes/lost": replace(
            run,
            results={**results, f"{install}@two": LOST, **lost_hns},
            variables={**run.variables, "node_maintenance_max_failed": 2},
        ),
        "patch_nodes/not-seen": replace(
            run,
            results={
                **results,
                "Query the nodes in the cluster": {"nodes": {"one": {"status": "failed"}}, "msg": "no such node"},
            },
        ),
    }


def roles() -> dict[str, Rehearsal]:
    """Return runs of plays that use a role alone."""

    def play(*names: str, tasks_from: str = "main") -> list[dict[str, t.Any]]:
        tasks = [
            {
                "name": f"Role {name}",
                "ansible.builtin.import_role": {"name": f"winkube.node.{name}", "tasks_from": tasks_from},
            }
            for name in names
        ]
        return [{"name": "Roles alone", "hosts": "all:!localhost", "gather_facts": False, "tasks": tasks}]

    alone = ("windows_settings", "windows_features", "container_runtime", "cni", "kubernetes_node", "image_cache")
    hosts: Mapping[str, Mapping[str, t.Any]] = {"win1": {}}
    tuned = {
        "hns_cleanup_scope": "networks",
        "hns_cleanup_networks": ["cbr0"],
        "hns_cleanup_protected_networks": ["nat"],
        "sysprep_unattend": "C:\\u.xml",
        **LOOSE,
    }
    last = play("hns_cleanup", "windows_patches", "sysprep")
    results = {**RESULTS, "join_info": facts("win1"), "cluster_info": cluster(), "node_state": {}}
    joined = {
        "Create a bootstrap token for each node": {"tokens": {"win1": "a.b"}, "token_ids": {"win1": "a"}},
        "Wait until the nodes are registered": {"nodes": {"win1": member(11)}, "waiting": []},
    }
    maintained = {"nodes_drain": {"nodes": {"win1": {"status": "drained", "cordoned_by": "", "ours": False}}}}
    return {
        "roles/preparing": Rehearsal(play(*alone), hosts, variables={"kube_version": "1.36.3", **LOOSE}),
        "roles/no-version": Rehearsal(play("kubernetes_node"), hosts),
        "roles/ending": Rehearsal(last, hosts, variables=PATCHES),
        "roles/ending-tuned": Rehearsal(last, hosts, variables={**tuned, **PROXY}),
        "roles/node_prepare": Rehearsal(
            play("node_prepare"), hosts, BUNDLE, {"kube_version": "1.36.3", "bundle_dir": "/site/bundle"}
        ),
        "roles/node_prepare-tagged": Rehearsal(
            play("node_prepare"), hosts, variables={"kube_version": "1.36.3"}, tags=["cni", "image_cache"]
        ),
        "roles/node_join": Rehearsal(play("node_join"), hosts, {**results, **joined}, KUBECONFIG),
        "roles/node_maintenance": Rehearsal(play("node_maintenance"), hosts, maintained, KUBECONFIG),
    }


OTHERS: dict[str, Rehearsal] = {
    **images(),
    **inspections(),
    **clusters(),
    **tokens_and_hns(),
    **RESETS,
    **patches(),
    **upgrades(),
    **roles(),
}
