# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Joining a machine to a domain: once, with a reboot, under its own name, and never a node of a cluster."""

from __future__ import annotations

import base64
import dataclasses
import typing as t
from collections.abc import Mapping

import pytest
from unit.action_run import Node, run_on

from ansible_collections.winkube.node.plugins.action import domain_join, join_info
from ansible_collections.winkube.node.plugins.plugin_utils.active_directory import join
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from simulator.machine import commands
from simulator.windows.directory.domain_directory import DomainDirectory
from simulator.windows.directory.membership import NETLOGON, DomainMembership
from simulator.windows.directory.offline_data import encode

SECRET = "S3cr3tPassw0rd"
UNIT = "OU=Nodes,DC=corp,DC=example,DC=com"
ACCOUNT = {"domain": "corp.example.com", "user": "CORP\\joiner", "password": SECRET}
JOINED = [{"type": "Domain", "name": "corp.example.com", "action": "create", "why": "it is not a member of the domain"}]


def offline(computer: str) -> dict[str, str]:
    data = encode("corp.example.com", "CORP", computer, SECRET, "dc1")
    return {"domain": "corp.example.com", "offline_blob": base64.b64encode(data).decode()}


@pytest.fixture
def directory(node: Node) -> DomainDirectory:
    """The domain on the machine's network."""
    users = {"joiner": SECRET, "reader": SECRET}
    found = DomainDirectory("corp.example.com", users=users, joiners=["joiner"], units=[UNIT])
    options = {**node.machine.settings.options, "directory": found}
    node.machine.settings = dataclasses.replace(node.machine.settings, options=options)
    return found


def joins(node: Node, options: Mapping[str, t.Any], **more: t.Any) -> dict[str, t.Any]:
    """Return the result of the action, without the number of commands. No secret is in it."""
    found = run_on(node, domain_join, options, **more)
    # A failure does not report them.
    assert found.pop("remote_commands", node.remote_commands) == node.remote_commands
    assert SECRET not in str(found)
    return found


def refused(node: Node, options: Mapping[str, t.Any]) -> str:
    """Return why the machine was not joined. It was not rebooted."""
    found = joins(node, options)
    assert found["failed"]
    assert not found.get("changed")
    assert node.reboots == 0
    return str(found["msg"])


def domain_of(node: Node) -> str:
    return node.machine.part(DomainMembership).domain


def state(node: Node, domain: str = "corp.example.com", **options: t.Any) -> dict[str, t.Any]:
    return run_on(node, join_info, {"domain": domain, **options})


@pytest.mark.parametrize("more", [{}, {"ou": UNIT}, {"domain": "CORP.Example.com."}, {"domain_controller": "dc1"}])
def test_a_machine_joins_once_and_keeps_its_name(node: Node, directory: DomainDirectory, more: dict[str, str]) -> None:
    assert state(node)["in_domain"] is False
    options = ACCOUNT | more
    name = options["domain"]
    assert joins(node, options) == {"changed": True, "changes": [JOINED[0] | {"name": name}]}
    assert (domain_of(node), node.machine.name, node.reboots) == ("corp.example.com", "WIN1", 1)
    assert directory.computers == {"WIN1": "joiner"}
    assert state(node, name)["in_domain"] is True
    before = node.remote_commands
    assert joins(node, options) == {"changed": False}
    assert (node.remote_commands - before, node.reboots) == (1, 1)


def test_data_of_an_offline_join_needs_no_domain_controller(node: Node) -> None:
    assert state(node, domain_offline=True)["in_domain"] is False
    assert joins(node, offline("WIN1")) == {"changed": True, "changes": JOINED}
    assert (domain_of(node), node.machine.name, node.reboots) == ("corp.example.com", "WIN1", 1)
    assert joins(node, offline("WIN1")) == {"changed": False}


def test_data_for_another_computer_would_rename_the_node(node: Node) -> None:
    words = (
        "node-1: cannot join the domain corp.example.com: node_join_domain_blob: expected data for the computer WIN1, "
        "got data for WIN2."
    )
    assert refused(node, offline("WIN2")).startswith(words)
    assert "expected the data of an offline join, but it is not base64" in refused(
        node, {"domain": "corp.example.com", "offline_blob": "S3cr3t"}
    )
    assert domain_of(node) == ""


def test_check_mode_shows_the_join(node: Node, directory: DomainDirectory) -> None:
    assert joins(node, ACCOUNT, check_mode=True) == {"changed": True, "changes": JOINED}
    assert (domain_of(node), directory.computers, node.reboots) == ("", {}, 0)


