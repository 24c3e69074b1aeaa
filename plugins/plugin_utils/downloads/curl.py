# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloads by Windows' own curl.exe: URL, proxy and headers travel on standard input, no process list shows them.

Windows Server 2019 may have curl 7.55 (2017): what later ones can do better is asked of them
only where their version is known. Versions: https://curl.se/docs/manpage.html ("Added in").
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
import urllib.parse

from ..values.url_credentials import has_credentials, without_credentials
from ..wire.messages import Call, CallResult

SCHEMES = ("http", "https", "file")
PARALLEL = 8
"""Downloads that run side by side unless told otherwise."""
VERSION_CALL = Call(id="curl", command="curl.exe", arguments=("--version",), on_error="continue", output_limit=2000)
"""Tells curl's version, in its first line (a limit keeps the end); resources that ask it share one answer."""
_REPLACED = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_TOKEN = re.compile(r"~[A-Za-z0-9_-]{32,}(?=/|$)")
"""First part of a path that is known to those only who may ask there, as a served bundle's is."""
_RATE = re.compile(r"[1-9][0-9]{0,12}[kKmMgG]?")

Version = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DownloadRoute:
    """How a node reaches the sources."""

    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignore_revocation: bool = False
    limit_rate: str | None = None
    """Bytes a second, such as `500K`."""

    @property
    def secret(self) -> bool:
        """Whether the command line would show a credential."""
        return bool(self.headers) or (self.proxy is not None and carries_secret(self.proxy))

    @property
    def only_credentials(self) -> bool:
        """Whether all headers are of those that newer curls keep from other hosts."""
        return {name.strip().lower() for name in self.headers} <= {"authorization", "cookie"}

    def follows(self, version: Version = ()) -> bool:
        """Whether redirects are followed: a site's headers are for it alone, and curl sends most along to anybody.

        It keeps Authorization and Cookie from other hosts since 7.58 (CVE-2018-1000007), and from another port or
        protocol of the same host since 7.83 (CVE-2022-27774, CVE-2022-27776): https://curl.se/docs/security.html
        """
        return not self.headers or (self.only_credentials and version >= (7, 83))

    def options(self, url: str, version: Version = ()) -> list[tuple[str, str | None]]:
        """curl's options for it, for a URL.

        Without `proto` and `proto-redir` curl would follow a redirect from HTTPS to HTTP or FTP. Both are older than
        any curl that Windows has had (7.20.2): https://curl.se/docs/manpage.html
        """
        allowed = [("proto", f"={','.join(SCHEMES)}"), ("proto-redir", f"={_redirects_to(url)}")]
        options: list[tuple[str, str | None]] = [("location", None), *allowed]
        if not self.follows(version):
            # An error; without `location` a redirect would be taken for the file.
            options.append(("max-redirs", "0"))
        if self.proxy:
            options.append(("proxy", self.proxy))
        if self.no_proxy:
            options.append(("noproxy", ",".join(self.no_proxy)))
        if self.ignore_revocation:
            # Best effort (7.70) still heeds a list that can be reached.
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
    """The call that fetches a URL into a file, going on where an earlier attempt broke off.

    curl itself repeats what servers call transient (408, 5xx, and 429 from 7.67 on) and refused connections, after 1,
    2, 4 and 8 seconds, or when the server says (Retry-After, from 7.75 on). A transfer that breaks in the middle is
    continued by the call's own retries; other answers of a server are final.

    Args:
        call_id: its id.
        url: what to fetch.
        output: Windows path.
        route: how.
        timeout: seconds for one attempt.
        needs: as in `Call`.
        unless: as in `Call`.
        on_error: as in `Call`.
        parallel: as in `Call`.
        secret: whether the output is secret. If the URL or the route carry credentials, curl prints nothing but its
            exit code and the status of the answer, and the batch is hidden from all output anyway.
        resume: whether an unfinished file at `output` is continued.
        version: curl's version, if it is known.
    """
    return Call(
        id=call_id,
        command="curl.exe",
        # First of all no .curlrc of the account.
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(*option)}\n" for option in _fetching(url, output, route, resume, version)),
        retries=2,
        delay=1,
        # What a server refuses for good (22: a 404, say) is asked once, and then the next source. Before 7.67 curl does
        # not repeat a 429 by itself.
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
    """The options of a download."""
    return [
        ("url", url),
        ("globoff", None),
        ("output", output),
        ("create-dirs", None),
        *([("continue-at", "-")] if resume else []),
        ("fail", None),
        ("silent", None),
        # Its words might hold the signature.
        *([] if _guarded(url, route) else [("show-error", None)]),
        ("connect-timeout", "30"),
        # Less than 1 KB/s for a minute is a dead link.
        *([] if route.limit_rate else [("speed-limit", "1024"), ("speed-time", "60")]),
        ("retry", "4"),
        ("retry-connrefused", None),
        ("write-out", "%{http_code} %{content_type}"),
        *route.options(url, version),
    ]


