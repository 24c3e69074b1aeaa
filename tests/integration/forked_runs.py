# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starting ansible-playbook in forks of a process that has imported Ansible; see playbook_server.py."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

SERVER = Path(__file__).with_name("playbook_server.py")
CALLBACKS = Path(__file__).with_name("callback_plugins")
SHARED = {"ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}
"""The environment of the server. A run may do without: it enables its callbacks, and has no terminal."""
PER_RUN = {"ANSIBLE_HOME", "ANSIBLE_ASYNC_DIR", "ANSIBLE_CALLBACKS_ENABLED", "ANSIBLE_LOCALHOST_WARNING"}
"""Variables of Ansible that each run reads for itself."""
CHOICE = "WINKUBE_TESTS"
"""The environment variable that selects tests. With its value `all`, each run is a process of its own."""


class PlaybookServer:
    """The process that forks, and the socket for requests to it.

    It is started with the environment of this process, and ends with it.
    """

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._home = tempfile.TemporaryDirectory()
        environment = {**os.environ, **SHARED}
        self.environment = fixed(environment)
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), str(theirs.fileno())],
            env={**environment, "ANSIBLE_HOME": self._home.name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
    ) -> tuple[int, str]:
        """Run a command line of ansible-playbook, and return its exit code and output.

        Raises:
            subprocess.TimeoutExpired: it ran longer than `timeout` seconds, and was killed.
        """
        request = {"command": list(command), "folder": str(folder), "environment": dict(environment)}
        ours, theirs = socket.socketpair()
        with ours, tempfile.TemporaryFile() as output:
            with theirs:
                socket.send_fds(self._control, [b"r"], [theirs.fileno(), output.fileno()])
            ours.settimeout(timeout)
            ours.sendall(json.dumps(request).encode() + b"\n")
            stream = ours.makefile("rb")
            pid = int(stream.readline())
            try:
                answer = stream.readline()
            except BaseException as error:
                os.kill(pid, signal.SIGKILL)
                if isinstance(error, TimeoutError):
                    raise subprocess.TimeoutExpired(list(command), timeout, _content(output)) from None
                raise
            return int(answer), _content(output).decode()

    def stop(self) -> None:
        """End the process."""
        self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        self._process.wait()
        self._home.cleanup()


def _content(output: IO[bytes]) -> bytes:
    output.seek(0)
    return output.read()


def fixed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must have the same values in the server and in a run."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("ANSIBLE_", "PYTHON", "LC_", "LANG")) and name not in PER_RUN
    }


@functools.cache
def server() -> PlaybookServer:
    """Return this process's server, which is started when it is first used."""
    return PlaybookServer()


def can_run(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether the server can run a command line with an environment like a process of its own."""
    if os.environ.get(CHOICE) == "all" or Path(command[0]) != Path(sys.executable).with_name("ansible-playbook"):
        return False
    return fixed({**SHARED, **environment}) == server().environment


def execute(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float = 300
) -> tuple[int, str]:
    """Run a command line of ansible-playbook, in a fork if that is possible, and return its exit code and output.

    Raises:
        subprocess.TimeoutExpired: it ran longer than `timeout` seconds, and was killed.
    """
    run = server().run if can_run(command, environment) else own_process
    return run(command, folder, environment, timeout)


def own_process(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int, str]:
    """Run a command line in a process of its own, and return its exit code and output.

    Raises:
        subprocess.TimeoutExpired: it ran longer than `timeout` seconds, and was killed.
    """
    ended = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout,
    )
    return ended.returncode, ended.stdout


def stop() -> None:
    """End this process's server, if there is one."""
    if server.cache_info().currsize:
        server().stop()
        server.cache_clear()
