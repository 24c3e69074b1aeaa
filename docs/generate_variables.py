# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write docs/variables.md from the defaults and argument specifications of the roles, and from the playbooks.

Usage: make docs, or python docs/generate_variables.py
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).resolve().with_name("variables.md")
_READ = re.compile(r"(?<![.\w])(\w+)(?:\s*\|\s*default\(| is (?:not )?defined)|cluster_variable',\s*'(\w+)'")
"""A variable that an inventory may set: one with a fallback, or one of the cluster."""
_SOURCES = "lookup('winkube.node.artifact_sources')"
"""The lookup that reads all variables of `artifact_sources.NAMES`."""
_DECISIONS = {
    "lookup('winkube.node.role_decision', 'windows_settings_hosts')": (
        "apiserver_loadbalancer_domain_name",
        "loadbalancer_apiserver",
    ),
}
"""Decisions in defaults (package role_decisions), with the shared variables that they read."""
_SET = frozenset({"bundle_sites", "bundle_images", "bundle_patches", "bundle_pushed", "winkube_join"})
"""Variables that a run sets itself."""

_BY_ROLES = {
    "allow_unsupported_versions": ("build_image", "join_nodes", "plan", "site", "upgrade_nodes"),
    "artifact_offline": ("join_nodes", "replace_nodes", "site", "upgrade_nodes"),
}
"""Variables that tasks of roles read in the name of these playbooks."""

HEAD = """# Variables

The options of a role have the role's name as prefix. The README of the role lists them. Most of them take their default
from a **shared variable**, which you set once for all roles. Shared variables that
kubespray or [kubernetes-for-windows](https://github.com/pablodav/kubernetes-for-windows) also have keep their names and
meanings. If both are set, a role's own option wins over the shared variable.

This page is generated from the roles and playbooks (`docs/generate_variables.py`).
"""

TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yml").with_stem("variables").read_text(encoding="utf-8"))
PLAYBOOKS: t.Mapping[str, str] = TEXTS["playbooks"]
SHARED: t.Mapping[str, t.Mapping[str, str]] = TEXTS["shared"]


@dataclasses.dataclass(frozen=True)
class Reader:
    """An option that takes its default from a shared variable."""

    role: str
    option: str
    type: str
    description: str


def page() -> str:
    """Return the text of docs/variables.md."""
    shared = shared_variables()
    lines = [HEAD, "## Shared variables of the roles\n", "| variable | type | meaning | options |", "|---|---|---|---|"]
    for name, readers in sorted(shared.items()):
        first = readers[0]
        options = ", ".join(f"[`{one.option}`](../roles/{one.role}/README.md)" for one in readers)
        known = SHARED.get(name, {"type": first.type, "what": first.description})
        lines.append(f"| `{name}` | {known['type']} | {known['what']} | {options} |")
    lines += ["", "## Variables of the playbooks\n", "| variable | meaning | playbooks |", "|---|---|---|"]
    for name, readers in sorted(playbook_variables(shared).items()):
        lines.append(f"| `{name}` | {PLAYBOOKS[name]} | {', '.join(f'`{one}`' for one in readers)} |")
    return "\n".join(lines) + "\n"


def shared_variables() -> dict[str, list[Reader]]:
    """Return the shared variables that the defaults of roles read, with the options that do so."""
    prefixes = _prefixes()
    own = _SET | _set_by_roles()
    found: dict[str, list[Reader]] = {}
    for role in prefixes:
        folder = ROOT / "roles" / role
        defaults = _yaml(folder / "defaults" / "main.yml") or {}
        options = _yaml(folder / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})
        for option, value in defaults.items():
            spec = options.get(option, {})
            reader = Reader(role, option, _type(spec), _text(spec.get("description", "")))
            for name in _names(value):
                if not name.startswith(tuple(f"{prefix}_" for prefix in prefixes)) and name not in own:
                    found.setdefault(name, []).append(reader)
    return found


def playbook_variables(shared: t.Collection[str]) -> dict[str, list[str]]:
    """Return the variables that playbooks read themselves, with the names of the playbooks."""
    prefixes = tuple(f"{prefix}_" for prefix in _prefixes())
    found: dict[str, list[str]] = {name: [*playbooks] for name, playbooks in _BY_ROLES.items()}
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        plays = _yaml(path)
        own = set(re.findall(r"'register': '(\w+)'", str(plays))) | {"ansible_run_tags"}
        for name in _names(plays):
            if name not in own | _SET | set(shared) and not name.startswith(prefixes):
                found.setdefault(name, []).append(path.stem)
    return {name: list(dict.fromkeys(playbooks)) for name, playbooks in found.items()}


def _set_by_roles() -> set[str]:
    """Return the variables that roles set for each other."""
    return {name for path in (ROOT / "roles").glob("*/vars/main.yml") for name in _yaml(path) or {}}


def _prefixes() -> list[str]:
    return sorted(path.name for path in (ROOT / "roles").iterdir() if (path / "defaults" / "main.yml").is_file())


def _names(value: t.Any) -> list[str]:
    """Return the variables that a value reads, each once and in order. Values may be nested."""
    if isinstance(value, str):
        found = [first or second for first, second in _READ.findall(value)]
        found += artifact_source_names() if _SOURCES in value else ()
        found += [name for lookup, names in _DECISIONS.items() if lookup in value for name in names]
    elif isinstance(value, dict):
        found = [name for inner in value.values() for name in _names(inner)]
    elif isinstance(value, list):
        found = [name for inner in value for name in _names(inner)]
    else:
        found = []
    return list(dict.fromkeys(found))


def artifact_source_names() -> tuple[str, ...]:
    """Return the variables that the lookup artifact_sources reads. Its module is loaded without the collection."""
    path = ROOT / "plugins" / "plugin_utils" / "node_resources" / "artifact_sources.py"
    spec = importlib.util.spec_from_file_location("artifact_sources", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.NAMES)


def _type(spec: t.Mapping[str, t.Any]) -> str:
    kind = str(spec.get("type", "str"))
    return f"list of {spec['elements']}" if kind == "list" and "elements" in spec else kind


def _text(description: str | list[str]) -> str:
    """Return the first sentence of a description, with Ansible's markup as Markdown."""
    text = description if isinstance(description, str) else description[0]
    text = re.sub(r"[A-Z]\(([^)]*)\)", r"`\1`", " ".join(text.split()))
    return re.split(r"(?<=[\w`)]\.) (?=[A-Z`{])", text)[0].rstrip(".").replace("|", "\\|")


def _yaml(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def write() -> None:
    """Write the page, as a whole or not at all."""
    part = PAGE.with_suffix(".part")
    part.write_text(page(), encoding="utf-8")
    os.replace(part, PAGE)  # noqa: PTH105 - the same, and atomic


if __name__ == "__main__":
    write()
