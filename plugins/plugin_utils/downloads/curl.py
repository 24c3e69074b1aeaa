# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the calls with which a node downloads files with Windows' curl.exe.

curl reads the URL, proxy and headers from standard input, so that no process list shows them. Windows Server 2019 may
have curl 7.55 (2017), so newer options are used only if curl's version is known to support them.
Source: https://curl.se/docs/manpage.html ("Added in").
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
import urllib.parse

from ...module_utils.redaction.urls import carries_secret
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult

SCHEMES = ("http", "https", "file")
PARALLEL = 8
"""Default number of parallel downloads on a node."""
VERSION_CALL = query("curl", "curl.exe", arguments=("--version",), output_limit=2000)
"""The call that prints curl's version in its first line. All resources share this call. Its output limit is high,
because the node returns only the end of a longer output."""
_BETWEEN = 1
"""Pause in seconds between two attempts to download a file."""
_REPLACED = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_RATE = re.compile(r"[1-9][0-9]{0,12}[kKmMgG]?")

Version = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DownloadRoute:
    """The options with which a node connects to a source."""

    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignore_revocation: bool = False
    limit_rate: str | None = None
    """Maximum number of bytes per second in curl's notation, such as `500K`."""

    @property
    def secret(self) -> bool:
        """Whether the options contain a credential. Every header counts as a credential."""
        return bool(self.headers) or (self.proxy is not None and carries_secret(self.proxy))

    @property
    def only_credentials(self) -> bool:
        """Whether every header is Authorization or Cookie. Since version 7.83, curl sends neither to other hosts."""
        return {name.strip().lower() for name in self.headers} <= {"authorization", "cookie"}

    def follows(self, version: Version = ()) -> bool:
        """Return whether curl may follow redirects.

        A site's headers are for that site only, but curl also sends most headers to the target of a redirect. Only curl
        7.83 and later withhold Authorization and Cookie from another host, port or protocol (CVE-2018-1000007,
        CVE-2022-27774, CVE-2022-27776). Source: https://curl.se/docs/security.html
        """
        return not self.headers or (self.only_credentials and version >= (7, 83))

    def options(self, url: str, version: Version = ()) -> list[tuple[str, str | None]]:
        """Return curl's options for a URL.

        Without `proto` and `proto-redir`, curl would follow a redirect from HTTPS to HTTP or FTP. Every curl that comes
        with Windows supports both options, which curl 7.20.2 added. Source: https://curl.se/docs/manpage.html
        """
        allowed = [("proto", f"={','.join(SCHEMES)}"), ("proto-redir", f"={_redirects_to(url)}")]
        options: list[tuple[str, str | None]] = [("location", None), *allowed]
        if not self.follows(version):
            # Fail on a redirect. Otherwise curl would save the response to the first request as the file.
            options.append(("max-redirs", "0"))
        if self.proxy:
            options.append(("proxy", self.proxy))
        if self.no_proxy:
            options.append(("noproxy", ",".join(self.no_proxy)))
        if self.ignore_revocation:
            # Best effort (7.70) still uses revocation lists that can be reached.
            options.append(("ssl-revoke-best-effort" if version >= (7, 70) else "ssl-no-revoke", None))
        if self.limit_rate:
            options.append(("limit-rate", self.limit_rate))
        return options + [("header", f"{name}: {value}") for name, value in self.headers.items()]


def download(
    call_id: str,
    url: str,
    output: str,
    route: DownloadRoute,
    *,
    timeout: float,
    needs: tuple[str, ...] = (),
    unless: tuple[str, ...] = (),
    on_error: t.Literal["stop", "continue"] = "stop",
    secret: bool = False,
    resume: bool = True,
    parallel: int | None = None,
    version: Version = (),
) -> Call:
    """Return the call that downloads a URL to a file.

    curl itself retries transient statuses (408, 500, 502 to 504, and 429 since 7.67) and refused connections, after 1,
    2, 4 and 8 seconds or after the time that the server requests (Retry-After; with --fail since 7.75). The call's own
    retries resume interrupted transfers. After any other status that means an error, the call fails without a retry,
    unless curl is older than 7.67.

    Args:
        call_id: ID of the call.
        url: the URL.
        output: Windows path of the file.
        route: options for reaching the source.
        timeout: time limit of one attempt in seconds.
        needs: see `Call`.
        unless: see `Call`.
        on_error: see `Call`.
        parallel: see `Call`.
        secret: whether the output is secret. If the URL or the route contains credentials, curl prints nothing but the
            HTTP status and the content type, and the batch is hidden from all output anyway.
        resume: whether to resume an unfinished file at `output`.
        version: curl's version, if it is known.
    """
    return action(
        call_id,
        "curl.exe",
        # Ignore the account's .curlrc; this option must be the first one.
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(*option)}\n" for option in _fetching(url, output, route, resume, version)),
        retries=2,
        delay=_BETWEEN,
        # After a final refusal (22, such as a 404), use the next source without retries. Before 7.67 curl does not
        # retry a 429 itself.
        final_codes=() if version and version < (7, 67) else (22,),
        timeout=timeout,
        needs=needs,
        unless=unless,
        on_error=on_error,
        secret=secret,
        private=_guarded(url, route),
        long=True,
        parallel=parallel,
        watch=output if parallel else None,
    )


