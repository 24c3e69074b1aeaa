# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The error of a request to the Kubernetes API (no I/O)."""

from __future__ import annotations

import json
import typing as t


class ApiError(Exception):
    """The API server rejected a request, was unreachable, or sent an unusable response; or a request was invalid."""

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
        """HTTP status; 0 if the API server could not be reached; 400 if its response, or the request, is unusable."""
        self.causes = dict(causes or {})
        """Messages by reason, from the details of the response."""
        self.retry_after = retry_after
        """Seconds after which the server allows the request to be repeated; 0 if it does not say."""
        self.brief = brief or message
        """What went wrong, without the server's message, because it may quote the request. If the server rejected the
        request, this is the status and the reason.
        """

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 404, 409, 429) or self.status >= 500 or "NamespaceTerminating" in self.causes


def refusal(status: int, reason: object, body: str | bytes | None) -> ApiError:
    """Return the error that a response describes (kubernetes.io: API Conventions, "Response Status Kind").

    Args:
        status: HTTP status.
        reason: the reason phrase of the HTTP status line.
        body: the body of the response: a Status object as JSON, or any other text.
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
