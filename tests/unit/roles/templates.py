# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The roles' variables, and the conditions of their tasks, as Ansible evaluates them on a host."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar, trust_as_template
from ansible.utils.collection_loader import AnsibleCollectionConfig

ROLES = pathlib.Path(__file__).resolve().parents[3] / "roles"


def templar(roles: t.Iterable[str], variables: t.Mapping[str, t.Any]) -> Templar:
    """Return what templates see: defaults and variables of some roles, overridden by those of the host."""
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    known: dict[str, t.Any] = {}
    for role in roles:
        for part in ("defaults", "vars"):
            known |= _loaded(ROLES / role / part / "main.yml")
    return Templar(loader=DataLoader(), variables={**known, **variables})


@functools.cache
def _loaded(path: pathlib.Path) -> dict[str, t.Any]:
    """Return a file of variables as trusted templates. It is read once, because its content does not change."""
    found: dict[str, t.Any] = DataLoader().load_from_file(str(path), trusted_as_template=True)
    return found


def value(found: Templar, expression: str) -> t.Any:
    """Return the value of an expression."""
    return found.template(trust_as_template("{{ " + expression + " }}"))


def holds(found: Templar, conditions: str | list[str]) -> bool:
    """Return whether all conditions of a task are true."""
    listed = [conditions] if isinstance(conditions, str) else conditions
    return all(bool(value(found, condition)) for condition in listed)


def rendered(found: Templar, text: str) -> t.Any:
    """Return a text after templating, such as an argument of a task."""
    return found.template(trust_as_template(text))


def every_task(items: t.Iterable[dict[str, t.Any]], **inherited: t.Any) -> t.Iterator[dict[str, t.Any]]:
    """Yield the tasks in a list and in its blocks, with the keywords that they inherit."""
    for item in items:
        parts = [part for part in ("block", "rescue", "always") if part in item]
        if not parts:
            yield {**inherited, **item}
        keywords = {name: item[name] for name in ("check_mode", "no_log") if name in item}
        for part in parts:
            yield from every_task(item[part], **{**inherited, **keywords})


def task(role: str, tasks: str, name: str = "") -> dict[str, t.Any]:
    """Return a task of a role: the first one in a file, or the one with a name."""
    found: list[dict[str, t.Any]] = yaml.safe_load((ROLES / role / "tasks" / tasks).read_text(encoding="utf-8"))
    return next(item for item in every_task(found) if not name or item["name"] == name)
