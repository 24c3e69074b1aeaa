# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the failure actions of services from the registry, and build the arguments with which sc.exe sets them.

The registry stores the SERVICE_FAILURE_ACTIONSW structure with 32-bit fields: the reset period in seconds, two
meaningless pointers, the number of actions and their offset, and then the type and the delay in milliseconds of each
action. Source: the Win32 reference.
"""

from __future__ import annotations

import dataclasses
import struct
import typing as t

from ..values.errors import ResourceError

_HEAD = struct.Struct("<5I")
_ACTION = struct.Struct("<2I")
_TYPES = ("none", "restart", "reboot", "run")
INFINITE = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True, kw_only=True)
class FailureAction:
    """What the service control manager does after one failure."""

    action: t.Literal["restart", "none", "reboot"] = dataclasses.field(
        metadata={"help": "What the service control manager does."}
    )
    delay_seconds: float = dataclasses.field(
        default=0, metadata={"help": "Seconds that the service control manager waits before the action."}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.delay_seconds < INFINITE / 1000:
            raise ResourceError("delay_seconds", self.delay_seconds, "expected 0 to 4294967 seconds")

    @property
    def milliseconds(self) -> int:
        """The delay in milliseconds, as sc.exe takes it."""
        return round(self.delay_seconds * 1000)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recovery:
    """The actions that Windows takes after successive failures of a service. The last action repeats."""

    reset_seconds: int = dataclasses.field(
        default=86400, metadata={"help": "After this time without a failure, the number of failures is reset to zero."}
    )
    actions: tuple[FailureAction, ...] = dataclasses.field(
        metadata={
            "help": "An action for each failure, in this order; the last one is repeated. An empty list means none."
        }
    )
    on_error_exit: bool | None = dataclasses.field(
        default=None, metadata={"help": "Whether a stop with an error code counts as a failure, as a crash does."}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.reset_seconds <= INFINITE:
            raise ResourceError("reset_seconds", self.reset_seconds, "expected 0 to 4294967295")

    @property
    def text(self) -> str:
        """The failure actions as a string such as `restart after 5 s, none; reset after 86400 s`."""
        return actions_text(self.reset_seconds, [(each.action, each.milliseconds) for each in self.actions])

    @property
    def sc_actions(self) -> str:
        """The value of sc.exe's `actions=` option, in which an empty string between slashes means no action."""
        return "/".join(f"{'' if each.action == 'none' else each.action}/{each.milliseconds}" for each in self.actions)


def actions_text(reset: int, actions: t.Iterable[tuple[str, int]]) -> str:
    """Return failure actions as a string such as `restart after 5 s, none; reset after 86400 s`."""
    listed = [f"{action} after {delay / 1000:g} s" if action != "none" else "none" for action, delay in actions]
    if not listed:
        return "nothing"
    return f"{', '.join(listed)}; reset {'never' if reset == INFINITE else f'after {reset} s'}"


def parse(value: t.Sequence[int] | None) -> str:
    """Describe the failure actions that a service's registry value contains, or return `nothing` if there are none."""
    data = bytes(value or ())
    if len(data) < _HEAD.size:
        return "nothing"
    reset, dummy, dummy, count, dummy = _HEAD.unpack_from(data)
    actions: list[tuple[str, int]] = []
    for index in range(min(count, (len(data) - _HEAD.size) // _ACTION.size)):
        kind, delay = _ACTION.unpack_from(data, _HEAD.size + index * _ACTION.size)
        actions.append((_TYPES[kind] if kind < len(_TYPES) else f"action {kind}", delay))
    return actions_text(reset, actions)
