# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define a planned change of a resource, and format it for Ansible's result."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction import hidden
from ..wire.messages import CallResult
from ..wire.scopes import Scope
from . import differences
from .disruption import disruption
from .resource import Change, Resource


@dataclasses.dataclass(frozen=True, kw_only=True)
class Planned:
    """A planned change of one resource, with the resource's position in the list."""

    position: int
    resource: Resource
    change: Change

    @property
    def scope(self) -> Scope:
        """The scope (prefix) of the IDs of the change's calls."""
        return scope(self.position)

    @property
    def action(self) -> str:
        """`create`, `update` or `remove`, derived from the state before and after."""
        before, after = _exists(self.change.before), _exists(self.change.after)
        if before == after:
            return "update"
        return "create" if after else "remove"

    @property
    def disruption(self) -> str:
        """How the change disrupts the node's pods, or an empty string if it does not."""
        return disruption(self.resource, self.change)

    def asks_for_reboot(self, calls: t.Mapping[str, CallResult]) -> bool:
        """Return whether a program that the change ran reported that a reboot is needed.

        Args:
            calls: the results of the batch, by call ID.
        """
        codes = self.change.reboot_codes
        results = self.scope.results(calls).values() if codes else ()
        return any(result.exit_code in codes for result in results if result.exit_code is not None)

    @property
    def why(self) -> str:
        """The reason for the change, or a placeholder if `no_log` hides the resource."""
        return f"differs {hidden('no_log')}" if self.resource.no_log else self.change.why

    def to_result(self) -> dict[str, t.Any]:
        """Return the change as an entry of Ansible's result."""
        return {
            "type": self.resource.type,
            "name": self.resource.name,
            "why": self.why,
            "action": self.action,
            "disrupts": bool(self.disruption),
            "disruption": self.disruption,
        }

    def diff(self) -> dict[str, t.Any]:
        """Return the state before and after the change for Ansible's --diff."""
        before, after = differences.before_and_after(self.change.before, self.change.after)
        if self.resource.no_log:
            before, after = {"value": hidden("no_log")}, {"value": hidden("no_log, changed")}
        return {
            "before_header": self.resource.title,
            "after_header": self.resource.title,
            "before": before,
            "after": after,
        }


def scope(position: int) -> Scope:
    """Return the scope (prefix) of the IDs of a resource's calls, from the resource's position in the list."""
    return Scope(f"r{position}.")


def _exists(state: t.Mapping[str, t.Any]) -> bool:
    if not state:
        return False
    for key in ("state", "ensure"):
        if key in state:
            return str(state[key]).lower() not in ("absent", "none")
    return bool(state.get("exists", True))
