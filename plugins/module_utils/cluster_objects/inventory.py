# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse and build the ConfigMap that records which objects belong to a set (no I/O).

With this record, a later run can delete objects that are no longer in the set. An object that existed before a run
applied it is recorded as adopted and is never deleted. An object that is not recorded, for example because somebody has
deleted the ConfigMap, is not deleted either.
"""

from __future__ import annotations

import json
import typing as t

from .kinds import Object, Reference, reference

KEY = "objects"


class Recorded(t.NamedTuple):
    """An object that the ConfigMap records."""

    reference: Reference
    adopted: bool


def read(data: t.Mapping[str, str]) -> list[Recorded]:
    """Return the objects that the ConfigMap records.

    Args:
        data: data of the ConfigMap.

    Raises:
        ValueError: the content is invalid, because somebody has changed the ConfigMap.
    """
    try:
        rows = json.loads(data.get(KEY) or "[]")
        return [Recorded(_reference(one), bool(one.get("adopted"))) for one in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected a list of objects as JSON in the key {KEY!r}, got something else") from error


def _reference(row: t.Mapping[str, t.Any]) -> Reference:
    about = {"namespace": row["namespace"], "name": row["name"]}
    return reference({"apiVersion": row["api_version"], "kind": row["kind"], "metadata": about})


def write(namespace: str, name: str, entries: t.Iterable[Recorded]) -> Object:
    """Return a ConfigMap that records objects.

    Args:
        namespace: the ConfigMap's namespace.
        name: the ConfigMap's name.
        entries: the objects.
    """
    rows = [
        {**one.reference._asdict(), **({"adopted": True} if one.adopted else {})}
        for one in sorted(entries, key=lambda one: one.reference)
    ]
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}}
