# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a machine reports about itself has no effect on another machine's node: its name, and its former network."""

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

NODES = {
    "wina": {"os": "windows", "ready": True, "addresses": ["192.0.2.1"], "network_runs_as": "service"},
    "own": {"os": "windows", "ready": True, "addresses": ["192.0.2.3"], "network_runs_as": ""},
    "moved": {"os": "windows", "ready": True, "addresses": ["10.0.0.4"], "network_runs_as": "service"},
    "elsewhere": {"os": "windows", "ready": True, "addresses": ["192.0.2.8"], "network_runs_as": ""},
    "ubuntu01": {"os": "linux", "ready": False, "addresses": ["192.0.2.9"], "network_runs_as": ""},
}


def says(name: str, *, joined: bool = True, self_named: bool = True, plugin: str = "") -> dict[str, Any]:
    """Return the response of a machine to join_info."""
    return {"node_name": name, "computer_name": name, "joined": joined, "self_named": self_named,
            "cni": {"plugin": plugin, "network": ""} if plugin else {}}  # fmt: skip


HOSTS = {
    "wina": {"ansible_host": "192.0.2.1", "kubernetes_node_hostname": "wina",
             "node_join_info": says("wina", self_named=False), "container_runtime": "docker"},
    "winb": {"ansible_host": "192.0.2.2", "node_join_info": says("wina")},
    "linux": {"ansible_host": "192.0.2.5", "node_join_info": says("ubuntu01", joined=False)},
    "honest": {"ansible_host": "192.0.2.3", "node_join_info": says("own")},
    "fresh": {"ansible_host": "192.0.2.6", "node_join_info": says("fresh", joined=False)},
    # It is behind address translation, so its own report does not change its node.
    "moved": {"ansible_host": "203.0.113.4", "node_join_info": says("moved")},
    # It reports that it had flannel, which others still use.
    "liar": {"ansible_host": "192.0.2.7", "kubernetes_node_hostname": "liar",
             "node_join_info": says("liar", self_named=False, plugin="flannel")},
}  # fmt: skip


def failures(folder: Path, *parts: tuple[str, str], limit: str = "all") -> dict[str, str]:
    """Run parts of roles on hosts without a connection, and return the message with which each host failed."""
    imports = [{"name": part, "ansible.builtin.import_role": {"name": f"winkube.node.{role}", "tasks_from": part}}
               for role, part in (("node_join", "resources"), *parts)]  # fmt: skip
    play = {"hosts": "all", "gather_facts": False, "tasks": imports}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": HOSTS}}), encoding="utf-8")
    (folder / "play.json").write_text(json.dumps([play]), encoding="utf-8")
    variables: dict[str, Any] = {"cni_plugin": "none", "node_join_cluster": {"nodes": NODES, "api_server": ""}}
    variables["node_join_kubeconfig"] = str(folder / "no-such-file")
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "-i", "hosts.json", "play.json", "--limit", limit, "-e", json.dumps(variables)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"}
    _, output = forked_runs.execute(command, folder, environment)
    assert "PLAY RECAP" in output, output
    return dict(re.findall(r'^fatal: \[(\w+)\]: FAILED! => .*"msg": "(.*?)"\}?', output, re.MULTILINE))


# Unit tests of node_names also cover this.
@pytest.mark.variant
def test_names_of_others_are_refused_and_nothing_of_theirs_is_changed(tmp_path: Path) -> None:
    found = failures(tmp_path, ("node_join", "names"), ("cni", "cluster"), ("cni", "change"))
    assert set(found) == {"winb", "linux", "moved", "liar"}
    assert "the machine reports the name wina, but that is the name of host wina in the inventory" in found["winb"]
    assert "a node with the operating system linux" in found["linux"]
    assert "while only the machine itself reports that name. Set kubernetes_node_hostname" in found["moved"]
    assert "but elsewhere may need it" in found["liar"]


def test_a_host_that_is_not_in_the_play_keeps_its_name(tmp_path: Path) -> None:
    assert set(failures(tmp_path, ("node_join", "names"), limit="winb")) == {"winb"}


def test_a_host_without_a_token_gets_the_reason(tmp_path: Path) -> None:
    """The task that creates tokens hides its own output."""
    found = failures(tmp_path, ("node_join", "join"), limit="fresh")
    assert "no-such-file' cannot be used" in found["fresh"]
