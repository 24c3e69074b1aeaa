# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build a bundle: download the missing files in parallel, and sign the index of all files."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import pathlib
import shutil
import typing as t

from ..downloads.checksums import checksum_in
from ..remote.upload import sha256
from . import archive, images, index, signing, verify
from .content import BundleContent, BundleFile, BundleImage, ChecksumFile
from .fetch import Checksum, Fetched, Fetcher, FetchError, FetchSource
from .images import Manifest
from .index import WORK, BundleError, IndexEntry
from .registry import Image, RegistryClient, endpoints

if t.TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """The options of a bundle build."""

    parallel: int = 4
    """Number of parallel downloads."""
    refresh: bool = False
    """Whether to download all files again, to find tags that have moved and changes to files without a checksum.
    Archives of images whose manifests are unchanged are kept."""
    prune: bool = False
    """Whether to remove files that do not belong to the bundle, and, if nothing failed, files of an earlier run that
    are no longer requested."""
    check_mode: bool = False


@dataclasses.dataclass(kw_only=True)
class BuildResult:
    """The result of a bundle build."""

    fetched: list[str] = dataclasses.field(default_factory=list)
    """Paths of the files that were downloaded or copied. In check mode, paths of the files and references of the images
    that would be downloaded or copied."""
    removed: list[str] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    entries: dict[str, IndexEntry] = dataclasses.field(default_factory=dict)
    signed: bool = False
    """Whether the index was written."""


