# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The transfer of one URL: redirects, resumption, retries, and the conditions under which it fails."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from simulator.machine.objects import Invocation, ProcessEndedError
from simulator.machine.rights import check
from simulator.machine.rights.guard import AccessDeniedError
from simulator.windows.curl import errors, http
from simulator.windows.curl.errors import CurlError, Version
from simulator.windows.curl.http import Head
from simulator.windows.curl.options import OperationOptions
from simulator.windows.curl.output import TransferOutput, path_of
from simulator.windows.curl.request import CurlRequest, headers, open_stream, target_of
from simulator.windows.curl.wire import Limits

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REDIRECTS = (301, 302, 303, 307, 308)
_TRANSIENT_STATUS = (408, 429, 500, 502, 503, 504)
_TRANSIENT = (errors.OPERATION_TIMEDOUT, errors.COULDNT_RESOLVE_HOST, errors.COULDNT_RESOLVE_PROXY)
_LONGEST_DELAY = 600.0
_CHUNK = 1 << 18


@dataclass
class TransferResult:
    """The result of a transfer, with the values that --write-out can print."""

    url: str
    code: int = 0
    message: str = ""
    status: int = 0
    size: int = 0
    redirects: int = 0
    redirect_url: str = ""
    content_type: str = ""
    seconds: float = 0.0
    retries: int = 0
    path: str | None = None
    printed: bytes = b""
    head: Head | None = None
    refused: bool = False


