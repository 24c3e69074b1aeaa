# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings that conflict with the cluster are rejected before nodes are accessed; missing ones come from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from integration.conftest import SiteFactory
from integration.playbooks import PlayRun, Site, cluster_api
from kubernetes import client

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cluster_check")]

HOST = "win22"
VERSION = "1.34.4"
VXLAN = {"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a plain server, and a cluster that is older than the newest supported Kubernetes."""
    return start_site({"name": HOST, "windows": "2022"}, cluster={"kind": "memory", "version": VERSION})


def untouched(site: Site, run: PlayRun) -> str:
    """Return the output of a run that was rejected before the node was accessed."""
    run.expect(2)
    assert site.counters(HOST)["connections"] == 0
    return run.messages(HOST)


def kubeconfig(site: Site, name: str, **changes: Any) -> str:
    """Write a copy of the administrator's kubeconfig with another user or another cluster, and return its path."""
    assert site.world.cluster is not None
    config = yaml.safe_load(site.world.cluster.kubeconfig.read_text(encoding="utf-8"))
    for kind, content in changes.items():
        config[f"{kind}s"][0][kind] |= content
    path = site.folder / name
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return str(path)


def test_all_mismatches_are_reported_at_once(site: Site) -> None:
    core = client.CoreV1Api(cluster_api(site))
    core.create_namespace({"metadata": {"name": "kube-flannel"}})
    data = {"net-conf.json": json.dumps(VXLAN)}
    core.create_namespaced_config_map("kube-flannel", {"metadata": {"name": "kube-flannel-cfg"}, "data": data})
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": "example.invalid/x"}]}}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": pod}
    body = {"metadata": {"name": "node-exporter"}, "spec": spec}
    client.AppsV1Api(cluster_api(site)).create_namespaced_daemon_set("default", body)
    wrong = {
        "kube_version": "1.37.1",
        "kube_service_addresses": "10.112.0.0/12",
        "node_join_api_server": "localhost:6443",
        # A simulated server's own address is a loopback address, and the control plane's may be one, too.
        "ansible_host": "192.0.2.4",
    }
    run = site.run("site.yml", variables=wrong)
    output = untouched(site, run)
    for text in (
        "kubernetes_node_version (from kube_version): expected 1.31 to 1.34 for an API server of version 1.34.4",
        "got '1.37.1'",
        "cni_services_subnet (from kube_service_addresses): expected",
        "got '10.112.0.0/12'",
        "cni_flannel_backend (from flannel_backend_type): expected",
        "got 'host-gw'",
        "kube-flannel/kube-flannel-cfg",
        "node_join_api_server: expected HOST:PORT",
        "got 'localhost:6443'",
    ):
        assert text in output
    assert "default/node-exporter" in run.output
    core.delete_namespaced_config_map("kube-flannel-cfg", "kube-flannel")


def test_a_kubeconfig_that_may_not_do_all_is_refused(site: Site) -> None:
    core = client.CoreV1Api(cluster_api(site))
    token = core.create_namespaced_service_account_token("default", "default", {"spec": {}}).status.token
    nobody = {"token": token, "client-certificate-data": "", "client-key-data": ""}
    path = kubeconfig(site, "nobody", user=nobody)
    output = untouched(site, site.run("site.yml", variables={"kubeconfig": path}))
    for text in (
        "create, delete secrets in namespace kube-system (to create and delete bootstrap tokens)",
        "list nodes",
        "get, create, patch daemonsets.apps kube-flannel-windows in namespace kube-flannel",
    ):
        assert text in output


def test_an_unreachable_api_server_is_reported(site: Site) -> None:
    assert site.world.cluster is not None
    server = site.world.cluster.server.rpartition(":")[0] + ":1"
    path = kubeconfig(site, "away", cluster={"server": server})
    output = untouched(site, site.run("site.yml", variables={"kubeconfig": path}))
    assert server in output


def test_without_kube_version_nodes_get_the_clusters(site: Site) -> None:
    site.variables |= {"kube_version": None}
    run, nodes = site.plan()
    run.expect(2)
    expected = [item["name"] for item in nodes[HOST]["drift"] if item["type"] == "Artifact"]
    assert f"kubernetes {VERSION}" in expected
    assert site.counters(HOST)["remote_commands"] == 1
    # There is no cluster to query.
    output = untouched(site, site.run("plan.yml", variables={"kubeconfig": ""}))
    assert "kubernetes_node_version (from kube_version)" in output
