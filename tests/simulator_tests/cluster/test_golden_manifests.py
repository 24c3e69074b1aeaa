# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real API server accepts every field of the manifests that the roles render (tests/golden/manifests)."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from golden import comparison
from simulator_tests.cluster.node_client import Client

# The API server in memory does not validate every field.
pytestmark = [
    pytest.mark.control_plane,
    pytest.mark.parametrize("cluster", ["real"], indirect=True),
    pytest.mark.xdist_group("simulator-control-plane"),  # one worker starts the control plane, see conftest.py
]
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Service": "/api/v1/namespaces/{}/services",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
}
OF_OPERATORS = ("PodMonitor", "PrometheusRule")
"""Kinds that the Prometheus operator defines."""
STRICT = "?dryRun=All&fieldValidation=Strict"


def objects(name: str) -> list[dict[str, t.Any]]:
    return list(yaml.safe_load_all(comparison.path(f"manifests/{name}.yaml.txt").read_text(encoding="utf-8")))


def submit(admin: Client, item: dict[str, t.Any]) -> tuple[int, t.Any]:
    """Create an object in a dry run with strict validation; return the status code and the response."""
    path = PATHS[item["kind"]].format(item["metadata"].get("namespace"))
    return admin.request("POST", path + STRICT, item)


@pytest.fixture
def real(admin: Client) -> Client:
    """Return the administrator's client, after creating the namespaces of the manifests."""
    for one in (objects("host-gw")[0], *({"metadata": {"name": name}} for name in ("monitoring", "winkube-demo"))):
        code, body = admin.request("POST", PATHS["Namespace"], one)
        assert code in (201, 409), body
    return admin


@pytest.mark.parametrize(
    "name",
    [
        "host-gw",
        "vxlan",
        "own-images",
        "docker",
        "calico-vxlan-3.31",
        "calico-bgp-3.29",
        "calico-vxlan-3.33",
        "calico-operator",
        "cluster-support-azure",
        "cluster-support-csi-smb",
        "cluster-support-defaults",
        "cluster-support-demo",
        "cluster-support-logs",
        "cluster-support-monitoring",
    ],
)
def test_the_api_server_accepts_every_object(name: str, real: Client) -> None:
    refused = []
    for item in objects(name):
        if item["kind"] in OF_OPERATORS:
            continue
        code, body = submit(real, item)
        if code != 201 and not (item["kind"] == "Namespace" and code == 409):
            refused.append((item["kind"], item["metadata"]["name"], code, body))
    assert refused == []


def test_the_api_server_would_refuse_an_unknown_field(real: Client) -> None:
    daemon_set = next(item for item in objects("host-gw") if item["kind"] == "DaemonSet")
    daemon_set["spec"]["template"]["spec"]["hostNetwrk"] = True
    code, body = submit(real, daemon_set)
    assert code == 400
    assert 'unknown field "spec.template.spec.hostNetwrk"' in str(body)
