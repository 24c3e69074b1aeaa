# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Time limits and polling intervals for remote commands."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Time limits in seconds."""

    batch: float = 3600.0
    """Time limit of a batch of calls."""
    reboot: float = 1800.0
    """Time limit for a node to come back from a reboot."""
    reconnect: float = 300.0
    """Time limit for restoring a connection that failed."""
    first_contact: float = 10.0
    """Time limit for the first connection. It is short, so that a node that is off is soon reported as unreachable."""
    poll: int = 240
    """How long the node waits for a result within one remote command. It responds as soon as there is a result."""
    longest_poll: int = 240
    """Maximum wait of a poll. Each poll of a batch waits four times as long as the previous poll, up to this limit, so
    that a long batch needs few remote commands. A first poll that is longer than this limit keeps its length."""
    watched_poll: int = 120
    """Maximum wait of the first poll if a call of the batch reports how a file grows, so that slow downloads show their
    progress sooner."""
