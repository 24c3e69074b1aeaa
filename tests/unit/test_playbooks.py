# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The playbooks as a whole: their tags, and their groups of hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from unit.roles.templates import every_task, holds, rendered, templar

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import tags

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
INVENTORIES = [ROOT / "inventories" / "demo" / "hosts.yml", ROOT / "inventories" / "kubespray" / "hosts.ini"]
_LISTED = re.compile(r"^\s+TASK TAGS: \[(.*)\]$", re.MULTILINE)


@pytest.fixture(scope="module")
def listed() -> dict[str, set[str]]:
    """Return the tags of each playbook that Ansible lists, without those of dynamic includes."""
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "localhost,", "--list-tags", *PLAYBOOKS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for text in output.split("playbook: ")[1:]:
        path = Path(text.splitlines()[0])
        found[path.name] = {tag.strip() for line in _LISTED.findall(text) for tag in line.split(",") if tag.strip()}
    return found


# One worker runs these, because each worker would list the tags of all playbooks.
@pytest.mark.xdist_group("tags")
@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_the_known_tags_are_those_that_ansible_lists(playbook: Path, listed: dict[str, set[str]]) -> None:
    known = tags.known(playbook, ROOT / "roles")
    assert known >= listed[playbook.name]
    # Dynamic includes add no tags except `always`.
    assert known - tags.SPECIAL == listed[playbook.name] - tags.SPECIAL


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_refuses_unknown_tags_first(playbook: Path) -> None:
    first = plays(playbook)[0]["tasks"][0]
    assert "winkube.node.known_tags" in first
    assert first["tags"] == ["always"]


