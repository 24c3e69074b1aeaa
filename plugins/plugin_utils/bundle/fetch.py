# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Download files on the controller: stream them, resume and retry interrupted downloads, and verify the results.

The messages of this module's exceptions never contain a query, a user or a header.
"""

from __future__ import annotations

import collections.abc as c
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import re
import tempfile
import threading
import time
import typing as t
import urllib.parse

from .index import BundleError, bare
from .routes import bypasses, is_inside, origin

try:
    import requests
    import urllib3
except ImportError as error:
    _MISSING: ImportError | None = error
else:
    _MISSING = None

_BLOCK = 1024 * 1024
_TIMEOUT = (30.0, 60.0)
"""Time limits in seconds for connecting, and between two blocks of a response."""
_REDIRECTS = 10
_PROGRESS_INTERVAL = 10.0
"""Seconds between two progress lines of a download."""
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
_BACKOFF = 1.0
"""The pauses between attempts are 0, then 2, 4, 8, … times this many seconds (urllib3.util.Retry)."""
_LONGEST_PAUSE = 120.0
"""Longest pause in seconds, even if a server asks for a longer one."""
_SMALL = 4 * 1024 * 1024
"""Maximum size of a document that is read into memory (checksum file, manifest, token), in bytes."""
_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)


_T = t.TypeVar("_T")


class FetchError(BundleError):
    """A source did not deliver a file or document."""

    def __init__(self, url: str, why: str, status: int = 0, challenge: str = "") -> None:
        super().__init__(f"{bare(url)}: {why}")
        self.status = status
        """HTTP status if an error status is the reason, or 0 for other reasons, such as no response or wrong content.
        registry.py uses 403 if it cannot authenticate."""
        self.challenge = challenge
        """The authentication that the server requires (WWW-Authenticate)."""


class ContentError(FetchError):
    """The content is wrong. Downloading the whole file again may help, but resuming the download cannot help."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FetchSource:
    """A URL from which a file can be downloaded, and how. `url`, `headers` and `proxy` may contain secrets."""

    url: str = dataclasses.field(repr=False)
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    proxy: str | None = dataclasses.field(default=None, repr=False)
    """URL of the proxy, None for the proxy in the controller's environment, or an empty string for no proxy."""
    no_proxy: tuple[str, ...] = ()
    """Hosts, domains and networks for which the proxy is not used."""
    ca: str = ""
    """CA certificates in PEM, or the path of their file. If it is empty, the certificates in REQUESTS_CA_BUNDLE or
    CURL_CA_BUNDLE are trusted, or else those that the `requests` library trusts by default."""
    verify: bool = True
    inside: frozenset[str] | None = None
    """For a URL from an untrusted document: hosts to allow although they are not public. None allows all hosts."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checksum:
    """The checksum that a file must have."""

    algorithm: t.Literal["SHA256", "SHA512"]
    digest: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fetched:
    """Checksum and size of a downloaded file."""

    sha256: str
    size: int


class Fetcher:
    """A downloader of files, which several threads can use at the same time.

    Args:
        attempts: number of attempts for each source.
        notify: a function that prints a line of progress during a long download.
        sleep: replaces time.sleep in tests.
        clock: replaces time.monotonic in tests.
    """

    def __init__(
        self,
        *,
        attempts: int = 5,
        notify: t.Callable[[str], None] | None = None,
        sleep: t.Callable[[float], None] = time.sleep,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        if _MISSING is not None:
            raise BundleError(
                "building a bundle requires Python's requests library. Install the packages in requirements.txt"
            ) from _MISSING
        self._attempts = attempts
        self._notify = notify
        self._sleep, self._clock = sleep, clock
        self._authorities = _Authorities()
        self.bytes = 0
        """Number of downloaded bytes (bodies only); approximate, because several threads add to it at the same time."""

    def document(self, source: FetchSource, limit: int = _SMALL) -> tuple[bytes, c.Mapping[str, str]]:
        """Download a small document, and return it with the headers of the response.

        Raises:
            FetchError: the download failed.
        """

        def once() -> tuple[bytes, c.Mapping[str, str]]:
            with self._ask(source, {}) as answer:
                content = bytearray()
                for block in self._blocks(source, answer, 64 * 1024):
                    content += block
                    if len(content) > limit:
                        raise ContentError(source.url, f"expected at most {limit} bytes, got more")
                return bytes(content), dict(answer.headers)

        return self._with_retries(once)

    def file(self, source: FetchSource, target: pathlib.Path, checksum: Checksum | None = None) -> Fetched:
        """Download a file. The unfinished download of an earlier call is resumed if a checksum can verify the result.

        Args:
            source: the source of the file.
            target: path of the file. An interrupted download stays there; wrong content is removed.
            checksum: expected checksum, or None to accept anything except an empty file and an HTML page.

        Raises:
            FetchError: the download failed, or the content is wrong.
            BundleError: the file cannot be written.
        """
        if checksum is None:
            target.unlink(missing_ok=True)
        if target.exists() and target.stat().st_size > 0:
            # The unfinished download may belong to an earlier version of the file. Then all of it is downloaded.
            with contextlib.suppress(ContentError):
                return self._whole(source, target, checksum)
        return self._whole(source, target, checksum)

    def _whole(self, source: FetchSource, target: pathlib.Path, checksum: Checksum | None) -> Fetched:
        tag: list[str] = []
        try:
            self._with_retries(lambda: self._more(source, target, tag))
            return self._checked(source, target, checksum)
        except ContentError:
            target.unlink(missing_ok=True)
            raise
        except OSError as error:
            # The source is not the cause; the disk may be full, for example.
            raise BundleError(f"{target.parent}: {error.strerror or error}") from error

    def _more(self, source: FetchSource, target: pathlib.Path, tag: list[str]) -> None:
        """Make one attempt to download a file, and continue where the unfinished download ends.

        Args:
            source: the source of the file.
            target: the unfinished download.
            tag: a list with the ETag of the previous attempt's response, if any. This attempt updates the list. If the
                file has a different ETag now, the server sends the whole file.
        """
        have = target.stat().st_size if target.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and tag and not tag[0].startswith("W/"):
            headers["If-Range"] = tag[0]
        with self._ask(source, headers) as answer:
            if answer.status_code == 416:
                return
            going_on = answer.status_code == 206 and _starts_at(answer.headers.get("Content-Range"), have)
            if answer.status_code == 206 and not going_on:
                raise FetchError(source.url, "the server sent a different range from the requested one")
            tag[:] = [value for value in (answer.headers.get("ETag"),) if value]
            have = have if going_on else 0
            length = answer.headers.get("Content-Length", "")
            total = have + int(length) if length.isdecimal() else 0
            reported = self._clock()
            with target.open("ab" if going_on else "wb") as file:
                for block in self._blocks(source, answer, _BLOCK):
                    file.write(block)
                    have += len(block)
                    if self._clock() - reported > _PROGRESS_INTERVAL:
                        reported = self._clock()
                        self._report_progress(source.url, have, total)
                file.flush()
                os.fsync(file.fileno())

    def _report_progress(self, url: str, have: int, total: int) -> None:
        if self._notify is not None:
            of = f" of {total / 1e6:.0f}" if total else ""
            self._notify(f"bundle: {bare(url)}: {have / 1e6:.0f}{of} MB")

    def _checked(self, source: FetchSource, target: pathlib.Path, checksum: Checksum | None) -> Fetched:
        sums = {"SHA256": hashlib.sha256(), "SHA512": hashlib.sha512()}
        with target.open("rb") as file:
            first = file.read(512)
            file.seek(0)
            while block := file.read(_BLOCK):
                for one in sums.values():
                    one.update(block)
            size = file.tell()
        if checksum is not None and sums[checksum.algorithm].hexdigest() != checksum.digest.lower():
            page = " (an HTML page)" if _PAGE.match(first) else ""
            actual = sums[checksum.algorithm].hexdigest()
            raise ContentError(source.url, f"expected {checksum.algorithm} {checksum.digest}, got {actual}{page}")
        if checksum is None and (not size or _PAGE.match(first)):
            raise ContentError(source.url, f"expected a file, got an {'HTML page' if size else 'empty response'}")
        return Fetched(sha256=sums["SHA256"].hexdigest(), size=size)

    def _with_retries(self, attempt: t.Callable[[], _T]) -> _T:
        """Call a function that makes one attempt, and call it again after temporary failures.

        urllib3 itself would repeat a request, but not resume a download in the middle of its body. So this loop takes
        only the policy (Retry) from urllib3.
        """
        retries = urllib3.Retry(self._attempts - 1, backoff_factor=_BACKOFF)
        while True:
            try:
                return attempt()
            except _RetryableError as problem:
                try:
                    retries = retries.increment("GET", problem.url, error=problem)
                except urllib3.exceptions.MaxRetryError:
                    raise FetchError(
                        problem.url, f"{problem.why} (attempts: {self._attempts})", problem.status
                    ) from None
                asked = retry_after(problem.retry_after)
                self._sleep(retries.get_backoff_time() if asked is None else asked)

    @contextlib.contextmanager
    def _ask(self, source: FetchSource, headers: t.Mapping[str, str]) -> t.Iterator[requests.Response]:
        """Send a request, and follow redirects. Servers of other origins do not get the source's headers."""
        url, own = source.url, dict(source.headers)
        with requests.Session() as session:
            session.trust_env = source.proxy is None
            # Without this, requests would read a password from .netrc.
            session.auth = lambda request: request
            for dummy in range(_REDIRECTS + 1):
                if source.inside is not None and is_inside(url, source.inside):
                    raise FetchError(source.url, "it leads to an address that is not public")
                answer = self._send(session, source, url, {**own, **headers})
                target = answer.headers.get("Location") if answer.is_redirect else None
                if target is None:
                    break
                answer.close()
                followed = urllib.parse.urljoin(url, target)
                if not followed.startswith(("http://", "https://")):
                    raise FetchError(source.url, "the server redirects to a URL that is neither http nor https")
                if url.startswith("https://") and not followed.startswith("https://"):
                    raise FetchError(source.url, "the server redirects from HTTPS to plain HTTP")
                if origin(followed) != origin(url):
                    own = {}
                url = followed
            else:
                raise FetchError(source.url, f"it redirects more than {_REDIRECTS} times")
            with answer:
                _refuse(source.url, answer)
                yield answer

    def _send(
        self, session: requests.Session, source: FetchSource, url: str, headers: t.Mapping[str, str]
    ) -> requests.Response:
        proxies = {}
        if source.proxy and not bypasses(url, source.no_proxy):
            through = source.proxy if "://" in source.proxy else f"http://{source.proxy}"
            proxies = {"http": through, "https": through}
        sent = {"Accept-Encoding": "identity", "User-Agent": "winkube.node", **headers}
        trusted = self._authorities.of(source)
        try:
            return session.get(
                url,
                headers=sent,
                proxies=proxies,
                timeout=_TIMEOUT,
                stream=True,
                verify=trusted,
                allow_redirects=False,
            )
        except (requests.RequestException, OSError, ValueError) as error:
            raise _problem(source.url, error) from None

    def _blocks(self, source: FetchSource, answer: requests.Response, size: int) -> t.Iterator[bytes]:
        """Yield the blocks of a response's complete body, without decompressing it."""
        length = answer.headers.get("Content-Length", "")
        left = int(length) if length.isdecimal() else None
        try:
            for block in answer.raw.stream(size, decode_content=False):
                self.bytes += len(block)
                left = None if left is None else left - len(block)
                yield block
        except Exception as error:
            # urllib3 and sockets raise exceptions of different classes.
            raise _problem(source.url, error) from None
        if left:
            raise _RetryableError(source.url, "the connection broke")


