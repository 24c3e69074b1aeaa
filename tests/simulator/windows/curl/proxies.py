# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How curl chooses the proxy for a URL.

Source: ENVIRONMENT, --proxy and --noproxy in https://curl.se/docs/manpage.html
"""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from simulator.machine.objects import Invocation
from simulator.windows.curl import errors
from simulator.windows.curl.errors import CurlError, Version
from simulator.windows.curl.options import OperationOptions


@dataclass(frozen=True)
class HttpProxy:
    """An HTTP proxy, and the authorization header that the proxy needs, if any."""

    host: str
    port: int
    authorization: str = ""


def basic(user: str) -> str:
    """Return the value of the header for basic authentication with `user:password`."""
    return "Basic " + base64.b64encode((user if ":" in user else user + ":").encode()).decode()


def choose(url: SplitResult, config: OperationOptions, run: Invocation, version: Version) -> HttpProxy | None:
    """Return the proxy for a URL, or None for a direct connection.

    Raises:
        CurlError: the type of the proxy is not modelled, or the proxy's URL is invalid.
    """
    given = config.values.get("proxy")
    # Windows' environment variables are case-insensitive, so http_proxy may be HTTP_PROXY there.
    text = given if given is not None else run.variable(f"{url.scheme}_proxy") or run.variable("ALL_PROXY")
    exceptions = config.values.get("noproxy", run.variable("NO_PROXY"))
    if not text or excepted(url.hostname or "", exceptions, version):
        return None
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme != "http":
        raise CurlError(7, f"the simulator does not model {parts.scheme} proxies")
    if not parts.hostname:
        raise CurlError(errors.COULDNT_RESOLVE_PROXY, f"Unsupported proxy syntax in '{text}'")
    user = config.values.get("proxy-user") or _user(parts)
    return HttpProxy(parts.hostname, parts.port or 1080, basic(user) if user else "")


def _user(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def excepted(host: str, exceptions: str, version: Version) -> bool:
    """Return whether a host is excluded from the proxy. curl has supported CIDR blocks in --noproxy since 7.86."""
    requested = host.casefold().rstrip(".")
    for entry in exceptions.replace(",", " ").split():
        if entry == "*":
            return True
        name = entry.casefold().lstrip(".").rstrip(".")
        if requested == name or (name and requested.endswith(f".{name}") and not _is_address(requested)):
            return True
        if "/" in name and version >= (7, 86) and _is_address(requested):
            try:
                if ipaddress.ip_address(requested) in ipaddress.ip_network(name, strict=False):
                    return True
            except (ValueError, TypeError):
                continue
    return False


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
