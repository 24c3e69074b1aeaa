# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record which machine replaces a node (no I/O).

An annotation on the Node object of the old machine tells a later run which new machine replaces it, and what was
done to the old machine. The Node object is deleted last, so the record exists as long as anything is left to do.
"""

from __future__ import annotations

import json
import re
import typing as t

ANNOTATION = "winkube.node/replaced-by"
"""The annotation of a node that is being replaced: JSON with the fields of ReplacementRecord."""
UNREADABLE = "unreadable"
"""What is returned as name and generation if the annotation does not contain a valid ReplacementRecord."""
NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""Matches the valid names of a new machine and its node."""
GENERATION = re.compile(r"[a-z0-9]([a-z0-9.-]{0,28}[a-z0-9])?")
"""Matches valid generations. A generation is the value of a label, and part of machine names."""
_OLD = re.compile(r"(reset|shutdown)?")


class ReplacementRecord(t.NamedTuple):
    """The content of the annotation `winkube.node/replaced-by`."""

    name: str
    """Name of the new machine and its node."""
    generation: str
    """Generation of the new machine."""
    old: str = ""
    """What was done to the old machine: `reset`, `shutdown`, or empty if nothing has been done yet."""

    def to_text(self) -> str:
        """Return the record as JSON, for the annotation."""
        return json.dumps(self._asdict(), separators=(",", ":"))


def read_replacement(node: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the replacement record of a node as a mapping, which is empty if the node is not being replaced.

    A kubelet may change the annotations of its own node, so only values that a run could have written are accepted. For
    any other value, the name and the generation are UNREADABLE.

    Args:
        node: the node as the API returns it.
    """
    text = (node["metadata"].get("annotations") or {}).get(ANNOTATION)
    if text is None:
        return {}
    try:
        value = json.loads(text)
        record = ReplacementRecord(*(str(value[key]) for key in ReplacementRecord._fields))
    except (KeyError, TypeError, ValueError):
        record = ReplacementRecord(UNREADABLE, UNREADABLE)
    if not all(form.fullmatch(value) for form, value in zip((NODE_NAME, GENERATION, _OLD), record, strict=True)):
        record = ReplacementRecord(UNREADABLE, UNREADABLE)
    return record._asdict()
