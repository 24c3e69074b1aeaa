# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The error of a request to the Kubernetes API (no I/O)."""

from __future__ import annotations

import json
import typing as t


class ApiError(Exception):
    """A request was invalid, or the API server rejected it, was unreachable, or sent an unusable response."""

    def __init__(
        self,
        message: str,
        status: int = 0,
        causes: t.Mapping[str, str] | None = None,
        retry_after: float = 0.0,
        *,
        brief: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the response.

        It is 0 if the API server could not be reached, and 400 if the response is unusable or the request invalid.
        """
        self.causes = dict(causes or {})
        """Maps the reason of each cause in the response to the message of this cause."""
        self.retry_after = retry_after
        """Seconds after which the API server allows another attempt, or 0 if the response does not contain a time."""
        self.brief = brief or message
        """A message that omits the server's own message, which may quote the request.

        If the server rejected the request, only the HTTP status and its reason phrase are left.
        """

    @property
    def is_temporary(self) -> bool:
        """Whether the request may succeed if it is sent again later."""
        return self.status in (0, 404, 409, 429) or self.status >= 500 or "NamespaceTerminating" in self.causes


def refusal(status: int, reason: object, body: str | bytes | None) -> ApiError:
    """Return the error that a response describes.

    Source: Kubernetes API Conventions, "Response Status Kind".

    Args:
        status: HTTP status.
        reason: the reason phrase of the HTTP status line.
        body: the body of the response. It may be a Status object as JSON, or any other text.
    """
    brief = f"{status} {reason}"
    try:
        answer = json.loads(body or "")
        details = answer.get("details") or {}
        causes = {str(one.get("reason")): str(one.get("message")) for one in details.get("causes") or ()}
        message, retry_after = str(answer.get("message") or brief), float(details.get("retryAfterSeconds") or 0)
    except (AttributeError, TypeError, ValueError):
        message, causes, retry_after = brief, {}, 0.0
    return ApiError(message, status, causes, retry_after, brief=brief)