def plays(playbook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    return found


def test_the_page_lists_the_phases_of_an_image_build_in_their_order() -> None:
    page = (ROOT / "roles" / "sysprep" / "README.md").read_text(encoding="utf-8")
    table = page.partition("## The phases of a build")[2].partition("## ")[0]
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| .* \| (`.*) \|$", table, re.MULTILINE)))
    playbook = ROOT / "playbooks" / "build_image.yml"
    assert sorted(listed) == sorted(tags.known(playbook, ROOT / "roles") - tags.SPECIAL)
    # A phase may check its variables at the beginning, so its last task counts.
    last = {tag: at for at, task in enumerate(plays(playbook)[0]["tasks"]) for tag in task.get("tags", ())}
    phases = [tag for tag in listed if tag in last]
    assert len(phases) >= 4
    assert phases == sorted(phases, key=lambda tag: last[tag])


def test_tags_are_read_from_lists_texts_and_what_is_included(tmp_path: Path) -> None:
    (tmp_path / "roles" / "one" / "tasks").mkdir(parents=True)
    (tmp_path / "roles" / "one" / "tasks" / "main.yml").write_text(
        "- import_tasks: more.yml\n- name: x\n  tags: c\n", encoding="utf-8"
    )
    (tmp_path / "roles" / "one" / "tasks" / "more.yml").write_text("- block: [{tags: [d]}]\n", encoding="utf-8")
    playbook = tmp_path / "site.yml"
    playbook.write_text(
        "- tags: a, b\n  tasks:\n"
        "    - include_role: {name: mine.own.one, apply: {tags: [e]}}\n"
        "    - include_tasks: {file: 'gone.yml'}\n"
        "  handlers: [{tags: [f]}]\n",
        encoding="utf-8",
    )
    assert tags.known(playbook, tmp_path / "roles") == set("abcdef")


def pattern(playbook: Path) -> str:
    """Return the hosts that a playbook works on by default."""
    found = re.search(r"winkube_hosts \| default\('([^']+)'\)", str(plays(playbook)[0]["hosts"]))
    assert found, playbook
    return found[1]


@pytest.mark.parametrize("group", ["node_windows", "node-windows"])
def test_playbooks_find_the_group_by_both_names(tmp_path: Path, group: str, capfd: pytest.CaptureFixture[str]) -> None:
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(f"[{group}]\nwindows01\n[other]\nnode-windows01\n[node_windows_too]\nx\n", encoding="utf-8")
    manager = InventoryManager(DataLoader(), [str(inventory)])
    for playbook in PLAYBOOKS:
        none = ("build_image", "cluster", "compare_images", "publish_image", "verify_image")
        none += ("join_token", "join_user_data")
        if playbook.stem not in none:
            assert [host.name for host in manager.get_hosts(pattern(playbook))] == ["windows01"], playbook
    assert "Could not match" not in capfd.readouterr().err


@pytest.mark.parametrize("inventory", INVENTORIES, ids=lambda path: path.parent.name)
def test_our_inventories_have_no_group_that_ansible_warns_of(inventory: Path) -> None:
    manager = InventoryManager(DataLoader(), [str(inventory)])
    assert [name for name in manager.groups if not name.isidentifier()] == []
    assert manager.get_hosts(pattern(ROOT / "playbooks" / "site.yml"))


@pytest.mark.parametrize(
    ("variables", "serial"),
    [({}, 1), ({"winkube_serial": 3}, 3), ({"winkube_serial": "50%"}, "50%"), ({"ansible_check_mode": True}, "100%")],
)
def test_hns_is_cleared_on_one_node_after_the_other(variables: dict[str, Any], serial: object) -> None:
    (play,) = (one for one in plays(ROOT / "playbooks" / "reset_nodes.yml") if one["name"] == "Clear HNS only")
    known = Templar(loader=DataLoader(), variables={"ansible_check_mode": False, **variables})
    assert known.template(trust_as_template(play["serial"])) == serial


def playbook_task(playbook: str, name: str) -> dict[str, Any]:
    """Return the last task with this name, because blocks may have the name of a task in them."""
    tasks = [one for play in plays(ROOT / "playbooks" / playbook) for one in every_task(play["tasks"])]
    return [one for one in tasks if one.get("name") == name][-1]


@pytest.mark.parametrize(("reboots", "rebooted"), [(0, False), ("0", False), (1, True), (3, True)])
def test_a_node_counts_as_rebooted_where_its_patches_rebooted_it(reboots: object, rebooted: bool) -> None:
    variables = playbook_task("patch_nodes.yml", "Put the nodes back into service")["vars"]
    found = templar([], {"windows_patches_result": {"reboots": reboots}})
    assert rendered(found, variables["node_maintenance_rebooted"]) is rebooted


@pytest.mark.parametrize(("stage", "passes"), [("done", True), ("waiting", True), ("failed", False)])
def test_a_rollout_fails_for_the_nodes_that_failed(stage: str, passes: bool) -> None:
    check = playbook_task("patch_nodes.yml", "Fail if the node was not patched")["ansible.builtin.assert"]
    found = templar([], {"node_maintenance_state": {"stage": stage, "message": "why"}})
    assert holds(found, check["that"]) is passes
    assert rendered(found, check["fail_msg"]) == "why"


@pytest.mark.parametrize(
    ("variables", "goes_on"),
    [
        ({"reset_nodes_answer": {"user_input": "yes"}}, True),
        ({"reset_nodes_answer": {"user_input": "no"}}, False),
        ({"reset_nodes_answer": {"user_input": ""}}, False),
        ({"reset_nodes_answer": {"user_input": "Yes"}}, False),
        # There was no prompt, because one of these is set, or the run is not interactive.
        ({"reset_nodes_answer": {"skipped": True}}, False),
        ({"reset_nodes_answer": {"skipped": True}, "reset_confirmation": False}, False),
        ({"reset_nodes_answer": {"skipped": True}, "reset_confirmation": "no"}, False),
        ({"reset_nodes_answer": {"skipped": True}, "reset_confirmation": True}, True),
        ({"reset_nodes_answer": {"skipped": True}, "reset_confirmation": "true"}, True),
        ({"reset_nodes_answer": {"skipped": True}, "skip_confirmation": True}, True),
        ({"reset_nodes_answer": {"skipped": True}, "skip_confirmation": "false"}, False),
        ({"reset_nodes_answer": {"skipped": True}, "ansible_check_mode": True}, True),
    ],
)
def test_nodes_are_reset_only_after_a_yes(variables: dict[str, Any], goes_on: bool) -> None:
    check = playbook_task("reset_nodes.yml", "Stop unless the reset was confirmed")["ansible.builtin.assert"]
    assert holds(templar([], {"ansible_check_mode": False, **variables}), check["that"]) is goes_on


@pytest.mark.parametrize(
    ("variables", "asks"),
    [
        ({}, True),
        ({"skip_confirmation": False}, True),
        ({"skip_confirmation": True}, False),
        ({"reset_confirmation": True}, False),
        ({"reset_confirmation": False}, False),
        ({"ansible_check_mode": True}, False),
    ],
)
def test_known_answers_are_not_queried_again(variables: dict[str, Any], asks: bool) -> None:
    conditions = playbook_task("reset_nodes.yml", "Ask for confirmation")["when"]
    assert holds(templar([], {"ansible_check_mode": False, **variables}), conditions) is asks


@pytest.mark.parametrize(
    ("variables", "goes_on"),
    [
        ({"replace_nodes_answer": {"user_input": "yes"}}, True),
        ({"replace_nodes_answer": {"user_input": "y"}}, False),
        ({"replace_nodes_answer": {"skipped": True}}, False),
        ({"replace_nodes_answer": {"skipped": True}, "replace_confirmation": "no"}, False),
        ({"replace_nodes_answer": {"skipped": True}, "replace_confirmation": "true"}, True),
        ({"replace_nodes_answer": {"skipped": True}, "skip_confirmation": True}, True),
        ({"replace_nodes_answer": {"skipped": True}, "ansible_check_mode": True}, True),
    ],
)
def test_nodes_are_replaced_only_after_a_yes(variables: dict[str, Any], goes_on: bool) -> None:
    check = playbook_task("replace_nodes.yml", "Stop unless the replacement was confirmed")["ansible.builtin.assert"]
    known = templar([], {"ansible_check_mode": False, **variables})
    assert holds(known, check["that"]) is goes_on
    asks = playbook_task("replace_nodes.yml", "Ask for confirmation")["when"]
    is_known = {"replace_confirmation", "skip_confirmation", "ansible_check_mode"} & variables.keys()
    assert holds(known, asks) is (not is_known)


@pytest.mark.parametrize(
    ("extra", "passes"),
    [
        ({}, True),
        ({"artifact_mirror": "http://mirror.example"}, False),
        ({"artifact_sites": [{"url": "http://site.example"}]}, False),
        ({"bundle_dir": "/bundle"}, False),
    ],
)
def test_an_offline_verification_refuses_extra_variables_with_downloads(extra: dict[str, Any], passes: bool) -> None:
    facts = playbook_task("verify_image.yml", "Use no sites, no mirror and no bundle")["ansible.builtin.set_fact"]
    check = playbook_task("verify_image.yml", "Fail if sites, a mirror or a bundle are extra variables")
    # Extra variables take precedence over facts.
    found = templar([], {"verify_image_is_offline": True, **facts, **extra})
    assert holds(found, check["ansible.builtin.assert"]["that"]) is passes
    assert holds(found, check["when"])


CONNECTION = re.compile(r"ansible_(host|port|user|password|connection|(winrm|psrp|ssh)_\w+)")


def connection_variables(value: object) -> set[str]:
    """Return the connection variables that tasks and blocks set for themselves."""
    if isinstance(value, list):
        return set().union(*map(connection_variables, value))
    if not isinstance(value, dict):
        return set()
    own = {name for name in value.get("vars") or {} if CONNECTION.fullmatch(name)}
    return own.union(*map(connection_variables, value.values()))


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_task_replaces_the_connection_of_the_host_it_is_delegated_to(path: Path) -> None:
    assert connection_variables(yaml.safe_load(path.read_text(encoding="utf-8"))) == set()


def test_connection_variables_are_found_in_blocks() -> None:
    task = {"import_role": {"name": "x"}, "vars": {"ansible_host": "localhost", "x": 1}}
    assert connection_variables([{"tasks": [{"block": [task]}]}]) == {"ansible_host"}
