# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""cluster.yml with the rights in docs/rbac_cluster_support.yaml: applied once, then nothing, then removed again."""

from __future__ import annotations

import http.server
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from integration import forked_runs
from integration.limited_account import limited_kubeconfig
from integration.playbooks import ROOT
from simulator_tests.cluster.node_client import Client, admin_client
from simulator_tests.cluster.small_kubelet import SmallKubelet
from simulator_tests.waiting import wait_for
from unit.gmsa_samples import SECRET, SPEC

from simulator.cluster import SimulatedCluster

pytestmark = [pytest.mark.waits, pytest.mark.integration]

APPLY = "application/apply-patch+yaml"
LABEL = "winkube.node/cluster-support"
RECORD = "/api/v1/namespaces/kube-system/configmaps/winkube-cluster-support"
PATHS = (
    "/api/v1/namespaces",
    "/api/v1/serviceaccounts",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/monitoring.coreos.com/v1/podmonitors",
    "/apis/monitoring.coreos.com/v1/prometheusrules",
    "/apis/windows.k8s.io/v1/gmsacredentialspecs",
)
EVERYTHING: dict[str, Any] = {
    "cluster_support_namespace": "monitoring",
    "cluster_support_windows_exporter": True,
    "cluster_support_prometheus_rules": True,
    "cluster_support_log_shipper": True,
    "cluster_support_log_outputs": [{"name": "forward", "host": "logs.example", "shared_key": "v3ry-s3cret"}],
    "cluster_support_csi_drivers": ["smb"],
    "cluster_support_gmsa_credential_specs": [
        {"name": "web", "credspec": SPEC, "service_accounts": ["winkube-demo/web"]},
    ],
    "cluster_support_demo": True,
    "cluster_support_demo_timeout": 60,
    "cloud_provider": "azure",
}


@pytest.fixture(scope="module")
def admin(cluster: SimulatedCluster, folder: Path) -> Client:
    client = admin_client(cluster, folder)
    for plural, kind in (("podmonitors", "PodMonitor"), ("prometheusrules", "PrometheusRule")):
        define(client, "monitoring.coreos.com", plural, kind)
    define(client, "windows.k8s.io", "gmsacredentialspecs", "GMSACredentialSpec", scope="Cluster")
    return client


@pytest.fixture(scope="module")
def kubeconfig(cluster: SimulatedCluster, admin: Client, folder: Path) -> Path:
    return limited_kubeconfig(cluster, folder, rights="rbac_cluster_support.yaml", account="winkube-cluster-support")


def define(admin: Client, group: str, plural: str, kind: str, scope: str = "Namespaced") -> None:
    """Define a kind of the Prometheus operator or of windows-gmsa, without its schema."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    # The API server requires this annotation in groups of k8s.io; it is that of windows-gmsa's own definition.
    approval = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/689-windows-gmsa"
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": approval}},
        "spec": {"group": group, "names": names, "scope": scope, "versions": [version]},
    }
    code, answer = admin.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert code == 201, answer
    wait_for(lambda: admin.request("GET", f"/apis/{group}/v1/{plural}")[0] == 200, f"{plural} are served")


class NodePorts:
    """Answers on the NodePorts of a namespace, as kube-proxy and the pods do. A context manager."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self._admin, self._path = admin, f"/api/v1/namespaces/{namespace}/services"
        self._servers: dict[int, http.server.ThreadingHTTPServer] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.status = 200

    def __enter__(self) -> NodePorts:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(10)
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for service in self._admin.get(self._path)["items"]:
                port = service["spec"]["ports"][0]["nodePort"]
                if port not in self._servers:
                    self._servers[port] = self._serve(port)

    def _serve(self, port: int) -> http.server.ThreadingHTTPServer:
        ports = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(ports.status)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Write no log."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server


def play(folder: Path, kubeconfig: Path, *options: str, expected: int = 0, **variables: Any) -> str:
    """Run cluster.yml on the implicit localhost, and return its output."""
    given = {"kubeconfig": str(kubeconfig), **variables}
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    interpreter = {"ansible_playbook_python": sys.executable}
    command = [program, str(ROOT / "playbooks" / "cluster.yml"), *options, "-e", json.dumps({**given, **interpreter})]
    home = {"LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"}
    code, output = forked_runs.execute(command, folder, {**os.environ, **home})
    assert code == expected, output
    return output