def test_a_join_that_waits_for_its_reboot_is_completed(
    node: Node, directory: DomainDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.run_module(
        join.MODULE,
        {
            "state": "domain",
            "dns_domain_name": "corp.example.com",
            "domain_admin_user": "CORP\\joiner",
            "domain_admin_password": SECRET,
        },
    )
    assert state(node)["in_domain"] is False
    # The module does not run again.
    monkeypatch.setattr(node, "run_module", None)
    found = joins(node, ACCOUNT | {"password": "changed since"})
    assert found["changes"] == [JOINED[0] | {"why": "its join waits for a reboot"}]
    assert node.reboots == 1
    assert state(node)["in_domain"] is True


def test_a_rename_that_waits_for_a_reboot_comes_first(node: Node, directory: DomainDirectory) -> None:
    commands.run(node.machine, "Rename-Computer", {"NewName": "win7", "Force": True})
    assert joins(node, ACCOUNT)["changed"]
    assert (node.machine.name, directory.computers, node.reboots) == ("WIN7", {"WIN7": "joiner"}, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"password": "wr0ng-" + SECRET},
            (
                "the name or the password of the account is wrong (error 1326, ERROR_LOGON_FAILURE). Check "
                "node_join_domain_user (DOMAIN\\user or user@domain) and node_join_domain_password. Windows reports: "
                "Computer 'WIN1' failed to join domain 'corp.example.com' from its current workgroup 'WORKGROUP'"
            ),
        ),
        ({"user": "CORP\\reader"}, "the account may not create the computer account (error 5, ERROR_ACCESS_DENIED)"),
        ({"ou": "OU=No,DC=corp"}, "the organizational unit does not exist (error 2, ERROR_FILE_NOT_FOUND)"),
    ],
)
def test_what_the_domain_refuses_is_explained(
    node: Node, directory: DomainDirectory, options: dict[str, str], words: str
) -> None:
    text = refused(node, ACCOUNT | options)
    assert text.startswith(f"node-1: cannot join the domain corp.example.com: {words}")
    # Windows' log is not shown.
    assert node.steps[-1] == ("join the domain", True)


def test_a_computer_account_of_another_machine_is_explained(node: Node, directory: DomainDirectory) -> None:
    directory.computers["WIN1"] = "admin"
    words = "the domain has a computer account of this name that another account created (error 2732,"
    assert words in refused(node, ACCOUNT)


def test_a_domain_controller_that_does_not_answer_is_explained(node: Node, directory: DomainDirectory) -> None:
    directory.reachable = False
    words = "the machine does not reach a domain controller of the domain (error 1355, ERROR_NO_SUCH_DOMAIN)"
    assert words in refused(node, ACCOUNT)


def test_a_domain_that_dns_does_not_know_is_refused_before_anything_is_changed(node: Node) -> None:
    words = (
        "node-1: its DNS servers do not know the domain corp.example.com (_ldap._tcp.dc._msdcs.corp.example.com : DNS"
    )
    assert refused(node, ACCOUNT).startswith(words)
    assert state(node)["msg"].startswith(words)
    assert "failed" not in state(node, domain_offline=True)


def test_a_member_needs_no_dns_of_the_domain(node: Node) -> None:
    node.machine.part(DomainMembership).domain = "corp.example.com"
    assert joins(node, ACCOUNT) == {"changed": False}
    assert "failed" not in state(node)


class ReportsSecrets(Node):
    """The module's message contains what it was given."""

    def run_module(self, name: str, arguments: Mapping[str, t.Any], *, step: str = "") -> dict[str, t.Any]:
        return {"failed": True, "msg": f"cannot use\n{arguments}"}


@pytest.mark.parametrize("options", [ACCOUNT, offline("WIN1")])
def test_a_message_with_secrets_is_shown_without_them(
    node: Node, directory: DomainDirectory, options: dict[str, str]
) -> None:
    text = refused(ReportsSecrets(node.machine), options)
    assert "cannot use {" in text
    assert "********" in text
    assert options.get("offline_blob", SECRET) not in text


def test_a_member_of_another_domain_is_refused_by_name(node: Node, directory: DomainDirectory) -> None:
    node.machine.part(DomainMembership).domain = "old.example.com"
    words = "node-1: it is a member of the domain old.example.com, expected corp.example.com (node_join_domain) or no"
    assert refused(node, ACCOUNT).startswith(words)
    assert state(node)["msg"].startswith(words)


