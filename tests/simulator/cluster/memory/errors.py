# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors of the Kubernetes API, as `Status` objects with the real server's code, reason and message.

Source of the messages: k8s.io/apimachinery/pkg/api/errors/errors.go and pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cause:
    """An invalid field of an object: the path, the machine-readable reason and the message."""

    field: str
    reason: str
    message: str


class ApiErrorResponse(Exception):
    """An error response from the API server."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> dict[str, Any]:
        """Return the error as a `Status` object of the Kubernetes API."""
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body |= {"message": self.message, "reason": self.reason}
        if self.details is not None:
            body["details"] = self.details
        return body | {"code": self.code}


def qualified(plural: str, group: str) -> str:
    """Return a resource type's name as error messages contain it, such as "pods" or "daemonsets.apps"."""
    return f"{plural}.{group}" if group else plural


def _details(plural: str, group: str, name: str) -> dict[str, Any]:
    return {"name": name} | ({"group": group} if group else {}) | {"kind": plural}


def not_found(plural: str, group: str, name: str) -> ApiErrorResponse:
    """Return the error for an object that does not exist."""
    text = f'{qualified(plural, group)} "{name}" not found'
    return ApiErrorResponse(404, "NotFound", text, _details(plural, group, name))


def already_exists(plural: str, group: str, name: str) -> ApiErrorResponse:
    """Return the error for creating an object whose name is already in use."""
    text = f'{qualified(plural, group)} "{name}" already exists'
    return ApiErrorResponse(409, "AlreadyExists", text, _details(plural, group, name))


def conflict(plural: str, group: str, name: str, why: str = "") -> ApiErrorResponse:
    """Return the error for a change that conflicts with the current object.

    Args:
        plural: the plural name of the object's resource type.
        group: the API group.
        name: the object's name.
        why: the reason. The default reason is that the object has changed since the client read it.
    """
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    text = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiErrorResponse(409, "Conflict", text, _details(plural, group, name))


def forbidden(plural: str, group: str, name: str, why: str) -> ApiErrorResponse:
    """Return the error for a request that authorization or admission refuses."""
    named = f'{qualified(plural, group)} "{name}"' if name else qualified(plural, group)
    return ApiErrorResponse(403, "Forbidden", f"{named} is forbidden: {why}", _details(plural, group, name))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiErrorResponse:
    """Return the error for an object that is not valid."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(kind, group, name)
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return ApiErrorResponse(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {joined}', details)


def bad_request(message: str) -> ApiErrorResponse:
    """Return the error for a malformed request."""
    return ApiErrorResponse(400, "BadRequest", message)


def unauthorized() -> ApiErrorResponse:
    """Return the error for invalid credentials."""
    return ApiErrorResponse(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiErrorResponse:
    """Return the error for a verb that the resource does not support."""
    return ApiErrorResponse(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}
    )


def unsupported_media_type(accepted: Sequence[str]) -> ApiErrorResponse:
    """Return the error for a request body whose media type is not one of the accepted types."""
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiErrorResponse(415, "UnsupportedMediaType", text, {})


def expired(revision: int, oldest: int) -> ApiErrorResponse:
    """Return the error for a watch whose resource version is too old."""
    return ApiErrorResponse(410, "Expired", f"too old resource version: {revision} ({oldest})")


def required(field: str, detail: str = "") -> Cause:
    """Return the error cause for a required field that is missing."""
    return Cause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def wrong(field: str, value: object, detail: str) -> Cause:
    """Return the error cause for a field with an invalid value."""
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")


def unsupported(field: str, value: str, supported: Sequence[str]) -> Cause:
    """Return the error cause for a field with an unsupported value."""
    listed = ", ".join(f'"{one}"' for one in supported)
    return Cause(field, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}')


def duplicate(field: str, value: str) -> Cause:
    """Return the error cause for a list in which a key occurs twice."""
    return Cause(field, "FieldValueDuplicate", f'Duplicate value: "{value}"')
