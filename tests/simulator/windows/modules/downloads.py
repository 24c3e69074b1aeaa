# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated win_get_url module, and the functions with which other modules download files."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from simulator.machine.files import DiskFullError
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.session import Session
from simulator.windows.networking.web_request import Options, WebError, WebResponse, fetch

_ALGORITHMS = ("md5", "sha1", "sha256", "sha384", "sha512")
_UNMODELLED = ("client_cert", "use_default_credential", "proxy_username", "proxy_use_default_credential")


class DownloadError(Exception):
    """A failed download. `answer` is the result that the module returns for the download."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer["msg"])
        self.answer = answer


def options(arguments: ModuleArguments) -> Options:
    """Return the values of the options that all web modules share. Source: Ansible's WebRequest.psm1."""
    for name in _UNMODELLED:
        if arguments.raw(name):
            raise NotModelled(f"the option {name} of modules that download files")
    proxy = arguments.raw("proxy_url")
    followed = arguments.text("follow_redirects", default="safe")
    method = arguments.text("url_method", "method", default="GET")
    return Options(
        method=method.upper(),
        timeout=float(arguments.text("url_timeout", "timeout", default="30")),
        validate=arguments.flag("validate_certs", default=True),
        proxy="" if not arguments.flag("use_proxy", default=True) else None if proxy is None else str(proxy),
        user=arguments.text("url_username", default=""),
        password=arguments.text("url_password", default=""),
        force_basic=arguments.flag("force_basic_auth"),
        agent=arguments.text("http_agent", default="ansible-httpget"),
        redirections=0 if followed == "none" else int(arguments.text("maximum_redirection", default="50")),
        headers={str(name): str(value) for name, value in arguments.raw("headers", {}).items()},
    )


