# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The cluster client of the collection's modules: what it imports and requests, and how it handles bad responses."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from simulator_tests.cluster.node_client import Client

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.api_forms import ANYTHING, CONFIG_MAP, NODE
from ansible_collections.winkube.node.plugins.module_utils.approval_api import ApprovalApi
from ansible_collections.winkube.node.plugins.module_utils.cluster_client import Cluster as ClusterClient
from ansible_collections.winkube.node.plugins.module_utils.node_api import NodeApi
from simulator.cluster import SimulatedCluster

MODULES = (
    "bootstrap_token",
    "cluster_info",
    "node_csr_approval",
    "nodes_drain",
    "nodes_metadata",
    "nodes_ready",
    "nodes_uncordon",
    "service_account_tokens",
)
PROGRAM = """
import importlib, json, sys, types
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader([])
from kubernetes import config, dynamic

def typed():
    return {name for name in sys.modules if name.startswith(("kubernetes.client.models.", "kubernetes.client.api."))}

base = "ansible_collections.winkube.node.plugins."
before = typed()
modules = [importlib.import_module(base + "modules." + name) for name in sys.argv[2:]]
params = {"kubeconfig": sys.argv[1], "context": None, "nodes": None, "verify_ca": True}
module = types.SimpleNamespace(params=params, no_log_values=set())
module.params["purposes"] = ["read", "approve"]
module.params["networks"] = []
cluster = importlib.import_module(base + "module_utils.cluster_client").Cluster(module)
api = importlib.import_module(base + "module_utils.approval_api").ApprovalApi(cluster)
nodes = importlib.import_module(base + "modules.cluster_info").read(module, cluster)["nodes"]
api.requests(), api.may_approve(), api.node("nobody"), api.pods("nobody"), api.budgets("default")
print(json.dumps(sorted(typed() - before)))
"""


class Module:
    """The part of AnsibleModule that the client uses."""

    def __init__(self, kubeconfig: Path) -> None:
        self.no_log_values: set[str] = set()
        self.params = {"kubeconfig": str(kubeconfig), "context": None}

    def fail_json(self, **result: Any) -> NoReturn:
        raise AssertionError(result["msg"])


def test_no_typed_model_is_imported_and_no_file_is_left(cluster: SimulatedCluster, tmp_path: Path) -> None:
    """Importing the Python client's models takes two seconds, and its discovery leaves a file of a known name."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cluster.kubeconfig), *MODULES],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def client(cluster: SimulatedCluster) -> ClusterClient:
    return ClusterClient(Module(cluster.kubeconfig))


def test_a_missing_object_is_none(client: ClusterClient) -> None:
    assert client.lookup("api/v1/nodes", "nobody", form=NODE) is None
    assert client.lookup("api/v1/namespaces", "no/where", "configmaps", "a?b#c%2f", form=CONFIG_MAP) is None


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_empty_name_never_means_all_of_them(client: ClusterClient, name: str) -> None:
    for method in ("GET", "DELETE"):
        with pytest.raises(ApiError, match="expected the name of an object"):
            client.ask(method, "api/v1/nodes", name)


def test_a_refusal_contains_the_servers_message(client: ClusterClient) -> None:
    with pytest.raises(ApiError) as refused:
        client.ask("POST", "api/v1/namespaces/default/configmaps", body={"metadata": {"name": "Not A Name"}})
    assert refused.value.status == 422
    assert "Not A Name" in str(refused.value)
    assert refused.value.brief == "422 Unprocessable Entity"


def test_a_patch_of_a_node_is_a_strategic_one(client: ClusterClient, admin: Client) -> None:
    api = NodeApi(client)
    taints = [{"key": f"example.org/{name}", "effect": "NoSchedule"} for name in ("a", "b")]
    admin.request("POST", "/api/v1/nodes", {"metadata": {"name": "patched"}, "spec": {"taints": taints[:1]}})
    try:
        before = api.node("patched") or {}
        api.patch_node("patched", {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}})
        found = api.node("patched") or {}
        assert found["metadata"]["labels"]["a"] == "b"
        assert found["spec"]["unschedulable"] is True
        version = {"resourceVersion": before["metadata"]["resourceVersion"]}
        with pytest.raises(ApiError) as refused:
            api.patch_node("patched", {"metadata": version, "spec": {"unschedulable": None}})
        assert refused.value.status == 409
        assert refused.value.is_temporary
    finally:
        admin.request("DELETE", "/api/v1/nodes/patched")


def test_bindings_and_tokens_are_made_once(client: ClusterClient, admin: Client) -> None:
    api = ApprovalApi(client)
    try:
        assert api.ensure_bindings()
        assert not api.ensure_bindings()
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/winkube:get-nodes"
        binding = admin.get(path)
        other = {"kind": "User", "name": "somebody", "apiGroup": "rbac.authorization.k8s.io"}
        admin.request("PUT", path, {**binding, "subjects": [other]})
        assert api.ensure_bindings()
        assert [one["name"] for one in admin.get(path)["subjects"]] == [
            "somebody",
            "system:bootstrappers:winkube:node-token",
        ]
        assert not api.delete_token("aaaaaa")
        assert api.may_approve()
        assert not api.approves_by_itself()
    finally:
        for kind in ("clusterrolebindings", "namespaces/kube-system/rolebindings"):
            for item in admin.get(f"/apis/rbac.authorization.k8s.io/v1/{kind}")["items"]:
                if item["metadata"]["name"].startswith("winkube:"):
                    name = item["metadata"]["name"]
                    admin.request("DELETE", f"/apis/rbac.authorization.k8s.io/v1/{kind}/{name}")


@contextmanager
def impostor(folder: Path, code: int, answer: bytes) -> Iterator[ClusterClient]:
    """Yield a client of a server that returns the same response to all requests."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *dummy: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield ClusterClient(Module(kubeconfig(folder, f"http://127.0.0.1:{server.server_port}")))
        finally:
            server.shutdown()
            thread.join()


