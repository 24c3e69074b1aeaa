# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rehearsed runs of playbooks that only read, or change little."""

from __future__ import annotations

from unit.playbooks.fleet import HOSTS, KUBECONFIG, LOOSE, LOST, PLAIN, PROXY, RESULTS
from unit.playbooks.rehearsal import Rehearsal

PASSED = {"problem": "", "page": "build/network.html"}


def drift_checks() -> dict[str, Rehearsal]:
    """Return runs of plan.yml."""
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
    }


def log_collections() -> dict[str, Rehearsal]:
    """Return runs of collect_logs.yml."""
    return {
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
    }


def hns_reports() -> dict[str, Rehearsal]:
    """Return runs of hns_report.yml."""
    return {
        "hns_report/plain": Rehearsal("hns_report.yml", PLAIN),
        "hns_report/trouble": Rehearsal(
            "hns_report.yml",
            {**PLAIN, "win3": {}},
            {"hns_info@win1": {"failed": True, "msg": "HNS hangs"}, "hns_info@win2": LOST},
            {"winkube_hns_timeout": 5, "hns_cleanup_containerd_namespaces": ["a"], "winkube_hns_summary": True},
        ),
    }


def network_checks() -> dict[str, Rehearsal]:
    """Return runs of verify_network.yml."""
    return {
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
    }


def diagnoses() -> dict[str, Rehearsal]:
    """Return runs of node_doctor.yml."""
    return {
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
    }


def renewals() -> dict[str, Rehearsal]:
    """Return runs of renew_winrm_certificates.yml."""
    return {
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


def inspections() -> dict[str, Rehearsal]:
    """Return all runs of this file."""
    return {**drift_checks(), **log_collections(), **hns_reports(), **network_checks(), **diagnoses(), **renewals()}
