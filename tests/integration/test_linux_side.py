# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Findings on the Linux side of a cluster: shown before anything is changed, and never changed silently."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from integration.conftest import SiteFactory
from integration.networks import free_network
from integration.playbooks import ROOT, Site, cluster_api
from kubernetes import client

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("linux_side")]

HOST = "win22"
VERSION = "1.34.4"
SCHEMA = json.loads((ROOT / "docs" / "plan.schema.json").read_text(encoding="utf-8"))
LINUX = {"kubernetes.io/os": "linux"}
OPERATED = {"apiVersion": "example.com/v1", "kind": "Monitor", "name": "all", "uid": "1", "controller": True}
DAEMON_SETS: dict[str, dict[str, Any]] = {
    "kube-system/kube-flannel-ds-amd64": {},
    "kube-system/other": {},
    "logging/fluent": {"annotations": {"meta.helm.sh/release-name": "logs"}},
    "monitoring/exporter": {"ownerReferences": [OPERATED]},
}
"""DaemonSets without an operating system, and their metadata."""
TITLE = "Findings on the Linux side of the cluster:"


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server in 10.20.0.0/24, and a cluster with several findings."""
    # The test connects to the first address. Loopback addresses are not compared with those of other nodes.
    address = f"{free_network()}.11"
    uplink = {"static": True, "addresses": [f"{address}/24", "10.20.0.5/24"]}
    server = {"name": HOST, "windows": "2022", "address": address, "uplink": uplink}
    site = start_site(server, cluster={"kind": "memory", "version": VERSION}, flannel_backend_type="vxlan")
    core, apps = client.CoreV1Api(cluster_api(site)), client.AppsV1Api(cluster_api(site))
    for name in ("kube-flannel", "logging", "monitoring"):
        core.create_namespace({"metadata": {"name": name}})
    core.create_namespaced_config_map("kube-flannel", config_map(MTU=1400))
    labels = {"app": "x"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "x", "image": "example.invalid/x"}]}}
    for place, metadata in DAEMON_SETS.items():
        namespace, name = place.split("/")
        spec = {"selector": {"matchLabels": labels}, "template": pod}
        apps.create_namespaced_daemon_set(namespace, {"metadata": {"name": name, **metadata}, "spec": spec})
    return site


def config_map(**backend: Any) -> dict[str, Any]:
    """Return flannel's ConfigMap with VXLAN as on Windows, and other settings."""
    settings = {"Type": "vxlan", "VNI": 4096, "Port": 4789, **backend}
    conf = {"Network": "10.244.0.0/16", "Backend": settings}
    return {"metadata": {"name": "kube-flannel-cfg"}, "data": {"net-conf.json": json.dumps(conf)}}


def selectors(site: Site) -> dict[str, Any]:
    """Return the node selectors of the DaemonSets."""
    found = client.AppsV1Api(cluster_api(site)).list_daemon_set_for_all_namespaces().items
    places = {f"{one.metadata.namespace}/{one.metadata.name}": one for one in found}
    return {place: places[place].spec.template.spec.node_selector for place in DAEMON_SETS}


