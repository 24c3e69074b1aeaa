# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine gets a token and a certificate only for its own name, no matter what it reports and requests."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.joined_nodes import prepare, server
from integration.playbooks import PlayRun, Site, bootstrap_tokens, cluster_api
from kubernetes import client
from simulator_tests.cluster.node_client import Client, conditions, signing_request
from simulator_tests.waiting import wait_for

from simulator.machine.machine import Machine

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("join_approval")]

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CONFIGURATION = r"C:\ProgramData\winkube\join.yaml"
KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
JOIN = [
    {"name": part, "ansible.builtin.import_role": {"name": "winkube.node.node_join", "tasks_from": part}}
    for part in ("check", "info", "resources", "names", "join")
]
PLAY = [{"name": "Join", "hosts": "node_windows", "gather_facts": False, "tasks": JOIN}]


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with an empty cluster and prepared machines, which already have the names of their nodes."""
    hosts = ("one", "two", "three")
    # A node with a stopped kubelet counts as Ready for a long time.
    cluster = {"kind": "memory", "node_grace_period": 900.0}
    site = start_site(*(server(host) for host in hosts), cluster=cluster, kubernetes_node_version="1.37.1")
    for host in hosts:
        prepare(site, host)
        site.host_variables[host] = {"kubernetes_node_hostname": host}
    return site


@pytest.fixture(scope="module")
def stolen() -> list[str]:
    """Return the token that the machine three had when it was stolen."""
    return []


@pytest.fixture(scope="module")
def joined(site: Site, stolen: list[str]) -> PlayRun:
    """Return the run in which all machines join. The token of one of them is used for other nodes' certificates."""
    machine = site.machine("three")
    run_program = machine.programs.run

    def steal() -> None:
        assert site.world.cluster is not None
        token = held_by(machine)
        thief = Client(site.world.cluster, token=token)
        for name in ("ubuntu01", "one"):
            ask = functools.partial(thief.request, "POST", CSRS, signing_request(name)[1])
            # The API server learns about new tokens from a watch.
            wait_for(lambda ask=ask: ask()[0] == 201, "the API server accepts the token")
        stolen.append(token)

    def run_after_the_theft(name: str, *more: Any, **keywords: Any) -> Any:
        # Do this before kubeadm starts, so that the machine's own request comes last even on a busy machine.
        if "kubeadm" in name and not stolen:
            steal()
        return run_program(name, *more, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine.programs, "run", run_after_the_theft)
        return join(site, "all").expect(2)


def join(site: Site, hosts: str, variables: Mapping[str, Any] | None = None) -> PlayRun:
    return site.run(PLAY, "--limit", hosts, variables=variables)


def registered(site: Site) -> set[str]:
    return {node.metadata.name for node in client.CoreV1Api(cluster_api(site)).list_node().items}


def requests(site: Site) -> list[Any]:
    """Return the cluster's certificate signing requests."""
    items: list[Any] = client.CertificatesV1Api(cluster_api(site)).list_certificate_signing_request().items
    return items


def reasons(request: Any) -> list[str]:
    return [condition.reason for condition in request.status.conditions or ()]


def held_by(machine: Machine) -> str:
    """Return the token with which a machine is joining, after waiting for it."""
    text = wait_for(
        lambda: machine.files.is_file(CONFIGURATION) and machine.files.read_text(CONFIGURATION), "a token", 90
    )
    found = re.search(r"token: (\w{6}\.\w{16})", text)
    assert found
    return found[1]


def test_nodes_join_and_the_run_approves_them(site: Site, joined: PlayRun, stolen: list[str]) -> None:
    wait_for(lambda: {"one", "two"} <= registered(site), "both nodes are registered")
    made = [one for one in requests(site) if not one.spec.username.endswith(stolen[0][:6])]
    assert [reasons(request) for request in made] == [["ApprovedByWinkube"]] * 2
    assert len({request.spec.username for request in made}) == 2, "one token served two nodes"
    for request in made:
        assert "system:bootstrappers:winkube:node-token" in request.spec.groups
        assert "system:bootstrappers:kubeadm:default-node-token" not in request.spec.groups
    assert {name: joined.recap[name]["failed"] for name in ("one", "two")} == {"one": 0, "two": 0}
    assert bootstrap_tokens(site) == {}


def test_a_token_is_good_for_one_name(site: Site, joined: PlayRun, stolen: list[str]) -> None:
    assert "expected 'system:node:three'" in joined.messages("three")
    assert stolen[0] not in joined.output
    others = [request for request in requests(site) if request.spec.username.endswith(stolen[0][:6])]
    assert len(others) == 3
    assert sorted(map(reasons, others)) == [[], [], ["ApprovedByWinkube"]]
    assert not any(request.status.certificate for request in others if not reasons(request))


# test_site.py runs site.yml twice.
@pytest.mark.variant
def test_a_further_run_makes_no_token_not_even_for_a_member_that_reports_no_join(site: Site, joined: PlayRun) -> None:
    core = client.CoreV1Api(cluster_api(site))
    machine = site.machine("two")
    # This is like a reset, after which the cluster still treats the node as Ready for a while.
    machine.services.stop("kubelet", force=True)
    machine.files.delete(KUBELET_CONF)
    core.patch_node_status("two", {"status": {"conditions": conditions(True)}})
    run = join(site, "one,two").expect(2)
    assert "the cluster has two as a Ready node" in run.messages("two")
    assert (run.recap["one"]["failed"], run.recap["one"]["changed"]) == (0, 0)
    assert len(requests(site)) == 5
    assert bootstrap_tokens(site) == {}

    # The machine was really reset: its node is deleted, and it becomes another one.
    before = core.read_node("two").metadata.uid
    join(site, "two", {"node_join_rejoin": True}).expect()
    wait_for(lambda: "two" in registered(site), "it joins again")
    assert core.read_node("two").metadata.uid != before
