# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Nodes that come back after days off and cannot return by themselves: the doctor names the cause, site.yml joins them.

One node's certificate has expired, one trusts the CA that the cluster had before, and the Node object of one was
deleted. A fourth node was on all the time.
"""

from __future__ import annotations

import base64
import datetime
import json

import pytest
from integration import doctor_faults
from integration.conftest import SiteFactory
from integration.joined_nodes import ready_nodes
from integration.playbooks import PlayRun, Site, cluster_nodes, node_name
from kubernetes import client
from simulator_tests.waiting import wait_for

from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_certificate import first_certificate
from simulator.certificates import Issuer, certificate_pem, named, new_key

pytestmark = [pytest.mark.integration, pytest.mark.waits, pytest.mark.xdist_group("returned_nodes")]

CAUSES = {"expired": "certificate_expired", "authority": "ca_changed", "deleted": "node_missing"}
REASONS = {
    "expired": "the kubelet's certificate expired on ",
    "authority": "the kubelet trusts a CA that is not the cluster's",
    "deleted": "was deleted from the cluster",
}
HOSTS = {"expired": "2019", "authority": "2022", "deleted": "2025", "steady": "2022"}
DAYS = datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with joined nodes, three of which came back after days off."""
    machines = [{"name": name, "windows": windows, "link_drop_seconds": 0.2} for name, windows in HOSTS.items()]
    site = start_site(*machines, cluster={"kind": "memory", "node_grace_period": 900.0})
    site.run("site.yml").expect()
    for host in CAUSES:
        site.machine(host).power.power_off()
    expired, authority = site.machine("expired"), site.machine("authority")
    doctor_faults.put(expired, doctor_faults.CERTIFICATE, doctor_faults.node_certificate(expired, -400 * DAYS, -DAYS))
    text = authority.files.read_text(doctor_faults.KUBELET_CONF)
    data = text.partition("certificate-authority-data: ")[2].split("\n")[0]
    doctor_faults.put(authority, doctor_faults.KUBELET_CONF, text.replace(data, former_authority()))
    for host in CAUSES:
        mark_unknown(site, node_name(host))
    wait_for(lambda: not ready_nodes(site) & set(map(node_name, CAUSES)), "the nodes are not Ready", 60)
    client.CoreV1Api(site.api()).delete_node(node_name("deleted"))
    for host in CAUSES:
        site.machine(host).power_on()
    return site


def mark_unknown(site: Site, node: str) -> None:
    """Do what the node controller does when a kubelet has not reported for the grace period."""
    reason = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    condition = {"type": "Ready", "status": "Unknown", **reason}
    client.CoreV1Api(site.api()).patch_node_status(node, {"status": {"conditions": [condition]}})


def former_authority() -> str:
    """Return another CA of the same name, as kubeconfigs contain it."""
    key, moment = new_key(), datetime.datetime.now(datetime.UTC)
    certificate = Issuer(named("kubernetes"), key).sign(
        named("kubernetes"), key.public_key(), (moment - DAYS, moment + DAYS)
    )
    return base64.b64encode(certificate_pem(certificate)).decode()


@pytest.fixture(scope="module")
def diagnosed(site: Site) -> PlayRun:
    # A kubelet that has just started registers its node again, if it still can. It is stopped here as after days off.
    machine = site.machine("deleted")
    wait_for(lambda: machine.services.get("kubelet").state == "Running", "the kubelet runs", 30)  # type: ignore[union-attr]
    core = client.CoreV1Api(site.api())
    wait_for(lambda: node_name("deleted") in cluster_nodes(site), "the kubelet registers its node", 30)
    core.delete_node(node_name("deleted"))
    # It joined days ago.
    doctor_faults.put(machine, doctor_faults.CERTIFICATE, doctor_faults.node_certificate(machine, -9 * DAYS, 9 * DAYS))
    return site.run("node_doctor.yml").expect(2)


def test_the_doctor_names_why_they_do_not_return(site: Site, diagnosed: PlayRun) -> None:
    document = json.loads((site.folder / "build" / "doctor.json").read_text(encoding="utf-8"))
    found = {host: [one["cause"] for one in entry["causes"]][:1] for host, entry in document["hosts"].items()}
    assert found == {**{host: [cause] for host, cause in CAUSES.items()}, "steady": []}


@pytest.mark.variant
def test_a_dry_run_shows_that_they_join_again(site: Site, diagnosed: PlayRun) -> None:
    run = site.run("site.yml", "--check").expect()
    for host, reason in REASONS.items():
        assert f"Node {host}" in run.changes(host)
        assert reason in json.dumps(run.report["nodes"][host])
    assert first_certificate(site.machine("expired").files.read_bytes(doctor_faults.CERTIFICATE)).ends < now()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def rejoined(site: Site, diagnosed: PlayRun) -> PlayRun:
    return site.run("site.yml").expect()


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def test_site_yml_joins_them_again(site: Site, rejoined: PlayRun) -> None:
    assert site.world.cluster is not None
    authority = base64.b64encode(site.world.cluster.ca_certificate.encode()).decode()
    assert {node_name(host) for host in HOSTS} <= ready_nodes(site)
    for host in CAUSES:
        files = site.machine(host).files
        certificate = first_certificate(files.read_bytes(doctor_faults.CERTIFICATE))
        assert certificate is not None
        assert (certificate.node, certificate.ends > now()) == (node_name(host), True)
        assert authority in files.read_text(doctor_faults.KUBELET_CONF)
    assert [change for change in rejoined.changes("steady") if change.startswith("Node ")] == []


def test_they_are_healthy_and_a_further_run_changes_nothing(site: Site, rejoined: PlayRun) -> None:
    site.run("node_doctor.yml").expect()
    # One whose certificate was replaced, and one whose node was registered again.
    hosts = ("expired", "deleted")
    run = site.run("site.yml", "--limit", ",".join(hosts)).expect()
    assert {host: run.recap[host]["changed"] for host in hosts} == dict.fromkeys(hosts, 0)
    # Machines whose nodes are Ready cost no further remote command.
    assert {site.counters(host)["remote_commands"] for host in hosts} == {3}