def planned(site: Site, exit_code: int = 2) -> list[dict[str, Any]]:
    """Return the findings in plan.json after a run of plan.yml, which also prints them and changes nothing."""
    run = site.run("plan.yml").expect(exit_code)
    document = json.loads((site.folder / "build" / "plan.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, SCHEMA)
    findings: list[dict[str, Any]] = document["cluster_findings"]
    assert run.output.count(TITLE) == 1
    for one in findings:
        assert one["fix"] in run.output
        assert one["hosts"] == [HOST]
    assert selectors(site) == dict.fromkeys(DAEMON_SETS)
    return findings


def test_plan_shows_all_findings_and_changes_nothing(site: Site) -> None:
    findings = {one["object"].split(",")[0]: one for one in planned(site)}
    assert site.counters(HOST)["remote_commands"] == 1
    assert {name: one["outcome"] for name, one in findings.items()} == {
        "Backend.MTU in ConfigMap kube-flannel/kube-flannel-cfg (net-conf.json)": "reported",
        "DaemonSet kube-system/kube-flannel-ds-amd64": "changed",
        "DaemonSet kube-system/other": "reported",
        "DaemonSet logging/fluent": "reported",
        "DaemonSet monitoring/exporter": "reported",
    }
    assert "managed by Helm (release logs)" in findings["DaemonSet logging/fluent"]["object"]
    assert "Change the Monitor all" in findings["DaemonSet monitoring/exporter"]["fix"]


def test_what_is_refused_is_part_of_the_same_table(site: Site) -> None:
    core = client.CoreV1Api(cluster_api(site))
    core.replace_namespaced_config_map("kube-flannel-cfg", "kube-flannel", config_map(VNI=1))
    refused = [one for one in planned(site) if one["outcome"] == "refused"]
    assert site.world.cluster is not None
    # It runs on localhost, which has no variables of the server.
    given = {"kubeconfig": str(site.world.cluster.kubeconfig), "flannel_backend_type": "vxlan"}
    applied = site.run("cluster.yml", variables={**given, "cluster_support_network": True}).expect(2)
    core.replace_namespaced_config_map("kube-flannel-cfg", "kube-flannel", config_map(MTU=1400))
    assert [one["value"] for one in refused] == ["VNI 1, Port 4789"]
    assert "flannel_vxlan_vni: 4096" in refused[0]["fix"]
    # cluster.yml applies the same network without any node. It shows the same table, and refuses it, too.
    assert refused[0]["fix"] in applied.output[applied.output.index(TITLE) :]
    assert "monitoring/exporter" in applied.output
    assert applied.recap["localhost"]["changed"] == 0
    assert not client.NodeV1Api(cluster_api(site)).list_runtime_class().items
    assert selectors(site) == dict.fromkeys(DAEMON_SETS)
    assert site.counters(HOST)["connections"] == 0


def test_check_mode_shows_what_a_run_would_change(site: Site) -> None:
    # The preparation of the machine has nothing to do with the Linux side.
    run = site.run(
        "site.yml", "--check", "--tags", "join", variables={"cni_linux_daemon_sets": ["logging/*", "monitoring/*"]}
    )
    table = run.output[run.output.index(TITLE) :].splitlines()
    changed = [line for line in table if line.startswith("runs change it")]
    assert [name for name in DAEMON_SETS if any(name in line for line in changed)] == [
        "kube-system/kube-flannel-ds-amd64",
        "logging/fluent",
    ]
    # The run reads the adapter's MTU with its only remote command before the first change.
    assert "expected 1450, which is the MTU of its network adapter (1500) minus 50" in " ".join(run.output.split())
    # An operator would revert the change, so it is never made.
    assert not any("monitoring/exporter" in line for line in changed)
    assert selectors(site) == dict.fromkeys(DAEMON_SETS)


def test_host_gw_across_subnets_and_a_large_mtu_are_refused(site: Site) -> None:
    core = client.CoreV1Api(cluster_api(site))
    core.delete_namespaced_config_map("kube-flannel-cfg", "kube-flannel")
    for name, address in (("near", "10.20.0.9"), ("far", "10.20.1.9")):
        core.create_node({"metadata": {"name": name, "labels": LINUX}})
        status = {"addresses": [{"type": "InternalIP", "address": address}]}
        core.patch_node_status(name, {"status": status})
    run = site.run("site.yml", variables={"flannel_backend_type": "host-gw", "cni_mtu": 1501}).expect(2)
    text = "cni_mtu: expected at most 1500, which is the MTU of its network adapter (1500), got 1501"
    assert text in run.messages(HOST)
    assert "Nodes in other subnets: far (10.20.1.9). Use VXLAN on all nodes" in run.messages(HOST)
    assert run.changes(HOST) == []
    assert run.commands(HOST) == 1


def test_a_run_restricts_only_what_it_showed(site: Site) -> None:
    query = {"winkube.node.cluster_info": {"kubeconfig": "{{ kubeconfig }}"}, "delegate_to": "localhost"}
    variables = {"cni_kubeconfig": "{{ kubeconfig }}", "cni_linux_daemon_sets": ["logging/*", "monitoring/*"]}
    role = {"ansible.builtin.import_role": {"name": "winkube.node.cni", "tasks_from": "linux"}, "vars": variables}
    play = {"hosts": "all", "gather_facts": False, "tasks": [{**query, "register": "winkube_cluster"}, role]}
    run = site.run([{**play, "name": "First"}, {**play, "name": "Second"}]).expect()
    assert selectors(site) == {
        "kube-system/kube-flannel-ds-amd64": LINUX,
        "kube-system/other": None,
        "logging/fluent": LINUX,
        "monitoring/exporter": None,
    }
    # The second play changes nothing.
    (changed,) = run.changed_tasks(HOST)
    assert changed.endswith("Restrict DaemonSets that select no operating system to Linux")
    assert run.output.index("PLAY [Second]") > run.output.index("changed: ")
    assert site.counters(HOST)["connections"] == 0