def _redirects_to(url: str) -> str:
    """The protocols to which a redirect may lead: never from HTTPS to anything else."""
    return "https" if is_encrypted(url) else "http,https"


def is_encrypted(url: str) -> bool:
    """Whether a URL is one of HTTPS, so that nobody on the way can change what comes."""
    return url.lower().startswith("https:")


def ask(call_id: str, url: str, route: DownloadRoute, *, version: Version = ()) -> Call:
    """The call that asks for a file's size and ETag without fetching it, by a request that every server allows.

    Its output holds headers, which may hold signatures (of redirects): it belongs in a private batch.
    """
    options: list[tuple[str, str | None]] = [
        ("url", url),
        ("globoff", None),
        ("include", None),
        ("range", "0-0"),
        # A server that knows no ranges must not send all of it.
        ("max-filesize", "1"),
        ("fail", None),
        ("silent", None),
        ("connect-timeout", "10"),
        ("max-time", "20"),
        *route.options(url, version),
    ]
    return Call(
        id=call_id,
        command="curl.exe",
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(name, value)}\n" for name, value in options),
        # 63: larger than 1 byte; the headers have come all the same.
        success_codes=(0, 63),
        timeout=30,
        on_error="continue",
    )


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """What a server has, as it says."""

    etag: str = ""
    size: int | None = None


def offered(result: CallResult | None) -> RemoteFile | None:
    """What `ask` was answered; None: nothing that counts."""
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
    """The version that `VERSION_CALL` tells; empty where it is not known."""
    match = re.match(r"curl (\d+)\.(\d+)(?:\.(\d+))?", result.stdout if result is not None else "")
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def is_rate(text: str) -> bool:
    """Whether it is a rate as curl writes it."""
    return bool(_RATE.fullmatch(text))


def line(name: str, value: str | None) -> str:
    """One line of a configuration file for curl."""
    if value is None:
        return name
    return f'{name} = "{"".join(_REPLACED.get(letter, letter) for letter in value)}"'


def carries_secret(url: str) -> bool:
    """Whether a URL carries credentials: a user, a query (signatures live there), or a served bundle's token."""
    authority, dummy, rest = url.partition("://")[2].partition("/") if "://" in url else url.partition("/")
    return has_credentials(url) or "@" in authority or "?" in authority or "?" in rest or bool(_TOKEN.match(rest))


def redacted(url: str) -> str:
    """A URL as it may be shown: without user, query, fragment and the token of a served bundle."""
    # First of all the user: a password may have any of the signs that end a path.
    bare = without_credentials(url, "").split("?", 1)[0].split("#", 1)[0]
    scheme, separator, rest = bare.partition("://") if "://" in bare else ("", "", bare)
    authority, slash, path = rest.partition("/")
    token = _TOKEN.match(path)
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{'~' + path[token.end() :] if token else path}"


def is_url(text: str) -> bool:
    """Whether it is a URL that curl should fetch: of a known scheme, with a host, without blanks."""
    try:
        parts = urllib.parse.urlsplit(text)
        host = parts.hostname
    except ValueError:
        return False
    plain = all(letter.isprintable() and not letter.isspace() for letter in text)
    return plain and parts.scheme in SCHEMES and bool(host or parts.scheme == "file") and bool(parts.path)


def file_name(url: str) -> str:
    """The name of the file that a URL names."""
    return urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