def kubeconfig(folder: Path, server: str) -> Path:
    """Write a kubeconfig for a server, and return its path."""
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>Log in</html>", "expected JSON, got a different format"),
        (b"\xff\xfe", "expected JSON, got a different format"),
        (b"[" * 100_000, "expected JSON, got a different format"),
        (b"[]", "expected an object, got a list"),
        (b'{"items": {}}', "items: expected a list, got an object"),
        (b'{"items": [1]}', r"items\[0\]: expected an object, got a number"),
        (b'{"items": [{"metadata": {}}]}', r"items\[0\]\.metadata\.name: expected a string, got nothing"),
        (
            b'{"items": [{"metadata": {"name": "n", "resourceVersion": "1"}, "status": {"addresses": [{"type": 1}]}}]}',
            r"items\[0\]\.status\.addresses\[0\]\.type: expected a string, got a number",
        ),
    ],
)
def test_an_answer_of_another_form_is_one_clear_message(tmp_path: Path, answer: bytes, message: str) -> None:
    with impostor(tmp_path, 200, answer) as client:
        with pytest.raises(ApiError, match=rf"the response to GET /api/v1/nodes cannot be used: {message}$") as bad:
            NodeApi(client).nodes()
        assert not bad.value.is_temporary
        with (
            pytest.raises(AssertionError, match="failed: the response to GET /api/v1/nodes"),
            client.needed(),
        ):
            NodeApi(client).nodes()


def test_an_empty_list_may_be_null(tmp_path: Path) -> None:
    with impostor(tmp_path, 200, b'{"items": null}') as client:
        assert NodeApi(client).nodes() == []


def test_a_refusal_without_a_status_object_is_reported_with_its_code(tmp_path: Path) -> None:
    with impostor(tmp_path, 502, b"<html>secret</html>") as client, pytest.raises(ApiError) as bad:
        client.ask("GET", "api/v1/nodes", form=ANYTHING)
    assert (str(bad.value), bad.value.status, bad.value.is_temporary) == ("502 Bad Gateway", 502, True)


def test_a_server_that_is_not_reached(tmp_path: Path) -> None:
    client = ClusterClient(Module(kubeconfig(tmp_path, "http://127.0.0.1:1")))
    with pytest.raises(ApiError, match=r"the API server http://127\.0\.0\.1:1 cannot be reached: ") as away:
        client.version()
    assert (away.value.status, away.value.is_temporary) == (0, True)


def test_another_ca_has_no_status_either(cluster: SimulatedCluster, tmp_path: Path) -> None:
    client = ClusterClient(Module(kubeconfig(tmp_path, cluster.server)))
    with pytest.raises(ApiError, match=r"cannot be reached: .*(?i:certificate)") as away:
        client.version()
    assert away.value.status == 0
    assert "\n" not in str(away.value)
