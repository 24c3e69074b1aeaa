# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts the program that serves a bundle to the nodes, and says at which address they find it.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import secrets
import select
import signal
import socket
import subprocess
import sys
import typing as t

from . import file_server
from .index import BundleError
from .verify import Bundle

PROGRAM = pathlib.Path(file_server.__file__)
_START = 30.0
"""Seconds within which the program has to listen."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
    """A bundle that is served."""

    port: int
    token: str
    scheme: str
    pid: int

    def url(self, address: str) -> str:
        """The site as a node knows it."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}/{self.token}"


def start(bundle: Bundle, *, bind: str, port: int = 0, certificate: str = "", key: str = "") -> Served:
    """Serves a bundle until Ansible ends, however it ends.

    Parameters:
        bundle: verified.
        bind: address to listen at.
        port: 0 takes any free one.
        certificate: path of a certificate chain in PEM: HTTPS; empty: HTTP.
        key: path of its private key; empty: it is in the certificate's file.

    Raises:
        BundleError: it cannot be served so.
    """
    # Whatever shows a URL leaves out a part of this form (resources/_curl.redacted).
    token, parent = f"~{secrets.token_urlsafe(24)}", _play()
    settings = {
        "directory": str(bundle.directory),
        "files": [[entry.path, entry.size, entry.sha256] for entry in bundle.entries.values()],
        "bind": bind,
        "port": port,
        "token": token,
        "certificate": str(pathlib.Path(certificate).expanduser()) if certificate else "",
        "key": str(pathlib.Path(key).expanduser()) if key else "",
        "parent": parent,
        "born": file_server.birth(parent),
    }
    # Isolated: neither the user's Python settings nor the files beside the program count.
    command = [sys.executable, "-I", str(PROGRAM)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    answer = _answer(process, json.dumps(settings).encode())
    if "port" not in answer:
        raise BundleError(_refused(answer.get("error") or "it did not start", bind, port, certificate))
    return Served(port=int(answer["port"]), token=token, scheme="https" if certificate else "http", pid=process.pid)


def stop(pid: int) -> None:
    """Ends a server of `start`."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)


def _play() -> int:
    """The process of ansible-playbook: a task runs in a child of it, or in itself."""
    parent = multiprocessing.parent_process()
    return parent.pid if parent is not None and parent.pid else os.getpid()


def _answer(process: subprocess.Popen[bytes], settings: bytes) -> dict[str, t.Any]:
    requests, answers = t.cast("t.IO[bytes]", process.stdin), t.cast("t.IO[bytes]", process.stdout)
    with contextlib.suppress(BrokenPipeError), requests:
        requests.write(settings)
    with answers:
        # Not select(): it knows no descriptor above 1023, and a controller with many forks has more.
        ready = select.poll()
        ready.register(answers, select.POLLIN)
        line = answers.readline() if ready.poll(_START * 1000) else b""
    try:
        return dict(json.loads(line))
    except ValueError:
        process.kill()
        return {}


def _refused(why: str, bind: str, port: int, certificate: str) -> str:
    where = f"bundle_bind {bind}, bundle_port {port or 'any'}"
    more = f", bundle_certificate {certificate}" if certificate else ""
    return f"the bundle cannot be served ({where}{more}): {why}"


def own_address(node: str) -> str:
    """The controller's address towards a node: the one that a packet to it would come from.

    Parameters:
        node: its name or address.

    Raises:
        BundleError: there is no way to it.
    """
    try:
        family, kind, protocol, dummy, target = socket.getaddrinfo(node, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Nothing is sent: connecting a datagram socket only chooses the route.
            probe.connect(target)
            return str(probe.getsockname()[0]).partition("%")[0]
    except OSError as error:
        raise BundleError(
            f"the controller's address towards {node} is not known ({error.strerror or error}); "
            "bundle_address names it, or bundle_push: true pushes the files"
        ) from error


def bind_address(addresses: t.Iterable[str], own: bool) -> str:
    """Where to listen.

    Parameters:
        addresses: the controller's, as the nodes reach it.
        own: whether they are addresses of this machine; a user may have given one that is translated.
    """
    different = set(addresses)
    if own and len(different) == 1:
        return different.pop()
    return "::" if any(":" in address for address in different) else "0.0.0.0"  # noqa: S104 - nodes are on several
