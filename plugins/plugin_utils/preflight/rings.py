# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables that choose and order the rings of a rollout (groups of nodes, changed one after another)."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ..lifecycle.rings import name_order
from ..node_config import node_labels
from .variables import Problem

_LABEL, _ORDER = "node_maintenance_ring_label", "node_maintenance_ring_order"


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return problems with the label that determines each node's ring, and with the order of the rings.

    Args:
        values: templated values of all role options that are set.
    """
    return [*_label_problems(values), *_order_problems(values)]


def _label_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    label = values.get(_LABEL, "")
    if not label:
        return
    if not node_labels.is_key(str(label)):
        yield Problem(_LABEL, label, node_labels.KEY)
    elif not boolean(values.get("node_maintenance_drain", True), strict=False):
        hint = "Without a cluster, there are no labels. Set node_maintenance_ring for the hosts instead."
        yield Problem(_LABEL, label, "expected an empty value with node_maintenance_drain: false", hint)


def _order_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    order = values.get(_ORDER)
    seen: dict[object, str] = {}
    for number, ring in enumerate(order if isinstance(order, list) else ()):
        where, name = f"{_ORDER}[{number}]", str(ring)
        if not name.strip():
            yield Problem(where, ring, "expected the name of a ring", "Nodes without a ring need no entry.")
        elif (key := name_order(name)) in seen:
            hint = "Names that differ only in case or in leading zeros are one ring."
            yield Problem(where, ring, f"expected a ring other than {seen[key]}", hint)
        else:
            seen[key] = name
