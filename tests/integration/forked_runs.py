# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starting ansible-playbook, and the modules that it runs on localhost, in forks of processes with their imports.

See playbook_server.py and module_server.py.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from integration.fork_server import INTERPRETER

PROGRAM = Path(__file__).with_name("playbook_server.py")
MODULES = Path(__file__).with_name("module_server.py")
CLIENT = Path(__file__).with_name("fork_client.py")
CALLBACKS = Path(__file__).with_name("callback_plugins")
SHARED = {"ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}
"""The environment of the server. A run may do without: it enables its callbacks, and has no terminal."""
PER_RUN = {"ANSIBLE_HOME", "ANSIBLE_ASYNC_DIR", "ANSIBLE_CALLBACKS_ENABLED", "ANSIBLE_LOCALHOST_WARNING"}
"""Variables of Ansible that each run reads for itself."""
CHOICE = "WINKUBE_TESTS"
"""The environment variable that selects tests. With its value `all`, each run is a process of its own."""


class ForkServer:
    """A program that runs requests in forks of itself (fork_server.py). It ends with this process.

    Args:
        program: the path of the program.
        environment: its environment.
    """

    def __init__(self, program: Path, environment: Mapping[str, str]) -> None:
        self._home = tempfile.TemporaryDirectory()
        self.folder = Path(self._home.name)
        self.socket = self.folder / "socket"
        self._process = subprocess.Popen(
            [sys.executable, str(program), str(self.socket)],
            env={**environment, "ANSIBLE_HOME": self._home.name},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        """Wait until the program has imported what it needs."""
        while not self.socket.exists():
            assert self._process.poll() is None, f"{self._process.args!r} ended with {self._process.returncode}"
            time.sleep(0.01)

    def connect(self) -> socket.socket:
        """Return a connection to the program when it is ready."""
        self.wait()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.socket))
        return connection

    def client(self) -> str:
        """Return the start of a shell command that runs the command line after it in a fork of the program."""
        return shlex.join([sys.executable, "-IS", str(CLIENT), str(self.socket)])

    def stop(self) -> None:
        """End the program."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._home.cleanup()


class PlaybookServer:
    """The programs that fork runs of ansible-playbook and of the modules of localhost.

    They are started with the environment of this process.
    """

    def __init__(self) -> None:
        environment = {**os.environ, **SHARED}
        self.environment = fixed(environment)
        self._playbooks = ForkServer(PROGRAM, environment)
        self._modules = ForkServer(MODULES, environment)
        self._interpreter = self._modules.folder / "python"
        write_interpreter(self._interpreter, self._modules)

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float
    ) -> tuple[int, str]:
        """Run a command line of ansible-playbook, and return its exit code and output.

        Raises:
            subprocess.TimeoutExpired: it ran longer than `timeout` seconds, and was killed.
        """
        variables = {**environment, INTERPRETER: str(self._interpreter)}
        request = {"command": list(command), "folder": str(folder), "environment": variables}
        self._modules.wait()
        with self._playbooks.connect() as connection, tempfile.TemporaryFile() as output:
            with Path(os.devnull).open("rb") as nothing:
                streams = [nothing.fileno(), output.fileno(), output.fileno()]
                socket.send_fds(connection, [b"r"], streams)
            connection.settimeout(timeout)
            connection.sendall(json.dumps(request).encode() + b"\n")
            stream = connection.makefile("rb")
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
        """End the programs."""
        self._playbooks.stop()
        self._modules.stop()


def write_interpreter(path: Path, modules: ForkServer) -> None:
    """Write a Python interpreter that runs Ansible's modules in forks of a program, and other programs itself."""
    python = shlex.quote(sys.executable)
    module = f'case "$1" in */AnsiballZ_*) exec {modules.client()} "$@" ;; esac'
    path.write_text(f'#!/bin/sh\n{module}\nexec {python} "$@"\n', encoding="utf-8")
    path.chmod(0o700)


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