class Builder:
    """The build of one bundle.

    Args:
        directory: the bundle's folder.
        key: the key that signs the index.
        fetcher: the object that downloads files from servers.
        options: options of the build.
        notify: a function that prints a line of progress.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        key: Ed25519PrivateKey,
        fetcher: Fetcher,
        options: BuildOptions,
        notify: t.Callable[[str], None] | None = None,
    ) -> None:
        self._directory, self._key, self._fetcher, self._options = directory, key, fetcher, options
        self._notify = notify
        self._work = directory / WORK
        self._now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._registries: dict[str, RegistryClient] = {}
        self.made = BuildResult()
        """The result, which `run` fills in."""

    def run(self, content: BundleContent) -> BuildResult:
        """Download requested files that are missing, and sign the index. A failed download does not stop the others.

        Raises:
            BundleError: the folder cannot be used, or another run is building the bundle.
        """
        try:
            if not self._options.check_mode:
                self._work.mkdir(parents=True, exist_ok=True)
            with self._alone():
                kept = self._kept()
                self._fetch(content, kept)
                if not self._options.check_mode:
                    self._finish(kept)
        except OSError as error:
            raise BundleError(f"bundle_dir {self._directory}: {error.strerror or error}") from error
        return self.made

    @contextlib.contextmanager
    def _alone(self) -> t.Iterator[None]:
        if self._options.check_mode:
            yield
            return
        with (self._work / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BundleError(
                    f"bundle_dir {self._directory}: another run is building this bundle. Wait until that run has ended"
                ) from None
            yield

    # --- Existing files.

    def _kept(self) -> dict[str, IndexEntry]:
        """Return the entries in an earlier run's signed index, except those whose files are missing or changed."""
        try:
            entries = signing.read(self._directory, self._key, settle=not self._options.check_mode)
        except BundleError as problem:
            self.made.warnings.append(f"{problem}; everything is downloaded and verified again")
            return {}
        with concurrent.futures.ThreadPoolExecutor(self._options.parallel) as pool:
            problems = list(pool.map(lambda entry: verify.file_problem(self._directory, entry), entries.values()))
        self.made.warnings += [
            f"{problem}; the file is downloaded again if a host needs it" for problem in problems if problem
        ]
        return {path: entry for (path, entry), problem in zip(entries.items(), problems, strict=True) if not problem}

    # --- Downloading.

    def _fetch(self, content: BundleContent, kept: t.Mapping[str, IndexEntry]) -> None:
        failures: dict[int, str] = {}
        with concurrent.futures.ThreadPoolExecutor(self._options.parallel) as pool:
            jobs = [pool.submit(self._file, file, kept) for file in content.files.values()]
            jobs += [pool.submit(self._image, image, kept) for image in content.images.values()]
            numbers = {job: number for number, job in enumerate(jobs)}
            for job in concurrent.futures.as_completed(jobs):
                try:
                    new = {entry.path: entry for entry in job.result()}
                except BundleError as problem:
                    failures[numbers[job]] = str(problem)
                    continue
                except OSError as error:
                    failures[numbers[job]] = f"{error.filename or self._directory}: {error.strerror or error}"
                    continue
                self.made.entries |= new
                if any(kept.get(path) != entry for path, entry in new.items()):
                    # Sign the index after each download, so that a killed run loses only unfinished files.
                    self._sign({**kept, **self.made.entries})
        self.made.failures += [failures[number] for number in sorted(failures)]

    def _file(self, file: BundleFile, kept: t.Mapping[str, IndexEntry]) -> list[IndexEntry]:
        entries = [kept[path] for path in (file.path, *([file.sums.path] if file.sums else [])) if path in kept]
        if len(entries) == (2 if file.sums else 1) and not self._options.refresh and self._is(file, entries[0]):
            return entries
        if self._options.check_mode:
            self._note(file.path)
            return []
        problems: list[str] = []
        if file.local:
            return [self._copied(file)]
        for source, sums in self._source_pairs(file):
            try:
                return self._one(file, source, sums)
            except FetchError as problem:
                problems.append(str(problem))
        raise BundleError(f"{file.name}: {'; '.join(problems) or 'it has no source'}")

    @staticmethod
    def _source_pairs(file: BundleFile) -> list[tuple[FetchSource, FetchSource | None]]:
        pairs: list[tuple[FetchSource, FetchSource | None]] = []
        if file.sums is None:
            pairs += ((source, None) for source in file.sources)
        else:
            # The sources of the checksum file have the same order as the sources of the file.
            pairs += zip(file.sources, file.sums.sources, strict=True)
        return pairs

    def _is(self, file: BundleFile, entry: IndexEntry) -> bool:
        """Return whether a file in the bundle has the expected checksum, or True if no checksum is expected."""
        if file.checksum is None:
            return True
        expected = file.checksum.digest.lower()
        # The index contains only SHA-256 checksums.
        if file.checksum.algorithm == "SHA256":
            return expected == entry.sha256
        try:
            with (self._directory / file.path).open("rb") as existing:
                return hashlib.file_digest(existing, file.checksum.algorithm).hexdigest() == expected
        except OSError:
            return False

    def _one(self, file: BundleFile, source: FetchSource, sums: FetchSource | None) -> list[IndexEntry]:
        """Download a file from one source, with its checksum file if there is one."""
        checksum, data = file.checksum, b""
        if file.sums is not None and sums is not None:
            data, checksum = self._sums(file.sums, sums)
        target = self._part(file.path)
        fetched = self._fetcher.file(source, target, checksum)
        if checksum is None:
            self.made.warnings.append(f"{file.name}: nothing verifies this file; its SHA-256 is {fetched.sha256}")
        self._move_into_bundle(target, file.path)
        entries = [self._entry(file, file.path, file.kind, index.bare(source.url), fetched)]
        if file.sums is not None and sums is not None:
            # Two files may share a checksum file, so its temporary name contains the path of the file that it verifies.
            companion = self._part(f"{file.path} {file.sums.path}")
            companion.write_bytes(data)
            self._move_into_bundle(companion, file.sums.path)
            fetched = Fetched(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
            entries.append(self._entry(file, file.sums.path, "checksum", index.bare(sums.url), fetched))
        return entries

    def _sums(self, sums: ChecksumFile, source: FetchSource) -> tuple[bytes, Checksum]:
        """Download a checksum file, and return its content and the checksum that it lists for the file to verify."""
        data, dummy = self._fetcher.document(source)
        listed = checksum_in(data.decode("utf-8", "replace"), sums.name, sums.algorithm)
        if listed is None:
            raise FetchError(source.url, f"expected a file with the {sums.algorithm} of {sums.name}, got one without")
        return data, Checksum(algorithm=sums.algorithm, digest=listed)

    def _copied(self, file: BundleFile) -> IndexEntry:
        target, source = self._part(file.path), pathlib.Path(file.local)
        with source.open("rb") as whole, target.open("wb") as part:
            shutil.copyfileobj(whole, part, 1024 * 1024)
        fetched = Fetched(sha256=sha256(target), size=target.stat().st_size)
        if file.checksum is not None and fetched.sha256 != file.checksum.digest:
            target.unlink()
            raise BundleError(f"{file.local}: expected SHA-256 {file.checksum.digest}, got {fetched.sha256}")
        self._move_into_bundle(target, file.path)
        return self._entry(file, file.path, file.kind, str(source), fetched)

    # --- Container images.

    def _image(self, image: BundleImage, kept: t.Mapping[str, IndexEntry]) -> list[IndexEntry]:
        existing = [
            entry
            for entry in kept.values()
            if entry.kind == "container-image" and entry.name == image.name and image.digest in ("", entry.digest)
        ]
        missing = set(image.windows) - {version for entry in existing for version in entry.windows}
        if not missing and not self._options.refresh:
            return existing
        if self._options.check_mode:
            self._note(image.name)
            return []
        registry = self._registry(image)
        described = registry.image(image.name, image.windows, image.digest)
        return self._archives(image, described, registry, kept)

    def _archives(
        self, image: BundleImage, described: Image, registry: RegistryClient, kept: t.Mapping[str, IndexEntry]
    ) -> list[IndexEntry]:
        """Download the missing archives of an image, and return the entries of all its archives.

        Versions of Windows that use the same set of manifests share an archive.
        """
        versions: dict[str, list[str]] = {}
        for version, manifests in described.manifests.items():
            if manifests:
                path = images.archive_path(image.name, [described.top.digest, *(one.own.digest for one in manifests)])
                versions.setdefault(path, []).append(version)
            else:
                self.made.warnings.append(f"{image.name}: the registry has no image for Windows Server {version}")
        if not versions:
            raise BundleError(f"{image.name}: the registry has no image for Windows Server {', '.join(image.windows)}")
        entries, ref = [], images.reference(image.name)
        for path, fit in versions.items():
            if path in kept:
                entries.append(dataclasses.replace(kept[path], windows=tuple(fit)))
                continue
            self._report_progress(f"{image.name} for Windows Server {', '.join(fit)}")
            fetched = self._archive(image.name, described, described.manifests[fit[0]], registry, path)
            entry = IndexEntry(
                path=path,
                kind="container-image",
                name=image.name,
                version=ref.tag or ref.digest,
                source=image.name,
                sha256=fetched.sha256,
                size=fetched.size,
                time=self._now,
                windows=tuple(fit),
                digest=described.top.digest,
            )
            entries.append(entry)
            self._note(path)
        return entries

    def _archive(
        self, name: str, described: Image, manifests: t.Sequence[Manifest], registry: RegistryClient, path: str
    ) -> Fetched:
        blobs: dict[str, pathlib.Path] = {}
        for part in (part for one in manifests for part in one.parts):
            # The temporary file's name contains the archive's path, because two threads may download the same blob.
            blobs[part.digest] = self._part(f"{path}/{part.digest}")
            registry.blob(name, part, blobs[part.digest])
        target = self._part(path)
        archive.write(target, name, described, manifests, blobs)
        fetched = Fetched(sha256=sha256(target), size=target.stat().st_size)
        self._move_into_bundle(target, path)
        for blob in blobs.values():
            blob.unlink(missing_ok=True)
        return fetched

    def _registry(self, image: BundleImage) -> RegistryClient:
        host = images.reference(image.name).host
        if host not in self._registries:
            self._registries[host] = RegistryClient(
                self._fetcher, endpoints(host, image.registries), proxy=image.proxy, no_proxy=image.no_proxy
            )
        return self._registries[host]

    # --- Files in the folder.

    def _part(self, path: str) -> pathlib.Path:
        """Return the temporary path of a download. A later run uses the same path, so it can resume the download."""
        return self._work / f"{hashlib.sha256(path.encode()).hexdigest()[:24]}.part"

    def _move_into_bundle(self, part: pathlib.Path, path: str) -> None:
        target = self._directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)

    def _entry(self, file: BundleFile, path: str, kind: str, source: str, fetched: Fetched) -> IndexEntry:
        self._note(path)
        if kind != "checksum":
            self._report_progress(f"{file.name}: {fetched.size / 1e6:.1f} MB")
        return IndexEntry(
            path=path,
            kind=kind,
            name=file.name,
            version=file.version,
            source=source,
            sha256=fetched.sha256,
            size=fetched.size,
            time=self._now,
            windows=file.windows,
        )

    def _finish(self, kept: t.Mapping[str, IndexEntry]) -> None:
        """Sign the index of all files, and remove or report files that do not belong to the bundle."""
        entries = dict(self.made.entries)
        for path, entry in kept.items():
            # A file whose download failed in this run keeps its earlier entry. Files that are no longer requested stay
            # unless `prune` is on and nothing failed.
            goes = self._options.prune and not self.made.failures
            if path not in entries and not goes and not self._replaced(entry):
                entries[path] = entry
        unlisted = sorted(set(verify.files(self._directory)) - set(entries))
        for path in unlisted:
            if path in kept or path in self.made.fetched or self._options.prune:
                self._remove(path)
            else:
                self.made.failures.append(
                    f"{path} is in bundle_dir but does not belong to the bundle; bundle_prune: true removes it"
                )
        self._sign(entries)
        self.made.entries = entries
        if not self.made.failures:
            shutil.rmtree(self._work)

    def _sign(self, entries: t.Mapping[str, IndexEntry]) -> None:
        """Write the index and its signature if the entries differ from the entries of the existing index."""
        if signing.write(self._directory, self._key, entries.values()):
            self.made.signed = True

    def _replaced(self, entry: IndexEntry) -> bool:
        """Return whether newer archives of the same image replace an entry, as when the image's tag has moved."""
        if entry.kind != "container-image":
            return False
        others = [other for other in self.made.entries.values() if (other.kind, other.name) == (entry.kind, entry.name)]
        return bool(entry.windows) and set(entry.windows) <= {version for other in others for version in other.windows}

    def _remove(self, path: str) -> None:
        target = self._directory / path
        target.unlink()
        self.made.removed.append(path)
        for folder in target.parents:
            if folder == self._directory or any(folder.iterdir()):
                break
            folder.rmdir()

    def _note(self, what: str) -> None:
        self.made.fetched.append(what)

    def _report_progress(self, text: str) -> None:
        if self._notify is not None:
            self._notify(f"bundle: {text}")
