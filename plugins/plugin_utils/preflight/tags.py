# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the tags of a playbook, to reject unknown tags on the command line.

Ansible itself does not reject them: it runs only tasks tagged `always`, and succeeds. The tags are read from the
playbook's files, so there is no separate list that could become outdated.
"""

from __future__ import annotations

import pathlib
import typing as t

from ansible.module_utils.common.yaml import yaml_load

SPECIAL = frozenset({"all", "always", "never", "tagged", "untagged"})
"""Tags with a special meaning to Ansible."""
_ROLES = ("import_role", "include_role")
_TASKS = ("import_tasks", "include_tasks")
_PARTS = ("block", "rescue", "always", "pre_tasks", "tasks", "post_tasks", "handlers")


def known(playbook: pathlib.Path, roles: pathlib.Path) -> frozenset[str]:
    """Return all tags of a playbook and of the playbooks, roles and task files that it imports or includes.

    Args:
        playbook: the playbook's file.
        roles: the folder with the roles; each role's folder is named after the last part of the role's name.
    """
    tags: set[str] = set()
    _read(playbook, roles, tags, set())
    return frozenset(tags)


def _read(path: pathlib.Path, roles: pathlib.Path, tags: set[str], seen: set[pathlib.Path]) -> None:
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for entry in yaml_load(path.read_text(encoding="utf-8")) or ():
        _take(entry, path, roles, tags, seen)


def _take(
    entry: t.Mapping[str, t.Any],
    path: pathlib.Path,
    roles: pathlib.Path,
    tags: set[str],
    seen: set[pathlib.Path],
) -> None:
    """Collect the tags from a play, block or task, and from the files that this entry imports or includes."""
    tags.update(as_list(entry.get("tags")))
    for part in _PARTS:
        for inner in entry.get(part) or ():
            _take(inner, path, roles, tags, seen)
    for key, value in entry.items():
        action = key.rpartition(".")[2]
        options = value if isinstance(value, dict) else {"file": value}
        if action in (*_ROLES, *_TASKS):
            tags.update(as_list((options.get("apply") or {}).get("tags")))
        if action in _ROLES:
            folder = roles / str(options["name"]).rpartition(".")[2] / "tasks"
            name = pathlib.PurePath(str(options.get("tasks_from") or "main")).stem
            _read(folder / f"{name}.yml", roles, tags, seen)
        elif action in (*_TASKS, "import_playbook"):
            _read(path.parent / str(options["file"]), roles, tags, seen)


def as_list(value: t.Any) -> list[str]:
    """Return the tags in a value of `tags`. As in Ansible, the value may be a list or a comma-separated string."""
    if value is None:
        return []
    entries = value if isinstance(value, list) else [value]
    return [tag.strip() for entry in entries for tag in str(entry).split(",") if tag.strip()]
