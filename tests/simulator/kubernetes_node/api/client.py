# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A client of the Kubernetes API for the programs on a node, and a parser for the kubeconfigs that they read."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import yaml

from simulator.machine import clock
from simulator.windows.networking.names import resolve

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json"


class ApiError(Exception):
    """An error response from the API server.

    Args:
        status: the HTTP status.
        reason: the reason in the Status object, e.g. `NotFound`.
        message: the message in the Status object.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class KubeconfigError(Exception):
    """Raised if a kubeconfig cannot be used. The text is client-go's message."""


@dataclass(frozen=True)
class ServerAccess:
    """The URL of an API server, and the credentials for it.

    Args:
        server: the API server's URL.
        ca: the trusted certificates in PEM. If it is None, the server's certificate is not verified.
        certificate: the client's certificate in PEM, or an empty string.
        key: the certificate's private key in PEM, or an empty string.
        token: the bearer token, or an empty string.
        token_file: the Windows path of a file with the token, which is read for each request, or an empty
            string.
        insecure: True to skip the verification of the server's certificate.
    """

    server: str
    ca: str | None = None
    certificate: str = ""
    key: str = ""
    token: str = ""
    token_file: str = ""
    insecure: bool = False


def read_kubeconfig(machine: Machine, path: str) -> ServerAccess:
    """Parse a kubeconfig file on the node. Relative paths in it start at the file's folder.

    Raises:
        KubeconfigError: the file is missing or invalid.
    """
    if not machine.files.is_file(path):
        raise KubeconfigError(f"CreateFile {path}: The system cannot find the file specified.")
    try:
        document = yaml.safe_load(machine.files.read_text(path))
        names = {
            kind: {item["name"]: item for item in document.get(kind) or []}
            for kind in ("clusters", "users", "contexts")
        }
        context = names["contexts"][document.get("current-context", "")]["context"]
        cluster = names["clusters"][context["cluster"]]["cluster"]
        user = names["users"].get(context.get("user", ""), {}).get("user") or {}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise KubeconfigError(f"invalid configuration: no configuration has been provided ({error})") from error
    folder = path.replace("/", "\\").rpartition("\\")[0]

    def pem(about: Mapping[str, Any], name: str) -> str:
        if about.get(f"{name}-data"):
            return base64.b64decode(about[f"{name}-data"]).decode()
        if not about.get(name):
            return ""
        file = _absolute(folder, str(about[name]))
        if not machine.files.is_file(file):
            raise KubeconfigError(
                f"unable to read {name} {file}: open {file}: The system cannot find the file specified."
            )
        return machine.files.read_text(file)

    token_file = str(user.get("tokenFile") or "")
    return ServerAccess(
        server=str(cluster["server"]).rstrip("/"),
        ca=pem(cluster, "certificate-authority") or None,
        certificate=pem(user, "client-certificate"),
        key=pem(user, "client-key"),
        token=str(user.get("token") or ""),
        token_file=_absolute(folder, token_file) if token_file else "",
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
    )


def _absolute(folder: str, path: str) -> str:
    return path if path[1:2] == ":" or path.startswith(("\\", "/")) else f"{folder}\\{path}"


