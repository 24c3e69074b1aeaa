# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record who cordoned a node (no I/O).

An annotation on the Node object tells a later run whether it may uncordon the node. The functions take nodes as the API
returns them.
"""

from __future__ import annotations

import json
import typing as t

ANNOTATION = "winkube.node/cordoned"
"""The annotation on each node that this collection cordoned. Its value is JSON with the fields of CordonMark."""


class CordonMark(t.NamedTuple):
    """The content of a cordoned node's annotation: who cordoned the node, where and when."""

    by: str
    """Who cordoned the node, such as the name of a playbook. A playbook uncordons only the nodes that it cordoned."""
    on: str
    """The machine on which the module that cordoned the node ran."""
    since: str
    """When the module began, according to the clock of the machine on which it ran (UTC, ISO 8601)."""

    def to_text(self) -> str:
        """Return the annotation's value."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    def __str__(self) -> str:
        return f"{self.by} on {self.on} since {self.since}"


class Cordon(t.NamedTuple):
    """Whether a node is cordoned, and by whom."""

    unschedulable: bool
    mark: CordonMark | None

    def is_of(self, owner: str) -> bool:
        """Return whether the node is cordoned and the annotation names the given owner."""
        return self.unschedulable and self.mark is not None and self.mark.by == owner


def read_cordon(node: t.Mapping[str, t.Any]) -> Cordon:
    """Return whether a node is cordoned, and the content of its annotation (None if it has no annotation).

    If the annotation is invalid, all fields of its content are `unknown`.
    """
    text = (node["metadata"].get("annotations") or {}).get(ANNOTATION)
    unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
    if text is None:
        return Cordon(unschedulable, None)
    try:
        value = json.loads(text)
        mark = CordonMark(*(str(value[key]) for key in CordonMark._fields))
    except (KeyError, TypeError, ValueError):
        mark = CordonMark("unknown", "unknown", "unknown")
    return Cordon(unschedulable, mark)


def cordon_patch(node: t.Mapping[str, t.Any], mark: CordonMark) -> dict[str, t.Any] | None:
    """Return the strategic merge patch that cordons and annotates a node, or None if the node is cordoned already.

    A node may have an old annotation although it is not cordoned, because `kubectl uncordon` does not remove
    annotations. The patch replaces such an annotation.
    """
    if read_cordon(node).unschedulable:
        return None
    return _patch(node, mark.to_text(), True)


def uncordon_patch(node: t.Mapping[str, t.Any], owner: str) -> dict[str, t.Any] | None:
    """Return the patch that uncordons a node and removes the annotation, or None if the owner did not cordon it.

    Args:
        node: the node as the API returned it.
        owner: the owner that the annotation must name.
    """
    mark = read_cordon(node).mark
    if mark is None or mark.by != owner:
        return None
    return _patch(node, None, None)


def _patch(node: t.Mapping[str, t.Any], annotation: str | None, unschedulable: bool | None) -> dict[str, t.Any]:
    # The patch names the resource version that was read, so that it cannot remove a cordon that a different owner has
    # made since.
    metadata = {"resourceVersion": node["metadata"]["resourceVersion"], "annotations": {ANNOTATION: annotation}}
    return {"metadata": metadata, "spec": {"unschedulable": unschedulable}}