class _Authorities:
    """CA certificates as files, because the `requests` library accepts only paths."""

    def __init__(self) -> None:
        self._files: dict[str, t.IO[bytes]] = {}
        self._lock = threading.Lock()

    def of(self, source: FetchSource) -> bool | str:
        """Return True, False or the path of CA certificates, for the `verify` option of `requests`."""
        if not source.verify:
            return False
        if "-----BEGIN" not in source.ca:
            return source.ca or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
        with self._lock:
            if source.ca not in self._files:
                # Python removes the file together with this object.
                file = tempfile.NamedTemporaryFile(prefix="winkube-ca-")  # noqa: SIM115
                file.write(source.ca.encode())
                file.flush()
                self._files[source.ca] = file
            return self._files[source.ca].name


class _RetryableError(Exception):
    """An attempt failed, but a retry may succeed."""

    def __init__(self, url: str, why: str, status: int = 0, retry_after: str = "") -> None:
        super().__init__(why)
        self.url, self.why, self.status, self.retry_after = url, why, status, retry_after


def _refuse(url: str, answer: requests.Response) -> None:
    """Raise an exception for an error response, except for status 416 (nothing is left to download)."""
    status = answer.status_code
    if status in (200, 206, 416):
        return
    why = f"HTTP {status} {answer.reason or ''}".strip()
    if status in _RETRYABLE:
        raise _RetryableError(url, why, status, answer.headers.get("Retry-After", ""))
    raise FetchError(url, why, status, answer.headers.get("WWW-Authenticate", ""))


