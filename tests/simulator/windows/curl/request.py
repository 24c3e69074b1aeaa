# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One HTTP request of a curl transfer: headers, the connection (proxy, tunnel, TLS), and the head of the response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote

from simulator.machine.objects import Invocation
from simulator.windows.curl import errors, http, proxies, tls
from simulator.windows.curl.errors import CurlError, Version
from simulator.windows.curl.options import OperationOptions
from simulator.windows.curl.proxies import HttpProxy, basic
from simulator.windows.curl.wire import Limits, Stream, connect

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


@dataclass(frozen=True)
class CurlRequest:
    """A request to one server.

    Args:
        url: the URL of this request. After a redirect, it differs from the URL of the first request.
        method: the HTTP method.
        body: the body to send.
        offset: the start of the requested range; 0 for the whole file.
        trusted: whether this host is the host of the first request, so that credentials may be sent to it.
    """

    url: SplitResult
    method: str
    body: bytes
    offset: int
    trusted: bool


def port_of(url: SplitResult) -> int:
    """Return the port of a URL, or the default port of the URL's scheme if the URL has no port.

    Raises:
        CurlError: exit code 3 if the port is invalid.
    """
    try:
        return url.port or {"http": 80, "https": 443}[url.scheme]
    except ValueError as error:
        raise CurlError(
            errors.URL_MALFORMAT, "URL rejected: Port number was not a decimal number between 0 and 65535"
        ) from error


def headers(
    request: CurlRequest, config: OperationOptions, version: Version, proxy: HttpProxy | None, etag: str | None = None
) -> list[tuple[str, str]]:
    """Return the headers of a request, starting with those that curl adds. `-H Name:` removes a header.

    Args:
        etag: the value for --etag-compare.
    """
    url = request.url
    port = f":{url.port}" if url.port else ""
    own = {"Host": f"{url.hostname}{port}"}
    if proxy and url.scheme == "http" and proxy.authorization:
        own["Proxy-Authorization"] = proxy.authorization
    user = config.values.get("user") or (_url_user(url) if url.username else "")
    if user and (request.trusted or config.flag("location-trusted")):
        own["Authorization"] = basic(user)
    elif "oauth2-bearer" in config.values and request.trusted:
        own["Authorization"] = f"Bearer {config.values['oauth2-bearer']}"
    if config.values.get("range") or request.offset:
        own["Range"] = f"bytes={config.values.get('range') or f'{request.offset}-'}"
    own["User-Agent"] = config.values.get("user-agent", "curl/" + ".".join(map(str, version)))
    own["Accept"] = "*/*"
    if etag is not None:
        own["If-None-Match"] = etag
    if "referer" in config.values:
        own["Referer"] = config.values["referer"]
    if proxy and url.scheme == "http":
        own["Proxy-Connection"] = "Keep-Alive"
    if request.body:
        own |= {"Content-Length": str(len(request.body)), "Content-Type": "application/x-www-form-urlencoded"}
    for line in config.headers:
        name, colon, value = line.partition(":")
        if not colon:
            name, value = line.partition(";")[0], ""
        known = next((key for key in own if key.casefold() == name.strip().casefold()), name.strip())
        own.pop(known, None)
        # Before 7.58, headers from the command line were also sent to other hosts (CVE-2018-1000007).
        private = known.casefold() in ("authorization", "cookie") and version >= (7, 58)
        if (value.strip() or not colon) and (request.trusted or not private):
            own[known] = value.strip()
    return list(own.items())


def _url_user(url: SplitResult) -> str:
    return f"{unquote(url.username or '')}:{unquote(url.password or '')}"


def _tunnel(stream: Stream, request: CurlRequest, proxy: HttpProxy, config: OperationOptions, version: Version) -> None:
    """Open a tunnel through a proxy.

    Raises:
        CurlError: the proxy refuses (exit code 56), or sends no valid response.
        ProcessEndedError: the simulated process was stopped.
    """
    target = f"{request.url.hostname}:{port_of(request.url)}"
    lines = [
        ("Host", target),
        ("User-Agent", "curl/" + ".".join(map(str, version))),
        ("Proxy-Connection", "Keep-Alive"),
    ]
    if proxy.authorization:
        lines.append(("Proxy-Authorization", proxy.authorization))
    lines += [(name, value.strip()) for name, _, value in (line.partition(":") for line in config.proxy_headers)]
    http.send(stream, "CONNECT", target, lines)
    head = http.read_head(stream)
    if head.status != 200:
        old = f"Received HTTP code {head.status} from proxy after CONNECT"
        modern = f"CONNECT tunnel failed, response {head.status}"
        raise CurlError(errors.RECV_ERROR, modern if version >= (7, 86) else old)


def open_stream(
    machine: Machine, run: Invocation, request: CurlRequest, config: OperationOptions, limits: Limits, version: Version
) -> tuple[Stream, HttpProxy | None]:
    """Connect to the server of a request, directly or through a proxy.

    Returns:
        The connection, and the proxy to which to send the request, or None if the request goes directly to the
        server or through a tunnel.
    """
    url = request.url
    modern = version >= (7, 86)
    proxy = proxies.choose(url, config, run, version)
    host, port = _resolved(url.hostname or "", port_of(url), config)
    if proxy:
        host, port = proxy.host, proxy.port
    stream = connect(machine, host, port, limits, proxy=proxy is not None, modern=modern)
    try:
        if proxy and (url.scheme == "https" or config.flag("proxytunnel")):
            _tunnel(stream, request, proxy, config, version)
            proxy = None
        if url.scheme == "https":
            stream = tls.secure(machine, stream, url.hostname or "", config, version)
    except BaseException:
        stream.close()
        raise
    return stream, proxy


def _resolved(host: str, port: int, config: OperationOptions) -> tuple[str, int]:
    for entry in config.resolve:
        name, requested, address = [*entry.lstrip("+").split(":", 2), "", ""][:3]
        if name.casefold() in (host.casefold(), "*") and requested == str(port):
            return address.split(",")[0].strip("[]"), port
    return host, port


def target_of(url: SplitResult, proxy: HttpProxy | None) -> str:
    """Return the target for the request line: a path, or the whole URL if the request is sent to a proxy."""
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    if proxy is None:
        return path
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.hostname}{port}{path}"
