# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Python interpreter that lets module_server.py run the modules of Ansible, and itself runs all other programs.

Its first argument is the path of the server's socket. It imports little, because it is started for each module.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(server: str, command: list[str]) -> int:
    """Run a command line of Python, and return its exit code."""
    if not (command and os.path.basename(command[0]).startswith("AnsiballZ_")):  # noqa: PTH119 - pathlib loads slowly
        os.execv(sys.executable, [sys.executable, *command])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        socket.send_fds(connection, [b"r"], [0, 1, 2])
        request = {"command": command, "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
        connection.sendall(json.dumps(request).encode() + b"\n")
        _process, code = connection.makefile("rb").read().split()
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
