# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Download a file to a node once, and verify it."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads import attempts, curl
from ..downloads.checksums import checksum_in, digest
from ..downloads.site import Site
from ..engine.changes import create, is_missing, objects, only, update
from ..engine.resource import Change, Resource, SpaceRequirement
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows.path_calls import discard, move_path, remove_path
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results
from .directory import Directory


@dataclasses.dataclass(frozen=True, kw_only=True)
class Artifact(Resource):
    r"""Downloads a file with curl.exe. A file with a checksum is verified before use, and deleted if the hash is wrong.

    The next run resumes an interrupted download of a file with a checksum. With `checksum_url`, the checksum file is
    stored next to the file (`PATH.checksum`), so that later runs can verify the file without the network; `path` should
    then contain the version. With `kind`, a manifest (`PATH.manifest.json`) describes the file. Without a checksum, the
    hash in the manifest is used. A file that cannot be verified yet is named `PATH.unverified` until it is verified.
    """

    type: t.ClassVar[str] = "Artifact"
    independent: t.ClassVar[bool] = True
    name: str = dataclasses.field(metadata={"help": "A label, such as kind and version: `containerd 2.2.1`."})
    path: str = dataclasses.field(metadata={"help": "The file's path on the node. It should contain the version."})
    urls: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "URLs of the file, tried in order. Their user names and queries (signatures) are never shown.",
            "secret": True,
        },
    )
    sites: tuple[Site, ...] = dataclasses.field(
        default=(), metadata={"help": "Additional sources, tried before `urls`, in order."}
    )
    upstream: str | None = dataclasses.field(
        default=None,
        metadata={"help": "The publisher's URL, used only when a bundle is built.", "secret": True},
    )
    upstream_checksum: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "URL of the publisher's checksum file, for building bundles. If set, `sha256` is also stored.",
            "secret": True,
        },
    )
    kind: str | None = dataclasses.field(
        default=None, metadata={"help": "The artifact's kind. If set, a manifest is stored next to the file."}
    )
    version: str | None = dataclasses.field(default=None, metadata={"help": "The version that the manifest records."})
    custom: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether the file is one of your own, which may change at the same URL. If it has a `kind` and no "
            "checksum, it is downloaded again when its ETag or size at the source changes."
        },
    )
    sha256: str | None = dataclasses.field(default=None, metadata={"help": "The file's SHA-256, in hexadecimal."})
    sha512: str | None = dataclasses.field(default=None, metadata={"help": "The file's SHA-512, in hexadecimal."})
    checksum_url: str | None = dataclasses.field(
        default=None, metadata={"help": "URL of the publisher's checksum file.", "secret": True}
    )
    checksum_name: str | None = dataclasses.field(
        default=None, metadata={"help": "The file's name in the checksum file; default: the name in the last URL."}
    )
    checksum_algorithm: t.Literal["SHA256", "SHA512"] = dataclasses.field(
        default="SHA256", metadata={"help": "The hash algorithm of the checksum file."}
    )
    allowed_signers: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={"help": "Accepted signers of the file's programs. Roles let `Archive` check the signatures."},
    )
    allow_unverified: bool = dataclasses.field(
        default=False,
        metadata={"help": "Accept the file without a checksum. Without `kind`, an existing file is not checked again."},
    )
    proxy: str | None = dataclasses.field(default=None, metadata={"help": "The proxy's URL.", "secret": True})
    no_proxy: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Hosts and domains that curl.exe contacts without the proxy."}
    )
    headers: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "Additional HTTP headers, which are never shown.", "secret": True}
    )
    ignore_revocation: bool = dataclasses.field(
        default=False,
        metadata={"help": "Whether to continue if the node cannot check the server's certificate for revocation."},
    )
    limit_rate: str | None = dataclasses.field(
        default=None, metadata={"help": "Maximum bytes per second, such as `500K` or `2M`."}
    )
    parallel: int = dataclasses.field(default=curl.PARALLEL, metadata={"help": "Maximum number of parallel downloads."})
    timeout: int = dataclasses.field(
        default=3600, metadata={"help": "Time limit of one attempt at one URL, in seconds."}
    )

    def builds_on(self, earlier: Resource) -> bool:
        """Return whether the download needs the earlier resource, such as a folder, a certificate or the clock."""
        if isinstance(earlier, Directory):
            return self.path.replace("/", "\\").casefold().startswith(f"{earlier.path.casefold()}\\")
        return earlier.type in ("ArtifactCache", "CertificateImport", "W32Time")

    def __post_init__(self) -> None:
        if not self.urls and not self.sites:
            raise ResourceError("urls", [], "expected at least one URL")
        sums = [self.checksum_url, *(site.checksum_url for site in self.sites)]
        for url in (*self.urls, *(site.url for site in self.sites), *(url for url in sums if url)):
            if not curl.is_url(url):
                expected = "expected a URL (http, https or file) with a path and without spaces"
                raise ResourceError("urls", redact_url(url), expected)
        given = [way for way in ("sha256", "sha512", "checksum_url") if getattr(self, way)]
        if len(given) > 1:
            raise ResourceError(given[1], AsItIs("both"), f"expected either {' or '.join(given[:2])}")
        if not given and not any(sums) and not self.allow_unverified:
            hint = "Or set allow_unverified: true."
            raise ResourceError("sha256", None, "expected sha256, sha512 or checksum_url", hint)
        for algorithm in (name for name in ("sha256", "sha512") if getattr(self, name)):
            self._set(**{algorithm: digest(algorithm, getattr(self, algorithm))})
        for name in (name for name in ("timeout", "parallel") if getattr(self, name) < 1):
            raise ResourceError(name, getattr(self, name), "expected at least 1")
        if self.limit_rate and not curl.is_rate(self.limit_rate):
            raise ResourceError("limit_rate", self.limit_rate, "expected bytes per second, such as 500K or 2M")
        headers = [*self.headers.items(), *(pair for site in self.sites for pair in site.headers.items())]
        if any("\n" in part or "\r" in part for pair in headers for part in pair):
            raise ResourceError("headers", AsItIs("a line break"), "expected each header on one line")

    @property
    def private(self) -> bool:
        """Whether the resource's results may contain secrets, such as a signed URL in a server's response."""
        return self.no_log or self._asks

    def joined(self, other: t.Self) -> t.Self | None:
        """Merge two roles' artifacts for one file, or return None if they conflict in path, `custom` or checksum."""
        own, others = (self.sha256, self.sha512), (other.sha256, other.sha512)
        conflict = any(one and two and one != two for one, two in zip(own, others, strict=True))
        if conflict or self.path.casefold() != other.path.casefold() or self.custom != other.custom:
            return None
        return self if any(own) or not any(others) else other

    @property
    def brings(self) -> str | None:
        return self.path

    @property
    def algorithm(self) -> str:
        """The algorithm of the checksum that verifies the file."""
        return "SHA512" if self.sha512 else "SHA256" if self.sha256 else self.checksum_algorithm

    @property
    def _summed(self) -> bool:
        """Whether the file is verified with the publisher's checksum file."""
        return not (self.sha256 or self.sha512) and any(source.checksum_url for source in self._sources)

    @property
    def _verified(self) -> bool:
        return bool(self.sha256 or self.sha512 or self._summed)

    @property
    def _asks(self) -> bool:
        """Whether each run asks the server whether the file has changed."""
        return self.custom and not self._verified

    @property
    def _unverified(self) -> str:
        return f"{self.path}.unverified"

    @property
    def kept_checksum(self) -> str:
        """Path of the stored checksum file on the node."""
        return f"{self.path}.checksum"

    @property
    def manifest(self) -> str:
        """Path on the node of the manifest that describes the file."""
        return f"{self.path}.manifest.json"

    @property
    def _sources(self) -> tuple[attempts.DownloadSource, ...]:
        own = curl.DownloadRoute(
            proxy=self.proxy,
            no_proxy=self.no_proxy,
            headers=self.headers,
            ignore_revocation=self.ignore_revocation,
            limit_rate=self.limit_rate,
        )
        sums = not (self.sha256 or self.sha512)
        return (
            *(
                attempts.DownloadSource(
                    url=site.url, checksum_url=(site.checksum_url or "") if sums else "", route=site.route(own)
                )
                for site in self.sites
            ),
            *(attempts.DownloadSource(url=url, checksum_url=self.checksum_url or "", route=own) for url in self.urls),
        )

    def observe(self) -> tuple[Call, ...]:
        paths: list[Json] = [self.path, f"{self.path}.part", self._unverified]
        # Files of interrupted runs are hashed as well, which costs little.
        calls = [query("file", "@read-file", {"paths": paths, "hash": True})]
        for needed, call_id, path in (
            (self._summed, "checksum", self.kept_checksum),
            (self.kind, "manifest", self.manifest),
        ):
            if needed:
                kept: dict[str, Json] = {"paths": [path], "content": True}
                calls.append(query(call_id, "@read-file", kept))
        if self.algorithm == "SHA512":  # @read-file supports only SHA-256
            for call_id, path in (("sha512", self.path), ("sha512-aside", self._unverified)):
                parameters: dict[str, Json] = {"LiteralPath": path, "Algorithm": "SHA512"}
                calls.append(query(call_id, "Get-FileHash", parameters, select=("Hash",)))
        if self.kind:
            calls.append(curl.VERSION_CALL)
        if self._asks:
            calls.append(curl.ask("offer", self._sources[0].url, self._sources[0].route))
        return tuple(calls)

    def observe_offline(self) -> tuple[Call, ...]:
        return tuple(call for call in self.observe() if call.id != "offer")

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = self.change_for(seen)
        if change is None or not any(call.id == attempts.FETCHED for call in change.calls):
            return change
        is_local = all(source.url.startswith("file:") for source in self._sources)
        return dataclasses.replace(change, space=(self._space(seen),), downloads="" if is_local else self.path)

    def change_for(self, seen: Results) -> Change | None:
        """Return the change that the file needs, or None if none is needed; the caller adds the disk space."""
        only(self, seen, "file")
        file, unverified = self._observed_file(seen, self.path), self._observed_file(seen, self._unverified)
        broken = bool(self._observed_file(seen, f"{self.path}.part").get("exists"))
        offer = curl.offered(seen.get("offer")) or curl.RemoteFile()
        fetch = (*self._write_checksum(), *attempts.calls(self._download(seen, offer), broken=broken))
        # The old unverified file is removed only after the new file was downloaded.
        if unverified.get("exists") or file.get("exists"):
            fetch = (*fetch, discard(self._unverified, "remove-aside"))
        if not file.get("exists"):
            known = self._expected(seen) if self._verified and unverified.get("exists") else None
            if known and known == self._actual(seen, unverified, "-aside"):
                back = (*self._write_checksum(), move_path(self._unverified, self.path, "back"))
                return update(self, {"path": self._unverified}, {"path": self.path}, back, why="can be verified now")
            after = {"path": self.path, "source": redact_url(self._sources[0].url)}
            return create(self, after, fetch, why="is not on the node")
        if not self._verified:
            return self._plan_unverified(seen, file, offer, fetch)
        expected, actual = self._expected(seen), self._actual(seen, file)
        if expected is None or actual != expected:
            algorithm = self.algorithm.lower()
            sums = next((source.checksum_url for source in self._sources if source.checksum_url), "")
            why = f"its {self.algorithm} is {actual}, expected {expected}" if expected else "its checksum is unknown"
            desired = {"path": self.path, algorithm: expected or f"by {redact_url(sums)}"}
            away = remove_path(self.path) if expected else self._move_unverified()
            return update(self, {"path": self.path, algorithm: actual}, desired, (away, *fetch), why=why)
        return self._plan_manifest(seen, file)

    def _space(self, seen: Results) -> SpaceRequirement:
        """Return the disk space for the download; the second source is asked for the size only if the first fails."""
        # An unfinished download is resumed only if a checksum verifies the complete file.
        present = int(self._observed_file(seen, f"{self.path}.part").get("size") or 0) if self._verified else 0
        return attempts.space(self._download(seen, curl.RemoteFile()), present)

    def likely_space(self) -> SpaceRequirement:
        return attempts.likely_space(self._download({}, curl.RemoteFile()), "file", self._unverified)

    def file_facts(self, seen: Results) -> dict[str, t.Any]:
        """Return the hash, size and source of the file on the node, or an empty mapping if it must be downloaded."""
        change = self.change_for(seen)
        if change is not None and any(call.id == attempts.FETCHED for call in change.calls):
            return {}
        file = self._observed_file(seen, self.path)
        file = file if file.get("exists") else self._observed_file(seen, self._unverified)
        source = self._noted(seen).get("source") if self.kind else None
        return {"sha256": file.get("sha256"), "size": file.get("size"), "source": source}

    def downloaded(self, results: Results) -> dict[str, t.Any] | None:
        """Return the hash, size and source of the file that a change downloaded, or None if it downloaded no file.

        Args:
            results: results of the change's calls, by id.
        """
        return attempts.downloaded(self._download({}, curl.RemoteFile()), results)

    def failure(self, results: Results) -> str:
        """Return why each source failed, with the signatures in URLs redacted.

        Args:
            results: results of the change's calls, by id.
        """
        return attempts.explain(self._download({}, curl.RemoteFile()), results)

    def _plan_unverified(
        self, seen: Results, file: t.Mapping[str, t.Any], offer: curl.RemoteFile, fetch: tuple[Call, ...]
    ) -> Change | None:
        """Return the change, if any, for a file whose only checksum is the hash in its manifest."""
        if not self.kind:
            return None
        noted = self._noted(seen)
        if not noted or noted.get("sha256") != file.get("sha256"):
            why = (
                "its manifest has a different SHA-256" if noted else "its manifest is missing, and there is no checksum"
            )
            before = {"path": self.path, "sha256": file.get("sha256")}
            after = {"path": self.path, "sha256": noted.get("sha256") or "as fetched"}
            away = remove_path(self.path) if noted else self._move_unverified()
            return update(self, before, after, (away, *fetch), why=why)
        before = {"etag": noted.get("etag") or "", "size": noted.get("size")}
        after = {
            "etag": offer.etag or before["etag"],
            "size": offer.size if offer.size is not None else before["size"],
        }
        # The old file stays until the new one is complete.
        return update(self, before, after, fetch)

    def _plan_manifest(self, seen: Results, file: t.Mapping[str, t.Any]) -> Change | None:
        if not self.kind or self._noted(seen).get("sha256") == file.get("sha256"):
            return None
        facts = {key: file.get(key) for key in ("sha256", "size")} | {"time": file.get("modified")}
        described = {**self._facts(), "source": None, **facts}  # The source of this file is unknown.
        content: dict[str, Json] = {"path": self.manifest, "content": json.dumps(described, indent=1) + "\n"}
        write = action("manifest", "@write-file", content)
        return update(self, {"manifest": "missing, or of a different file"}, {"manifest": self.manifest}, [write])

    def _noted(self, seen: Results) -> t.Mapping[str, t.Any]:
        try:
            noted = json.loads(only(self, seen, "manifest").get("content") or "")
        except ValueError:
            return {}
        return noted if isinstance(noted, dict) else {}

    def _facts(self, etag: str = "") -> dict[str, Json]:
        facts: dict[str, Json] = {"kind": self.kind, "version": self.version, "custom": self.custom}
        return {**facts, "etag": etag} if etag else facts

    def _download(self, seen: Results, offer: curl.RemoteFile) -> attempts.Download:
        commit: dict[str, Json] = {}
        if self.sha256:
            commit["sha256"] = self.sha256
        elif self.sha512:
            # The verb accepts a SHA-512 only from a checksum file.
            commit |= {"checksum_path": self.kept_checksum, "algorithm": "SHA512"}
        elif self._summed:
            commit |= {"checksum_path": self.kept_checksum, "checksum_name": self._name_in_checksum()}
            commit |= {"algorithm": self.checksum_algorithm}
        return attempts.Download(
            path=self.path,
            sources=self._sources,
            commit=commit,
            verified=self._verified,
            manifest=self._facts(offer.etag) if self.kind else None,
            timeout=self.timeout,
            parallel=self.parallel,
            secret=self.no_log,
            version=curl.read_version(seen.get("curl")),
        )

    def _write_checksum(self) -> t.Iterator[Call]:
        # Store a known checksum, such as one from a bundle's index, because later runs may have no other checksum.
        known = self.sha512 or (self.sha256 if self.upstream_checksum and self.checksum_algorithm == "SHA256" else None)
        if known:
            checksum: dict[str, Json] = {"path": self.kept_checksum, "content": f"{known}\n"}
            yield action("keep-checksum", "@write-file", checksum)

    def _move_unverified(self) -> Call:
        """Return the call that renames an unverified file. This file must not be used, but may be the only copy."""
        return move_path(self.path, self._unverified, "aside")

    def _observed_file(self, seen: Results, path: str) -> t.Mapping[str, t.Any]:
        files = {str(item.get("path")).casefold(): item for item in objects(self, seen, "file")}
        return files.get(path.casefold(), {})

    def _expected(self, seen: Results) -> str | None:
        """Return the expected hash, or None if it is not known before the checksum file has been downloaded."""
        if self.sha256 or self.sha512:
            return self.sha256 or self.sha512
        content = str(only(self, seen, "checksum").get("content") or "")
        return checksum_in(content, self._name_in_checksum(), self.checksum_algorithm)

    def _actual(self, seen: Results, file: t.Mapping[str, t.Any], which: str = "") -> str | None:
        if self.algorithm == "SHA256":
            return str(file.get("sha256") or "").lower() or None
        if is_missing(seen.get(f"sha512{which}")):
            return None
        return str(only(self, seen, f"sha512{which}").get("Hash") or "").lower() or None

    def _name_in_checksum(self) -> str:
        return self.checksum_name or curl.file_name(self._sources[-1].url)