def _guarded(url: str, route: DownloadRoute) -> bool:
    return route.secret or carries_secret(url)


def _fetching(
    url: str, output: str, route: DownloadRoute, resume: bool, version: Version
) -> list[tuple[str, str | None]]:
    """Return all of curl's options for a download."""
    return [
        ("url", url),
        ("globoff", None),
        ("output", output),
        ("create-dirs", None),
        *([("continue-at", "-")] if resume else []),
        ("fail", None),
        ("silent", None),
        # curl's messages might contain the signature in the URL.
        *([] if _guarded(url, route) else [("show-error", None)]),
        ("connect-timeout", "30"),
        # Less than 1 KB/s for a minute counts as a dead connection.
        *([] if route.limit_rate else [("speed-limit", "1024"), ("speed-time", "60")]),
        ("retry", "4"),
        ("retry-connrefused", None),
        ("write-out", "%{http_code} %{content_type}"),
        *route.options(url, version),
    ]


def _redirects_to(url: str) -> str:
    """Return the protocols to which a redirect may lead. From HTTPS, it may lead only to HTTPS."""
    return "https" if is_encrypted(url) else "http,https"


def is_encrypted(url: str) -> bool:
    """Return whether a URL uses HTTPS, which prevents third parties on the network from changing the content."""
    return url.lower().startswith("https:")


def ask(call_id: str, url: str, route: DownloadRoute, *, version: Version = ()) -> Call:
    """Return the call that reads a file's size and ETag by requesting its first byte.

    The call's output contains response headers. They may contain signed URLs of redirects, so the call must be part of
    a private batch, whose output is not shown.
    """
    options: list[tuple[str, str | None]] = [
        ("url", url),
        ("globoff", None),
        ("include", None),
        ("range", "0-0"),
        # A server without support for ranges must not send the whole file.
        ("max-filesize", "1"),
        ("fail", None),
        ("silent", None),
        ("connect-timeout", "10"),
        ("max-time", "20"),
        *route.options(url, version),
    ]
    return query(
        call_id,
        "curl.exe",
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(name, value)}\n" for name, value in options),
        # 63: the file is larger than 1 byte; the headers have still been received.
        success_codes=(0, 63),
        timeout=30,
    )


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """What a server reports about a file."""

    etag: str = ""
    size: int | None = None


def offered(result: CallResult | None) -> RemoteFile | None:
    """Return a file's ETag and size from the result of `ask`, or None if the result is unusable."""
    if result is None or not result.ok:
        return None
    heads = re.split(r"(?m)^(?=HTTP/[0-9.]+ [0-9]{3})", result.stdout.replace("\r\n", "\n"))
    head = heads[-1].partition("\n\n")[0]
    if not re.match(r"HTTP/[0-9.]+ 20[06]\b", head):
        return None
    fields = {
        name.strip().lower(): value.strip()
        for name, colon, value in (text.partition(":") for text in head.splitlines()[1:])
        if colon
    }
    size = fields.get("content-range", "").rpartition("/")[2] or fields.get("content-length", "")
    return RemoteFile(etag=fields.get("etag", ""), size=int(size) if size.isascii() and size.isdigit() else None)


def read_version(result: CallResult | None) -> Version:
    """Return curl's version from the result of `VERSION_CALL`, or an empty tuple if unknown."""
    match = re.match(r"curl (\d+)\.(\d+)(?:\.(\d+))?", result.stdout if result is not None else "")
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def is_rate(text: str) -> bool:
    """Return whether a string is a transfer rate in curl's notation, such as `500K`."""
    return bool(_RATE.fullmatch(text))


def line(name: str, value: str | None) -> str:
    """Return an option of curl as a line of a curl configuration file."""
    if value is None:
        return name
    return f'{name} = "{"".join(_REPLACED.get(letter, letter) for letter in value)}"'


def is_url(text: str) -> bool:
    """Return whether a string is a URL that curl can download.

    Such a URL has the scheme http, https or file, a host (except with file), a path, and neither spaces nor control
    characters.
    """
    try:
        parts = urllib.parse.urlsplit(text)
        host = parts.hostname
    except ValueError:
        return False
    plain = all(letter.isprintable() and not letter.isspace() for letter in text)
    return plain and parts.scheme in SCHEMES and bool(host or parts.scheme == "file") and bool(parts.path)


def file_name(url: str) -> str:
    """Return the decoded file name at the end of a URL's path, or an empty string if the path ends with a slash."""
    return urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