def download(session: Session, url: str, how: Options, answer: dict[str, Any], failed: str) -> WebResponse:
    """Request a URL and add the response's status to the module's result.

    Raises:
        DownloadError: the request fails.
    """
    started = time.monotonic()
    try:
        found = fetch(session.machine, url, how, session.process.stop)
    except WebError as error:
        answer["elapsed"] = round(time.monotonic() - started, 6)
        why = f'Exception calling "GetResponse" with "0" argument(s): "{error}"'
        code = {"status_code": error.status} if error.status else {}
        raise DownloadError(answer | code | {"failed": True, "msg": f"{failed}{why}"}) from None
    answer["elapsed"] = round(time.monotonic() - started, 6)
    return_code = {"status_code": found.head.status, "msg": found.head.reason}
    answer |= return_code
    return found


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Download a file, as win_get_url does."""
    if arguments.raw("checksum") is not None and arguments.raw("checksum_url") is not None:
        raise ArgumentError("parameters are mutually exclusive: checksum, checksum_url")
    try:
        return _run(session, arguments)
    except DownloadError as error:
        return error.answer


def _run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    url, how = arguments.text("url"), options(arguments)
    answer: dict[str, Any] = {"changed": False, "elapsed": 0, "url": url}
    dest = _destination(session, arguments, url, answer)
    answer["dest"] = dest
    algorithm = arguments.text("checksum_algorithm", default="sha1").strip().casefold()
    if algorithm not in _ALGORITHMS:
        known = ", ".join(_ALGORITHMS)
        raise ArgumentError(f"value of checksum_algorithm must be one of: {known}. Got no match for: {algorithm}")
    checksum = arguments.text("checksum", default="").strip().casefold()
    if arguments.raw("checksum_url"):
        checksum = _listed(session, arguments.text("checksum_url").strip(), url, how, answer)
    here = _hash(session, dest, algorithm)
    force = arguments.flag("force", default=True) or bool(checksum and here is not None and here != checksum)
    if here is not None and here == checksum and not arguments.flag("force", default=True):
        return answer | {"checksum_dest": here, "size": _size(session, dest)}
    if force or here is None or _newer(session, url, how, dest, answer):
        _download(session, arguments, url, how, dest, algorithm, checksum, answer)
    if session.machine.files.is_file(dest):
        answer |= {"checksum_dest": _hash(session, dest, algorithm), "size": _size(session, dest)}
    return answer


def _destination(session: Session, arguments: ModuleArguments, url: str, answer: dict[str, Any]) -> str:
    dest, files = arguments.path(session, "dest"), session.machine.files
    if files.is_directory(dest):
        parts = urlsplit(url)
        name = unquote(parts.path).rpartition("/")[2] or parts.hostname or ""
        return f"{dest.rstrip(chr(92))}\\{name}"
    parent = dest.rpartition("\\")[0]
    if dest.endswith("\\"):
        raise DownloadError(answer | _missing(f"The destination path '{dest}' does not exist"))
    if not files.is_directory(f"{parent}\\"):
        raise DownloadError(answer | _missing(f"The path '{parent}' does not exist for destination '{dest}'"))
    return dest


def _missing(what: str) -> dict[str, Any]:
    hint = (
        "or is not visible to the current user. Ensure download destination folder exists (perhaps using win_file "
        "state=directory) before win_get_url runs."
    )
    return {"failed": True, "msg": f"{what}, {hint}"}


def _listed(session: Session, url: str, source: str, how: Options, answer: dict[str, Any]) -> str:
    """Download a checksum file, and return its checksum for the file name in the URL `source`.

    Raises:
        DownloadError: the download fails, or the checksum file does not contain the file name.
    """
    failed = f"Error when getting the remote checksum from '{url}'. "
    text = download(session, url, how, answer, failed).body.decode(errors="replace")
    name = unquote(urlsplit(source).path).rpartition("/")[2]
    for line in text.splitlines():
        if re.search(rf"\s+\.?/?\\?{re.escape(name)}\s*$", line, re.IGNORECASE):
            return re.sub(r"\W+", "", line.split(" ", 1)[0]).casefold()
    message = f"Checksum record not found for file name '{re.escape(name)}' in file from url: '{url}'"
    raise DownloadError(answer | {"failed": True, "msg": message})


def _newer(session: Session, url: str, how: Options, dest: str, answer: dict[str, Any]) -> bool:
    failed = f"Error when requesting 'Last-Modified' date from '{url}'. "
    head = download(session, url, replace(how, method="HEAD"), answer, failed).head
    try:
        modified = parsedate_to_datetime(head.get("Last-Modified"))
    except ValueError:
        return True
    entry = session.machine.files.entry(dest)
    return entry is None or modified > entry.modified


def _download(
    session: Session,
    arguments: ModuleArguments,
    url: str,
    how: Options,
    dest: str,
    algorithm: str,
    checksum: str,
    answer: dict[str, Any],
) -> None:
    failed = f"Error downloading '{url}' to '{dest}': "
    body = download(session, url, how, answer, failed).body
    found = hashlib.new(algorithm, body, usedforsecurity=False).hexdigest()
    answer["checksum_src"] = found
    if checksum and checksum != found:
        message = f"The checksum for {url} did not match '{checksum}', it was '{found}'"
        raise DownloadError(answer | {"failed": True, "msg": message})
    if _hash(session, dest, algorithm) == found:
        return
    answer["changed"] = True
    if arguments.check_mode:
        return
    try:
        session.machine.files.write_bytes(dest, body)
    except (DiskFullError, PermissionError) as error:
        raise DownloadError(answer | {"failed": True, "msg": f"{failed}{error.strerror or error}"}) from None


def _hash(session: Session, path: str, algorithm: str) -> str | None:
    if not session.machine.files.is_file(path):
        return None
    return hashlib.new(algorithm, session.machine.files.read_bytes(path), usedforsecurity=False).hexdigest()


def _size(session: Session, path: str) -> int:
    return len(session.machine.files.read_bytes(path))
