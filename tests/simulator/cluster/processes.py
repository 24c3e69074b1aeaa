# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Child processes that are started with a log file and ended by their process id."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Below the range Linux hands out for outgoing connections (32768 and up), so that none of those takes a port we chose.
_PORTS = range(20000, 32000)


class ProcessError(RuntimeError):
    """A program ended with an error, or did not become ready; the message holds the end of its output."""


def free_port(address: str) -> int:
    """Choose a TCP port of `address` that nothing listens on.

    :param address: an IPv4 address of this machine.
    :returns: the port number.
    :raises ProcessError: no free port was found.
    """
    for port in random.sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise ProcessError(f"no free port on {address}")


def wait_until(ready: Callable[[], bool], what: str, seconds: float, interval: float = 0.1) -> None:
    """Poll `ready` until it is true.

    :param ready: the condition.
    :param what: what is waited for, for the error.
    :param seconds: how long to wait at most.
    :param interval: seconds between two polls.
    :raises ProcessError: it was not true in time.
    """
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise ProcessError(f"{what}: not so after {seconds:g} seconds")
        time.sleep(interval)


def run(arguments: Sequence[str], environment: Mapping[str, str], seconds: float = 60) -> str:
    """Run a program to its end.

    :param arguments: program and arguments.
    :param environment: the whole environment.
    :param seconds: time limit.
    :returns: its standard output.
    :raises ProcessError: it failed; holds the end of what it printed.
    """
    done = subprocess.run(
        list(arguments), env=dict(environment), capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode != 0:
        printed = done.stdout[-1000:] + done.stderr[-2000:]
        raise ProcessError(f"{' '.join(arguments)}: exit code {done.returncode}\n{printed}")
    return done.stdout


class Processes:
    """A few programs that run together, each with its log in one folder; they end with us, even when we are killed."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        """Start none yet.

        :param logs: a folder of theirs alone: it is removed when we are killed.
        :param environment: of each program.
        """
        self._logs = logs
        reaper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")), str(logs)]
        self._reaper = subprocess.Popen(
            reaper, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        self._environment = dict(environment)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, arguments: Sequence[str]) -> None:
        """Start a program, named by its file name.

        :param arguments: the program's path and its arguments.
        """
        name = Path(arguments[0]).name
        with (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                list(arguments),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._logs,
                start_new_session=True,  # Ctrl-C ends us, and we end them in order
            )
        self._tell_reaper(str(self._running[name].pid))

    def pids(self) -> dict[str, int]:
        """Return the process id of each program, by name."""
        return {name: process.pid for name, process in self._running.items()}

    def check(self) -> None:
        """Raise when one of them has ended.

        :raises ProcessError: with the name and the end of its log.
        """
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessError(f"{name} ended with {process.returncode}\n{self._tail(name)}")

    def stop(self, seconds: float = 5) -> None:
        """End all, the last started first; kill what does not end in time.

        :param seconds: how long they get together.
        """
        processes = list(reversed(self._running.values()))
        for process in processes:
            process.terminate()
        end = time.monotonic() + seconds
        for process in processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()
        self._tell_reaper("done")
        if self._reaper.stdin:
            self._reaper.stdin.close()
        self._reaper.wait()

    def _tell_reaper(self, line: str) -> None:
        if self._reaper.stdin and self._reaper.poll() is None:
            self._reaper.stdin.write(f"{line}\n".encode())
            self._reaper.stdin.flush()

    def _tail(self, name: str) -> str:
        return (self._logs / f"{name}.log").read_text(errors="replace")[-3000:]


def minimal_environment(folder: Path) -> dict[str, str]:
    """Make an environment in which programs touch nothing outside `folder` and use no proxy.

    :param folder: becomes HOME and the temporary folder.
    """
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "TMPDIR": str(folder)}
