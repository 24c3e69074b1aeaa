# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results of an honest node, with one value replaced by one of any other type or size."""

from __future__ import annotations

import copy
import json
import typing as t
from collections.abc import Iterator

from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.asked_answers import only_asked
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from ansible_collections.winkube.node.plugins.plugin_utils.wire.typed_values import BadAnswer
from simulator.machine.machine import Machine

ODD: tuple[t.Any, ...] = (None, True, 7, -1, 2**80, 1.5, "", "x", "\x1b[2J", [], [[]], [1], {}, {"a": 1}, "0" * 5000)


class Altered:
    """The results of an honest node with one value replaced. Each result is validated as in Node."""

    name = "node-1"
    remote_commands = 0
    on_progress: t.Any = None

    def __init__(self, wires: t.Mapping[str, dict[str, t.Any]]) -> None:
        self.wires = wires

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        key = json.dumps(Batch(calls=tuple(calls)).to_wire())
        try:
            return only_asked(Observation.from_wire(self.wires[key]), calls)
        except BadAnswer as error:
            raise NodeError(f"{self.name}: {step}: {error}") from error


class Recording(DirectNode):
    """Records the results of the module."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.wires: dict[str, dict[str, t.Any]] = {}

    def answered(self, batch: Batch, observation: dict[str, t.Any]) -> None:
        self.wires[json.dumps(batch.to_wire())] = observation


def places(value: t.Any, path: tuple[t.Any, ...] = ()) -> Iterator[tuple[t.Any, ...]]:
    """Yield the positions of all values in a JSON value."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from places(item, (*path, key))


def replaced(wires: t.Mapping[str, t.Any], path: tuple[t.Any, ...], value: t.Any) -> dict[str, t.Any]:
    changed = copy.deepcopy(dict(wires))
    parent: t.Any = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return changed
