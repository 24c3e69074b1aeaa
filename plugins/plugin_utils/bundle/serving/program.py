# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Serve a bundle's files over HTTP or HTTPS while the watched process (ansible-playbook) runs.

The program reads its settings as JSON from standard input, so that no process list shows a token. It prints its port
as a line of JSON and continues in the background.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import resource
import signal
import ssl
import sys
import threading
import types
import typing as t

from .files import Files
from .listener import RequestListener
from .nodes import Nodes
from .watched import lives

_CHECK_INTERVAL = 0.5
"""Seconds between two checks of the watched process."""
_DESCRIPTORS = 65_536


def raised_limit() -> int:
    """Raise the limit on file descriptors if possible, and return how many this process may use (at most 65,536)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return limit
    return limit if soft == resource.RLIM_INFINITY else min(soft, _DESCRIPTORS)


def _serve(settings: t.Mapping[str, t.Any]) -> None:
    pid, born = int(settings["parent"]), str(settings["born"])
    tls = None
    if settings["certificate"]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(settings["certificate"], settings["key"] or None)
    files = Files(settings["directory"], {path: (size, sha) for path, size, sha in settings["files"]})
    nodes = Nodes(settings["tokens"])
    server = RequestListener(settings["bind"], int(settings["port"]), nodes, files, tls, raised_limit())
    ended = threading.Event()

    def end(dummy_number: int, dummy_frame: types.FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    serving = threading.Thread(target=server.serve, daemon=True)
    serving.start()
    print(json.dumps({"port": server.port}), flush=True)
    # The parent reads one line; later output must not keep its pipe open.
    sys.stdout.close()
    while not ended.wait(_CHECK_INTERVAL) and lives(pid, born) and serving.is_alive():
        nodes.revoke(_revoked(settings.get("revoked") or ""))
    _remove(settings.get("revoked") or "")


def _revoked(path: str) -> list[str]:
    """Return the fingerprints of the revoked tokens, which are listed in a file."""
    try:
        return pathlib.Path(path).read_text(encoding="ascii").split() if path else []
    except (OSError, UnicodeError):
        return []


def _remove(path: str) -> None:
    """Remove the file of revoked tokens and its folder."""
    if path:
        pathlib.Path(path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            pathlib.Path(path).parent.rmdir()


def main() -> int:
    """Read the settings, print the port, and serve the bundle until the watched process ends or SIGTERM arrives.

    If the bundle cannot be served, print an error instead of the port.

    Returns:
        The exit status: 1 if the bundle cannot be served, else 0.
    """
    settings = json.load(sys.stdin)
    sys.stdin.close()
    with contextlib.suppress(OSError):
        os.setsid()
    try:
        _serve(settings)
    except (OSError, ssl.SSLError, ValueError) as error:
        print(json.dumps({"error": f"{error.strerror if isinstance(error, OSError) else error}"}), flush=True)
        return 1
    return 0


def run() -> None:
    """Run the program, and exit without waiting for threads that are still sending files."""
    os._exit(main())
