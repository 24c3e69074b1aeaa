# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HNS playbooks and role with Ansible's own command line: the table, the reset and its confirmation."""

from __future__ import annotations

import itertools
import json

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import Site

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.docker import fixtures as docker_fixtures
from simulator.kubernetes_node.hns import fixtures

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("hns_playbooks")]

ONLY_HNS = ("--tags", "role::hns_cleanup")


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    more = {"features": ["Containers"], "link_drop_seconds": 0.2, "port_pool_seconds": 1, "pause_scale": 0.1}
    site = start_site(
        {"name": "win19", "windows": "2019", **more},
        {"name": "win22", "windows": "2022", **more},
        {"name": "win25", "windows": "2025", **more},
        {"name": "off", "windows": "2022"},
    )
    fixtures.install(site.machine("win19"))
    fixtures.populate(site.machine("win19"), "flannel-host-gw", running=2, stale=1)
    fixtures.install(site.machine("win22"))
    fixtures.populate(site.machine("win22"), "calico", running=1, stale=2, orphans=1)
    docker_fixtures.install(site.machine("win25"))
    docker_fixtures.populate(site.machine("win25"), running=1, stopped=1)
    site.machine("off").power.power_off()
    return site


def networks(site: Site, host: str) -> set[str]:
    return {item.name for item in site.machine(host).part(hns.HnsState).networks.values()}


@pytest.fixture(scope="module")
def report(site: Site) -> str:
    # One host is off, so the table has a row for it, and the playbook fails.
    run = site.run("hns_report.yml").expect(2)
    assert [name for name, counters in run.recap.items() if counters["failed"]] == ["off"]
    assert {host: run.commands(host) for host in ("win19", "win22", "win25")} == dict.fromkeys(
        ("win19", "win22", "win25"), 1
    )
    return run.output


def test_the_report_is_one_table_of_all_hosts(report: str) -> None:
    lines = [line.rstrip() for line in report.splitlines()]
    (head,) = [line for line in lines if line.startswith("NODE")]
    begin = lines.index(head)
    table = [head, *itertools.takewhile(lambda line: line.startswith(("win", "off")), lines[begin + 1 :])]
    assert {line.split()[0] for line in table[1:]} == {"win19", "win22", "win25", "off"}
    assert max(map(len, table)) <= 170
    # Every word begins below its heading.
    state = head.index("STATE")
    rows = {line[:state].split()[0]: line for line in table if " stale " in line}
    assert rows["win19"][state:].startswith("stale")
    assert any("default/web-0" in line and "in use" in line and "cbr0" in line for line in table)
    assert any("which is gone" in line for line in table)
    assert any(line.startswith("off") and "error" in line for line in table)
    total = "4 nodes; stale: 3 endpoints, 2 policy lists, 4 namespaces; with stale objects: win19, win22; failed: off"
    assert total in lines


def test_an_unconfirmed_reset_changes_nothing(site: Site) -> None:
    before = networks(site, "win19")
    # A part of the reset also asks for confirmation.
    run = site.run("reset_nodes.yml", "--limit", "win19,win22", *ONLY_HNS)
    run.expect(2)
    assert "the reset was not confirmed; expected 'yes', or -e reset_confirmation=true" in run.output
    assert networks(site, "win19") == before
    assert site.counters("win19")["remote_commands"] == 0


def test_a_dry_run_shows_the_full_list(site: Site) -> None:
    run = site.run("reset_nodes.yml", "--check", "--diff", "--limit", "win19,win22", *ONLY_HNS).expect()
    for host in ("win19", "win22"):
        for endpoint in site.machine(host).part(hns.HnsState).endpoints:
            assert f"-{endpoint} " in run.output, host
    assert networks(site, "win19") == {"cbr0"}
    assert "+kubelet running, stopped during the cleanup" in run.output
    # All nodes at once: this takes minutes for a fleet, and a failed node does not hide the others.
    assert run.output.count("PLAY [Clear HNS only]") == 1


def test_the_role_removes_unused_objects(site: Site) -> None:
    role = {"name": "winkube.node.hns_cleanup"}
    tasks = [{"name": "Clean", "ansible.builtin.include_role": role}]
    play = {"hosts": "win22", "gather_facts": False, "vars": {"hns_cleanup_grace": 0.05}, "tasks": tasks}
    run = site.run([play]).expect()
    assert len([change for change in run.changes("win22") if change.startswith("HnsEndpoint")]) == 2
    assert networks(site, "win22") == {"External", "Calico"}


def test_bad_input_is_refused_before_a_node_is_asked(site: Site) -> None:
    tasks = [
        {"name": "Clean", "winkube.node.hns_cleanup": {"scope": "everything"}, "ignore_errors": True},
        {"name": "Clean", "winkube.node.hns_cleanup": {"scope": "stale", "networks": ["cbr0"]}, "ignore_errors": True},
    ]
    run = site.run([{"hosts": "win22", "gather_facts": False, "tasks": tasks}]).expect()
    assert "stale, networks, all" in run.output
    assert "Names of networks need scope: networks" in run.output
    assert site.counters("win22")["remote_commands"] == 0


def test_a_reset_clears_the_nodes_one_after_the_other(site: Site) -> None:
    limits = ("--limit", "win19,win22,win25", *ONLY_HNS)
    run = site.run("reset_nodes.yml", *limits, variables={"reset_confirmation": True}).expect()
    assert networks(site, "win19") == networks(site, "win22") == set()
    # Docker's own network is not one of Kubernetes.
    assert networks(site, "win25") == {"nat"}
    assert run.recap["win25"]["changed"] == 0
    assert run.commands("win19") <= 6
    # The actions are visible without -v.
    assert "win19: stop services: kube-proxy, kubelet" in run.output
    assert "win19: start services: kubelet, kube-proxy" in run.output
    for host in ("win19", "win22"):
        services = site.machine(host).services
        assert {name: services.get(name).state for name in ("kubelet", "kube-proxy")} == {
            "kubelet": "Running",
            "kube-proxy": "Running",
        }
    assert json.dumps(run.report)


@pytest.mark.parametrize(
    ("playbook", "tag", "listed", "left_out"),
    [
        ("reset_nodes.yml", "role::kubernetes-for-windows", "Reset the machine", "Clean up HNS"),
        ("reset_nodes.yml", "windows::node", "Reset the machine", "Clean up HNS"),
        # A run with only a part of the reset also asks for confirmation.
        ("reset_nodes.yml", "role::hns_cleanup", "Clean up HNS", "Reset the machine\t"),
        ("reset_nodes.yml", "role::hns_cleanup", "Stop unless", "Converge the node"),
        ("site.yml", "role::kubernetes-for-windows", "Join the machines that have not joined", "Clean up HNS"),
        ("site.yml", "install", "Converge the node\t", "Join the machines that have not joined"),
        ("site.yml", "join", "Join the machines that have not joined", "node_prepare : Converge the node"),
    ],
)
def test_tags_are_those_of_kubernetes_for_windows(
    site: Site, playbook: str, tag: str, listed: str, left_out: str
) -> None:
    tasks = site.run(playbook, "--list-tasks", "--tags", tag).expect().output
    assert listed in tasks
    assert left_out not in tasks
