# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Collect the outcome of bringing a node into its desired state, and format it as Ansible's result."""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows.windows_info import WindowsInfo
from .planned import Planned


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedChange:
    """A change that was made or, in check mode, would have been made."""

    planned: Planned
    seconds: float = 0.0

    def to_result(self) -> dict[str, t.Any]:
        """Return the change as an entry of Ansible's result."""
        return {**self.planned.to_result(), "seconds": round(self.seconds, 3)}


@dataclasses.dataclass(kw_only=True)
class ConvergenceOutcome:
    """The outcome of one convergence, which brings a node into its desired state."""

    windows: WindowsInfo | None = None
    """The node's version of Windows, or None until the node has reported it."""
    changes: list[AppliedChange] = dataclasses.field(default_factory=list)
    planned: list[Planned] = dataclasses.field(default_factory=list)
    """The last plan, including changes that were not made."""
    deferred: list[Planned] = dataclasses.field(default_factory=list)
    """Changes that were postponed because they disrupt pods or build on changes that do."""
    failures: list[str] = dataclasses.field(default_factory=list)
    """Error messages. Each one names the node and what failed."""
    warnings: list[str] = dataclasses.field(default_factory=list)
    rebooted: bool = False
    reboot_required: bool = False
    remote_commands: int = 0
    clock_skew: float | None = None
    """Seconds by which the node's clock was ahead of the controller's in the last response, or None if unknown."""

    @property
    def pending(self) -> list[Planned]:
        """The planned changes that were neither made nor deferred."""
        done = {id(planned) for planned in (*(change.planned for change in self.changes), *self.deferred)}
        return [planned for planned in self.planned if id(planned) not in done]

    def to_result(self, *, diff: bool) -> dict[str, t.Any]:
        """Return the outcome as Ansible's result.

        Args:
            diff: whether to include the state before and after each change.
        """
        result: dict[str, t.Any] = {
            "changed": bool(self.changes) or self.rebooted,
            "changes": [done.to_result() for done in self.changes],
            "deferred": [planned.to_result() for planned in self.deferred],
            "rebooted": self.rebooted,
            "reboot_required": self.reboot_required,
            "remote_commands": self.remote_commands,
        }
        if self.windows is not None:
            result["windows"] = {
                "version": self.windows.version,
                "build": self.windows.build,
                "ubr": self.windows.ubr,
                "product": self.windows.product,
                "pending_reboot": list(self.windows.pending_reboot),
            }
        if self.clock_skew is not None:
            result["clock_skew"] = round(self.clock_skew, 3)
        if diff:
            result["diff"] = [done.planned.diff() for done in self.changes]
        if self.warnings:
            result["warnings"] = list(dict.fromkeys(self.warnings))
        if self.failures:
            result["failed"] = True
            result["msg"] = "\n".join(self.failures)
            result["pending"] = [planned.resource.title for planned in self.pending]
        return result
