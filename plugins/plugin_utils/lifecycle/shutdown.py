# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Disables a machine's kubelet, and shuts the machine down."""

from __future__ import annotations

import typing as t

from ..remote.errors import BatchLost, NodeError
from ..remote.protocol import RemoteNode
from ..wire.calls import action
from ..wire.messages import Batch, Call, Observation

STEP = "shut down"
_DELAY = 5
"""Seconds between the request and the shutdown, so that the controller still receives the node's response."""
_SCHEDULED = 1190
"""ERROR_SHUTDOWN_IS_SCHEDULED. Source: learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-"""
_IN_PROGRESS = 1115
"""ERROR_SHUTDOWN_IN_PROGRESS. Source: learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-"""


def calls() -> tuple[Call, ...]:
    """Return the calls that shut the machine down.

    They also disable the kubelet, so that the machine does not register its node again if it is started.
    """
    arguments = ("/s", "/t", str(_DELAY), "/c", "winkube.node: replaced by another machine")
    return (
        action("disable", "Set-Service", {"Name": "kubelet", "StartupType": "Disabled"}),
        action("request", "shutdown.exe", arguments=arguments, success_codes=(0, _IN_PROGRESS, _SCHEDULED)),
    )


def shut_down(node: RemoteNode) -> None:
    """Request the shutdown of a machine.

    Args:
        node: the machine to shut down.

    Raises:
        NodeError: the kubelet could not be disabled, or Windows refused the shutdown.
        AnsibleConnectionFailure: the machine cannot be reached.
    """
    batch = Batch(calls=calls())
    try:
        seen = node.run(batch, step=STEP)
    except BatchLost:
        # The calls may be repeated.
        seen = node.run(batch, step=STEP)
    if (why := problem(seen)) is not None:
        raise NodeError(f"{node.name}: {STEP}: {why}")


def problem(seen: Observation) -> str | None:
    """Return why a machine does not shut down, or None if it shuts down."""
    if seen.stopped is None:
        return None
    result = seen.calls.get(seen.stopped.id)
    if result is None or result.error is None:
        return "stopped"
    output = result.stderr.strip() or result.stdout.strip()
    return output[-500:] or str(result.error)


def changes(name: str) -> list[dict[str, t.Any]]:
    """Return the shutdown of the replaced machine as a list of changes for the task's result.

    Args:
        name: name of the host.
    """
    return [{"type": "Node", "name": name, "action": "update", "why": "its node is replaced"}]