def changed(output: str) -> int:
    match = re.search(r"changed=(\d+)", output)
    assert match, output
    return int(match[1])


def owned(admin: Client) -> dict[str, str]:
    """Return the resource versions of the objects that the role has applied, by path."""
    found = {}
    for path in PATHS:
        for item in admin.get(f"{path}?labelSelector={LABEL.replace('/', '%2F')}")["items"]:
            about = item["metadata"]
            found[f"{path} {about.get('namespace', '')}/{about['name']}"] = about["resourceVersion"]
    return found


def others(admin: Client) -> dict[str, str]:
    """Return the resource versions of the objects whose status no controller writes."""
    return {name: version for name, version in owned(admin).items() if "/apis/apps/" not in name}


def requests(admin: Client, verbs: str, dry_run: str) -> int:
    """Return how many requests with these verbs a real API server has counted, for the kinds that the role applies."""
    code, answer = admin.request("GET", "/metrics")
    assert code == 200, answer
    kinds = "|".join(path.rpartition("/")[2] for path in PATHS)
    count = 0
    for labels, number in re.findall(r"^apiserver_request_total\{([^}]*)\} (\d+)", answer["text"], re.MULTILINE):
        expected = (rf'verb="(?:{verbs})"', f'dry_run="{dry_run}"', rf'resource="(?:{kinds})"', 'subresource=""')
        count += int(number) if all(re.search(one, labels) for one in expected) else 0
    return count


def writes(admin: Client) -> int:
    return requests(admin, "APPLY|PATCH|DELETE", "")


def dry_runs(admin: Client) -> int:
    return requests(admin, "APPLY", "All")


@pytest.fixture(scope="module")
def applied(admin: Client, kubeconfig: Path, folder: Path) -> Iterator[str]:
    """Apply everything while a node runs the demo's pods and answers on their ports; yield the output."""
    with ExitStack() as stack:
        stack.enter_context(SmallKubelet(admin, ["win22"], {}))
        stack.enter_context(NodePorts(admin, "winkube-demo"))
        yield play(folder, kubeconfig, **EVERYTHING)


def test_a_misspelt_variable_ends_the_run_before_the_first_request(kubeconfig: Path, folder: Path) -> None:
    del kubeconfig
    # A request would fail, because there is no kubeconfig.
    given = {"cluster_support_demos": True, "cluster_support_log_output": "v3ry-s3cret"}
    output = " ".join(play(folder, folder / "missing.conf", expected=2, **given).split())
    assert "localhost: nothing was changed, because of its variables" in output
    assert "cluster_support_demos: expected a variable of role cluster_support" in output
    assert "Did you mean cluster_support_demo" in output
    assert "v3ry-s3cret" not in output


def test_a_dry_run_changes_nothing_and_shows_everything(admin: Client, kubeconfig: Path, folder: Path) -> None:
    output = play(folder, kubeconfig, "--check", "--diff", "-v", **EVERYTHING)
    assert changed(output) >= 1
    assert "DaemonSet kube-system/csi-smb-node-win" in output
    assert "v3ry-s3cret" not in output
    assert SECRET not in output
    # Names of objects next to the secret are not replaced.
    assert "Secret monitoring/windows-logs" in output
    assert '"namespace": "monitoring"' in output
    assert owned(admin) == {}
    assert admin.request("GET", RECORD)[0] == 404


