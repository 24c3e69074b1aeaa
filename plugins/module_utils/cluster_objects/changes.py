# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Prepare the states of a Kubernetes object for a comparison and for `--diff` (no I/O)."""

from __future__ import annotations

import json
import typing as t

from ..redaction import HIDDEN
from .kinds import Object

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which `kubectl apply` stores the whole applied object, even the data of a Secret."""
_OF_APPLIERS = (_APPLIED, "meta.helm.sh/release-name")
"""Annotations of programs that apply objects without server-side apply: kubectl, kubernetes.core, and Helm."""
_OF_SERVER = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


def comparable(item: t.Mapping[str, t.Any] | None) -> Object:
    """Return an object without its status and without the metadata that the API server sets, such as `uid`.

    Args:
        item: the object, or None if it does not exist.
    """
    if item is None:
        return {}
    about = {key: value for key, value in (item.get("metadata") or {}).items() if key not in _OF_SERVER}
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": about}


def is_applied_by_others(item: t.Mapping[str, t.Any], manager: str) -> bool:
    """Return whether a program other than this collection, such as `kubectl apply`, has applied an object.

    Args:
        item: the object.
        manager: name of the collection's field manager.
    """
    about = item.get("metadata") or {}
    entries = about.get("managedFields") or ()
    appliers = {one.get("manager") for one in entries if one.get("operation") == "Apply" and not one.get("subresource")}
    return bool(appliers - {manager}) or any(name in (about.get("annotations") or {}) for name in _OF_APPLIERS)


def without_labels(item: t.Mapping[str, t.Any] | None) -> Object:
    """Return an object as `comparable` does, but without its labels.

    Args:
        item: the object, or None if it does not exist.
    """
    fields = comparable(item)
    return {**fields, "metadata": {key: one for key, one in (fields.get("metadata") or {}).items() if key != "labels"}}


def shown(item: t.Mapping[str, t.Any] | None) -> str:
    """Return an object as text for `--diff`, or an empty string if it does not exist. The data of Secrets is hidden.

    Args:
        item: the object, or None if it does not exist.
    """
    fields = comparable(item)
    if not fields:
        return ""
    if fields.get("kind") == "Secret":
        about = dict(fields["metadata"])
        if _APPLIED in (about.get("annotations") or {}):
            about["annotations"] = {**about["annotations"], _APPLIED: HIDDEN}
        fields = {**fields, **{key: HIDDEN for key in ("data", "stringData") if key in fields}, "metadata": about}
    return json.dumps(fields, indent=2, sort_keys=True) + "\n"


def conflict(where: str, message: str) -> str:
    """Return the error message for fields that a different field manager owns.

    Args:
        where: the object, as text.
        message: the API server's message, which names the other field managers and the fields.
    """
    text = " ".join(message.split())
    return (
        f"{where}: another program has set the same fields differently: {text}. Use that program to change the object, "
        "or overwrite the fields with force_conflicts: true"
    )
