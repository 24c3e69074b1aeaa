# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tokens of flannel and kube-proxy as services: one host reads them for all hosts, and may fail."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from integration import forked_runs

pytestmark = pytest.mark.integration

TOKENS = {"kube-flannel/flannel-windows": "t1", "kube-system/kube-proxy-windows": "t2"}
ROLES: list[dict[str, Any]] = [
    {
        "name": "Know the network",
        "ansible.builtin.set_fact": {
            "node_join_pod_cidr": "{{ '' if inventory_hostname == 'early' else '10.244.3.0/24' }}"
        },
    },
    {"name": "Know cni", "ansible.builtin.import_role": {"name": "winkube.node.cni", "tasks_from": "resources"}},
    {"name": "Check", "ansible.builtin.import_role": {"name": "winkube.node.node_join", "tasks_from": "tokens"}},
]


def fact(name: str, value: object, when: str) -> dict[str, Any]:
    """Return a task that replaces one that registers a variable."""
    return {"name": f"Know {name}", "ansible.builtin.set_fact": {name: value}, "when": when}


def play(hosts: str, *tasks: dict[str, Any]) -> dict[str, Any]:
    return {"name": hosts, "hosts": hosts, "gather_facts": False, "tasks": tasks}


def failures(folder: Path, plays: list[dict[str, Any]], *options: str) -> tuple[dict[str, int], str]:
    """Run plays on hosts without a connection.

    Returns:
        The number of failed tasks by host, and the output.
    """
    hosts = {name: {"container_runtime": "docker"} for name in ("one", "two", "three", "bare", "half", "early")}
    inventory = {
        "all": {
            "hosts": {**hosts, "plain": {"container_runtime": "containerd"}},
            "vars": {"cni_plugin": "flannel"},
        }
    }
    (folder / "hosts.json").write_text(json.dumps(inventory), encoding="utf-8")
    (folder / "play.json").write_text(json.dumps(plays), encoding="utf-8")
    command = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        *("-i", "hosts.json", "play.json", "--forks", "1"),
        *options,
    ]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"}
    _, output = forked_runs.execute(command, folder, environment)
    recap = re.findall(r"^(\w+)\s+: ok=.* failed=(\d+)", output, re.MULTILINE)
    return {host: int(number) for host, number in recap}, output


def test_the_host_that_read_them_may_fail(tmp_path: Path) -> None:
    known = {"ansible.builtin.assert": {"that": ["cni_tokens == expected", "cni_tokens_known"]}}
    plays = [
        play(
            "one:two:three:plain",
            fact("cni_accounts", {"tokens": TOKENS}, "inventory_hostname == 'one'"),
            fact("cni_accounts", {"skipped": True, "changed": False}, "inventory_hostname != 'one'"),
            {"name": "Lose the first", "ansible.builtin.fail": {"msg": "x"}, "when": "inventory_hostname == 'one'"},
            *ROLES,
            {"name": "Find them", **known, "vars": {"expected": TOKENS}},
            # The later one counts, because it is complete.
            fact("cni_accounts_made", {"tokens": {**TOKENS, "kube-system/kube-proxy-windows": "t3"}}, "true"),
            {"name": "Lose the second", "ansible.builtin.fail": {"msg": "x"}, "when": "inventory_hostname == 'two'"},
            *ROLES,
            {**known, "name": "Find more", "vars": {"expected": {**TOKENS, "kube-system/kube-proxy-windows": "t3"}}},
        )
    ]
    found, output = failures(tmp_path, plays)
    assert found == {"one": 1, "two": 1, "three": 0, "plain": 0}, output


def test_a_node_whose_services_would_be_left_out_is_not_called_done(tmp_path: Path) -> None:
    some = {"kube-flannel/flannel-windows": "s3cret"}
    # `half` comes later, because hosts use the tokens that other hosts of their play have read.
    plays = [
        play("bare:plain:early", *ROLES),
        play("half", fact("cni_accounts", {"tokens": some}, "true"), *ROLES),
    ]
    found, output = failures(tmp_path, plays)
    # A node without a network yet needs no tokens.
    assert found == {"bare": 1, "plain": 0, "half": 1, "early": 0}, output
    assert "are not known: kube-flannel/flannel-windows, kube-system/kube-proxy-windows. The host" in output
    assert "are not known: kube-system/kube-proxy-windows. The host" in output
    assert "s3cret" not in output
    # In a dry run, accounts that the same run would create do not exist.
    found, output = failures(tmp_path, plays, "--check")
    assert found == {"bare": 0, "plain": 0, "half": 0, "early": 0}, output
