# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare whole results of a table of cases with a golden file: calls, dataclasses, messages.

`check` fails for any difference. WINKUBE_GOLDEN=update writes the file instead; read it before you commit it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from golden import comparison

from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call

FOLDER = "outcomes"
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as blocks, and never refers to an earlier object."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    is_block = "\n" in value.strip() and not any(line.endswith(" ") for line in value.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if is_block else None)


_Dumper.add_representer(str, _text)


def plain(value: object) -> Any:
    """Convert a value for YAML: a dataclass to its non-empty fields, an error to its message."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: plain(item) for name, item in fields if item not in (None, "", (), [], {}, False)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, str):
        # Keys of batches differ between runs.
        return _ID.sub("UUID", value)
    return value


def check(name: str, outcomes: Mapping[str, object]) -> None:
    """Compare the results of a table of cases with a golden file.

    Args:
        name: the golden file, without folder and extension.
        outcomes: the results by the names of the cases.
    """
    text = yaml.dump(plain(outcomes), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    difference = comparison.compare({f"{FOLDER}/{name}.yaml": text})
    assert not difference, difference


def calls(found: Iterable[Call]) -> list[str]:
    """Return each call in one line: id, command, the rest as the node reads it, and `private` and `long`.

    Args:
        found: the calls.
    """
    lines = []
    for call in found:
        wire = call.to_wire() | {name: True for name in ("private", "long") if getattr(call, name)}
        call_id, command = wire.pop("id"), wire.pop("command")
        lines.append(f"{call_id}: {command} {json.dumps(wire, ensure_ascii=False)}")
    return lines
