# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Archives of container images in a bundle's folder, its keys, and a server that does not start."""

from __future__ import annotations

import hashlib
import json
import tarfile
import tempfile
import typing as t
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content, fetch, images, keys, server, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.build import Builder, BuildOptions, BuildResult
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError

KEY = Ed25519PrivateKey.generate()
NAME = "r.example/team/pause:3"
ROOT = "https://r.example/v2/team/pause"
PLATFORM = {"os": "windows", "architecture": "amd64"}


class Registry(dict[str, bytes]):
    """The contents of a registry by URL, with the interface of the builder's fetcher."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def push(self, *builds: str, tag: str = "3", content: str = "") -> str:
        """Push an image for these builds of Windows, and return the digest of its index."""
        entries = []
        for build in builds:
            config = self._blob({"os.version": build, "content": content})
            layer = self._blob({"layer": content})
            manifest = json.dumps({"config": config, "layers": [layer]}).encode()
            about = self._descriptor(manifest)
            self[f"{ROOT}/manifests/{about['digest']}"] = manifest
            entries.append({**about, "platform": {**PLATFORM, "os.version": build}})
        index = json.dumps({"mediaType": images.INDEXES[0], "manifests": entries}).encode()
        self[f"{ROOT}/manifests/{tag}"] = self[f"{ROOT}/manifests/{self._descriptor(index)['digest']}"] = index
        return str(self._descriptor(index)["digest"])

    def _blob(self, document: object) -> dict[str, t.Any]:
        data = json.dumps(document).encode()
        about = self._descriptor(data)
        self[f"{ROOT}/blobs/{about['digest']}"] = data
        return about

    @staticmethod
    def _descriptor(data: bytes) -> dict[str, t.Any]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return {"digest": digest, "size": len(data), "mediaType": images.MANIFESTS[0]}

    def document(self, source: fetch.FetchSource) -> tuple[bytes, dict[str, str]]:
        self.asked.append(source.url)
        if source.url not in self:
            raise fetch.FetchError(source.url, "HTTP 404", 404)
        return self[source.url], {}

    def file(self, source: fetch.FetchSource, target: Path, checksum: fetch.Checksum | None) -> fetch.Fetched:
        data, _headers = self.document(source)
        target.write_bytes(data)
        return fetch.Fetched(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


@pytest.fixture
def registry() -> Registry:
    return Registry()


def build(
    folder: Path, registry: Registry, windows: t.Sequence[str], digest: str = "", **options: t.Any
) -> tuple[BuildResult, list[str]]:
    """Build the bundle, and return the result and the lines that were printed."""
    messages: list[str] = []
    image = content.BundleImage(name=NAME, windows=tuple(windows), digest=digest)
    requested = content.BundleContent(files={}, images={NAME: image})
    done = Builder(folder, KEY, t.cast("t.Any", registry), BuildOptions(**options), messages.append).run(requested)
    return done, messages


def archives(folder: Path) -> list[str]:
    return [path for path in verify.files(folder) if path.startswith("images/")]


def test_versions_of_windows_with_the_same_image_share_an_archive(tmp_path: Path, registry: Registry) -> None:
    top = registry.push("10.0.20348.1", "10.0.17763.1")
    done, message = build(tmp_path, registry, ["2019", "2022", "2025"])
    assert done.failures == []
    by_windows = {entry.windows: entry for entry in done.entries.values()}
    assert set(by_windows) == {("2019",), ("2022", "2025")}
    entry = by_windows["2022", "2025"]
    path = tmp_path / entry.path
    assert (entry.kind, entry.name, entry.version, entry.source) == ("container-image", NAME, "3", NAME)
    assert (entry.digest, entry.size) == (top, path.stat().st_size)
    assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sorted(done.fetched) == sorted(archives(tmp_path)) == sorted(done.entries)
    assert message == [f"bundle: {NAME} for Windows Server {text}" for text in ("2019", "2022, 2025")]
    with tarfile.open(path) as archive:
        assert "index.json" in archive.getnames()
    assert not (tmp_path / ".work").exists()
    # Nothing is requested again.
    registry.asked.clear()
    again, _said = build(tmp_path, registry, ["2022", "2019"])
    assert (again.fetched, again.signed, registry.asked) == ([], False, [])
    assert build(tmp_path, registry, ["2022"], top)[0].fetched == []


def test_a_tag_that_has_moved_is_fetched_on_demand(tmp_path: Path, registry: Registry) -> None:
    registry.push("10.0.20348.1")
    (old,) = build(tmp_path, registry, ["2022"])[0].entries
    top = registry.push("10.0.20348.1", content="new")
    assert list(build(tmp_path, registry, ["2022"])[0].entries) == [old]
    dry, _said = build(tmp_path, registry, ["2022"], refresh=True, check_mode=True)
    assert (dry.fetched, archives(tmp_path)) == ([NAME], [old])
    done, _said = build(tmp_path, registry, ["2022"], refresh=True)
    (new,) = done.entries
    assert (done.removed, done.entries[new].digest, archives(tmp_path)) == ([old], top, [new])
    same, _said = build(tmp_path, registry, ["2022"], refresh=True)
    assert (same.fetched, list(same.entries)) == ([], [new])


def test_another_digest_is_another_image(tmp_path: Path, registry: Registry) -> None:
    old = registry.push("10.0.20348.1")
    registry.push("10.0.20348.1", content="new")
    build(tmp_path, registry, ["2022"])
    done, _said = build(tmp_path, registry, ["2022"], old)
    assert {entry.digest for entry in done.entries.values()} == {old}


def test_an_image_without_a_variant_for_this_windows_is_reported(tmp_path: Path, registry: Registry) -> None:
    registry.push("10.0.20348.1")
    done, _said = build(tmp_path, registry, ["2019", "2022"])
    assert done.warnings == [f"{NAME}: the registry has no image for Windows Server 2019"]
    assert [entry.windows for entry in done.entries.values()] == [("2022",)]
    none, _said = build(tmp_path / "none", registry, ["2019"])
    assert none.failures == [f"{NAME}: the registry has no image for Windows Server 2019"]


def pem(key: t.Any, passphrase: bytes = b"") -> bytes:
    lock = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    return t.cast("bytes", key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))


EXPECTED = "expected an Ed25519 key in PEM, as created by `openssl genpkey -algorithm ed25519`"


@pytest.mark.parametrize(
    ("data", "passphrase", "why"),
    [
        (
            pem(KEY),
            "x",
            "expected an encrypted key, because bundle_key_passphrase is set, got a key that is not encrypted",
        ),
        (pem(KEY, b"x"), "", "expected bundle_key_passphrase for an encrypted key, got nothing"),
        (pem(KEY, b"x"), "y", f"{EXPECTED}, got a different file or a wrong passphrase"),
        (b"no key", "", f"{EXPECTED}, got a different file or a wrong passphrase"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "", f"{EXPECTED}, got a key of a different kind"),
    ],
    # The keys differ between runs, but names of tests must not.
    ids=["plain", "encrypted", "wrong passphrase", "no key", "another kind"],
)
def test_an_unusable_key_is_reported_with_the_reason(tmp_path: Path, data: bytes, passphrase: str, why: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(BundleError) as caught:
        keys.private_key(str(path), passphrase)
    assert str(caught.value) == f"bundle_key {path}: {why}"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o610, 0o601])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_bytes(pem(KEY))
    path.chmod(mode)
    with pytest.raises(BundleError, match=r"expected a file with mode 0600, got .*Other users can read it"):
        keys.private_key(str(path))


def test_a_new_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    key, made = keys.private_key(str(path), "s3cret")
    assert made
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert b"ENCRYPTED" in path.read_bytes()
    assert path.with_name("key.pub").read_bytes() == keys.public_pem(key.public_key())
    assert keys.public_pem(keys.private_key(str(path), "s3cret")[0].public_key()) == keys.public_pem(key.public_key())
    signed = keys.sign(key, b"data")
    assert keys.is_signed(key.public_key(), b"data", signed)
    assert not keys.is_signed(key.public_key(), b"other", signed)
    assert not keys.is_signed(key.public_key(), b"data", b"no base64")


@pytest.mark.waits
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bind": "192.0.2.1"}, "(bundle_bind 192.0.2.1, bundle_port any): Cannot assign requested address"),
        (
            {"bind": "127.0.0.1", "port": 1234, "certificate": "/none.pem"},
            "(bundle_bind 127.0.0.1, bundle_port 1234, bundle_certificate /none.pem): No such file or directory",
        ),
    ],
)
def test_a_failed_start_of_the_server_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, t.Any], message: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(BundleError) as caught:
        server.start(verify.Bundle(directory=tmp_path, entries={}), nodes=["a"], **options)
    assert str(caught.value) == f"the bundle cannot be served {message}"
    assert list(tmp_path.iterdir()) == []