def test_a_node_of_a_cluster_is_not_rebooted(node: Node, directory: DomainDirectory) -> None:
    node.machine.files.make_directory("C:\\etc\\kubernetes")
    node.machine.files.write_text(node_paths.KUBELET_CONF, "server: https://k8s:6443")
    words = (
        "node-1: it is a node of a cluster and not a member of the domain corp.example.com, and joining a domain "
        "reboots"
    )
    assert refused(node, ACCOUNT).startswith(words)
    assert state(node)["msg"].startswith(words)
    # Its join may have been made by hand, and wait for a reboot.
    node.machine.part(DomainMembership).domain = "corp.example.com"
    node.machine.registry.create_key(f"{NETLOGON}\\JoinDomain")
    words = "node-1: it is a node of a cluster and its join to the domain corp.example.com waits for a reboot, and"
    assert refused(node, ACCOUNT).startswith(words)
    node.machine.registry.delete_key(f"{NETLOGON}\\JoinDomain")
    # A member is not affected.
    node.machine.part(DomainMembership).domain = "corp.example.com"
    assert joins(node, ACCOUNT) == {"changed": False}
    assert state(node)["in_domain"] is True


class LosesConnection(Node):
    """The connection fails while the module runs, after it has joined the machine or before."""

    ran = 0

    def __init__(self, machine: t.Any, *, after: bool) -> None:
        super().__init__(machine)
        self.after = after

    def run_module(self, name: str, arguments: Mapping[str, t.Any], *, step: str = "") -> dict[str, t.Any] | None:
        self.ran += 1
        if self.ran == 1 and not self.after:
            return None
        answer = super().run_module(name, arguments, step=step)
        return None if self.ran == 1 else answer


@pytest.mark.parametrize(("after", "runs"), [(True, 1), (False, 2)])
def test_a_lost_connection_does_not_join_twice(
    node: Node, directory: DomainDirectory, runs: int, *, after: bool
) -> None:
    lost = LosesConnection(node.machine, after=after)
    assert joins(lost, ACCOUNT) == {"changed": True, "changes": JOINED}
    assert (lost.ran, lost.reboots, domain_of(node)) == (runs, 1, "corp.example.com")


class BootsDifferently(Node):
    """The reboot ends with a machine that is not a member, or that has another name."""

    def __init__(self, machine: t.Any, *, renamed: bool) -> None:
        super().__init__(machine)
        self.renamed = renamed

    def reboot(self, **given: t.Any) -> None:
        super().reboot(**given)
        if self.renamed:
            commands.run(self.machine, "Rename-Computer", {"NewName": "other", "Force": True})
            super().reboot()
        else:
            self.machine.part(DomainMembership).domain = ""


@pytest.mark.parametrize(
    ("renamed", "words"),
    [
        (False, "expected a member of the domain after the reboot, got a machine that is in a workgroup"),
        (True, "expected the computer name WIN1, got OTHER"),
    ],
)
def test_the_result_of_the_reboot_is_checked(
    node: Node, directory: DomainDirectory, words: str, *, renamed: bool
) -> None:
    found = joins(BootsDifferently(node.machine, renamed=renamed), ACCOUNT)
    assert found["msg"] == f"node-1: cannot join the domain corp.example.com: {words}"


def test_the_module_must_be_installed_before_a_node_is_contacted(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "MODULE", "microsoft.ad.other")
    for found in (run_on(node, domain_join, ACCOUNT), state(node)):
        assert found["msg"].startswith("node_join_domain needs the module microsoft.ad.other, which is not installed.")
    assert node.remote_commands == 0


def test_a_join_needs_its_reboot(node: Node) -> None:
    found = run_on(node, domain_join, ACCOUNT | {"reboot": False})
    assert found["msg"] == "reboot: expected true, because a domain join takes effect at the next boot, got False"


@pytest.mark.parametrize(
    ("more", "value"),
    [({"user": ""}, "nothing"), ({"user": "", "password": ""}, "nothing"), ({"password": ""}, "'CORP")],
)
def test_a_join_needs_an_account_or_data(node: Node, more: dict[str, str], value: str) -> None:
    text = f"user: expected an account with its password, or offline_blob, got {value}"
    assert refused(node, ACCOUNT | more).startswith(text)
    assert node.remote_commands == 0