def test_everything_is_applied_with_the_documented_rights(admin: Client, applied: str) -> None:
    found = {entry.rpartition(" ")[2] for entry in owned(admin)}
    assert "v3ry-s3cret" not in applied
    assert SECRET not in applied
    assert {
        "monitoring/windows-exporter",
        "monitoring/windows-nodes",
        "monitoring/windows-logs",
        "monitoring/windows-logs-windows-2019",
        "kube-system/csi-smb-node-win",
        "kube-system/csi-azuredisk-node-win",
        "kube-system/csi-azurefile-node-win",
        "kube-system/cloud-node-manager-windows",
        "kube-system/kube-proxy-windows",
        "winkube-demo/win-webserver",
        "winkube-demo/iis-windows-2022",
        "/windows-2025",
        "/smb.csi.k8s.io",
        "/web",
        "winkube-demo/winkube:gmsa:web",
    } <= found
    recorded = json.loads(admin.get(RECORD)["data"]["objects"])
    assert len(recorded) == len(owned(admin))
    manager = admin.get("/apis/node.k8s.io/v1/runtimeclasses/windows-2022")["metadata"]["managedFields"]
    assert [one["manager"] for one in manager] == ["winkube"]


def test_a_second_run_writes_nothing(
    admin: Client, applied: str, kubeconfig: Path, folder: Path, cluster_kind: str
) -> None:
    before = owned(admin), admin.get(RECORD)["metadata"]["resourceVersion"]
    count, tried = (writes(admin), dry_runs(admin)) if cluster_kind == "real" else (0, 0)
    output = play(folder, kubeconfig, **EVERYTHING)
    assert changed(output) == 0
    assert (owned(admin), admin.get(RECORD)["metadata"]["resourceVersion"]) == before
    if cluster_kind == "real":
        assert writes(admin) == count
        assert dry_runs(admin) == tried + len(before[0])


def test_a_change_by_another_program_is_a_conflict(admin: Client, applied: str, kubeconfig: Path, folder: Path) -> None:
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/csi-smb-node-win"
    change = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "csi-smb-node-win", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"priorityClassName": "system-cluster-critical"}}},
    }
    # The cluster in memory knows the managers of applied fields only.
    code, answer = admin.request("PATCH", f"{path}?fieldManager=other&force=true", change, APPLY)
    assert code == 200, answer
    before = admin.get(path)["metadata"]["generation"], others(admin)
    output = " ".join(play(folder, kubeconfig, expected=2, **EVERYTHING).split())
    assert "DaemonSet kube-system/csi-smb-node-win: another program has set the same fields differently" in output
    assert (admin.get(path)["metadata"]["generation"], others(admin)) == before


def test_a_service_that_does_not_answer_fails_the_run(
    admin: Client, kubeconfig: Path, folder: Path, applied: str
) -> None:
    given = {
        **EVERYTHING,
        "cluster_support_force_conflicts": True,
        "cluster_support_demo_timeout": 0,
        "cluster_support_demo_builds": ["windows-2022", "windows-2025"],
    }
    output = " ".join(play(folder, kubeconfig, expected=2, **given).split())
    # No node has Windows Server 2025.
    assert "iis-windows-2025: expected 1 available pods, got 0" in output
    # The change by the other program was overwritten on request.
    item = admin.get("/apis/apps/v1/namespaces/kube-system/daemonsets/csi-smb-node-win")
    assert item["spec"]["template"]["spec"]["priorityClassName"] == "system-node-critical"


def test_what_is_no_longer_requested_is_removed(admin: Client, applied: str, kubeconfig: Path, folder: Path) -> None:
    del applied
    # An administrator has applied the upstream manifest, whose account and rights Linux nodes share.
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    shared = f"{roles}/csi-azuredisk-node-role"
    mark = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}
    code, answer = admin.request("PATCH", shared, mark, "application/merge-patch+json")
    assert code == 200, answer
    rules = admin.get(shared)["rules"]
    off = {"cluster_support_kube_proxy_account": False, "cluster_support_runtime_classes": False}
    output = play(folder, kubeconfig, **off, cluster_support_csi_drivers=["smb"])
    assert changed(output) == 1
    left = {entry.rpartition(" ")[2] for entry in owned(admin)}
    assert {name for name in left if "smb" not in name} == set()
    assert len(left) == len(json.loads(admin.get(RECORD)["data"]["objects"])) == 5
    assert admin.get(shared)["rules"] == rules
    assert admin.request("GET", f"{roles}/csi-azurefile-node-secret-role")[0] == 404
    # Namespaces stay, because they may contain objects of others.
    for name in ("monitoring", "winkube-demo"):
        assert admin.get(f"/api/v1/namespaces/{name}")["status"]["phase"] == "Active"
