# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes types, choices, nested options, defaults and secrecy into the roles' argument specifications and READMEs.

They come from the dataclasses in plugins/plugin_utils/role_variables and from the roles' defaults. The order of
options, their descriptions and everything else are written by hand, and stay as they are. In the table of a README,
only the columns `type` and `default` are generated.

usage: make docs, or python docs/generate_argument_specs.py with ANSIBLE_COLLECTIONS_PATH as `make` sets it
"""

from __future__ import annotations

import os
import re
import typing as t
from pathlib import Path

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"
_OPTION = re.compile(r"( +)(\w+):")
_SHARED = re.compile(r"\{\{ \w+ \| default\((?P<default>'[^']*'|[\d.]+|true|false|\[[^()]*\]|\{\})\)(?: \| bool)? \}\}")
"""A default that is a shared variable's value; without that variable, it is a constant."""
_ROW = re.compile(r"^\| `(?P<name>\w+)` \|[^|]*\|[^|]*\|", re.MULTILINE)
"""A variable in a README's table, with its type and its default."""
_WIDTH = 120
_INDENT = 6
"""Indentation of the options of `argument_specs.main.options`."""


def path_of(role: str) -> Path:
    """The argument specification of a role."""
    return ROLES / role / "meta" / "argument_specs.yml"


def readme_path_of(role: str) -> Path:
    """The README of a role."""
    return ROLES / role / "README.md"


def text_of(role: str) -> str:
    """The text that the file should have: that of the file, with the generated keys renewed."""
    before, options, after = _split(path_of(role).read_text(encoding="utf-8"))
    return "".join([*before, *_options(specification(role), _descriptions(options, _INDENT), role, _INDENT), *after])


def readme_of(role: str) -> str:
    """The text that the role's README should have: that of the file, with the types and defaults renewed."""
    specs = specification(role)

    def row(match: re.Match[str]) -> str:
        spec = specs.get(match["name"])
        return match[0] if spec is None else f"| `{match['name']}` | {_type(spec)} | {_default(spec)} |"

    return _ROW.sub(row, readme_path_of(role).read_text(encoding="utf-8"))


def _type(spec: dict[str, t.Any]) -> str:
    kind = f"list of {spec['elements']}" if spec["type"] == "list" and spec["elements"] != "raw" else str(spec["type"])
    return f"{kind}: {', '.join(f'`{choice}`' for choice in spec['choices'])}" if "choices" in spec else kind


def _default(spec: dict[str, t.Any]) -> str:
    if "default" not in spec:
        return ""
    default = spec["default"]
    return f"`{default if default and isinstance(default, str) else _flow(default)}`"


def specification(role: str) -> dict[str, dict[str, t.Any]]:
    """The options of a role, without descriptions."""
    from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.roles import of_role
    from ansible_collections.winkube.node.plugins.plugin_utils.specification.argument_spec import (
        has_secrets,
        of_annotation,
    )

    defaults = yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    found = {}
    for name, variable in of_role(role).items():
        spec = of_annotation(variable.annotation)
        default = constant(defaults.get(name))
        if default is not None:
            spec["default"] = str(default) if spec["type"] == "str" else default
        if variable.secret or has_secrets(variable.annotation):
            spec["no_log"] = True
        found[name] = spec
    return found


def constant(value: t.Any) -> t.Any:
    """The value that a variable has if users set nothing; None if it depends on other variables."""
    if "{{" not in str(value) and "{%" not in str(value):
        return value
    shared = _SHARED.fullmatch(str(value))
    return yaml.safe_load(shared["default"]) if shared else None


def _split(text: str) -> tuple[list[str], list[str], list[str]]:
    """The lines before the options, those of the options, and those after them."""
    lines = text.splitlines(keepends=True)
    first = lines.index("    options:\n") + 1
    ends = (number for number, line in enumerate(lines[first:], first) if _indent(line) < _INDENT)
    last = next(ends, len(lines))
    return lines[:first], lines[first:last], lines[last:]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else _WIDTH


Descriptions = dict[str, tuple[list[str], t.Any]]
"""For each option in order, the lines of its description, and the descriptions of its nested options."""


def _descriptions(lines: list[str], indent: int) -> Descriptions:
    """The descriptions in the lines of options, as they are written."""
    found: Descriptions = {}
    for name, block in _blocks(lines, indent):
        keys = dict(_blocks(block[1:], indent + 2))
        found[name] = (keys.get("description", []), _descriptions(keys.get("options", [])[1:], indent + 4))
    return found


def _blocks(lines: list[str], indent: int) -> list[tuple[str, list[str]]]:
    """Each key with this indentation, and its lines."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        key = _OPTION.match(line)
        if key and len(key[1]) == indent:
            found.append((key[2], [line]))
        elif found:
            found[-1][1].append(line)
    return found


def _options(specs: dict[str, dict[str, t.Any]], known: Descriptions, where: str, indent: int) -> list[str]:
    """The lines of options, in the order in which they are described."""
    missing = [name for name in specs if not known.get(name, ([], {}))[0]]
    if missing:
        raise SystemExit(f"{where}: expected a description of {', '.join(missing)} in argument_specs.yml, got none")
    lines = []
    for name in known:
        # A variable that the role no longer has is left out.
        if name in specs:
            lines += [f"{' ' * indent}{name}:\n", *known[name][0]]
            lines += _keys(specs[name], known[name][1], f"{where}: {name}", indent + 2)
    return lines


def _keys(spec: dict[str, t.Any], known: Descriptions, where: str, indent: int) -> list[str]:
    """The lines of the generated keys of an option."""
    lines = []
    for key in ("type", "elements", "choices", "required", "default", "no_log"):
        if key in spec:
            lines += _line(key, spec[key], indent)
    if "options" in spec:
        lines += [f"{' ' * indent}options:\n", *_options(spec["options"], known, where, indent + 2)]
    return lines


def _line(key: str, value: t.Any, indent: int) -> list[str]:
    """A key with its value on one line, or a list on one line each if that is too long."""
    start = f"{' ' * indent}{key}: "
    flat = _flow(value)
    if isinstance(value, list) and len(start + flat) > _WIDTH:
        return [f"{start.rstrip()}\n", *(f"{' ' * (indent + 2)}- {item}\n" for item in value)]
    return [f"{start}{flat}\n"]


def _flow(value: t.Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    return text.removesuffix("...\n").strip()


def main() -> None:
    """Writes the files."""
    from ansible.plugins.loader import init_plugin_loader

    init_plugin_loader([path for path in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep) if path])
    for role in sorted(path.name for path in ROLES.iterdir()):
        path_of(role).write_text(text_of(role), encoding="utf-8")
        readme_path_of(role).write_text(readme_of(role), encoding="utf-8")


if __name__ == "__main__":
    main()
