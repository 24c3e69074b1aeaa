# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Requests to registries as containerd sends them: proxies, TLS, tokens, retries and streamed bodies.

Sources: containerd core/remotes/docker/{resolver,fetcher,authorizer,httpreadseeker}.go. A request is repeated with the
requested credentials after a 401, and up to 5 times without delay after a 408 or 429. Since containerd 2.1, it is
repeated once on the last host after a 500, 503 or 504. Names are resolved as for the other programs of the simulated
node (`windows/networking/names.py`).
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.client import responses
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.registry_hosts import RegistryEndpoint
from simulator.machine import certificate_store, clock
from simulator.windows.curl import errors, http
from simulator.windows.curl.errors import CurlError
from simulator.windows.curl.wire import Limits, Stream, connect

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ACCEPT = ", ".join((oci.DOCKER_MANIFEST, oci.DOCKER_LIST, oci.MANIFEST, oci.INDEX, "*/*"))
_REDIRECTS = (301, 302, 303, 307, 308)
_AT_ONCE = (408, 429)
_ONCE_MORE = (500, 503, 504)
_CODES = {  # The registry errors that containerd knows, with the messages that it does not print.
    "UNKNOWN": "unknown error",
    "UNSUPPORTED": "The operation is unsupported.",
    "UNAUTHORIZED": "authentication required",
    "DENIED": "requested access to the resource is denied",
    "UNAVAILABLE": "service unavailable",
    "TOOMANYREQUESTS": "too many requests",
}


class PullError(Exception):
    """Raised if a pull or push fails. The exception's message is containerd's."""


class UnexpectedEndError(PullError):
    """Raised if a connection ends in the middle of a response's body (`unexpected EOF`)."""


@dataclass
class RegistryResponse:
    """A response: status, headers (names in lower case), and the body, which can be read once."""

    status: int
    headers: Mapping[str, str]
    stream: Stream
    head: http.Head
    method: str

    def pieces(self) -> Iterator[bytes]:
        """Yield the body, and close the connection at the end.

        Raises:
            UnexpectedEndError: the body ends early.
        """
        try:
            yield from http.body(self.stream, self.head, self.method)
        except CurlError as error:
            raise UnexpectedEndError("unexpected EOF") from error
        finally:
            self.stream.close()

    def read(self) -> bytes:
        """Return the whole body.

        Raises:
            UnexpectedEndError: the body ends early.
        """
        return b"".join(self.pieces())

    def status_text(self) -> str:
        """Return the status and its text, such as `429 Too Many Requests`."""
        return f"{self.status} {responses.get(self.status, '')}".rstrip()


def registry_errors(answer: RegistryResponse) -> str:
    """Return a response's registry errors as containerd prints them (docker/errcode.go), or "" if there are none."""
    try:
        data = answer.read()
        found = json.loads(data)["errors"]
        texts = [_registry_error(item) for item in found]
    except (UnexpectedEndError, ValueError, LookupError, TypeError, AttributeError):
        return ""
    return "errors:\n" + "".join(f"{text}\n" for text in texts) if len(texts) > 1 else "".join(texts)


def _registry_error(item: Mapping[str, object]) -> str:
    code, message = str(item["code"]), str(item.get("message") or "")
    if code not in _CODES:
        code = "UNKNOWN"
    is_plain = message in ("", _CODES[code]) and item.get("detail") is None
    return code.lower() if is_plain else f"{code.lower()}: {message}"


@dataclass
class _Limits(Limits):
    """The transfer limits of a registry request. The request also fails when the machine is powered off."""

    running: Callable[[], bool] = lambda: True

    def check(self, *, connecting: bool = False) -> None:
        """Raise CurlError if a limit is exceeded or the machine is off."""
        if not self.running():
            raise CurlError(errors.RECV_ERROR, "Recv failure: Connection was reset")
        super().check(connecting=connecting)


@dataclass
class RegistryAccess:
    """The `user:password` for a registry, for example from ctr --user, and the tokens received so far, by host."""

    credentials: str = ""
    tokens: dict[str, str] = field(default_factory=dict)


