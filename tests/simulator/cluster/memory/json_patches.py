# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Apply JSON patches (RFC 6902) and JSON merge patches (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from jsonpatch import JsonPatchConflict, JsonPatchException, JsonPatchTestFailed, JsonPointer, JsonPointerException

from .errors import ApiErrorResponse, bad_request

# bool before int: in Python a boolean is also a number.
_GO_KINDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch, in which null removes a key.

    Returns:
        The patched value. The arguments are not changed.
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
        target: the document, which is not changed.
        operations: the patch, a list of operations.

    Returns:
        The new document.

    Raises:
        ApiErrorResponse: the patch cannot be decoded (400), or an operation is unknown or fails (422).
    """
    _check(operations)
    document = copy.deepcopy(target)
    try:
        for operation in operations:
            document = _apply(document, copy.deepcopy(operation or {}))
    except (JsonPatchException, JsonPointerException, TypeError) as error:
        # The server does not tell the client which operation failed, or why.
        raise ApiErrorResponse(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from error
    return document


def _check(operations: Any) -> None:
    """Reject operations that the API server cannot decode.

    Source: k8s.io/apiserver pkg/endpoints/handlers/patch.go.
    """
    if not isinstance(operations, list):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    for operation in operations:
        if not isinstance(operation, dict | None):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for name in ("op", "from", "path"):
            if not isinstance(value := (operation or {}).get(name), str | None):
                raise _undecodable(value, f"struct field jsonPatchOp.{name} of type string")


def _undecodable(value: Any, into: str) -> ApiErrorResponse:
    kind = next(name for kind, name in _GO_KINDS.items() if isinstance(value, kind))
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into Go {into}")


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    # The API server's library reads a missing value as null.
    operation = {"value": None, **operation} if operation.get("op") in ("add", "replace", "test") else operation
    try:
        return jsonpatch.apply_patch(document, [operation])
    except (JsonPatchConflict, JsonPatchTestFailed):
        if _names_a_missing_member(document, operation):
            if operation["op"] == "replace":
                return jsonpatch.apply_patch(document, [{**operation, "op": "add"}])
            if operation["op"] == "test" and operation["value"] is None:
                return document
        raise


def _names_a_missing_member(document: Any, operation: dict[str, Any]) -> bool:
    """Return whether an operation's path names a missing key of an existing object. The key then counts as null."""
    parent, name = JsonPointer(operation["path"]).to_last(document)
    return isinstance(parent, dict) and name not in parent