def retry_after(value: str) -> float | None:
    """Return a Retry-After header's seconds (RFC 9110, 10.2.3), up to a limit, or None if the header is invalid."""
    try:
        return min(float(urllib3.Retry().parse_retry_after(value)), _LONGEST_PAUSE)
    except (urllib3.exceptions.InvalidHeader, ValueError, OverflowError):
        return None


def _starts_at(header: str | None, offset: int) -> bool:
    match = re.fullmatch(r"bytes (\d+)-\d+/(?:\d+|\*)", (header or "").strip(), re.ASCII)
    return match is not None and int(match[1]) == offset


def _problem(url: str, error: Exception) -> Exception:
    """Return an exception without secrets in place of an error of `requests` or urllib3 that may contain secrets."""
    text = str(error)
    if match := re.search(r"certificate verify failed: ([^(\[\]\"']+)", text):
        return FetchError(url, f"its certificate is not accepted: {match[1].strip()}")
    if isinstance(error, requests.exceptions.SSLError):
        return FetchError(url, "the TLS handshake failed")
    if isinstance(error, requests.exceptions.ProxyError):
        refused = re.search(r"Tunnel connection failed: (\d{3})", text)
        return _RetryableError(url, f"the proxy {f'refused the connection ({refused[1]})' if refused else 'failed'}")
    if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema, ValueError)):
        return FetchError(url, "it is not a valid URL")
    if isinstance(error, (requests.Timeout, TimeoutError)) or "timed out" in text.lower():
        return _RetryableError(url, "the server did not answer in time")
    if "Name or service not known" in text or "name resolution" in text:
        return _RetryableError(url, "the name of the host cannot be resolved")
    if "refused" in text:
        return _RetryableError(url, "the server refused the connection")
    return _RetryableError(url, "the connection broke")
