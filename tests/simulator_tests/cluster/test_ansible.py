# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`kubernetes.core` with both kinds of cluster, run by ansible-playbook on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from simulator_tests.cluster.node_client import (
    Client,
    bootstrap_token,
    node_client,
    node_object,
    run_pod,
)
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster

pytestmark = pytest.mark.integration


def play(cluster: SimulatedCluster, folder: Path, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Run tasks on localhost; return the registered results by name."""
    defaults = {f"kubernetes.core.{name}": {"kubeconfig": str(cluster.kubeconfig)} for name in ("k8s", "k8s_info", "k8s_drain")}  # fmt: skip  # noqa: E501
    book = [{"hosts": "localhost", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}]
    (folder / "play.yml").write_text(yaml.safe_dump(book))
    environment = os.environ | {
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "TMPDIR": str(folder),  # for the discovery cache, whose files are named by host and port
    }
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [str(program), "-i", "localhost,", "-c", "local", "play.yml"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    answers = json.loads(done.stdout[done.stdout.index("{") :])["plays"][0]["tasks"]
    return {one["task"]["name"]: one["hosts"]["localhost"] for one in answers}


def test_k8s_and_k8s_info(cluster: SimulatedCluster, namespace: str, tmp_path: Path) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "example.invalid/web:1"}]},
    }
    definition = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": namespace}}
    changed = definition | {"spec": definition["spec"] | {"replicas": 1}}
    present: dict[str, Any] = {"state": "present", "apply": True}
    info = {"api_version": "apps/v1", "kind": "Deployment", "name": "web", "namespace": namespace}
    selected = {"kind": "Pod", "namespace": namespace, "label_selectors": ["app=web"]}
    results = play(
        cluster,
        tmp_path,
        [
            {"name": "account", "kubernetes.core.k8s": {"state": "present", "definition": account}},
            {"name": "first", "kubernetes.core.k8s": present | {"definition": definition}},
            {"name": "again", "kubernetes.core.k8s": present | {"definition": definition}},
            {"name": "check", "check_mode": True, "kubernetes.core.k8s": present | {"definition": changed}},
            {"name": "changed", "kubernetes.core.k8s": present | {"definition": changed}},
            {"name": "read", "kubernetes.core.k8s_info": info},
            {
                "name": "pods",
                "kubernetes.core.k8s_info": selected,
                "register": "pods",
                "until": "pods.resources | length == 1",
                "retries": 50,
                "delay": 0.1,
            },
            {"name": "gone", "kubernetes.core.k8s": {"state": "absent", "definition": definition, "wait": True}},
            {"name": "nothing", "kubernetes.core.k8s_info": info},
        ],
    )
    assert [results[one]["changed"] for one in ("account", "first", "again", "check", "changed", "gone")] == [True, True, False, True, True, True]  # fmt: skip  # noqa: E501
    assert results["read"]["resources"][0]["spec"]["replicas"] == 1
    assert results["pods"]["resources"][0]["metadata"]["labels"]["app"] == "web"
    assert results["nothing"]["resources"] == []


def test_k8s_drain(cluster: SimulatedCluster, admin: Client, namespace: str, tmp_path: Path) -> None:
    node = f"win-{namespace}"
    client = node_client(cluster, bootstrap_token(admin), node, tmp_path)
    client.request("POST", "/api/v1/nodes", node_object(node, ready=True))
    wait_for(lambda: not client.get(f"/api/v1/nodes/{node}")["spec"].get("taints"), "the node takes pods")
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [{"name": "a", "image": "example.invalid/a:1"}],
        "terminationGracePeriodSeconds": 0,
    }
    path = f"/api/v1/namespaces/{namespace}/pods"
    code, body = admin.request("POST", path, {"metadata": {"name": "victim"}, "spec": spec})
    assert code == 201, body
    pod = wait_for(lambda: (one := admin.get(f"{path}/victim"))["spec"].get("nodeName") and one, "bound")
    run_pod(client, pod)
    options = {"force": True, "terminate_grace_period": 0, "wait_timeout": 10}
    results = play(
        cluster,
        tmp_path,
        [
            {"name": "cordon", "kubernetes.core.k8s_drain": {"name": node, "state": "cordon"}},
            {"name": "drain", "kubernetes.core.k8s_drain": {"name": node, "state": "drain", "delete_options": options}},
        ],
    )
    assert (results["cordon"]["changed"], results["drain"]["changed"]) == (True, True)
    assert admin.get(f"/api/v1/nodes/{node}")["spec"]["unschedulable"] is True
    assert admin.request("GET", f"{path}/victim")[0] == 404
    admin.request("DELETE", f"/api/v1/nodes/{node}")
