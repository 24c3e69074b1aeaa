# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Web requests as .NET Framework's HttpWebRequest sends them, with Schannel and redirects.

The default proxy is that of Internet Options; environment variables have no effect. Revocation is not checked by
default (ServicePointManager.CheckCertificateRevocationList).

Sources: https://learn.microsoft.com/dotnet/api/system.net.webrequest.defaultwebproxy and
https://learn.microsoft.com/troubleshoot/developer/browsers/connectivity-navigation/use-registry-keys-configure-proxy
"""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from simulator.machine.objects import Invocation
from simulator.windows.curl import errors, http
from simulator.windows.curl.errors import CurlError
from simulator.windows.curl.http import Head
from simulator.windows.curl.options import OperationOptions
from simulator.windows.curl.proxies import basic
from simulator.windows.curl.request import CurlRequest, open_stream, target_of
from simulator.windows.curl.wire import Limits

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

INTERNET_SETTINGS = r"HKCU:\SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings"
_REDIRECTS = (301, 302, 303, 307, 308)
_TRUST = "The underlying connection was closed: Could not establish trust relationship for the SSL/TLS secure channel."
_CLOSED = "The underlying connection was closed: An unexpected error occurred on a receive."
# curl's codes for rejected certificates.
_CERTIFICATE = (errors.SSL_CONNECT_ERROR, errors.PEER_FAILED_VERIFICATION, errors.SSL_CACERT_BADFILE)


class WebError(Exception):
    """.NET's System.Net.WebException. `status` is the status code of the response, or 0 if there was no response."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Options:
    """The options of a request.

    Args:
        timeout: the time limit in seconds.
        validate: whether to check certificates.
        proxy: the URL of a proxy; empty for no proxy; None for the proxy of Internet Options.
        user, password: the credentials for basic authentication. They are sent if the server requests them, or always
            with `force_basic`.
        redirections: the maximum number of redirects to follow. With 0, a redirect is returned as the response.
    """

    method: str = "GET"
    timeout: float = 30
    validate: bool = True
    proxy: str | None = None
    user: str = ""
    password: str = ""
    force_basic: bool = False
    agent: str = ""
    redirections: int = 50
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WebResponse:
    """The head and the body of an HTTP response."""

    head: Head
    body: bytes


def fetch(machine: Machine, url: str, options: Options, stop: threading.Event) -> WebResponse:
    """Request a URL.

    Raises:
        WebError: the request fails.
        ProcessEndedError: the simulated process was stopped.
    """
    authorized = bool(options.user) and options.force_basic
    first = urlsplit(url)
    current, redirections = first, 0
    while True:
        if current.scheme not in ("http", "https"):
            raise WebError("The URI prefix is not recognized.")
        answer = _once(machine, current, options, stop, authorized=authorized and current.netloc == first.netloc)
        status = answer.head.status
        if status == 401 and options.user and not authorized:
            authorized = True
        elif status in _REDIRECTS and answer.head.get("Location") and options.redirections:
            redirections += 1
            if redirections > options.redirections:
                raise WebError("Too many automatic redirections were attempted.", status)
            current = urlsplit(urljoin(current.geturl(), answer.head.get("Location")))
        elif status >= 400:
            raise WebError(f"The remote server returned an error: ({status}) {answer.head.reason}.", status)
        else:
            return answer


def _once(
    machine: Machine, url: SplitResult, options: Options, stop: threading.Event, *, authorized: bool
) -> WebResponse:
    config = OperationOptions(flags={"ssl-no-revoke": True, "insecure": not options.validate})
    config.values |= _proxy(machine, url, options.proxy)
    limits = Limits(stop, max_time=options.timeout, connect_timeout=options.timeout)
    request = CurlRequest(url, options.method, b"", 0, trusted=True)
    try:
        stream, proxy = open_stream(machine, Invocation([], stop=stop), request, config, limits, (8, 9))
        try:
            port = f":{url.port}" if url.port else ""
            headers = {"Host": f"{url.hostname}{port}", **options.headers, "Connection": "Keep-Alive"}
            headers |= {"User-Agent": options.agent} if options.agent else {}
            headers |= {"Authorization": basic(f"{options.user}:{options.password}")} if authorized else {}
            http.send(stream, options.method, target_of(url, proxy), list(headers.items()))
            head = http.read_head(stream)
            return WebResponse(head, b"".join(http.body(stream, head, options.method)))
        finally:
            stream.close()
    except CurlError as error:
        raise WebError(_message(error, url, config)) from None


def _proxy(machine: Machine, url: SplitResult, given: str | None) -> dict[str, str]:
    """Return the curl options that select the proxy of a request."""
    if given is None:
        given = _of_internet_options(machine, url)
    return {"proxy": given} if given else {"noproxy": "*"}


def _of_internet_options(machine: Machine, url: SplitResult) -> str:
    data, host = machine.registry.data, url.hostname or ""
    if data(INTERNET_SETTINGS, "ProxyEnable") != 1:
        return ""
    for entry in str(data(INTERNET_SETTINGS, "ProxyOverride", "")).split(";"):
        local = entry.casefold() == "<local>" and "." not in host
        if local or (entry and fnmatch.fnmatch(host.casefold(), entry.strip().casefold())):
            return ""
    # The value is one server for all protocols, or `http=HOST:PORT;https=HOST:PORT`.
    server = str(data(INTERNET_SETTINGS, "ProxyServer", ""))
    pairs = dict(pair.split("=", 1) for pair in server.split(";") if "=" in pair)
    found = pairs.get(url.scheme, "") if pairs else server
    return found if "://" in found or not found else f"http://{found}"


def _message(error: CurlError, url: SplitResult, config: OperationOptions) -> str:
    if error.code == errors.COULDNT_RESOLVE_HOST:
        return f"The remote name could not be resolved: '{url.hostname}'"
    if error.code == errors.COULDNT_RESOLVE_PROXY:
        return f"The remote name could not be resolved: '{urlsplit(config.values['proxy']).hostname}'"
    if error.code == errors.COULDNT_CONNECT:
        return "Unable to connect to the remote server"
    if error.code == errors.OPERATION_TIMEDOUT:
        return "The operation has timed out"
    return _TRUST if error.code in _CERTIFICATE else _CLOSED
