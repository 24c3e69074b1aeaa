# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""PowerShell's wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.machine.objects import CmdletError


def matches(pattern: str, text: str) -> bool:
    """Return whether a string matches a PowerShell wildcard pattern (`*`, `?`, `[a-c]`), ignoring case.

    Raises:
        CmdletError: the pattern is invalid.
    """
    parts = re.split(r"(\[[^\]]+\]|\*|\?|`.)", pattern)
    expression = "".join(
        ".*" if part == "*" else "." if part == "?" else part if part.startswith("[") else re.escape(part.lstrip("`"))
        for part in parts
    )
    try:
        return re.fullmatch(expression, text, re.IGNORECASE | re.DOTALL) is not None
    except re.error:
        message = f"The specified wildcard character pattern is not valid: {pattern}"
        kind = "System.Management.Automation.WildcardPatternException"
        raise CmdletError("NotSpecified", "RuntimeException", message, kind) from None


def any_match(patterns: Iterable[str], text: str) -> bool:
    """Return whether a string matches one of the patterns."""
    return any(matches(pattern, text) for pattern in patterns)


def has_wildcard(text: str) -> bool:
    """Return whether a name contains wildcards."""
    return any(char in text for char in "*?[")
