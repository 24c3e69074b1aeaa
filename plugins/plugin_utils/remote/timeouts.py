# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How long a node is waited for, and how often it is asked meanwhile."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Timeouts:
    """How long to wait; all in seconds."""

    batch: float = 3600.0
    """For one batch."""
    reboot: float = 1800.0
    """For a node to come back from a reboot."""
    reconnect: float = 300.0
    """For a connection that was there and broke."""
    first_contact: float = 10.0
    """For a connection that never was: a node that is off should be reported as unreachable soon."""
    poll: int = 60
    """How long the node itself waits for a result, per remote command."""
    longest_poll: int = 60
    """Each further poll of a batch waits four times as long, up to this: work of half an hour costs few commands."""
    watched_poll: int = 20
    """The first poll of a batch whose files tell how far it is waits no longer than this: people see soon that
    something comes in, for one command more."""
