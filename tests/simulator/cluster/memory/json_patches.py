# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any

from .errors import ApiError, bad_request


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch. Null removes a key.

    Returns:
        The new value. The arguments are not changed.
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """Apply a JSON patch.

    Args:
        operations: the list of operations.

    Returns:
        The new document.

    Raises:
        ApiError: 400 for a malformed patch, 422 if a path does not exist or a test fails.
    """
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    document = copy.deepcopy(target)
    for operation in operations:
        try:
            document = _operate(document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            text = f"the server rejected our request due to an error in our request: {operation!r}: {error!r}"
            raise ApiError(422, "Invalid", text, {}) from error
    return document


def _operate(document: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation["op"], _pointer(operation["path"])
    if kind == "add":
        return _add(document, path, copy.deepcopy(operation["value"]))
    if kind == "remove":
        return _remove(document, path)
    if kind == "replace":
        _read(document, path)
        return _add(_remove(document, path), path, copy.deepcopy(operation["value"]))
    if kind == "test":
        if _read(document, path) != operation["value"]:
            raise ValueError("testing value failed")
        return document
    source = _pointer(operation["from"])
    value = copy.deepcopy(_read(document, source))
    if kind == "move":
        return _add(_remove(document, source), path, value)
    if kind == "copy":
        return _add(document, path, value)
    raise ValueError(f"unexpected kind: {kind}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise ValueError(f"not a JSON pointer: {text}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _read(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _read(document, path[:-1])
    if isinstance(parent, list):
        index = len(parent) if path[-1] == "-" else int(path[-1])
        if not 0 <= index <= len(parent):
            raise IndexError(path[-1])
        parent.insert(index, value)
    else:
        parent[path[-1]] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    parent = _read(document, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return document
