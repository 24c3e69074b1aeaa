# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the calls that download a file from the first available source and verify the file, and read their results."""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..engine.resource import SizeProbe, SpaceRequirement
from ..windows.path_calls import discard
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Input, Json, Results
from ..wire.scopes import Scope
from . import archive_members, curl
from .curl_errors import describe_curl_error

FETCHED = "fetched"
"""ID of the call that fails if no source delivered the file."""
DOWNLOAD, VERIFY = Scope("download-"), Scope("verify-")
"""Scopes (ID prefixes) of the calls that download and verify the file. Each attempt has one call in each scope."""
_MAGIC: t.Mapping[str, tuple[int, str]] = {
    ".zip": (4, "UEsDBA=="),
    ".gz": (3, "H4sI"),
    ".tgz": (3, "H4sI"),
    ".msi": (8, "0M8R4KGxGuE="),
    ".exe": (2, "TVo="),
}
"""Maps each file extension to the first bytes of every file of this format: their number, and the bytes in base64.

Source: https://en.wikipedia.org/wiki/List_of_file_signatures"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DownloadSource:
    """A source from which a file can be downloaded."""

    url: str
    checksum_url: str = ""
    route: curl.DownloadRoute = dataclasses.field(default_factory=curl.DownloadRoute)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Download:
    """A file to download, its sources, and how the node verifies it."""

    path: str
    """Windows path at which the node stores the file."""
    sources: tuple[DownloadSource, ...]
    """The sources, in the order in which they are tried."""
    commit: t.Mapping[str, Json]
    """Parameters with which the `@commit-file` verb verifies the file on the node."""
    verified: bool
    """Whether the file has a checksum. If not, the first bytes of a file with a known extension must fit the
    extension, and an archive must be complete."""
    manifest: t.Mapping[str, Json] | None = None
    """The manifest to write next to the file, or None for no manifest. The redacted URL of the source that delivered
    the file is added to the manifest as `source`."""
    timeout: float = 3600.0
    parallel: int | None = None
    secret: bool = False
    version: curl.Version = ()
    """Version of curl on the node. Empty if unknown."""

    @property
    def part(self) -> str:
        """Path of the unfinished download on the node."""
        return f"{self.path}.part"

    @property
    def checksum(self) -> str:
        """Path of the downloaded checksum file on the node."""
        return f"{self.path}.checksum"


def calls(download: Download, *, broken: bool) -> t.Iterator[Call]:
    """Yield the calls of all attempts to download a file.

    The sources are tried in order until one delivers the file. If the download from the last source is interrupted, the
    last source is tried once more.

    Args:
        download: the requested download.
        broken: whether an unfinished download exists. If the file has a checksum, the download is resumed from the
            first source, and if that fails, the whole file is downloaded. Without a checksum, the unfinished file is
            removed first.
    """
    attempts = [download.sources[0], *download.sources] if broken and download.verified else [*download.sources]
    done: tuple[str, ...] = ()
    for index, source in enumerate(attempts):
        if index or (broken and not download.verified):
            # The unfinished download may belong to a different file, and some servers do not support resuming.
            yield dataclasses.replace(discard(download.part, f"discard-{index}"), unless=done)
        yield from _attempt(download, source, str(index), done)
        done = (*done, VERIFY.id(str(index)))
    left: dict[str, Json] = {"paths": [download.part]}
    probe = query("left", "@read-file", left, until={"exists": True}, select=("exists",), on_error="stop")
    yield dataclasses.replace(probe, unless=done, on_error="continue")
    yield dataclasses.replace(discard(download.part, "discard-again", ("left",)), unless=done)
    yield from (
        dataclasses.replace(call, needs=(*call.needs, "left"))
        for call in _attempt(download, attempts[-1], "again", done)
    )
    yield Call(
        id=FETCHED,
        command="@fail",
        parameters={"message": f"no source delivered {download.path}"},
        unless=(*done, VERIFY.id("again")),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _DownloadSize(SizeProbe):
    """The remaining size of a download, according to the headers that its sources send."""

    present: int
    """Number of bytes of the file that are already on the disk."""

    def size(self, results: Results) -> int | None:
        offers = (curl.offered(results.get(call.id)) for call in self.calls)
        return next((max(offer.size - self.present, 0) for offer in offers if offer and offer.size is not None), None)


def space(download: Download, present: int) -> SpaceRequirement:
    """Return the disk space that a download needs.

    The node asks the first source for the size of the file, and the second source only if the first request fails.

    Args:
        download: the requested download.
        present: number of bytes of the file that are already on the disk.
    """
    # Ignore a proxy in the machine's environment, because this run may remove it later.
    first, *others = (
        curl.ask(
            f"size-{index}",
            source.url,
            source.route if source.route.proxy else dataclasses.replace(source.route, no_proxy=("*",)),
            version=download.version,
        )
        for index, source in enumerate(download.sources[:2])
    )
    asked = (first, *(dataclasses.replace(call, unless=(first.id,)) for call in others))
    return SpaceRequirement(path=download.path, probe=_DownloadSize(calls=asked, present=present))


def likely_space(download: Download, files: str, *others: str) -> SpaceRequirement:
    """Return the disk space that a download needs unless an existing file makes the download unnecessary.

    Args:
        download: the requested download.
        files: ID of the `@read-file` call that checks whether the file and the files in `others` exist.
        others: paths of files that can be used instead of a download.
    """
    # Without input, a cmdlet is skipped, which counts as a success (docs/wire.md).
    exist = tuple(
        query(
            f"exists-{index}",
            "Write-Output",
            input=Input(calls=(files,), where={"path": path, "exists": False}),
            select=(),
            until={"exists": True},
        )
        for index, path in enumerate((download.path, *others))
    )
    unless = tuple(call.id for call in exist)
    required = space(download, 0)
    asked = required.probe.calls if required.probe else ()
    calls = (*exist, *(dataclasses.replace(call, unless=(*call.unless, *unless)) for call in asked))
    return dataclasses.replace(required, probe=_DownloadSize(calls=calls, present=0))


def _attempt(download: Download, source: DownloadSource, label: str, done: tuple[str, ...]) -> t.Iterator[Call]:
    """Yield the calls that download the checksum file and the file from one source, and that verify the file."""
    needs: tuple[str, ...] = ()
    if source.checksum_url:
        fetched = f"{download.checksum}.part"
        # The checksum file is small, and an unfinished one may belong to a different version, so it is not resumed.
        yield _download(download, source, f"sum-{label}", source.checksum_url, fetched, needs, done, resume=False)
        keep: dict[str, Json] = {"path": fetched, "destination": download.checksum}
        yield _commit(f"keep-{label}", keep, (f"sum-{label}",), done)
        needs = (f"keep-{label}",)
    yield _download(download, source, DOWNLOAD.id(label), source.url, download.part, needs, done, resume=True)
    needs = (DOWNLOAD.id(label),)
    size, magic = next((value for end, value in _MAGIC.items() if download.path.lower().endswith(end)), (0, ""))
    if size:
        head: dict[str, Json] = {"paths": [download.part], "content": True, "encoding": "base64", "limit": size}
        yield query(
            f"form-{label}",
            "@read-file",
            head,
            select=("size", "content"),
            until={"content": magic},
            needs=needs,
            unless=done,
        )
        if not download.verified:
            needs = (f"form-{label}",)
    for call in _archive_checks(download, label):
        yield dataclasses.replace(call, needs=needs, unless=done, on_error="continue")
        needs = (call.id,)
    verify: dict[str, Json] = {"path": download.part, "destination": download.path, **download.commit}
    if download.manifest is not None:
        verify["manifest"] = {**download.manifest, "source": redact_url(source.url)}
    yield _commit(VERIFY.id(label), verify, needs, done)
    if needs != (DOWNLOAD.id(label),):
        # A complete file that failed the last check is useless to a later attempt, unlike an unfinished one.
        refused = discard(download.part, f"refused-{label}", (DOWNLOAD.id(label),))
        yield dataclasses.replace(refused, unless=(*done, *needs))


def _inside(label: str) -> Scope:
    """Return the scope (ID prefix) of the calls with which an attempt checks the names in an archive."""
    return Scope(f"inside-{label}-")


def _archive_checks(download: Download, label: str) -> tuple[Call, ...]:
    """Return the calls that check that an archive is complete and unpacks only into the target folder.

    If the archive has a checksum, its completeness is not checked, and its names are checked only in a zip archive.
    Listing a zip archive is cheap, but listing a tar.gz archive reads the whole file.
    """
    path = download.path.lower()
    if not path.endswith(archive_members.FORMATS) or (download.verified and not path.endswith(".zip")):
        return ()
    inside = archive_members.calls(download.part, _inside(label))
    return inside if download.verified else (archive_members.readable(download.part, f"whole-{label}"), *inside)


def _download(
    download: Download,
    source: DownloadSource,
    call_id: str,
    url: str,
    output: str,
    needs: tuple[str, ...],
    done: tuple[str, ...],
    *,
    resume: bool,
) -> Call:
    return curl.download(
        call_id,
        url,
        output,
        source.route,
        timeout=download.timeout,
        needs=needs,
        unless=done,
        on_error="continue",
        secret=download.secret,
        resume=resume,
        parallel=download.parallel,
        version=download.version,
    )


def _commit(call_id: str, parameters: dict[str, Json], needs: tuple[str, ...], done: tuple[str, ...]) -> Call:
    return action(
        call_id,
        "@commit-file",
        parameters,
        select=("sha256", "size", "expected"),
        needs=needs,
        unless=done,
        on_error="continue",
    )


def explain(download: Download, results: t.Mapping[str, CallResult]) -> str:
    """Return the reason why each source failed, as one string. Signatures in URLs are redacted.

    Args:
        download: the requested download.
        results: results of the calls that `calls` yields, by ID.
    """
    reasons = [
        f"{redact_url(source.url)}: {why}"
        for label, source in _labelled(download, results)
        if (why := _why(label, results, source.route))
    ]
    return "; ".join(dict.fromkeys(reasons)) or "no source was tried"


def downloaded(download: Download, results: t.Mapping[str, CallResult]) -> dict[str, t.Any] | None:
    """Return the SHA-256, size and redacted source of the downloaded file, or None if no source delivered it.

    Args:
        download: the requested download.
        results: results of the calls that `calls` yields, by ID.
    """
    for label, source in _labelled(download, results):
        verify = results.get(VERIFY.id(label))
        if verify is not None and verify.ok and verify.skipped is None and isinstance(verify.first, t.Mapping):
            return {**verify.first, "source": redact_url(source.url)}
    return None


def _labelled(download: Download, results: t.Mapping[str, CallResult]) -> list[tuple[str, DownloadSource]]:
    """For each attempt, return the suffix of its call IDs, and the source that it uses."""
    # The first source has two attempts if there was an unfinished download.
    first = [download.sources[0]] if VERIFY.id(str(len(download.sources))) in results else []
    numbered = [(str(index), source) for index, source in enumerate([*first, *download.sources])]
    return [*numbered, ("again", download.sources[-1])]


def _why(label: str, results: t.Mapping[str, CallResult], route: curl.DownloadRoute) -> str:
    """Return why one attempt failed, or an empty string if it succeeded or was not made."""
    for step, about in (("sum", "its checksum file: "), ("keep", "its checksum file: "), ("download", "")):
        result = results.get(f"{step}-{label}")
        if result is not None and result.error is not None:
            return about + (_transfer(result, route) if result.exit_code is not None else str(result.error))
    for result in _inside(label).results(results).values():
        if result.error is not None:
            return archive_members.describe_failure(result) or str(result.error)
    form, verify = results.get(f"form-{label}"), results.get(VERIFY.id(label))
    download = results.get(DOWNLOAD.id(label))
    odd = ""
    if form is not None and form.error is not None:
        odd = "the downloaded file does not have the format that its extension indicates (is it an HTML page?)"
    if download is not None and "text/html" in download.stdout:
        odd = "the response is an HTML page, such as a login page or a captive portal"
    whole = results.get(f"whole-{label}")
    if whole is not None and whole.error is not None and not odd:
        odd = f"the archive is incomplete or damaged ({whole.stderr.strip()[-200:]})"
    if verify is None or verify.error is None:
        return odd if any(check is not None and check.error is not None for check in (form, whole)) else ""
    return f"{verify.error}; {odd}" if odd else str(verify.error)


def _transfer(result: CallResult, route: curl.DownloadRoute) -> str:
    """Describe curl's exit code, with the HTTP status if the status is the cause, else with curl's own message."""
    code = result.exit_code or 0
    if code == 47 and route.headers:
        # If all headers are credentials, curl 7.83 and later follow redirects, so code 47 may mean too many redirects.
        # The version of curl is unknown here.
        maybe = f"{describe_curl_error(code)}, or " if route.only_credentials else ""
        return f"{maybe}the site redirects to another address, to which its headers are not sent (curl {code})"
    status = result.stdout.partition(" ")[0]
    if code == 22 and status.isdigit() and status != "000":
        return f"{describe_curl_error(code)} (HTTP {status})"
    last_line = result.stderr.strip().splitlines()[-1:] if code not in (22,) else []
    return describe_curl_error(code) + (f": {last_line[0].removeprefix(f'curl: ({code}) ')}" if last_line else "")
