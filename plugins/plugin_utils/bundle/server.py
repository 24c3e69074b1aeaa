# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start the program that serves a bundle to the nodes, and find the address at which nodes reach it."""

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
import tempfile
import typing as t

from .index import BundleError
from .serving import nodes as serving_nodes
from .serving import watched
from .verify import Bundle

_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from serving import program; program.run()"
_START = 30.0
"""Maximum number of seconds to wait until the bundle server listens."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedBundle:
    """A running bundle server."""

    port: int
    tokens: t.Mapping[str, str] = dataclasses.field(repr=False)
    """Maps the name of each node to the secret token in its URL."""
    scheme: str
    pid: int
    revoked: str
    """Path of the file that lists revoked tokens. Only the user who started the server can write it."""

    def url(self, node: str, address: str) -> str:
        """Return the URL at which a node reaches the bundle.

        Args:
            node: name of the node. The URL contains its token.
            address: the address at which the node reaches this machine.
        """
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}/{self.tokens[node]}"

    def revoke(self, nodes: t.Iterable[str]) -> None:
        """Revoke the tokens of nodes. The server rejects the tokens within a second.

        Args:
            nodes: names of the nodes.
        """
        revoke(self.revoked, [self.tokens[node] for node in nodes])


def revoke(path: str, tokens: t.Iterable[str]) -> None:
    """Revoke tokens by adding their fingerprints to the file that the server watches.

    Args:
        path: path of the file; see `ServedBundle.revoked`.
        tokens: the tokens to revoke.
    """
    with pathlib.Path(path).open("a", encoding="ascii") as file:
        file.writelines(f"{serving_nodes.fingerprint(token)}\n" for token in tokens)


def token(url: str) -> str:
    """Return the token in a node's bundle URL."""
    return serving_nodes.token_of(url)


def start(
    bundle: Bundle, *, nodes: t.Iterable[str], bind: str, port: int = 0, certificate: str = "", key: str = ""
) -> ServedBundle:
    """Start a server for a bundle. The server stops when Ansible ends, even if Ansible is killed.

    Args:
        bundle: a verified bundle.
        nodes: names of the nodes that may download. Each node gets its own token.
        bind: address to listen on.
        port: port to listen on, or 0 for any free port.
        certificate: path of a certificate chain in PEM for HTTPS. If empty, the server uses HTTP.
        key: path of the certificate's private key. If empty, the certificate's file must contain the key.

    Raises:
        BundleError: the bundle cannot be served with these options.
    """
    # `redact_url` removes a token in this form from URLs.
    tokens, parent = {node: f"~{secrets.token_urlsafe(24)}" for node in nodes}, _play()
    revoked = pathlib.Path(tempfile.mkdtemp(prefix="winkube-bundle-")) / "revoked"
    settings = {
        "directory": str(bundle.directory),
        "files": [[entry.path, entry.size, entry.sha256] for entry in bundle.entries.values()],
        "bind": bind,
        "port": port,
        "tokens": tokens,
        "revoked": str(revoked),
        "certificate": str(pathlib.Path(certificate).expanduser()) if certificate else "",
        "key": str(pathlib.Path(key).expanduser()) if key else "",
        "parent": parent,
        "born": watched.birth(parent),
    }
    # Isolated mode ignores the user's Python settings and puts the standard library before this folder.
    command = [sys.executable, "-I", "-c", _PROGRAM, str(pathlib.Path(__file__).parent)]
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
        revoked.parent.rmdir()
        raise BundleError(_refused(answer.get("error") or "it did not start", bind, port, certificate))
    return ServedBundle(
        port=int(answer["port"]),
        tokens=tokens,
        scheme="https" if certificate else "http",
        pid=process.pid,
        revoked=str(revoked),
    )


def stop(pid: int) -> None:
    """Stop a server that `start` started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)


def _play() -> int:
    """Return the process ID of ansible-playbook. The task runs in that process or in a child process of it."""
    parent = multiprocessing.parent_process()
    return parent.pid if parent is not None and parent.pid else os.getpid()


def _answer(process: subprocess.Popen[bytes], settings: bytes) -> dict[str, t.Any]:
    requests, answers = t.cast("t.IO[bytes]", process.stdin), t.cast("t.IO[bytes]", process.stdout)
    with contextlib.suppress(BrokenPipeError), requests:
        requests.write(settings)
    with answers:
        # Do not use select(), which supports descriptors up to 1023: a controller with many forks has higher ones.
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


def address_of(host: str, hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return the address of a host, or a host name if no address is known.

    A machine that replace_nodes.yml has not created yet has no address. In that case, return the address of the
    machine that it replaces, because both are in the same network.

    Args:
        host: name of the host.
        hostvars: the variables of all hosts.
    """
    own = hostvars[host]
    near = str(own.get("winkube_replaces_host") or host)
    return str(own.get("ansible_host") or hostvars[near].get("ansible_host") or near)


def own_address(node: str) -> str:
    """Return the controller's address as a node sees it: the source address of packets to the node.

    Args:
        node: name or address of the node.

    Raises:
        BundleError: there is no route to the node, or its name cannot be resolved.
    """
    try:
        family, kind, protocol, dummy, target = socket.getaddrinfo(node, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Connecting a datagram socket sends nothing; it only selects the route.
            probe.connect(target)
            return str(probe.getsockname()[0]).partition("%")[0]
    except OSError as error:
        raise BundleError(
            f"the controller's address for {node} could not be determined ({error.strerror or error}): set "
            "bundle_address, or bundle_push: true to upload the files over Ansible's connection"
        ) from error


def bind_address(addresses: t.Iterable[str], own: bool) -> str:
    """Return the address to listen on.

    This is the given address if there is only one and it belongs to this machine, otherwise a wildcard address.

    Args:
        addresses: the addresses at which nodes reach the controller.
        own: whether the addresses belong to this machine. An address that a user has set may be that of a NAT gateway.
    """
    different = set(addresses)
    if own and len(different) == 1:
        return different.pop()
    return "::" if any(":" in address for address in different) else "0.0.0.0"  # noqa: S104 - nodes use several
