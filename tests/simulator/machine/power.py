# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The machine's power: boot time, reboots, shutdowns, and the reasons for a pending reboot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from simulator.machine.registry import Registry

State = Literal["on", "going-down", "off", "booting"]

CBS_PENDING = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending"
UPDATE_PENDING = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired"
SESSION_MANAGER = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager"


class Power:
    """The power of one machine.

    Args:
        registry: the registry, where Windows records a pending reboot.
        go_down: a function to call when the machine stops.
        come_up: a function to call when the machine boots.
        reboot_seconds: the duration of a reboot in real seconds.
        time_scale: real seconds per simulated second of a scheduled shutdown's delay.
    """

    def __init__(
        self,
        registry: Registry,
        go_down: Callable[[], None],
        come_up: Callable[[], None],
        reboot_seconds: float,
        time_scale: float,
    ) -> None:
        self._registry = registry
        self._go_down = go_down
        self._come_up = come_up
        self.reboot_seconds = reboot_seconds
        self._time_scale = time_scale
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._retired = False
        self.state: State = "off"
        self.boot_time = datetime.now(UTC)
        self.boots = 0
        # The reason for the last shutdown request.
        self.last_reason = ""
        # Simulated seconds by which services delay a requested shutdown, while everything else keeps running.
        self.shutdown_delay: Callable[[], float] = lambda: 0.0

    @property
    def pending_reboot(self) -> bool:
        """Whether the registry indicates a pending reboot."""
        return bool(self.pending_reasons())

    def pending_reasons(self) -> list[str]:
        """Return the reasons for a pending reboot: any of `features`, `updates`, `file renames` and `computer name`."""
        registry = self._registry
        names = r"HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName"
        active = str(registry.data(f"{names}\\ActiveComputerName", "ComputerName", ""))
        requested = str(registry.data(f"{names}\\ComputerName", "ComputerName", ""))
        reasons = {
            "features": registry.key_exists(CBS_PENDING),
            "updates": registry.key_exists(UPDATE_PENDING),
            "file renames": bool(registry.data(SESSION_MANAGER, "PendingFileRenameOperations")),
            "computer name": active.casefold() != requested.casefold(),
        }
        return [reason for reason, holds in reasons.items() if holds]

    def reboot(self, delay: float = 0.0, reason: str = "") -> None:
        """Schedule a reboot in `delay` simulated seconds.

        Raises:
            RuntimeError: a shutdown is already scheduled.
        """
        self._schedule(self._reboot, delay, reason)

    def shutdown(self, delay: float = 0.0, reason: str = "") -> None:
        """Schedule a power-off in `delay` simulated seconds.

        Raises:
            RuntimeError: a shutdown is already scheduled.
        """
        self._schedule(self.power_off, delay, reason)

    def abort(self) -> bool:
        """Cancel a scheduled shutdown. Return whether a shutdown was scheduled."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer:
            timer.cancel()
        return timer is not None

    def power_on(self) -> None:
        """Boot if the machine is off, and wait until it is up. After `retire`, do nothing."""
        with self._lock:
            if self.state == "on" or self._retired:
                return
            self.state = "booting"
            self.boot_time = datetime.now(UTC)
            self.boots += 1
            self._come_up()
            self.state = "on"

    def power_off(self) -> None:
        """Power off immediately, and wait until the machine is off."""
        with self._lock:
            self._timer = None
            if self.state == "off":
                return
            self.state = "going-down"
            self._go_down()
            self.state = "off"

    def retire(self) -> None:
        """Power off permanently. If a reboot is in progress, the machine does not start again."""
        with self._lock:
            self._retired = True
            self.abort()
            self.power_off()

    def reset(self) -> None:
        """Power off immediately, power on after `reboot_seconds`, and wait until the machine is up."""
        self._reboot()

    def _reboot(self) -> None:
        self.power_off()
        threading.Event().wait(self.reboot_seconds)
        self.power_on()

    def _schedule(self, work: Callable[[], None], delay: float, reason: str) -> None:
        with self._lock:
            if self._timer is not None:
                raise RuntimeError("A system shutdown has already been scheduled.(1190)")
            self.last_reason = reason
            # Even with `/t 0`, the response of the requesting command is sent first.
            timer = threading.Timer(max(0.1, (delay + self.shutdown_delay()) * self._time_scale), work)
            timer.daemon = True
            self._timer = timer
            timer.start()
