# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write docs/resources.md, and the list of types in plugins/modules/node_state.yml, from the resource types.

Usage: make docs, or python docs/generate_resources.py, with ANSIBLE_COLLECTIONS_PATH as `make` sets it
"""

from __future__ import annotations

import dataclasses
import os
import re
import textwrap
import typing as t
from pathlib import Path

PAGE = Path(__file__).resolve().with_name("resources.md")
MODULE = PAGE.parents[1] / "plugins" / "modules" / "node_state.yml"
_TYPES = re.compile(r'^( +)- "Types: .*?"$', re.MULTILINE | re.DOTALL)
"""The item of the description of option `resources` that lists the types."""
WIDTH = 120

HEAD = """# Resources

A list of resources describes what a node should have. Changes are made in the order of the list. Each resource has a
`type`, a `name`, and the properties below. The module `winkube.node.node_state` brings a node into the state of such a
list, and the roles use the same module. A resource can also have `when`. If it is false, the resource is left out.

```yaml
- name: The kubelet's folder and service
  winkube.node.node_state:
    resources:
      - type: Directory
        name: C:\\k
      - type: Service
        name: kubelet
        path: C:\\k\\kubelet.exe
        arguments: [--windows-service, --config=C:\\var\\lib\\kubelet\\config.yaml]
        start_mode: auto
        dependencies: [containerd]
```

A mistyped type, property or value is rejected before any node is touched. This page is generated from the types
(`docs/generate_resources.py`).
"""


def page() -> str:
    """Return the text of docs/resources.md."""
    from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Resource
    from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES
    from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import properties

    common = {field.name for field in dataclasses.fields(Resource)} - {"name"}
    parts = [HEAD, _wrapped("Types: " + ", ".join(f"[{name}](#{name.lower()})" for name in sorted(TYPES)))]
    some = next(iter(TYPES.values()))
    every = {name: field for name, field in properties(some).items() if name in common}
    parts += ["## Every resource\n", _table(some, every)]
    for name, type_ in sorted(TYPES.items()):
        own = {key: field for key, field in properties(type_).items() if key not in common}
        parts += [f"## {name}\n", _text(type_.__doc__), _table(type_, own)]
        for key, nested in _nested(type_, own):
            parts += [f"### {name}: {key}\n", _text(nested.__doc__), _table(nested, properties(nested))]
    return "\n".join(parts)


def module_text() -> str:
    """The text that node_state.yml should have: that of the file, with the list of types renewed."""
    from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES

    names = ", ".join(f"C({name})" for name in sorted(TYPES))
    text = f'- "Types: {names}. An unknown property is rejected, and the message lists the known ones."'

    def item(match: re.Match[str]) -> str:
        first, more = match[1], f"{match[1]}  "
        return textwrap.fill(text, 120, initial_indent=first, subsequent_indent=more, break_on_hyphens=False)

    return _TYPES.sub(item, MODULE.read_text(encoding="utf-8"), count=1)


def _text(doc: str | None) -> str:
    lines = [line.strip() for line in (doc or "").strip().splitlines()]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _nested(type_: type[t.Any], fields: t.Mapping[str, t.Any]) -> list[tuple[str, type[t.Any]]]:
    """Return the dataclasses below a type, each with the property that it belongs to, depth first."""
    from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import properties, property_types

    found: list[tuple[str, type[t.Any]]] = []
    for key in fields:
        for inner in _dataclasses_in(property_types(type_)[key]):
            found.append((key, inner))
            found += [(f"{key}.{below}", each) for below, each in _nested(inner, properties(inner))]
    return found


def _dataclasses_in(annotation: t.Any) -> list[type[t.Any]]:
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return [annotation]
    return [inner for argument in t.get_args(annotation) for inner in _dataclasses_in(argument)]


def _table(type_: type[t.Any], fields: t.Mapping[str, t.Any]) -> str:
    from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import describe, property_types

    rows = ["| property | value | default | description |", "|---|---|---|---|"]
    for name, field in fields.items():
        accepted = describe(property_types(type_)[name]).replace("|", "\\|")
        rows.append(
            f"| `{name}` | {accepted} | {_default(field)} | {field.metadata['help'].replace('|', chr(92) + '|')} |"
        )
    return "\n".join(rows) + "\n"


def _default(field: t.Any) -> str:
    if field.default is not dataclasses.MISSING:
        default = field.default
    elif field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    else:
        return "**required**"
    if isinstance(default, bool):
        return "`true`" if default else "`false`"
    if isinstance(default, (tuple, list)):
        return ", ".join(f"`{item}`" for item in default)
    return "" if default is None or default in ("", {}) else f"`{default}`"


def main() -> None:
    from ansible.plugins.loader import init_plugin_loader

    paths = [path for path in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep) if path]
    init_plugin_loader(paths)
    PAGE.write_text(page(), encoding="utf-8")
    MODULE.write_text(module_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
