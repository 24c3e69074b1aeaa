# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloads by Windows' own curl.exe: URL, proxy and headers travel on standard input, no process list shows them.

Private to the collection. Windows Server 2019 may have curl 7.55 (2017), so only options that it knows are used.
"""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ..calls import Call

SCHEMES = ("http", "https", "file")
_REPLACED = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Route:
    """How a node reaches the sources."""

    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignore_revocation: bool = False

    @property
    def secret(self) -> bool:
        return bool(self.headers) or (self.proxy is not None and carries_secret(self.proxy))


def download(
    call_id: str,
    url: str,
    output: str,
    route: Route,
    *,
    timeout: float,
    needs: tuple[str, ...] = (),
    on_error: t.Literal["stop", "continue"] = "stop",
    secret: bool = False,
) -> Call:
    """The call that fetches a URL into a file, going on where an earlier attempt broke off.

    curl itself repeats what servers call transient (408, 429, 5xx) and refused connections; a transfer that breaks in
    the middle is continued by the call's own retries.
    """
    options: list[tuple[str, str | None]] = [
        ("url", url),
        ("output", output),
        ("create-dirs", None),
        ("continue-at", "-"),
        ("fail", None),
        ("location", None),
        ("silent", None),
        ("show-error", None),
        ("connect-timeout", "30"),
        # Less than 1 KB/s for a minute is a dead link.
        ("speed-limit", "1024"),
        ("speed-time", "60"),
        ("retry", "2"),
        ("retry-connrefused", None),
    ]
    if route.proxy:
        options.append(("proxy", route.proxy))
    if route.no_proxy:
        options.append(("noproxy", ",".join(route.no_proxy)))
    if route.ignore_revocation:
        options.append(("ssl-no-revoke", None))
    options += [("header", f"{name}: {value}") for name, value in route.headers.items()]
    return Call(
        id=call_id,
        command="curl.exe",
        # First of all no .curlrc of the account.
        arguments=("--disable", "--config", "-"),
        stdin="".join(f"{line(name, value)}\n" for name, value in options),
        retries=2,
        delay=2,
        timeout=timeout,
        needs=needs,
        on_error=on_error,
        secret=secret or route.secret or carries_secret(url),
        long=True,
    )


def line(name: str, value: str | None) -> str:
    """One line of a configuration file for curl."""
    if value is None:
        return name
    return f'{name} = "{"".join(_REPLACED.get(letter, letter) for letter in value)}"'


def carries_secret(url: str) -> bool:
    """Whether a URL carries credentials: a user, or a query (signatures live there)."""
    authority, dummy, rest = url.partition("://")[2].partition("/") if "://" in url else url.partition("/")
    return "@" in authority or "?" in authority or "?" in rest


def redacted(url: str) -> str:
    """A URL as it may be shown: without user, query and fragment."""
    bare = url.split("?", 1)[0].split("#", 1)[0]
    scheme, separator, rest = bare.partition("://") if "://" in bare else ("", "", bare)
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


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
