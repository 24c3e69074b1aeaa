# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rules for the tasks of all roles and playbooks: tokens appear in no output, and read-only plays change nothing."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml
from unit.roles.templates import ROLES, every_task

PLAYBOOKS = ROLES.parent / "playbooks"
_HAS_TOKEN = re.compile(r"\.tokens?\b")
_NO_ARGUMENTS = ("name", "when", "register", "failed_when", "changed_when", "until", "vars", "loop", "delegate_to")


def files() -> list[pathlib.Path]:
    """Return the task files and the playbooks."""
    return sorted([*ROLES.glob("*/tasks/**/*.yml"), *PLAYBOOKS.rglob("*.yml")])


def tasks_of(path: pathlib.Path) -> t.Iterator[dict[str, t.Any]]:
    """Yield all tasks in a file. Those in a playbook lack the keywords of their play."""
    items = yaml.safe_load(path.read_text(encoding="utf-8"))
    for item in items or ():
        sections = ("pre_tasks", "tasks", "post_tasks", "handlers")
        yield from every_task([one for name in sections for one in item.get(name, ())] if "hosts" in item else [item])


def returns_tokens(task: dict[str, t.Any]) -> bool:
    """Return whether the result of a task contains a token: it creates, reads or applies one in a Secret."""
    if "winkube.node.service_account_tokens" in task:
        return True
    if "winkube.node.bootstrap_token" in task:
        return bool(task["winkube.node.bootstrap_token"].get("state", "present") == "present")
    return "cni_account_objects" in str(task.get("kubernetes.core.k8s", {}).get("definition", ""))


def takes_tokens(task: dict[str, t.Any]) -> bool:
    """Return whether a module of Ansible itself gets a token. The collection's modules hide their own."""
    arguments = {name: value for name, value in task.items() if name not in _NO_ARGUMENTS}
    own = any(name.startswith("winkube.node.") for name in arguments)
    return not own and bool(_HAS_TOKEN.search(str(arguments)))


def test_no_task_shows_a_token() -> None:
    found = [(path, task) for path in files() for task in tasks_of(path) if returns_tokens(task) or takes_tokens(task)]
    assert [f"{path.name}: {task['name']}" for path, task in found if task.get("no_log") is not True] == []
    # After a task is moved or renamed, this shows whether it is still found.
    assert {path.relative_to(ROLES.parent).as_posix() for path, _ in found} == {
        "playbooks/join_token.yml",
        "playbooks/join_user_data.yml",
        "roles/cni/tasks/accounts.yml",
        "roles/cni/tasks/services.yml",
        "roles/node_join/tasks/join_machine.yml",
    }
    assert len(found) == 7


def test_the_file_with_a_token_is_for_its_owner_only() -> None:
    (written,) = (
        task["ansible.builtin.copy"]
        for task in tasks_of(PLAYBOOKS / "join_token.yml")
        if "ansible.builtin.copy" in task and takes_tokens(task)
    )
    assert written["mode"] == "0600"


# Work that changes no node: read-only actions, those on the controller, and read-only entry points of roles.
_READS = {
    *("ansible.builtin.assert", "ansible.builtin.set_fact"),
    *(f"winkube.node.{name}" for name in ("known_tags", "preflight", "preflight_report", "winrm_certificate_info")),
    *("winkube.node.drift_report", "winkube.node.patch_report"),
    *("winkube.node.node_prepare/bundle", "winkube.node.node_prepare/resources"),
    *("winkube.node.node_join/check", "winkube.node.node_join/resources"),
    *("winkube.node.node_maintenance/inspect", "winkube.node.node_maintenance/select"),
}


def work(task: dict[str, t.Any]) -> str:
    """Return the work of a task: its action, or the entry point of a role."""
    action = next(name for name in task if "." in name)
    if action.endswith("_role"):
        return f"{task[action]['name']}/{task[action].get('tasks_from', 'main')}"
    return action


@pytest.mark.parametrize(
    ("playbook", "play", "observing"),
    [
        ("patch_nodes.yml", "Find out which nodes lack patches", {"winkube.node.windows_patches/install"}),
        ("plan.yml", "Compare nodes with their desired state", {"winkube.node.node_state"}),
    ],
)
def test_plays_that_only_observe_use_check_mode(playbook: str, play: str, observing: set[str]) -> None:
    plays = yaml.safe_load((PLAYBOOKS / playbook).read_text(encoding="utf-8"))
    (found,) = (one for one in plays if one["name"] == play)
    tasks = list(every_task(found["tasks"]))
    assert {work(task) for task in tasks if task.get("check_mode") is not True} <= _READS
    assert {work(task) for task in tasks if task.get("check_mode") is True} == observing


def test_inspecting_the_cluster_cordons_nothing() -> None:
    for task in tasks_of(ROLES / "node_maintenance" / "tasks" / "inspect.yml"):
        if "winkube.node.nodes_drain" in task:
            assert task["check_mode"] is True
