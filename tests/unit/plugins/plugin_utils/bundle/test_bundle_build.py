# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Building a bundle's folder: what is downloaded, kept, rejected and removed. Servers are a dictionary."""

from __future__ import annotations

import fcntl
import hashlib
import pathlib
import typing as t

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.build import Builder, BuildOptions, BuildResult
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import (
    Checksum,
    Fetched,
    FetchError,
    FetchSource,
)
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import WORK, BundleError
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch, PatchFile
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load

KEY = Ed25519PrivateKey.generate()
SITE, OWN = "http://site.example/kubelet.exe", "https://dl.example/v1/kubelet.exe"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Servers(dict[str, bytes]):
    """Replaces the builder's fetcher: it has files by URL, and records the requests."""

    def __init__(self, *arguments: t.Any) -> None:
        super().__init__(*arguments)
        self.asked: list[str] = []

    def document(self, source: FetchSource, limit: int = 0) -> tuple[bytes, dict[str, str]]:
        self.asked.append(source.url)
        if source.url not in self:
            raise FetchError(source.url, "404")
        return self[source.url], {}

    def file(self, source: FetchSource, target: pathlib.Path, checksum: Checksum | None) -> Fetched:
        data, _ = self.document(source)
        if checksum is not None and hashlib.new(checksum.algorithm, data).hexdigest() != checksum.digest:
            raise FetchError(source.url, "it has another checksum")
        target.write_bytes(data)
        return Fetched(sha256=digest(data), size=len(data))


def artifact(**more: t.Any) -> content.BundleContent:
    """Return the needs of a host with one artifact."""
    document: dict[str, t.Any] = {
        "type": "Artifact",
        "name": "kubelet 1.37.1",
        "path": "C:\\a.exe",
        "urls": [OWN],
        **more,
    }
    if not more.keys() & {"sha256", "sha512", "checksum_url"}:
        document["allow_unverified"] = True
    return content.of_resources(load([document]), ["2022"], {})


def build(folder: pathlib.Path, servers: Servers, requested: content.BundleContent, **options: t.Any) -> BuildResult:
    return Builder(folder, KEY, t.cast("t.Any", servers), BuildOptions(**options)).run(requested)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "bundle"


def there(folder: pathlib.Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in verify.files(folder)}


def test_a_file_is_fetched_once_and_signed(folder: pathlib.Path) -> None:
    servers, requested = Servers({OWN: b"new"}), artifact(sha256=digest(b"new"))
    made = build(folder, servers, requested)
    assert (made.fetched, made.failures, made.warnings, made.signed) == (["dl.example/v1/kubelet.exe"], [], [], True)
    assert there(folder) == {"dl.example/v1/kubelet.exe": b"new"}
    entry = made.entries["dl.example/v1/kubelet.exe"]
    assert (entry.name, entry.version, entry.source, entry.sha256) == ("kubelet 1.37.1", "1.37.1", OWN, digest(b"new"))
    assert not (folder / WORK).exists()
    again = build(folder, servers, requested)
    assert (again.fetched, again.signed, again.entries) == ([], False, made.entries)
    assert servers.asked == [OWN]
    assert build(folder, servers, requested, refresh=True).fetched == ["dl.example/v1/kubelet.exe"]


def test_a_dry_run_lists_what_it_would_download(folder: pathlib.Path) -> None:
    servers = Servers({OWN: b"new"})
    assert build(folder, servers, artifact(), check_mode=True).fetched == ["dl.example/v1/kubelet.exe"]
    assert not folder.exists()
    assert servers.asked == []


@pytest.mark.parametrize("damage", [b"bad", None])
def test_a_file_that_is_not_what_was_signed_is_fetched_again(folder: pathlib.Path, damage: bytes | None) -> None:
    servers, requested = Servers({OWN: b"new"}), artifact(sha256=digest(b"new"))
    build(folder, servers, requested)
    path = folder / "dl.example" / "v1" / "kubelet.exe"
    path.unlink() if damage is None else path.write_bytes(damage)
    made = build(folder, servers, requested)
    assert made.fetched == ["dl.example/v1/kubelet.exe"]
    assert len(made.warnings) == 1
    assert made.warnings[0].endswith("; the file is downloaded again if a host needs it")
    assert there(folder) == {"dl.example/v1/kubelet.exe": b"new"}


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_file_with_another_checksum_is_another_file(folder: pathlib.Path, algorithm: str) -> None:
    servers = Servers({OWN: b"old"})
    pinned = {data: hashlib.new(algorithm, data).hexdigest() for data in (b"old", b"new")}
    build(folder, servers, artifact(**{algorithm: pinned[b"old"]}))
    build(folder, servers, artifact(**{algorithm: pinned[b"old"]}))
    assert servers.asked == [OWN]
    servers[OWN] = b"new"
    made = build(folder, servers, artifact(**{algorithm: pinned[b"new"]}))
    assert there(folder) == {"dl.example/v1/kubelet.exe": b"new"}
    assert made.entries["dl.example/v1/kubelet.exe"].sha256 == digest(b"new")


def test_a_failed_download_does_not_affect_the_others(folder: pathlib.Path) -> None:
    other = artifact(name="other 1", urls=["http://o.example/o.exe"], sha256=digest(b"o"))
    servers = Servers({OWN: b"wrong", "http://o.example/o.exe": b"o"})
    made = build(folder, servers, artifact(sha256=digest(b"new")).joined(other))
    assert made.failures == [f"kubelet 1.37.1: {FetchError(OWN, 'it has another checksum')}"]
    assert there(folder) == {"o.example/o.exe": b"o"}
    assert list(made.entries) == ["o.example/o.exe"]


