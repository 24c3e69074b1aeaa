# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start and stop child processes, each with a log file."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# These ports are below Linux's range for outgoing connections (32768 and up), so no such connection uses one of them.
_PORTS = range(20000, 32000)


class ProcessError(RuntimeError):
    """Raised if a program failed or did not become ready in time, or if no free port was found."""


def free_port(address: str) -> int:
    """Return a free TCP port on an address.

    Args:
        address: an IPv4 address of this machine.

    Returns:
        The port number.

    Raises:
        ProcessError: 200 random ports were tried, and none is free.
    """
    for port in random.sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise ProcessError(f"found no free port on {address} in 200 attempts")


def wait_until(ready: Callable[[], bool], what: str, seconds: float, interval: float = 0.1) -> None:
    """Poll a condition until it is true.

    Args:
        ready: a function that returns whether the condition is true.
        what: a description of the condition, for the error message.
        seconds: the time limit.
        interval: the seconds between two polls.

    Raises:
        ProcessError: the condition did not become true in time.
    """
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise ProcessError(f"timed out after {seconds:g} seconds waiting for: {what}")
        time.sleep(interval)


def run(arguments: Sequence[str], environment: Mapping[str, str], seconds: float = 60) -> str:
    """Run a program, and wait for it to end.

    Args:
        arguments: the program and its arguments.
        environment: all environment variables of the program; it inherits none.
        seconds: the time limit.

    Returns:
        The program's standard output.

    Raises:
        ProcessError: the program failed. The message contains the end of the program's output.
        subprocess.TimeoutExpired: the program exceeded the time limit.
    """
    done = subprocess.run(
        list(arguments), env=dict(environment), capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode != 0:
        printed = done.stdout[-1000:] + done.stderr[-2000:]
        raise ProcessError(f"{' '.join(arguments)}: exit code {done.returncode}\n{printed}")
    return done.stdout


class ProgramGroup:
    """A group of programs with a common log folder. The programs end when this process ends or is killed."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        """Start reaper.py, a helper script.

        If this process is killed, the script kills the group's programs and removes `logs`.

        Args:
            logs: a folder that only these programs use.
            environment: the environment variables of each program.
        """
        self._logs = logs
        reaper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")), str(logs)]
        self._reaper = subprocess.Popen(
            reaper, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        self._environment = dict(environment)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, arguments: Sequence[str]) -> None:
        """Start a program. Log file names and error messages identify the program by its file name.

        Args:
            arguments: the program's path and its arguments.
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
                start_new_session=True,  # Ctrl-C ends this process, which then stops the programs in order
            )
        self._tell_reaper(str(self._running[name].pid))

    def check(self) -> None:
        """Raise an error if a program of the group has ended.

        Raises:
            ProcessError: a program has ended. The message contains the program's name and the end of its log.
        """
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessError(f"{name} ended with exit code {process.returncode}\n{self._tail(name)}")

    def stop(self, seconds: float = 5) -> None:
        """Stop all programs, the last one first, and kill those that do not stop in time.

        Args:
            seconds: the time limit for all of them together.
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
    """Return a minimal set of environment variables, so that programs write only to one folder and use no proxy.

    Args:
        folder: the folder for HOME and for temporary files.
    """
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "TMPDIR": str(folder)}
