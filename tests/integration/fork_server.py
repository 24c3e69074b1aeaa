# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run requests in forks of this process, which has imported what they need.

A client connects to the server's Unix socket, sends the three standard streams of the request with the first byte, and
then the request as one line of JSON. It gets the id of the process on one line, and its exit code on the next.

This file imports no tests: the programs that use it must not have them on their path.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Request = dict[str, Any]
"""`command`: the command line, `folder`: the working folder, `environment`: the environment."""
INTERPRETER = "WINKUBE_TEST_INTERPRETER"
"""The environment variable of a playbook run with the Python interpreter for the modules of localhost."""
PAUSES = "WINKUBE_TEST_PAUSES"
"""The environment variable with which a playbook run shortens the pauses of these modules: the factor."""
_STREAMS = 3


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """Return a request and its standard streams."""
    size = array.array("i").itemsize
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(_STREAMS * size))
    streams = array.array("i")
    for _, _, content in ancillary:
        streams.frombytes(content)
    return json.loads(connection.makefile("rb").readline()), list(streams)


def become(request: Request, streams: list[int]) -> None:
    """Give this process the standard streams, the folder, the environment and the arguments of a request."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = list(request["command"])


def run_script(_request: Request) -> int:
    """Run the Python program at the start of the command line, like `python PROGRAM`, and return its exit code."""
    sys.path[0] = str(Path(sys.argv[0]).parent)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        return exit_code(ended)
    return 0


def exit_code(ended: SystemExit) -> int:
    """Return the exit code of a program that ended with an exception."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    print(ended.code, file=sys.stderr)
    return 1


def handle(connection: socket.socket, run: Callable[[Request], int]) -> None:
    """Read one request, run it in a fork, and answer with the id of its process and then with its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams = receive(connection)
    pid = os.fork()
    if not pid:
        code = 250
        try:
            connection.close()
            become(request, streams)
            code = run(request)
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    # The client has given up if it no longer reads.
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def reap(*_arguments: object) -> None:
    """Wait for the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(path: str, run: Callable[[Request], int]) -> None:
    """Handle the requests of all clients, until standard input ends.

    Args:
        path: the path of the socket.
        run: runs a request in this process, which is a fork, and returns the exit code.
    """
    signal.signal(signal.SIGCHLD, reap)
    with socket.socket(socket.AF_UNIX) as listener:
        # Clients may connect as soon as the socket has its name.
        listener.bind(f"{path}.new")
        listener.listen(64)
        Path(f"{path}.new").rename(path)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if listener not in ready:
                return
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
                with contextlib.suppress(KeyboardInterrupt):
                    handle(connection, run)
                os._exit(0)
            connection.close()
