# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Explain why sysprep failed, from its logs (no I/O). The known causes are in data/sysprep_failures.yml."""

from __future__ import annotations

import typing as t

from ..wire.calls import query
from ..wire.messages import Call, Observation
from . import known_failures

DATA = "sysprep_failures.yml"

_PANTHER = "C:\\Windows\\System32\\Sysprep\\Panther"
ERROR_LOG = f"{_PANTHER}\\setuperr.log"
_ACTIVITY_LOG = f"{_PANTHER}\\setupact.log"
_RUN = "Beginning of a new sysprep run"
"""Each run of sysprep appends this line to its activity log. Source: github.com/notepad-plus-plus/notepad-plus-plus,
issue 13675."""


def log_calls() -> tuple[Call, ...]:
    """Return the calls that read sysprep's logs after a failure."""
    paths = [ERROR_LOG, _ACTIVITY_LOG]
    return (query("logs", "@read-file", {"paths": list(paths), "content": True, "limit": 262144}),)


def reason(seen: Observation, lines: int = 12) -> str:
    """Return the end of sysprep's log, preceded by the cause of the failure and its remedy if the cause is known.

    Args:
        seen: the results of `log_calls`.
        lines: how many lines of the log to return.
    """
    texts = [_latest((file.get("content") or "").strip()) for file in seen["logs"].output]
    log = next((text for text in texts if text), "")
    if not log:
        return "sysprep left no log"
    end = "\n".join(log.splitlines()[-lines:])
    explained = next(filter(None, (known_failures.explain(DATA, text) for text in texts)), "")
    return f"{explained} sysprep's log ends with:\n{end}" if explained else f"sysprep's log ends with:\n{end}"


def _latest(log: str) -> str:
    """Return the part of a log that the latest run of sysprep wrote."""
    return log.rpartition(_RUN)[2]


def refused(reasons: t.Sequence[str]) -> str:
    """Return an error message if updates require a reboot, or an empty string if they do not.

    A machine with such a pending reboot must not be generalized.

    Args:
        reasons: the reasons for a pending reboot, as in `WindowsInfo.pending_reboot`.
    """
    updates = [name for name in reasons if name in ("servicing", "update")]
    if not updates:
        return ""
    return (
        f"expected a machine without pending updates, got one that must reboot for them ({', '.join(updates)}). "
        "Reboot it, wait until Windows has finished its updates, and run the playbook again"
    )