class Client:
    """A client with one persistent connection to an API server.

    Several threads can use a client. It sends only one request at a time.

    Args:
        machine: the machine on which the client runs. Its network link, name resolution and token file are used.
        access: the API server's address and the credentials.
        timeout: the time limit for a response, in seconds.
    """

    def __init__(self, machine: Machine, access: ServerAccess, timeout: float = 10.0) -> None:
        self._machine = machine
        self.access = access
        parts = urlsplit(access.server)
        self._host, self._secure = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._secure else 80)
        self._timeout = timeout
        self._context = _context(access) if self._secure else None
        self._connection: http.client.HTTPConnection | None = None
        self._verifies = not access.insecure and access.ca is not None
        self._lock = threading.Lock()

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Read an object or a list of objects."""
        return self.call("GET", path, query=query)

    def find(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return an object, or None if it does not exist."""
        try:
            return self.get(path, **query)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object."""
        return self.call("POST", path, document)

    def replace(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Replace an object."""
        return self.call("PUT", path, document)

    def patch(self, path: str, document: Mapping[str, Any], kind: str = MERGE) -> dict[str, Any]:
        """Patch an object."""
        return self.call("PATCH", path, document, content_type=kind)

    def delete(self, path: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Delete an object."""
        return self.call("DELETE", path, document)

    def call(self, method: str, path: str, document: Mapping[str, Any] | None = None, *,
             query: Mapping[str, str] | None = None, content_type: str = JSON) -> dict[str, Any]:  # fmt: skip
        """Send a request, and return the response's JSON document.

        Raises:
            ApiError: the API server rejects the request.
            OSError: the server cannot be reached.
        """
        url = quote(path) + (f"?{urlencode(query)}" if query else "")
        body = None if document is None else json.dumps(document).encode()
        headers = {"Accept": JSON, "User-Agent": "simulated-node", **self._authorization()}
        if body is not None:
            headers["Content-Type"] = content_type
        with self._lock:
            status, data = self._send(method, url, body, headers)
        found = _decode(data)
        if status >= 400:
            raise ApiError(
                status, str(found.get("reason", "")), str(found.get("message") or data[:200].decode(errors="replace"))
            )
        return found

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        if not self._machine.network.is_up:
            self._drop()
            raise OSError("A socket operation was attempted to an unreachable network.")
        for attempt in (1, 2):
            fresh = self._connection is None
            try:
                connection = self._connection or self._connect()
                connection.request(method, url, body, dict(headers))
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError) as error:
                self._drop()
                # The server may have closed a persistent connection in the meantime.
                if fresh or attempt == 2 or isinstance(error, TimeoutError):
                    raise error if isinstance(error, OSError) else OSError(str(error) or "EOF") from error
        raise OSError("unreachable")

    def _connect(self) -> http.client.HTTPConnection:
        found = resolve(self._machine, self._host)
        if not found:
            raise OSError(f"dial tcp: lookup {self._host}: no such host")
        if self._context is None:
            self._connection = http.client.HTTPConnection(found[0], self._port, timeout=self._timeout)
        else:
            self._connection = (
                http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
                if found[0] == self._host
                else _named(self._host, found[0], self._port, self._timeout, self._context)
            )
            self._connection.connect()
            self._check_time(self._connection)
        return self._connection

    def _check_time(self, connection: http.client.HTTPConnection) -> None:
        """Raise OSError if the server's certificate is not valid now, according to the machine's clock."""
        shown = clock.of_peer(connection.sock) if self._verifies else None  # type: ignore[arg-type]
        moment = self._machine.clock.now()
        if shown and not clock.is_valid(shown, moment):
            raise OSError(clock.go_text(shown, moment))

    def renew(self, access: ServerAccess) -> None:
        """Switch to other credentials, and drop the connection, so that the next request opens a new one."""
        with self._lock:
            self._drop()
            self.access = access
            self._context = _context(access) if self._secure else None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def _authorization(self) -> dict[str, str]:
        token = self.access.token
        if self.access.token_file:
            try:
                token = self._machine.files.read_text(self.access.token_file).strip()
            except OSError as error:
                raise OSError(f"open {self.access.token_file}: The system cannot find the file specified.") from error
        return {"Authorization": f"Bearer {token}"} if token else {}


def _named(name: str, address: str, port: int, timeout: float, context: ssl.SSLContext) -> http.client.HTTPConnection:
    """Return a connection to `address` that checks the server's certificate against `name`."""
    connection = http.client.HTTPSConnection(name, port, timeout=timeout, context=context)
    create = connection._create_connection  # type: ignore[attr-defined]

    def connect(target: tuple[str, int], *arguments: Any, **options: Any) -> Any:
        return create((address, target[1]), *arguments, **options)

    connection._create_connection = connect  # type: ignore[attr-defined]
    return connection


def _context(access: ServerAccess) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    clock.leave_time_to_us(context)
    if access.insecure or access.ca is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=access.ca)
    if access.certificate:
        with tempfile.TemporaryDirectory() as folder:
            # The ssl module reads only files, so these exist for a moment in a private folder.
            pair = Path(folder, "pair.pem")
            pair.touch(mode=0o600)
            pair.write_text(access.certificate + "\n" + access.key)
            context.load_cert_chain(pair)
    return context


def _decode(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data) if data else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
