# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Who cordoned a node: a mark on the Node object, so that a later run knows which cordons are its to lift. Pure.

A node is a mapping as the API's JSON has it.
"""

from __future__ import annotations

import json
import typing as t

ANNOTATION = "winkube.node/cordoned"
"""On a node that this collection cordoned: JSON with `by`, `on`, `since`."""


class CordonMark(t.NamedTuple):
    """What the annotation says."""

    by: str
    """What for: the playbook's name. Another playbook's cordon is somebody else's."""
    on: str
    """The machine that the playbook ran on."""
    since: str
    """When, as the controller's clock had it (UTC, ISO 8601)."""

    def to_text(self) -> str:
        """The annotation's value."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    def __str__(self) -> str:
        return f"{self.by} on {self.on} since {self.since}"


class Cordon(t.NamedTuple):
    """How a node stands."""

    unschedulable: bool
    mark: CordonMark | None

    def is_of(self, owner: str) -> bool:
        """Whether it was cordoned for this owner, and still is."""
        return self.unschedulable and self.mark is not None and self.mark.by == owner


def read_cordon(node: t.Mapping[str, t.Any]) -> Cordon:
    """Reads a node. A mark that cannot be read counts as somebody else's."""
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
    """The strategic merge patch that cordons a node with our mark; None for one that is cordoned already.

    A mark that is left on a schedulable node (somebody lifted the cordon by `kubectl uncordon`) is made anew.
    """
    if read_cordon(node).unschedulable:
        return None
    return _patch(node, mark.to_text(), True)


def uncordon_patch(node: t.Mapping[str, t.Any], owner: str) -> dict[str, t.Any] | None:
    """The patch that takes an owner's mark off a node, and its cordon with it; None where there is no such mark."""
    mark = read_cordon(node).mark
    if mark is None or mark.by != owner:
        return None
    return _patch(node, None, None)


def _patch(node: t.Mapping[str, t.Any], annotation: str | None, unschedulable: bool | None) -> dict[str, t.Any]:
    # With the version that was read: nobody's cordon of the meantime is taken for ours.
    metadata = {"resourceVersion": node["metadata"]["resourceVersion"], "annotations": {ANNOTATION: annotation}}
    return {"metadata": metadata, "spec": {"unschedulable": unschedulable}}
