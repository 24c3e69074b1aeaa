# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe a node with one remote command, and with a second one if there is more to observe (see observation.py)."""

from __future__ import annotations

import datetime

from ..remote.errors import NodeError
from ..remote.session import NodeSession
from .observation import (
    FirstFacts,
    ObservationOptions,
    SecondFacts,
    first_calls,
    read_first,
    read_second,
    second_calls,
    unread,
)


def observe(session: NodeSession, options: ObservationOptions) -> tuple[FirstFacts, SecondFacts]:
    """Observe a node.

    Args:
        session: the session with the node.
        options: locations of programs and files on the node.

    Returns:
        The facts that the first and the second command observed.

    Raises:
        NodeError: the `invoke_calls` module failed, its result cannot be used, or a call that a diagnosis needs failed.
    """
    # The kubelet's kubeconfig may contain a key.
    step = "observe the node"
    seen, windows = session.observe(first_calls(options), step=step, private=True)
    if problem := unread(seen):
        raise NodeError(f"{session.name}: {step}: {problem}")
    first = read_first(seen, windows, datetime.datetime.now(datetime.UTC))
    calls = second_calls(first, options)
    if not calls:
        return first, SecondFacts()
    seen = session.node.observe(calls, step="observe the kubelet and its connection to the API server", private=True)
    return first, read_second(seen, first, options)