def test_nothing_is_trusted_without_a_setting(folder: pathlib.Path) -> None:
    made = build(folder, Servers({OWN: b"new"}), artifact())
    assert made.warnings == [f"kubelet 1.37.1: nothing verifies this file; its SHA-256 is {digest(b'new')}"]


@pytest.mark.parametrize(("listed", "comes"), [(b"new", True), (b"another", False)])
def test_a_publishers_checksum_file_is_stored_next_to_its_file(
    folder: pathlib.Path, listed: bytes, comes: bool
) -> None:
    sums = f"{digest(listed)}  kubelet.exe\n".encode()
    servers = Servers({OWN: b"new", f"{OWN}.sha256": sums})
    made = build(folder, servers, artifact(checksum_url=f"{OWN}.sha256"))
    assert bool(made.failures) is not comes
    found = {"dl.example/v1/kubelet.exe": b"new", "dl.example/v1/kubelet.exe.sha256": sums}
    assert there(folder) == (found if comes else {})
    assert [entry.kind for entry in made.entries.values()] == (["kubelet", "checksum"] if comes else [])


def test_unneeded_files_are_kept_until_they_are_pruned(folder: pathlib.Path) -> None:
    servers = Servers({OWN: b"new"})
    build(folder, servers, artifact(sha256=digest(b"new")))
    assert build(folder, servers, content.NOTHING).removed == []
    assert build(folder, servers, content.NOTHING, prune=True).removed == ["dl.example/v1/kubelet.exe"]
    assert (there(folder), (folder / "dl.example").exists()) == ({}, False)


def test_an_unexpected_file_in_the_folder_is_a_failure_until_it_is_pruned(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    made = build(folder, Servers(), content.NOTHING)
    assert made.failures == [
        "notes.txt is in bundle_dir but does not belong to the bundle; bundle_prune: true removes it"
    ]
    pruned = build(folder, Servers(), content.NOTHING, prune=True)
    assert (pruned.failures, pruned.removed) == ([], ["notes.txt"])


def test_two_runs_do_not_make_one_bundle(folder: pathlib.Path) -> None:
    (folder / WORK).mkdir(parents=True)
    with (folder / WORK / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BundleError, match="another run is building this bundle"):
            build(folder, Servers(), content.NOTHING)


@pytest.mark.parametrize(("data", "fails"), [(b"patch", False), (b"another", True)])
def test_a_patch_of_the_controller_is_copied(
    folder: pathlib.Path, tmp_path: pathlib.Path, data: bytes, fails: bool
) -> None:
    local = tmp_path / "a.msu"
    local.write_bytes(data)
    sha = digest(b"patch")
    patch = Patch(name="fix", kb="KB1", file=PatchFile(name="a.msu", sha256=sha, local=str(local)))
    made = build(folder, Servers(), content.of_patches([patch], ["2022"], None, ()))
    assert there(folder) == ({} if fails else {f"patches/{sha}/a.msu": b"patch"})
    assert made.failures == ([f"{local}: expected SHA-256 {sha}, got {digest(data)}"] if fails else [])


# The needed files.


def test_hosts_that_contradict_each_other_are_refused() -> None:
    one, other, loose = artifact(sha256="a" * 64), artifact(sha256="b" * 64), artifact()
    with pytest.raises(
        BundleError, match=rf"kubelet 1\.37\.1: expected the same checksum of {OWN} for all hosts, got a+ and b+"
    ):
        one.joined(other)
    for joined in (one.joined(loose), loose.joined(one), one.joined(one)):
        assert joined.files["dl.example/v1/kubelet.exe"].checksum == Checksum(algorithm="SHA256", digest="a" * 64)


def test_sites_are_requested_as_the_node_would() -> None:
    site = {"url": SITE, "checksum_url": None, "proxy": "", "headers": {"X-Token": "s3cret"}}
    expected = artifact(sha256="a" * 64, sites=[site], proxy="http://proxy:3128", no_proxy=["a,b"])
    (file,) = expected.files.values()
    assert file.sources == (
        FetchSource(url=SITE, headers={"X-Token": "s3cret"}, proxy="", no_proxy=("a", "b")),
        FetchSource(url=OWN, headers={}, proxy="http://proxy:3128", no_proxy=("a", "b")),
    )
    assert content.from_data(content.to_data(expected)) == expected


def test_files_for_other_versions_of_windows_are_skipped() -> None:
    assert artifact(windows=["2019"]) == content.NOTHING
    assert len(artifact(windows=["2019", "2022"]).files) == 1
    patch = Patch(name="fix", kb="KB1", file=PatchFile(name="a.msu", sha256="a" * 64, url=OWN), windows=("2025",))
    assert content.of_patches([patch], ["2022"], None, ()) == content.NOTHING


def test_an_artifact_knows_its_own_url() -> None:
    (file,) = artifact(
        urls=[SITE], upstream=OWN, checksum_url=f"{SITE}.sha512", checksum_algorithm="SHA512"
    ).files.values()
    assert file.path == "dl.example/v1/kubelet.exe"
    assert file.sums is not None
    assert (file.sums.path, file.sums.name, file.sums.algorithm) == (
        "site.example/kubelet.exe.sha512",
        "kubelet.exe",
        "SHA512",
    )