class UrlTransfer:
    """The transfer of one URL with the options of an operation."""

    def __init__(
        self,
        machine: Machine,
        run: Invocation,
        config: OperationOptions,
        version: Version,
        url: str,
        output: str | None,
    ) -> None:
        self._machine = machine
        self._run = run
        self._config = config
        self._version = version
        self._url = url
        self._output = output
        self.warnings: list[str] = []
        self._heads = ""

    def perform(self) -> TransferResult:
        """Run the transfer, and retry it as --retry allows.

        Raises:
            CurlUsageError: no file name can be derived from the URL.
            ProcessEndedError: the simulated process was stopped.
        """
        try:
            url = _split(self._url, self._config)
            if self._config.flag("get") and self._config.data:
                url = url._replace(query="&".join([*([url.query] if url.query else []), *self._config.data]))
        except CurlError as error:
            return TransferResult(self._url, error.code, error.message)
        modern = self._version >= (8, 0)
        path = path_of(self._config, self._output, url, self._run.directory, modern=modern)
        continued = self._config.values.get("continue-at")
        output = TransferOutput(self._machine, path, self._config, append=continued is not None, modern=modern)
        offset = output.kept if continued == "-" else int(continued or 0)
        left = int(self._config.number("retry"))
        started = time.monotonic()
        tries = 0
        try:
            while True:
                outcome = self._attempt(url, output, offset)
                outcome.retries = tries
                wait = self._delay(outcome, tries)
                longest = self._config.number("retry-max-time")
                if tries >= left or wait is None or (longest and time.monotonic() - started > longest):
                    break
                self._warn_of_retry(outcome, wait, left - tries)
                tries += 1
                output.restart()
                if self._run.stop.wait(wait * self._machine.settings.time_scale):
                    raise ProcessEndedError
            if outcome.code and self._config.flag("remove-on-error"):
                output.remove()
        finally:
            output.close()
        outcome.printed = self._dump(outcome) + output.printed
        return outcome

    def _warn_of_retry(self, outcome: TransferResult, wait: float, left: int) -> None:
        why = "timeout" if outcome.code in _TRANSIENT else "connection refused" if outcome.refused else "HTTP error"
        head = f"Problem : {why}." if self._version >= (7, 71) else f"Transient problem: {why}"
        unit = "second" if wait == 1 else "seconds"
        self.warnings.append(f"{head} Will retry in {wait:g} {unit}. {left} retries left.")

    def _delay(self, outcome: TransferResult, tries: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None if the outcome is final."""
        flag = self._config.flag
        transient = (
            outcome.code in _TRANSIENT
            or (outcome.code in (0, errors.HTTP_RETURNED_ERROR) and self._transient(outcome.status))
            or (outcome.refused and flag("retry-connrefused"))
            or (outcome.code != 0 and flag("retry-all-errors"))
        )
        if not transient:
            return None
        delay = self._config.number("retry-delay") or min(2.0**tries, _LONGEST_DELAY)
        after = outcome.head.get("Retry-After") if outcome.head else ""
        # Up to 7.74, --fail ended the transfer before Retry-After was read (https://github.com/curl/curl/pull/6409).
        heeded = (7, 75) if outcome.code == errors.HTTP_RETURNED_ERROR else (7, 66)
        if after.isdigit() and self._version >= heeded:
            delay = max(delay, float(after))
        return delay

    def _transient(self, status: int) -> bool:
        """Return whether --retry repeats a request whose response has the given HTTP status.

        Status 429 has been included since curl 7.67. Source: https://github.com/curl/curl/pull/4465
        """
        return status in _TRANSIENT_STATUS and (status != 429 or self._version >= (7, 67))

    def _attempt(self, url: SplitResult, output: TransferOutput, offset: int) -> TransferResult:
        outcome = TransferResult(self._url, path=output.path)
        values = self._config
        limits = Limits(
            self._run.stop,
            values.number("max-time"),
            values.number("connect-timeout") or 300,
            values.number("speed-limit") or float(bool(values.number("speed-time"))),
            values.number("speed-time"),
            values.number("limit-rate"),
        )
        try:
            if url.scheme == "file":
                self._file(url, output, offset)
            else:
                self._follow(url, output, offset, limits, outcome)
            # If a condition is not met, no file is created, and an existing one is kept (CURLINFO_CONDITION_UNMET).
            if outcome.status != 304:
                output.finish()
        except CurlError as error:
            outcome.code, outcome.message, outcome.refused = error.code, error.message, error.refused
        outcome.size = output.written
        outcome.seconds = time.monotonic() - limits.started
        return outcome

    def _file(self, url: SplitResult, output: TransferOutput, offset: int) -> None:
        path = url.path.lstrip("/").replace("/", "\\")
        if not self._machine.files.is_file(path) or not self._readable(path):
            raise CurlError(errors.FILE_COULDNT_READ_FILE, f"Couldn't open file {url.path.lstrip('/')}")
        with self._machine.files.real(path).open("rb") as file:
            file.seek(offset)
            while data := file.read(_CHUNK):
                if self._run.stop.is_set():
                    raise ProcessEndedError
                output.write(data)

    def _readable(self, path: str) -> bool:
        try:
            self._machine.files.require(path, check.READ_DATA)
        except AccessDeniedError:
            return False
        return True

    def _follow(
        self, url: SplitResult, output: TransferOutput, offset: int, limits: Limits, outcome: TransferResult
    ) -> None:
        """Send requests until a response is not a redirect, and read the body of this response.

        Raises:
            CurlError: there are too many redirects, or a request fails.
            ProcessEndedError: the simulated process was stopped.
        """
        config = self._config
        body = "" if config.flag("get") else "&".join(config.data)
        method = config.values.get("request") or ("HEAD" if config.flag("head") else "POST" if body else "GET")
        request = CurlRequest(url, method, body.encode(), offset, True)
        most = int(config.number("max-redirs", 50))
        while True:
            following = self._one(request, output, limits, outcome)
            if following is None:
                return
            if 0 <= most <= outcome.redirects:
                raise CurlError(errors.TOO_MANY_REDIRECTS, f"Maximum ({most}) redirects followed")
            outcome.redirects += 1
            outcome.url = following.geturl()
            changes = outcome.status == 303 or (outcome.status in (301, 302) and request.method == "POST")
            keep = not changes or "request" in config.values
            same = (following.scheme, following.netloc) == (url.scheme, url.netloc)
            request = CurlRequest(
                following, request.method if keep else "GET", request.body if keep else b"", offset, same
            )

    def _one(
        self, request: CurlRequest, output: TransferOutput, limits: Limits, outcome: TransferResult
    ) -> SplitResult | None:
        """Send one request, and read the response. Return the URL of a redirect, or None if there is none to follow."""
        stream, proxy = open_stream(self._machine, self._run, request, self._config, limits, self._version)
        try:
            lines = headers(request, self._config, self._version, proxy, self._etag())
            http.send(stream, request.method, target_of(request.url, proxy), lines, request.body)
            head = http.read_head(stream)
            outcome.head, outcome.status, outcome.content_type = head, head.status, head.get("Content-Type")
            self._heads += head.text
            location = head.get("Location")
            if head.status in _REDIRECTS and location:
                outcome.redirect_url = urljoin(request.url.geturl(), location)
                if self._config.flag("location") or self._config.flag("location-trusted"):
                    return _split(outcome.redirect_url, self._config, _REDIRECTED)
            self._take(request, head, output, limits, http.body(stream, head, request.method))
        finally:
            stream.close()
        return None

    def _take(self, request: CurlRequest, head: Head, output: TransferOutput, limits: Limits, pieces: object) -> None:
        config = self._config
        complete = request.offset > 0 and head.status == 416 and request.method == "GET" and self._version >= (7, 65)
        if complete:
            return
        failed = head.status >= 400
        reason = f" {head.reason}" if self._version < (7, 76) and head.reason else ""
        error = CurlError(errors.HTTP_RETURNED_ERROR, f"The requested URL returned error: {head.status}{reason}")
        if failed and config.flag("fail"):
            raise error
        if request.offset and head.status == 200 and not failed:
            message = "HTTP server doesn't seem to support byte ranges. Cannot resume."
            raise CurlError(errors.RANGE_ERROR, message)
        most = int(config.number("max-filesize"))
        limits.expected = head.length
        if most and (head.length or 0) > most:
            raise CurlError(errors.FILESIZE_EXCEEDED, "Maximum file size exceeded")
        self._save_etag(head)
        if config.flag("include") or config.flag("head"):
            output.write(head.text.encode("latin-1"))
        for piece in pieces:  # type: ignore[attr-defined]
            limits.take(len(piece))
            output.write(piece)
        if config.flag("remote-time"):
            self._date(head, output)
        if failed and config.flag("fail-with-body"):
            raise error

    def _path(self, name: str) -> str:
        return name if ":" in name or name.startswith(("\\", "/")) else f"{self._run.directory}\\{name}"

    def _etag(self) -> str | None:
        """Return the value that --etag-compare sends, or None if the option is not set.

        The value is the first line of the file that the option names, or `""` if the file is missing or empty.
        """
        name = self._config.values.get("etag-compare")
        if name is None:
            return None
        path = self._path(name)
        if not self._machine.files.is_file(path):
            return '""'
        return self._machine.files.read_text(path).partition("\n")[0].strip() or '""'

    def _save_etag(self, head: Head) -> None:
        name = self._config.values.get("etag-save")
        if name is not None and head.status // 100 == 2:
            tag = head.get("ETag")
            self._machine.files.write_text(self._path(name), f"{tag}\n" if tag else "")

    def _dump(self, outcome: TransferResult) -> bytes:
        """Write the response headers to the file that --dump-header names, and return no bytes.

        If the file is `-`, return the headers for standard output instead.
        """
        name = self._config.values.get("dump-header")
        if name is None or not self._heads:
            return b""
        if name == "-":
            return self._heads.encode("latin-1")
        try:
            self._machine.files.write_bytes(self._path(name), self._heads.encode("latin-1"))
        except OSError:
            outcome.code, outcome.message = errors.WRITE_ERROR, "Failed writing received data to disk/application"
        return b""

    def _date(self, head: Head, output: TransferOutput) -> None:
        try:
            moment = parsedate_to_datetime(head.get("Last-Modified")).timestamp()
        except (ValueError, TypeError):
            return
        output.finish()
        if output.path:
            os.utime(self._machine.files.real(output.path), (moment, moment))


# The default set of protocols for each option. Real curl also follows FTP, which is not modelled.
Protocols = Mapping[str, str]
_GIVEN: Protocols = {"proto": "http,https,file"}
_REDIRECTED: Protocols = {**_GIVEN, "proto-redir": "http,https"}


def _split(url: str, config: OperationOptions, protocols: Protocols = _GIVEN) -> SplitResult:
    """Parse a URL. A URL without a scheme uses the protocol of --proto-default, or HTTP.

    For a redirect, both `--proto` and `--proto-redir` must allow the protocol. Source: `findprotocol` in lib/url.c

    Raises:
        CurlError: exit code 1 if the protocol is not supported, or 3 if the URL is invalid.
    """
    if not config.flag("globoff") and any(char in url for char in "{}[]"):
        raise CurlError(errors.URL_MALFORMAT, "the simulator does not model patterns in URLs (give --globoff)")
    try:
        parts = urlsplit(url if "://" in url else f"{config.values.get('proto-default', 'http')}://{url}")
        _ = parts.port
    except ValueError as error:
        raise CurlError(
            errors.URL_MALFORMAT, "URL rejected: Port number was not a decimal number between 0 and 65535"
        ) from error
    if parts.scheme not in ("http", "https", "file"):
        raise CurlError(errors.UNSUPPORTED_PROTOCOL, f'Protocol "{parts.scheme}" not supported or disabled in libcurl')
    for option, without in protocols.items():
        if parts.scheme not in _allowed(config.values.get(option, ""), without):
            message = f'Protocol "{parts.scheme}" not supported or disabled in libcurl'
            raise CurlError(errors.UNSUPPORTED_PROTOCOL, message)
    if parts.scheme != "file" and (not parts.hostname or " " in url):
        raise CurlError(errors.URL_MALFORMAT, "URL using bad/illegal format or missing URL")
    return parts


def _allowed(given: str, without: str) -> set[str]:
    """Return the protocols that a value of `--proto` or `--proto-redir` allows.

    `=a,b` allows only a and b. `+a` adds a to the protocols that are allowed by default, and `-b` removes b from them.
    """
    if given.startswith("="):
        return set(given[1:].split(","))
    allowed = set(without.split(","))
    for word in given.split(",") if given else ():
        allowed = allowed - {word[1:]} if word.startswith("-") else allowed | {word.removeprefix("+")}
    return allowed
