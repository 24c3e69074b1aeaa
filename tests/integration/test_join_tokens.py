# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A prepared machine joins a cluster whose cluster-info is not public, with a token of a control plane host.

`test_join_settings.py` does the same with whole playbooks and, if there is one, a real control plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from integration.conftest import SiteFactory
from integration.control_plane_host import control_plane_host, hide_cluster_info, token_commands
from integration.joined_nodes import prepare, server
from integration.playbooks import PlayRun, Site, bootstrap_tokens, cluster_api
from integration.watching import secrets_written
from kubernetes import client

from simulator.kubernetes_node.kubeadm import real as kubeadm_real

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("join_tokens")]

NODE = "one"
JOIN = [
    {"name": part, "ansible.builtin.import_role": {"name": "winkube.node.node_join", "tasks_from": part}}
    for part in ("check", "info", "resources", "names", "join")
]
PLAY = [{"name": "Join", "hosts": "node_windows", "gather_facts": False, "tasks": JOIN}]
KEY = r"HKLM:\SOFTWARE\Site"
SECRET = "hunter2-of-the-site"
READERS: dict[str, dict[str, set[str]]] = {}
"""For each file, the users that could read the secrets that the first run wrote."""


def adds(name: str, data: str = "done") -> list[str]:
    """Return a program that writes a registry value."""
    return ["reg.exe", "add", r"HKLM\SOFTWARE\Site", "/v", name, "/t", "REG_SZ", "/d", data, "/f"]


COMMANDS: dict[str, Any] = {
    "pre_kubeadm_commands": [
        adds("Before1"),
        {"program": "reg.exe", "arguments": adds("Before2", SECRET)[1:], "secret": True},
    ],
    "post_kubeadm_commands": [adds("After1"), ["reg.exe", "query", r"HKLM\SOFTWARE\Site\Missing"], adds("After3")],
}


@pytest.fixture(scope="module", autouse=True)
def simulated_kubeadm() -> Iterator[None]:
    """Use the simulated kubeadm, even if there is a real one, which needs a real API server."""
    with mock.patch.object(kubeadm_real, "find", return_value=None):
        yield


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    site = start_site(server(NODE), cluster={"kind": "memory"}, kubernetes_node_version="1.37.1")
    prepare(site, NODE)
    site.host_variables[NODE] = {"kubernetes_node_hostname": NODE, **COMMANDS}
    hide_cluster_info(site)
    site.variables |= control_plane_host(site, real=False)
    return site


@pytest.fixture(scope="module")
def first(site: Site) -> PlayRun:
    """Return the run in which the machine joins, and a program after kubeadm fails."""
    with secrets_written(site.machine(NODE)) as READERS["first"]:
        run = site.run(PLAY, "-vvv").expect(2)
    site.counted["first"] = {NODE: site.counters(NODE)}
    return run


@pytest.fixture(scope="module")
def second(site: Site, first: PlayRun) -> PlayRun:
    """Return the run after the reason of the failure is gone."""
    site.machine(NODE).registry.set(rf"{KEY}\Missing", "there", "1")
    return site.run(PLAY).expect()


def value(site: Site, name: str) -> Any:
    """Return what a program around kubeadm wrote."""
    return site.machine(NODE).registry.data(KEY, name)


def test_the_machine_joins_with_a_token_of_the_control_plane_host(site: Site, first: PlayRun) -> None:
    created, deleted = token_commands(site)
    assert created.startswith("token create --ttl=1800s --groups=system:bootstrappers:winkube:node-token ")
    command, verb, token_id = deleted.split()
    assert (command, verb, len(token_id)) == ("token", "delete", 6)
    assert bootstrap_tokens(site) == {}
    (request,) = client.CertificatesV1Api(cluster_api(site)).list_certificate_signing_request().items
    assert request.spec.username == f"system:bootstrap:{token_id}"
    assert [condition.reason for condition in request.status.conditions] == ["ApprovedByWinkube"]
    # Not even at this verbosity.
    assert f"{token_id}." not in first.output


def test_no_file_with_the_token_can_be_read_or_stays(site: Site, first: PlayRun) -> None:
    written = {path: who for path, who in READERS["first"].items() if "\\Temp\\" not in path}
    assert {r"C:\ProgramData\winkube\join.yaml", r"C:\ProgramData\winkube\discovery.conf"} <= set(written)
    assert {path: who for path, who in written.items() if who} == {}
    for name in ("join.yaml", "discovery.conf"):
        assert not site.machine(NODE).files.exists(rf"C:\ProgramData\winkube\{name}")


def test_programs_around_kubeadm_run_in_order_until_one_fails(site: Site, first: PlayRun) -> None:
    assert "post_kubeadm_commands[1]: exit code 1: " in first.messages(NODE)
    assert [value(site, name) for name in ("Before1", "After1", "After3")] == ["done", "done", None]
    assert value(site, "Before2") == SECRET
    assert SECRET not in first.output


def test_they_cost_no_remote_command(site: Site, first: PlayRun) -> None:
    # One asks the machine, one sends the batch of the join, and the rest collect its result.
    counted = site.counted["first"][NODE]["remote_commands"]
    assert counted <= 4, counted


def test_the_next_run_continues_with_the_program_that_failed(site: Site, second: PlayRun) -> None:
    assert value(site, "After3") == "done"
    assert not site.machine(NODE).files.exists(r"C:\ProgramData\winkube\join-commands.txt")
    # The machine has joined, so it needs no token.
    assert len(token_commands(site)) == 2


def test_a_further_run_runs_no_program(site: Site, second: PlayRun) -> None:
    site.machine(NODE).registry.set(KEY, "After3", "kept")
    run = site.run(PLAY).expect()
    assert run.recap[NODE]["changed"] == 0
    assert value(site, "After3") == "kept"


def test_a_control_plane_host_without_rights_is_one_clear_message(site: Site, second: PlayRun) -> None:
    broken = site.folder / "broken"
    broken.write_text("#!/bin/sh\necho 'open /etc/kubernetes/admin.conf: permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    machine = site.machine(NODE)
    machine.services.stop("kubelet")
    machine.files.delete(r"C:\etc\kubernetes\kubelet.conf")
    rejoin = {"node_join_rejoin": True, "node_join_control_plane_kubeadm": str(broken)}
    run = site.run(PLAY, variables=rejoin).expect(2)
    assert "kubeadm token create: open /etc/kubernetes/admin.conf: permission denied" in run.messages(NODE)
    assert bootstrap_tokens(site) == {}
