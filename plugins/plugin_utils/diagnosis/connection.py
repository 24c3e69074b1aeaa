# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether a node reaches the API server by name, directly, and through the kubelet's proxy (no I/O)."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads.curl import line
from ..downloads.curl_errors import describe_curl_error
from ..node_config.kubelet_kubeconfig import KubeletKubeconfig
from ..wire.calls import query
from ..wire.messages import Call, CallResult
from .proxies import proxy_for

_LIMIT = 15
"""Time limit of a request in seconds."""
_PAUSE = 3.0
"""Pause in seconds before a failed request is repeated."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApiConnection:
    """The results of a node's attempts to connect to the API server."""

    asked: bool = False
    """Whether connections were attempted. The other fields are valid only then."""
    resolution_problem: str = ""
    """Why the API server's name cannot be resolved, or an empty string if it was resolved or the URL contains an IP
    address."""
    direct_problem: str = ""
    """Why a direct connection failed, or an empty string if the API server responded."""
    proxy: str = ""
    """URL (without credentials) of the kubelet's proxy for the API server, or an empty string if there is no proxy."""
    proxy_problem: str = ""
    """Why a connection through the proxy failed, or an empty string if it succeeded or there is no proxy."""


def calls(kubeconfig: KubeletKubeconfig, environment: t.Mapping[str, str]) -> tuple[Call, ...]:
    """Return the calls that try to reach the API server.

    Any HTTP response counts as success. Certificates are not verified, because Windows' curl does not trust the
    cluster's CA. The API server gets no credentials.

    Args:
        kubeconfig: the kubelet's kubeconfig.
        environment: the kubelet's proxy variables.
    """
    host = kubeconfig.host
    if not host:
        return ()
    url = f"https://{f'[{host}]' if ':' in host else host}:{kubeconfig.port}/livez"
    proxy = proxy_for(host, kubeconfig.port, environment)
    resolve = query("resolve", "Resolve-DnsName", {"Name": host}, select=("Name",), timeout=_LIMIT)
    return (
        *(() if _is_address(host) else (resolve,)),
        _request("direct", url, ("noproxy", "*")),
        *((_request("proxied", url, ("proxy", proxy), ("noproxy", "")),) if proxy else ()),
    )


def read(
    seen: t.Mapping[str, CallResult], kubeconfig: KubeletKubeconfig, environment: t.Mapping[str, str]
) -> ApiConnection:
    """Return the outcome of a node's attempts to connect, from the results of the calls that `calls` returned.

    Args:
        seen: results of the calls, by ID.
        kubeconfig: the kubelet's kubeconfig.
        environment: the kubelet's proxy variables.
    """
    if "direct" not in seen:
        return ApiConnection()
    resolve, proxied = seen.get("resolve"), seen.get("proxied")
    proxy = proxy_for(kubeconfig.host, kubeconfig.port, environment)
    return ApiConnection(
        asked=True,
        resolution_problem=str(resolve.error) if resolve is not None and resolve.error is not None else "",
        direct_problem=_problem(seen["direct"]),
        proxy=redact_url(proxy) if proxy else "",
        proxy_problem=_problem(proxied) if proxied is not None else "",
    )


def _request(call_id: str, url: str, *options: tuple[str, str]) -> Call:
    settings: tuple[tuple[str, str | None], ...] = (
        ("url", url),
        ("silent", None),
        ("insecure", None),
        ("connect-timeout", str(_LIMIT - 5)),
        ("max-time", str(_LIMIT)),
        *options,
    )
    return query(
        call_id,
        "curl.exe",
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(*option)}\n" for option in settings),
        timeout=_LIMIT + 15,
        # A new HNS network interrupts connections for some seconds.
        retries=1,
        delay=_PAUSE,
        # The URL of a proxy may contain a password.
        private=True,
    )


def _problem(result: CallResult) -> str:
    if result.exit_code is None:
        return str(result.error or "no response")
    return "" if result.exit_code == 0 else describe_curl_error(result.exit_code)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
