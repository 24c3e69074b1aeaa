# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the error code of a failed domain join, and explain it with data/domain_join_errors.yml."""

from __future__ import annotations

import re

from ..windows import error_codes
from ..wire.calls import query
from ..wire.messages import Call, CallResult

_CODES = "domain_join_errors.yml"
_LOG = "C:\\Windows\\debug\\NetSetup.LOG"
_TAIL = 60
"""Number of lines that are read from the end of NetSetup.LOG, where a join writes its result."""
_LOGGED = re.compile(r"\b(?:NetpDoDomainJoin|NetRequestOfflineDomainJoin): status: 0x([0-9a-fA-F]{1,8})\b")
_REPORTED = re.compile(r"\(0x([0-9a-fA-F]{8})\)")
"""The pattern of the error code in microsoft.ad.membership's message about an offline join."""


def log_call() -> Call:
    """Return the call that reads the end of Windows' log of domain joins. This log is always in English."""
    return query("domain.log", "Get-Content", {"LiteralPath": _LOG, "Tail": _TAIL})


def code_of(message: str, log: CallResult) -> int | None:
    """Return the error code of a join, or None if it is unknown.

    Args:
        message: the message of microsoft.ad.membership, which is in the display language of Windows.
        log: result of `log_call`.
    """
    reported = _REPORTED.search(message)
    logged = [status[1] for line in log.output for status in _LOGGED.finditer(str(line))] if log.ok else []
    code = reported[1] if reported else logged[-1] if logged else ""
    return (int(code, 16) & 0xFFFF if code else 0) or None


def explained(message: str, code: int | None) -> str:
    """Return the cause of a failed join and its remedy, or where to find the cause if the error code is not known.

    Args:
        message: the message of microsoft.ad.membership.
        code: the error code; None if it is unknown.
    """
    known = error_codes.load(_CODES).get(code or 0)
    if known is None:
        number = f" (error {code})" if code else ""
        return f"{message}{number}. {_LOG} on the machine describes each step of the join"
    return f"{known.cause} (error {known.code}, {known.name}). {known.fix}. Windows reports: {message}"
