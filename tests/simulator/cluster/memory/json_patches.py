# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from jsonpatch import JsonPatchException, JsonPointerException

from .errors import ApiError, bad_request


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch; null removes a key.

    :returns: the new value; neither argument is changed.
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

    :param operations: the list of operations.
    :returns: the new document; neither argument is changed.
    :raises ApiError: 400 for a malformed patch, 422 when a path does not exist or a test fails.
    """
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("json: cannot unmarshal value into Go value of type jsonpatch.Operation")
    try:
        return jsonpatch.apply_patch(target, copy.deepcopy(operations))
    except (JsonPatchException, JsonPointerException, TypeError) as error:
        # The server does not tell the client which operation failed, or why.
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {}) from error
