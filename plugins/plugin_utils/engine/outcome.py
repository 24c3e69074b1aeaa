# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a run of the engine did to a node, and how Ansible shows it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows.windows_info import WindowsInfo
from .planned import Planned


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedChange:
    """A change that was made, or in check mode would be."""

    planned: Planned
    seconds: float = 0.0

    def to_result(self) -> dict[str, t.Any]:
        """Return the change as a part of the module's result."""
        return {**self.planned.to_result(), "seconds": round(self.seconds, 3)}


@dataclasses.dataclass(kw_only=True)
class ConvergenceOutcome:
    """What came of it."""

    header: WindowsInfo | None = None
    changes: list[AppliedChange] = dataclasses.field(default_factory=list)
    planned: list[Planned] = dataclasses.field(default_factory=list)
    """The last plan, whole."""
    deferred: list[Planned] = dataclasses.field(default_factory=list)
    """What was left for later, since it disturbs pods or follows what does."""
    failures: list[str] = dataclasses.field(default_factory=list)
    """Each names node, resource and step."""
    warnings: list[str] = dataclasses.field(default_factory=list)
    rebooted: bool = False
    reboot_required: bool = False
    remote_commands: int = 0
    clock_skew: float | None = None
    """Seconds by which the node's clock was ahead of the controller's at its last answer; None: it did not say."""

    @property
    def pending(self) -> list[Planned]:
        """What was planned and is not done."""
        done = {id(planned) for planned in (*(change.planned for change in self.changes), *self.deferred)}
        return [planned for planned in self.planned if id(planned) not in done]

    def to_result(self, *, diff: bool) -> dict[str, t.Any]:
        """The result as Ansible wants it.

        Args:
            diff: whether before and after are part of it.
        """
        result: dict[str, t.Any] = {
            "changed": bool(self.changes) or self.rebooted,
            "changes": [done.to_result() for done in self.changes],
            "deferred": [planned.to_result() for planned in self.deferred],
            "rebooted": self.rebooted,
            "reboot_required": self.reboot_required,
            "remote_commands": self.remote_commands,
        }
        if self.header is not None:
            result["windows"] = {
                "version": self.header.version,
                "build": self.header.build,
                "ubr": self.header.ubr,
                "product": self.header.product,
                "pending_reboot": list(self.header.pending_reboot),
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
