# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sockets with curl's limits (connection time, total time, minimum speed). The sockets close when the process ends."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.objects import ProcessEndedError
from simulator.windows.curl import errors
from simulator.windows.curl.errors import CurlError
from simulator.windows.networking import azure_metadata
from simulator.windows.networking.names import resolve

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_POLL = 0.1
_CHUNK = 65536


@dataclass
class Limits:
    """The limits of one transfer. Times are in seconds. For `max_time`, `speed_limit` and `rate`, 0 means no limit.

    Args:
        stop: an event that is set to stop the simulated process.
        max_time, connect_timeout: the values of --max-time and --connect-timeout.
        speed_limit, speed_time: a transfer fails if it is slower than `speed_limit` bytes per second for `speed_time`
            seconds (for 30 seconds if `speed_time` is 0).
        rate: the maximum number of bytes per second (--limit-rate).
    """

    stop: threading.Event
    max_time: float = 0
    connect_timeout: float = 300
    speed_limit: float = 0
    speed_time: float = 0
    rate: float = 0
    expected: int | None = None
    received: int = 0
    started: float = field(default_factory=time.monotonic)
    _window: float = 0.0
    _window_bytes: int = 0

    def check(self, *, connecting: bool = False) -> None:
        """Raise CurlError if the transfer violates a limit, or ProcessEndedError if the simulated process has ended."""
        if self.stop.is_set():
            raise ProcessEndedError
        elapsed = time.monotonic() - self.started
        if self.max_time and elapsed > self.max_time:
            raise CurlError(errors.OPERATION_TIMEDOUT, self._timed_out(elapsed, connecting))
        if connecting and elapsed > self.connect_timeout:
            message = f"Connection timed out after {int(elapsed * 1000)} milliseconds"
            raise CurlError(errors.OPERATION_TIMEDOUT, message)
        if not connecting:
            self._check_speed()

    def _timed_out(self, elapsed: float, connecting: bool) -> str:
        if connecting:
            return f"Connection timed out after {int(elapsed * 1000)} milliseconds"
        total = f" out of {self.expected}" if self.expected is not None else ""
        return (
            f"Operation timed out after {int(elapsed * 1000)} milliseconds with {self.received}{total} bytes received"
        )

    def _check_speed(self) -> None:
        if not self.speed_limit:
            return
        now = time.monotonic()
        if not self._window:
            self._window, self._window_bytes = now, self.received
        passed = now - self._window
        if passed and (self.received - self._window_bytes) / passed >= self.speed_limit:
            self._window, self._window_bytes = now, self.received
        elif passed >= (self.speed_time or 30):
            raise CurlError(
                errors.OPERATION_TIMEDOUT,
                f"Operation too slow. Less than {int(self.speed_limit)} bytes/sec transferred the last "
                f"{int(self.speed_time or 30)} seconds",
            )

    def take(self, size: int) -> None:
        """Count received bytes. If the transfer exceeds the maximum rate, wait up to one second.

        Raises:
            ProcessEndedError: the simulated process was stopped.
        """
        self.received += size
        if self.rate:
            ahead = self.received / self.rate - (time.monotonic() - self.started)
            if ahead > 0 and self.stop.wait(min(ahead, 1.0)):
                raise ProcessEndedError


class Stream:
    """A connection that is read at short intervals, so that limits also apply while no data arrives."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self.socket = connection
        self.limits = limits
        self._buffer = b""

    def send(self, data: bytes) -> None:
        """Send all data. Raise CurlError if the connection breaks."""
        try:
            self.socket.settimeout(30)
            self.socket.sendall(data)
        except OSError as error:
            raise CurlError(55, "Send failure: Connection was reset") from error

    def receive(self) -> bytes:
        """Return the next received bytes, or an empty byte string if the other side has closed the connection.

        Raises:
            CurlError: the connection breaks, or the transfer violates a limit.
            ProcessEndedError: the simulated process was stopped.
        """
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        self.socket.settimeout(_POLL)
        while True:
            self.limits.check()
            try:
                return self.socket.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                raise CurlError(errors.RECV_ERROR, "Recv failure: Connection was reset") from error

    def push_back(self, data: bytes) -> None:
        """Put surplus data back into the stream. The next call of `receive` returns it."""
        self._buffer = data + self._buffer

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self.socket.close()


def connect(machine: Machine, host: str, port: int, limits: Limits, *, proxy: bool, modern: bool) -> Stream:
    """Connect to a host from the node's own address.

    Args:
        proxy: whether the host is a proxy. If so, the exit code for an unknown name is 5 instead of 6.
        modern: whether to word errors as curl 7.86 and later do, with the elapsed time.

    Raises:
        CurlError: exit code 5 or 6 if the name is unknown, 7 if the connection fails, or 28 if a time limit is
            exceeded.
        ProcessEndedError: the simulated process was stopped.
    """
    addresses = resolve(machine, host) if machine.network.is_up else []
    if not addresses:
        code = errors.COULDNT_RESOLVE_PROXY if proxy else errors.COULDNT_RESOLVE_HOST
        raise CurlError(code, f"Could not resolve {'proxy' if proxy else 'host'}: {host}")
    started = time.monotonic()
    last: OSError | None = None
    for address in addresses:
        try:
            return Stream(_connect(machine, address, port, limits), limits)
        except OSError as error:
            last = error
    passed = f" after {int((time.monotonic() - started) * 1000)} ms" if modern else ""
    refused = isinstance(last, ConnectionRefusedError)
    reason = "Couldn't connect to server" if modern else "Connection refused" if refused else "Timed out"
    message = f"Failed to connect to {host} port {port}{passed}: {reason}"
    raise CurlError(errors.COULDNT_CONNECT, message, refused=refused)


def _connect(machine: Machine, address: str, port: int, limits: Limits) -> socket.socket:
    if address == azure_metadata.ADDRESS:
        if not azure_metadata.answers(machine):
            raise CurlError(errors.OPERATION_TIMEDOUT, "Connection timed out after 3001 milliseconds")
        return azure_metadata.connect(machine)
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if address.startswith("127.") and machine.address.startswith("127."):
            # Servers must see which node connects.
            connection.bind((machine.address, 0))
        connection.setblocking(False)
        pending = connection.connect_ex((address, port))
        # select() does not support descriptors above 1023, and a fleet in one process has more.
        ready = select.poll()
        ready.register(connection, select.POLLOUT)
        while pending:
            limits.check(connecting=True)
            if ready.poll(_POLL * 1000):
                pending = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if pending:
                    raise OSError(pending, "connect") from None
    except BaseException:
        connection.close()
        raise
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