class RegistryClient:
    """The client that sends the registry requests of one process.

    Args:
        machine: the machine whose network and files are used.
        environment: the environment variables of the process, which may name proxies.
        access: the credentials and tokens to use.
        stop: an event that is set when the process must end.
        retry_last_host: whether to retry the last host after a status 500, 503 or 504 (since containerd 2.1).
    """

    def __init__(self, machine: Machine, environment: Mapping[str, str], access: RegistryAccess | None = None,
                 stop: threading.Event | None = None, *, retry_last_host: bool = True) -> None:  # fmt: skip
        self._machine = machine
        self._environment = {name.casefold(): value for name, value in environment.items()}
        self._access = access or RegistryAccess()
        self._stop = stop or threading.Event()
        self._retry_last_host = retry_last_host

    def ask(self, place: RegistryEndpoint, method: str, path: str, *, last: bool, offset: int = 0, body: bytes = b"",
            media_type: str = "") -> RegistryResponse:  # fmt: skip
        """Send a request with containerd's retries, and return the response.

        Args:
            place: the registry.
            method: GET, HEAD, POST or PUT.
            path: a path below the registry's API root (`/v2`) with its query, an absolute path, or a complete URL.
            last: whether `place` is the last host to try.
            offset: the position in the response's body at which to start; 0 requests all of it.
            body: the content of the request.
            media_type: the media type of the body.

        Raises:
            PullError: the request failed.
        """
        url = request_url(place, path)
        extra = {"Range": f"bytes={offset}-"} if offset else {}
        if method in ("POST", "PUT"):
            extra = {"Content-Length": str(len(body)), **({"Content-Type": media_type} if media_type else {})}
        seen: list[int] = []
        while True:
            answer = self._follow(place, method, url, extra, body)
            seen.append(answer.status)
            if not self._again(place, url, answer, seen, last):
                return answer
            answer.stream.close()

    def _again(self, place: RegistryEndpoint, url: str, answer: RegistryResponse, seen: list[int], last: bool) -> bool:
        if len(seen) > 5:
            return False
        if answer.status == 401:
            return seen.count(401) == 1 and self._answer_challenge(place, url, answer)
        if answer.status in _ONCE_MORE:
            return self._retry_last_host and last and seen.count(answer.status) == 1
        return answer.status in _AT_ONCE

    def _follow(
        self, place: RegistryEndpoint, method: str, url: str, extra: Mapping[str, str], body: bytes
    ) -> RegistryResponse:
        """Send a request and follow redirects. Credentials are sent only to the registry's own host."""
        own = urlsplit(url).netloc
        for _ in range(10):
            same = urlsplit(url).netloc == own
            headers = {**(place.headers if same else {}), **extra}
            if same and own in self._access.tokens:
                headers["Authorization"] = self._access.tokens[own]
            answer = self._send(place, method, url, headers, body)
            location = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not location:
                return answer
            answer.stream.close()
            url = urljoin(url, location)
        raise PullError(f'failed to do request: {method.capitalize()} "{url}": stopped after 10 redirects')

    # -- authentication

    def _answer_challenge(self, place: RegistryEndpoint, url: str, answer: RegistryResponse) -> bool:
        """Get the credentials that a 401 response demands. Return False if the credentials are not available.

        Raises:
            PullError: the token cannot be obtained.
        """
        challenge = answer.headers.get("www-authenticate", "")
        scheme, _, rest = challenge.partition(" ")
        host = urlsplit(url).netloc
        if scheme.casefold() == "basic" and self._access.credentials:
            self._access.tokens[host] = _basic(self._access.credentials)
            return True
        if scheme.casefold() != "bearer":
            return False
        asked = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        if not asked.get("realm"):
            return False
        self._access.tokens[host] = f"Bearer {self._token(place, asked)}"
        return True

    def _token(self, place: RegistryEndpoint, asked: Mapping[str, str]) -> str:
        query = {name: asked[name] for name in ("service", "scope") if asked.get(name)}
        headers = {name: value for name, value in place.headers.items() if name.casefold() == "authorization"}
        if self._access.credentials:
            headers["Authorization"] = _basic(self._access.credentials)
        url = f"{asked['realm']}?{urlencode(query)}"
        answer = self._send(place, "GET", url, headers)
        data = answer.read()
        if answer.status != 200:
            kind = "oauth" if self._access.credentials else "anonymous"
            raise PullError(
                f"failed to authorize: failed to fetch {kind} token: unexpected status from GET request to {url}: "
                f"{answer.status_text()}"
            )
        try:
            found = json.loads(data)
        except ValueError as error:
            raise PullError("failed to authorize: unable to decode token response") from error
        return str(found.get("token") or found.get("access_token") or "")

    # -- connections

    def _send(
        self, place: RegistryEndpoint, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> RegistryResponse:
        try:
            return self._once(place, method, url, headers, body)
        except PullError:
            if not place.local or not url.startswith("http://"):
                raise
            # A registry on this machine may use HTTP or HTTPS (core/remotes/docker/config/hosts.go).
            return self._once(place, method, "https" + url[4:], headers, body)

    def _once(
        self, place: RegistryEndpoint, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> RegistryResponse:
        parts = urlsplit(url)
        limits = _Limits(self._stop, connect_timeout=30)
        limits.running = lambda: self._machine.power.state != "off"
        failed = f'failed to do request: {method.capitalize()} "{url}": '
        try:
            stream, target = self._open(place, parts, limits)
        except CurlError as error:
            raise PullError(failed + _network_text(error, parts)) from error
        try:
            lines = {"Host": parts.netloc, "User-Agent": "containerd", "Accept": _ACCEPT, **headers}
            http.send(stream, method, target, list(lines.items()), body)
            head = http.read_head(stream)
        except CurlError as error:
            stream.close()
            raise PullError(
                failed + ("EOF" if error.code == errors.GOT_NOTHING else _network_text(error, parts))
            ) from None
        except BaseException:
            stream.close()
            raise
        return RegistryResponse(
            head.status, {name.casefold(): value for name, value in head.headers}, stream, head, method
        )

    def _open(self, place: RegistryEndpoint, parts: SplitResult, limits: Limits) -> tuple[Stream, str]:
        """Connect to a registry or its proxy, and return the connection and the target for the request line.

        Raises:
            CurlError: the connection to the host or proxy fails, or the TLS handshake fails.
        """
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        proxy = self._proxy(parts.scheme, host)
        if not proxy:
            stream = connect(self._machine, host, port, limits, proxy=False, modern=True)
        else:
            through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
            stream = connect(self._machine, through.hostname or "", through.port or 80, limits, proxy=True, modern=True)
            lines = (
                [("Proxy-Authorization", _basic(through.netloc.rpartition("@")[0]))] if "@" in through.netloc else []
            )
            if parts.scheme == "http":
                return stream, parts.geturl()
            http.send(stream, "CONNECT", f"{host}:{port}", [("Host", f"{host}:{port}"), *lines])
            answer = http.read_head(stream)
            if answer.status != 200:
                stream.close()
                raise CurlError(errors.RECV_ERROR, answer.reason)
        return (self._secure(place, stream, host) if parts.scheme == "https" else stream), path

    def _secure(self, place: RegistryEndpoint, stream: Stream, host: str) -> Stream:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if place.skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            roots = [self._machine.files.read_text(path) for path in place.ca if self._machine.files.is_file(path)]
            roots = roots if place.ca else certificate_store.pem(self._machine, "Root")
            if roots:
                context.load_verify_locations(cadata="\n".join(roots))
        clock.leave_time_to_us(context)
        try:
            stream.socket.settimeout(10)
            connection = context.wrap_socket(stream.socket, server_hostname=host)
        except OSError as error:
            stream.close()
            raise CurlError(errors.SSL_CONNECT_ERROR, _tls_text(error, host)) from error
        shown, moment = clock.of_peer(connection), self._machine.clock.now()
        if not place.skip_verify and shown and not clock.is_valid(shown, moment):
            connection.close()
            raise CurlError(errors.SSL_CONNECT_ERROR, clock.go_text(shown, moment))
        return Stream(connection, stream.limits)

    def _proxy(self, scheme: str, host: str) -> str:
        """Return the proxy for a host by the rules of Go's ProxyFromEnvironment, or an empty string if none applies."""
        proxy = self._environment.get(f"{scheme}_proxy", "")
        if not proxy or host == "localhost" or host.startswith("127."):
            return ""
        for entry in self._environment.get("no_proxy", "").split(","):
            name = entry.strip().casefold().partition(":")[0]
            if name == "*" or (
                name and (host.casefold() == name.lstrip(".") or host.casefold().endswith("." + name.lstrip(".")))
            ):
                return ""
        return proxy


def insecure(places: list[RegistryEndpoint]) -> list[RegistryEndpoint]:
    """Return copies of endpoints, with certificate verification turned off (`--skip-verify`)."""
    return [replace(place, skip_verify=True) for place in places]


def _basic(user: str) -> str:
    return "Basic " + base64.b64encode((user if ":" in user else user + ":").encode()).decode()


def request_url(place: RegistryEndpoint, path: str) -> str:
    """Return the URL for a path. The path has one of the forms that `RegistryClient.ask` accepts."""
    base = place.url if place.override_path else _with_v2(place.url)
    return path if "://" in path else urljoin(base, path) if path.startswith("/") else f"{base}/{path}"


def _with_v2(url: str) -> str:
    return url if url.rstrip("/").endswith("/v2") else f"{url.rstrip('/')}/v2"


def _tls_text(error: OSError, host: str) -> str:
    """Return Go's message for a failed TLS connection."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = "certificate signed by unknown authority"
        if error.verify_code in (62, 64):
            reason = f"certificate is not valid for any names, but wanted to match {host}"
        return f"tls: failed to verify certificate: x509: {reason}"
    if "WRONG_VERSION_NUMBER" in str(error):
        return "http: server gave HTTP response to HTTPS client"
    return "EOF" if isinstance(error, ConnectionResetError) or "EOF" in str(error) else f"tls: {error}"


def _network_text(error: CurlError, parts: SplitResult) -> str:
    port = parts.port or (443 if parts.scheme == "https" else 80)
    match error.code:
        case errors.COULDNT_RESOLVE_HOST:
            return f"dial tcp: lookup {parts.hostname}: no such host"
        case errors.COULDNT_RESOLVE_PROXY:
            return "proxyconnect tcp: dial tcp: lookup of the proxy: no such host"
        case errors.COULDNT_CONNECT if error.refused:
            message = "connectex: No connection could be made because the target machine actively refused it."
            return f"dial tcp {parts.hostname}:{port}: {message}"
        case errors.COULDNT_CONNECT | errors.OPERATION_TIMEDOUT:
            return f"dial tcp {parts.hostname}:{port}: i/o timeout"
        case errors.UNSUPPORTED_PROTOCOL:
            return "net/http: HTTP/1.x transport connection broken: malformed HTTP response"
        case errors.RECV_ERROR if "reset" in error.message:
            return "wsarecv: An existing connection was forcibly closed by the remote host."
        case _:
            return error.message
