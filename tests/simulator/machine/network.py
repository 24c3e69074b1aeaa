# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network connection of one machine: whether the machine is reachable, and when its ports are open."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Ports(Protocol):
    """The transport's operations on a machine's network ports (`simulator.transport.host.NodePorts`)."""

    def drop_link(self, seconds: float) -> None:
        """Cut all connections, and refuse new ones for a number of seconds. Shells and commands continue."""

    def close_ports(self, *, forget_shells: bool = True) -> None:
        """Close the ports, because the machine is shutting down or has lost its address."""

    def open_ports(self) -> None:
        """Open the ports, because the machine has started, or has its address again."""

    def listeners_changed(self) -> None:
        """Update the ports, because WinRM's listeners have changed."""

    def forget_shells(self) -> None:
        """Discard the shells, because the WinRM service restarts."""


class NetworkAdapter:
    """The network adapter of one machine. In tests without a transport, the adapter only stores its state."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ports: Ports | None = None
        self._powered = True
        self._addressed = True
        self._down_until = 0.0
        self.drops = 0

    def attach(self, ports: Ports) -> None:
        """Set the machine's ports, which the transport provides."""
        self._ports = ports

    @property
    def is_up(self) -> bool:
        """Whether clients, and other servers on the node's network, can reach the machine."""
        with self._lock:
            return self._powered and self._addressed and time.monotonic() >= self._down_until

    @property
    def is_linked(self) -> bool:
        """Whether the adapter has a link. The machine is reachable only if the adapter also has the IP address."""
        with self._lock:
            return self._powered and time.monotonic() >= self._down_until

    def drop_link(self, seconds: float = 0.0) -> None:
        """Close all connections, and refuse new ones for a number of (real) seconds. Return immediately."""
        with self._lock:
            self._down_until = max(self._down_until, time.monotonic() + seconds)
            self.drops += 1
        if self._ports:
            self._ports.drop_link(seconds)

    def set_addressed(self, addressed: bool) -> None:
        """Set whether the adapter has the machine's IP address.

        Without the address, the machine's ports are closed, but its shells and commands continue.
        """
        with self._lock:
            changed, self._addressed = self._addressed != addressed, addressed
            powered, left = self._powered, self._down_until - time.monotonic()
        if not changed or not powered or self._ports is None:
            return
        if not addressed:
            self._ports.close_ports(forget_shells=False)
        elif left > 0:
            timer = threading.Timer(left, self._reopen)
            timer.daemon = True
            timer.start()
        else:
            self._ports.open_ports()

    def _reopen(self) -> None:
        if self.is_up and self._ports:
            self._ports.open_ports()

    def power_off(self) -> None:
        """Close the ports, and end all shells and their commands."""
        with self._lock:
            self._powered = False
        if self._ports:
            self._ports.close_ports()

    def power_on(self) -> None:
        """Open the ports again if the machine has its IP address."""
        with self._lock:
            self._powered = True
            self._down_until = 0.0
            addressed = self._addressed
        if self._ports and addressed:
            self._ports.open_ports()

    def listeners_changed(self) -> None:
        """Open and close ports to match WinRM's listeners."""
        if self._ports:
            self._ports.listeners_changed()

    def forget_shells(self) -> None:
        """End the shells, because the WinRM service restarts."""
        if self._ports:
            self._ports.forget_shells()
