# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes of YAML files: playbooks, tasks and variables of roles.

Names of tasks, messages and comments are not changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import yaml

from mutation import jinja_mutants
from mutation.mutants import Mutant, make

CONDITIONS = frozenset({"when", "until", "failed_when", "changed_when", "that"})
"""Keys whose texts are expressions."""
# Keys whose texts of several words are for readers. A `name` of one word may be the name of a service.
PROSE = frozenset({"name", "description", "fail_msg", "success_msg", "msg", "label"})
SWAPS = {
    "present": "absent",
    "absent": "present",
    "running": "stopped",
    "started": "stopped",
    "stopped": "started",
    "enabled": "disabled",
    "disabled": "enabled",
    "auto": "demand",
}
CHANGED_TEXT = "mutated"
_WHOLE = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)


def find(path: str, text: str) -> list[Mutant]:
    """Return all changes of a YAML file.

    Args:
        path: the path of the file in the mutants.
        text: its text.
    """
    found: list[Mutant] = []
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        if document is not None:
            found += _Finder(path, text).of_node(document, "")
    return sorted({(one.start, one.end, one.replacement): one for one in found}.values())


class _Finder:
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text

    def of_node(self, node: yaml.Node, key: str) -> Iterator[Mutant]:
        """Yield the mutants of a YAML node, which is the value of a key."""
        if isinstance(node, yaml.MappingNode):
            yield from self._of_mapping(node)
        elif isinstance(node, yaml.SequenceNode):
            yield from self._of_sequence(node, key)
        elif isinstance(node, yaml.ScalarNode):
            yield from self._of_scalar(node, key)

    def _of_mapping(self, node: yaml.MappingNode) -> Iterator[Mutant]:
        for key_node, value in node.value:
            key = str(key_node.value)
            if key in PROSE and isinstance(value, yaml.ScalarNode) and " " in value.value and "{{" not in value.value:
                continue
            if len(node.value) > 1:
                operator = "drop no_log" if key == "no_log" else "drop entry"
                yield from self._drop(node, key_node.start_mark.index, value, operator)
            yield from self.of_node(value, key)

    def _of_sequence(self, node: yaml.SequenceNode, key: str) -> Iterator[Mutant]:
        for item in node.value:
            start = item.start_mark.index
            if not node.flow_style:
                # Include the dash in front of the item.
                start = self.text.rindex("-", 0, start)
            if len(node.value) > 1 or node.flow_style:
                yield from self._drop(node, start, item, "drop item")
            yield from self.of_node(item, key)

    def _drop(self, parent: yaml.CollectionNode, start: int, last: yaml.Node, operator: str) -> Iterator[Mutant]:
        """Drop the text from an offset to the end of a node, without the blank lines and comments after it."""
        end = self._end(last)
        if parent.flow_style and (comma := re.compile(r"\s*,\s*").match(self.text, end)):
            end = comma.end()
        yield make(self.path, self.text, start, end, "", operator)

    def _end(self, node: yaml.Node) -> int:
        part = self.text[node.start_mark.index : node.end_mark.index]
        lines = part.split("\n")
        # Comments after a block belong to the following block.
        while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
            lines.pop()
        return int(node.start_mark.index) + len("\n".join(lines).rstrip())

    def _of_scalar(self, node: yaml.ScalarNode, key: str) -> Iterator[Mutant]:
        start, end = node.start_mark.index, self._end(node)
        if start == end:
            return
        value = str(node.value)
        if key in CONDITIONS:
            yield make(self.path, self.text, start, end, json.dumps(f"not ({value})", ensure_ascii=False), "negate")
            yield from jinja_mutants.of_expression(self.path, self.text, self._content(node), end)
        elif "{{" in value or "{%" in value:
            if (whole := _WHOLE.fullmatch(value)) and "if" not in whole[1]:
                yield from self._change(node, start, end, key)
            yield from jinja_mutants.of_template(self.path, self.text, start, end)
        else:
            yield from self._change(node, start, end, key)

    def _content(self, node: yaml.ScalarNode) -> int:
        """Return the offset at which the text of a scalar begins, which in a block is after the line with `>-`."""
        start = int(node.start_mark.index)
        return self.text.index("\n", start) if node.style in ("|", ">") else start

    def _change(self, node: yaml.ScalarNode, start: int, end: int, key: str) -> Iterator[Mutant]:
        """Change a value to another value of its type. Texts with several lines are not changed."""
        value = str(node.value)
        if node.tag.endswith(":bool"):
            changed, operator = ("false" if value.lower() in {"true", "yes", "on"} else "true"), "boolean"
        elif node.tag.endswith(":int") and value.isdecimal():
            changed, operator = str(int(value) + 1), "number"
        elif "{{" in value:
            return
        elif value in SWAPS:
            changed, operator = SWAPS[value], "swap state"
        elif node.tag.endswith(":str") and "\n" not in value:
            changed, operator = json.dumps(value + CHANGED_TEXT, ensure_ascii=False), "text"
        else:
            return
        yield make(self.path, self.text, start, end, changed, operator)
