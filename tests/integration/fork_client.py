# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Let a program that forks (fork_server.py) run a command line, with this process's streams, folder and environment.

The first argument is the path of the program's socket, and the command line follows. This file imports little, because
it is started very often.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def run(server: str, command: list[str]) -> int:
    """Run a command line, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        socket.send_fds(connection, [b"r"], [0, 1, 2])
        request = {"command": command, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
        connection.sendall(json.dumps(request).encode() + b"\n")
        _process, code = connection.makefile("rb").read().split()
    return int(code)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
