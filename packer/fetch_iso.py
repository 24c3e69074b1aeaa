# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Downloads an ISO before Packer needs it, also from an Azure storage account that requires a login or a SAS token.

Packer's own download would need the token in its variables, and would write it to its log. This program takes the token
from the environment, from a private file or from the Azure CLI, and shows it nowhere. A download that was interrupted
continues. The file gets its name only after its checksum has been verified.

Facts: learn.microsoft.com/rest/api/storageservices (Get Blob; Authorize with Microsoft Entra ID, which requires the
header x-ms-version; Create a service SAS).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SAS = "AZURE_STORAGE_SAS_TOKEN"
"""The variable of the Azure CLI for a SAS token."""
_RESOURCE = "https://storage.azure.com"
_ENDPOINTS = (".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".storage.azure.net")
"""Domains of storage accounts, the only ones that get a token of the Azure CLI."""
_LOOPBACK = ("127.0.0.1", "localhost")
_API = "2021-12-02"
_CHECKSUM = re.compile(r"(sha256):([0-9a-f]{64})|(sha512):([0-9a-f]{128})", re.IGNORECASE)
_ATTEMPTS = 5
_PIECE = 1 << 20
_HINTS = {
    401: "Log in with az login, or set a SAS token.",
    403: "The login needs the role Storage Blob Data Reader. A SAS token needs the permission to read, and expires.",
    404: "There is no such blob, or the account does not allow anonymous access.",
}


class FetchError(Exception):
    """The ISO was not downloaded."""


class Access(t.NamedTuple):
    """How a storage account authorizes the download."""

    sas: str = ""
    """A SAS token without its question mark."""
    bearer: str = ""
    """A token of the Azure CLI."""

    def request(self, url: str) -> urllib.request.Request:
        """Return the request of a URL, with the token."""
        request = urllib.request.Request(f"{url}?{self.sas}" if self.sas else url)  # noqa: S310  # check_url
        if self.bearer:
            request.add_header("Authorization", f"Bearer {self.bearer}")
            request.add_header("x-ms-version", _API)
        return request


class _NoOtherHost(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send a token to another host."""

    def redirect_request(self, req: urllib.request.Request, fp: t.Any, code: int, *rest: t.Any) -> None:  # noqa: ARG002
        raise FetchError(f"expected the ISO, got a redirect ({code}), which is not followed with a token")


def check_url(url: str) -> urllib.parse.SplitResult:
    """Check the URL, and return its parts.

    Raises:
        FetchError: the URL contains a token, does not begin with https://, or does not name a file.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.query or parts.username or parts.password or parts.fragment:
        # The message must not repeat it.
        raise FetchError(f"expected a URL without a token. Remove everything from the question mark on, and set {SAS}")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise FetchError(f"expected a URL that begins with https://, got {url}")
    if not parts.hostname or not parts.path.strip("/"):
        raise FetchError(f"expected the URL of a file, got {url}")
    return parts


def is_storage_account(parts: urllib.parse.SplitResult) -> bool:
    """Return whether the host may get a token that the user did not choose for this download."""
    host = parts.hostname or ""
    return host.endswith(_ENDPOINTS) or host in _LOOPBACK


def check_checksum(text: str) -> tuple[str, str]:
    """Return the algorithm and the digits of a checksum.

    Raises:
        FetchError: it is not a checksum.
    """
    match = _CHECKSUM.fullmatch(text)
    if match is None:
        raise FetchError(f"expected sha256: and 64 hexadecimal digits, or sha512: and 128, got {text}")
    return (match[1] or match[3]).lower(), (match[2] or match[4]).lower()


def sas_token(environment: Mapping[str, str], file: Path | None) -> str:
    """Return the SAS token of a file or of the environment; empty if there is none.

    Raises:
        FetchError: the file cannot be read or is not private, or there is no token in it.
    """
    text = environment.get(SAS, "")
    if file is not None:
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FetchError(f"{file}: expected a text file that can be read ({type(error).__name__})") from error
        if os.name == "posix" and mode & 0o077:
            raise FetchError(
                f"{file}: expected a file with mode 0600, got 0{mode:o}, so other users can read the token"
            )
    token = text.strip().removeprefix("?")
    if (token or file is not None) and not re.search(r"(^|&)sig=", token):
        raise FetchError(f"{file or SAS}: expected a SAS token with sig=, got something else")
    return token


def cli_token(parts: urllib.parse.SplitResult) -> str:
    """Return a token of the Azure CLI for a storage account.

    Raises:
        FetchError: the host is not a storage account, or the Azure CLI is missing or has no login.
    """
    if not is_storage_account(parts):
        raise FetchError(
            f"expected a storage account of Azure, got {parts.hostname}, which must not get a token of the Azure CLI"
        )
    program = shutil.which("az")
    if program is None:
        raise FetchError("expected the Azure CLI (az), got none. Install it, or use a SAS token")
    command = [program, "account", "get-access-token", "--resource", _RESOURCE, "--output", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        token = json.loads(ended.stdout)["accessToken"] if ended.returncode == 0 else ""
    except (ValueError, KeyError, TypeError):
        token = ""
    if not token:
        raise FetchError("expected a login of the Azure CLI, got none. Run: az login")
    return str(token)


class Download:
    """One download, which continues where an earlier one ended.

    Args:
        url: the URL without a token.
        access: the token.
        target: the file.
        show: prints a line of progress.
        pause: waits for some seconds.
    """

    def __init__(
        self, url: str, access: Access, target: Path, *, show: Callable[[str], object], pause: Callable[[float], object]
    ) -> None:
        self._url, self._access, self._target, self._show, self._pause = url, access, target, show, pause
        self._part, self._note = (target.with_name(f"{target.name}.{end}") for end in ("part", "etag"))
        tokens = (_NoOtherHost,) if access != Access() else ()
        self._opener = urllib.request.build_opener(*tokens)

    def run(self, algorithm: str, digits: str) -> bool:
        """Download the file unless it is complete.

        Args:
            algorithm: the algorithm of the checksum.
            digits: the expected checksum.

        Returns:
            Whether the file was not complete before.

        Raises:
            FetchError: the file cannot be downloaded, or has another checksum.
        """
        if self._target.is_file() and _digest(self._target, algorithm) == digits:
            return False
        self._target.parent.mkdir(parents=True, exist_ok=True)
        # An earlier run may have been interrupted after the download. A request for more would fail.
        if not (self._part.is_file() and _digest(self._part, algorithm) == digits):
            self._download()
            self._verify(algorithm, digits)
        self._part.replace(self._target)
        self._forget()
        return True

    def _download(self) -> None:
        """Download what is missing.

        Raises:
            FetchError: every attempt failed.
        """
        for attempt in range(_ATTEMPTS):
            try:
                self._continue()
                break
            except urllib.error.HTTPError as error:
                self._explain(error)
            except (OSError, http.client.HTTPException) as error:
                self._show(f"the connection failed ({type(error).__name__}); {self._size()} bytes are there")
            self._pause(2.0**attempt)
        else:
            raise FetchError(f"{self._url}: {_ATTEMPTS} attempts failed. The next run continues")

    def _verify(self, algorithm: str, digits: str) -> None:
        actual = _digest(self._part, algorithm)
        if actual != digits:
            self._forget()
            raise FetchError(f"{self._url}: expected {algorithm}:{digits}, got {algorithm}:{actual}. Nothing was kept")

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.is_file() else 0

    def _forget(self) -> None:
        for path in (self._part, self._note):
            path.unlink(missing_ok=True)

    def _continue(self) -> None:
        """Download what is missing. If the file on the server has changed, begin again."""
        request, present = self._access.request(self._url), self._size()
        known = self._note.read_text(encoding="utf-8") if self._note.is_file() else ""
        if present and known:
            request.add_header("Range", f"bytes={present}-")
            request.add_header("If-Match", known)
        with self._opener.open(request, timeout=60) as answer:
            resumes = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            length = int(answer.headers.get("Content-Length") or 0)
            total = length + (present if resumes else 0)
            self._note.write_text(answer.headers.get("ETag") or "", encoding="utf-8")
            self._show(
                f"{'continuing at' if resumes else 'downloading'} {present if resumes else total} of {total} bytes"
            )
            with self._part.open("ab" if resumes else "wb") as file:
                shutil.copyfileobj(answer, file, _PIECE)
        if total and self._size() != total:
            raise ConnectionError("the file is not complete")

    def _explain(self, error: urllib.error.HTTPError) -> None:
        """Return if another attempt may help.

        Raises:
            FetchError: another attempt does not help.
        """
        # The body of a response to a wrong token repeats parts of it, so it is not read.
        code = error.headers.get("x-ms-error-code") or error.reason
        if error.code in (http.HTTPStatus.PRECONDITION_FAILED, http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
            self._show("the file on the server has changed; beginning again")
            self._forget()
        elif error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR and error.code != http.HTTPStatus.TOO_MANY_REQUESTS:
            hint = _HINTS.get(error.code, "")
            raise FetchError(f"{self._url}: expected the ISO, got {error.code} {code}. {hint}".strip()) from None
        else:
            self._show(f"the server answered {error.code} {code}")


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def packer_variables(iso: Path, checksum: str, nano_server_name: str) -> str:
    """Return the variable `base` of the templates as JSON."""
    base = {
        "image": "",
        "iso_url": str(iso.resolve()),
        "iso_checksum": checksum,
        "nano_server_name": nano_server_name,
        "host": "",
    }
    return json.dumps({"base": base}, indent=2) + "\n"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Downloads an ISO, and verifies it.", allow_abbrev=False)
    parser.add_argument("url", help="URL of the ISO, without a token")
    parser.add_argument("--checksum", required=True, help="sha256: and 64 hexadecimal digits, or sha512: and 128")
    parser.add_argument("--output", type=Path, required=True, help="the file")
    parser.add_argument(
        "--sas-file", type=Path, help=f"a private file with a SAS token; otherwise {SAS} is used, if set"
    )
    parser.add_argument("--login", action="store_true", help="use the login of the Azure CLI")
    parser.add_argument(
        "--packer-variables", type=Path, help="a file NAME.pkrvars.json to write, with the variable base"
    )
    parser.add_argument("--nano-server-name", default="", help="the attribute of this name of the variable base")
    return parser.parse_args(words)


def main(
    words: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    pause: Callable[[float], object] = time.sleep,
) -> int:
    """Download the ISO, write the variables of Packer if a file is given, and return the exit status.

    Args:
        words: the arguments.
        environment: the environment, which may contain a SAS token.
        pause: waits between attempts.
    """
    given = arguments(words)
    try:
        parts = check_url(given.url)
        algorithm, digits = check_checksum(given.checksum)
        known = environment if is_storage_account(parts) else {}
        sas = sas_token(known, given.sas_file) if not given.login else ""
        access = Access(sas=sas, bearer=cli_token(parts) if given.login else "")
        show = lambda line: print(line, file=sys.stderr)  # noqa: E731
        changed = Download(given.url, access, given.output, show=show, pause=pause).run(algorithm, digits)
        print(f"{given.output}: {'downloaded and verified' if changed else 'is complete'}")
        if given.packer_variables is not None:
            text = packer_variables(given.output, f"{algorithm}:{digits}", given.nano_server_name)
            given.packer_variables.write_text(text, encoding="utf-8")
    except (FetchError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            print("interrupted; the next run continues", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
