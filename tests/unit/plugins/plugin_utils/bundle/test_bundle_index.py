# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A bundle's index, its paths and its signature: only valid ones are accepted."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
import stat
import typing as t
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import index as bundle_index
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import keys, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError, IndexEntry

SHA = "ab" * 32
PLAIN = st.text(
    alphabet=st.characters(whitelist_categories=("L", "N"), whitelist_characters="-_"), min_size=1, max_size=12
)
# Some of these would be devices on Windows.
NAMES = PLAIN.filter(lambda name: not bundle_index.path_problem(f"h/{name}"))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/".join(("h", *parts)))


def entry(path: str, content: bytes = b"x", **more: t.Any) -> IndexEntry:
    """Return an entry for a file with this content."""
    given = {"kind": "kubernetes", "name": "kubernetes 1.37.1", "version": "1.37.1", "source": "s", "time": "t"}
    return IndexEntry(
        **{**given, "path": path, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content), **more}
    )


@given(st.lists(PATHS, unique_by=str.casefold, max_size=6))
def test_a_written_index_reads_back_unchanged(paths: list[str]) -> None:
    entries = {path: entry(path, windows=("2022",), digest="d") for path in paths}
    assert bundle_index.load(bundle_index.dump(entries.values())) == entries
    assert bundle_index.dump(reversed(entries.values())) == bundle_index.dump(entries.values())


@given(st.text(max_size=60))
def test_no_path_leaves_its_folder(path: str) -> None:
    if bundle_index.path_problem(path):
        return
    here = pathlib.PurePosixPath("/bundle")
    assert ".." not in path.split("/")
    assert not path.startswith("/")
    assert (here / path).is_relative_to(here)
    assert (here / path).as_posix() == f"/bundle/{path}"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "../a",
        "a/../b",
        "./a",
        "a\\b",
        "a/b\n",
        "a/b.",
        "a/ b",
        "index.json",
        ".work/a",
        "a/" * 600,
        "h/CON",
        "h/nul.txt",
        "h/Com1/x",
        "con/x",
        "C:/x",
        "h/a:b",
        "h/x:$DATA",
    ],
)
def test_invalid_paths_are_refused(path: str) -> None:
    assert bundle_index.path_problem(path)


@pytest.mark.parametrize("path", ["mirror.example:8080/a", "[2001:db8::1]:8080/a", "[2001:db8::1]/a", "h/console.zip"])
def test_valid_paths_that_resemble_invalid_ones_are_accepted(path: str) -> None:
    assert not bundle_index.path_problem(path)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_as_an_index(data: bytes) -> None:
    with pytest.raises(BundleError):
        bundle_index.load(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([field.name for field in dataclasses.fields(IndexEntry)]), JSON)
def test_a_wild_value_is_refused_or_a_value(name: str, value: t.Any) -> None:
    document = json.loads(bundle_index.dump([entry("h/a")]))
    document["files"][0][name] = value
    try:
        found = bundle_index.load(json.dumps(document).encode())
    except BundleError:
        return
    (only,) = found.values()
    assert only.size >= 0
    assert not bundle_index.path_problem(only.path)
    assert all(isinstance(version, str) for version in only.windows)


def test_names_that_differ_only_for_linux_are_refused() -> None:
    data = bundle_index.dump([entry("h/A"), entry("h/a")])
    with pytest.raises(BundleError, match="twice"):
        bundle_index.load(data)


@given(PATHS)
def test_a_mirror_path_has_neither_user_nor_signature(path: str) -> None:
    url = f"https://user:secret@{urllib.parse.quote(path)}?sig=secret#secret"
    found = bundle_index.mirror_path(url)
    assert found == path
    assert "secret" not in bundle_index.bare(url)


@pytest.mark.parametrize(
    "url", ["", "https://", "file:///etc/passwd", "https://h/a/../b", "https://h/%2e%2e/b", "https://h:x/a"]
)
def test_urls_that_no_bundle_can_hold(url: str) -> None:
    with pytest.raises(BundleError, match="expected the URL of one file"):
        bundle_index.mirror_path(url)


@given(st.text(max_size=40))
def test_wild_urls_have_a_path_or_a_message(text: str) -> None:
    try:
        found = bundle_index.mirror_path(text)
    except BundleError:
        return
    assert not bundle_index.path_problem(found)


@dataclasses.dataclass
class Made:
    """A signed bundle of two files."""

    folder: pathlib.Path
    key: t.Any
    public: str
    entries: list[IndexEntry]

    def sign(self) -> None:
        data = bundle_index.dump(self.entries)
        (self.folder / "index.json").write_bytes(data)
        (self.folder / "index.json.sig").write_bytes(keys.sign(self.key, data))


@pytest.fixture
def made(tmp_path: pathlib.Path) -> Made:
    key, new = keys.private_key(str(tmp_path / "keys" / "own"))
    assert new
    folder = tmp_path / "bundle"
    (folder / "h").mkdir(parents=True)
    entries = []
    for name in ("a", "b"):
        (folder / "h" / name).write_bytes(name.encode() * 1000)
        entries.append(entry(f"h/{name}", name.encode() * 1000))
    bundle = Made(folder, key, str(tmp_path / "keys" / "own.pub"), entries)
    bundle.sign()
    return bundle


def test_a_signed_bundle_is_accepted_and_its_key_is_its_owners(made: Made, tmp_path: pathlib.Path) -> None:
    assert set(verify.verify(str(made.folder), made.public).entries) == {"h/a", "h/b"}
    # The key may be given as text or as a file.
    pem = pathlib.Path(made.public).read_text(encoding="ascii")
    assert set(verify.verify(str(made.folder), pem).entries) == {"h/a", "h/b"}
    private = tmp_path / "keys" / "own"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    again, new = keys.private_key(str(private))
    assert not new
    assert keys.public_pem(again.public_key()) == pathlib.Path(made.public).read_bytes()


def flip(made: Made) -> None:
    (made.folder / "h" / "a").write_bytes(b"A" + b"a" * 999)


def shorten(made: Made) -> None:
    (made.folder / "h" / "a").write_bytes(b"a" * 999)


def lose(made: Made) -> None:
    (made.folder / "h" / "b").unlink()


def add(made: Made) -> None:
    (made.folder / "h" / "c").write_bytes(b"c")


def link(made: Made) -> None:
    (made.folder / "h" / "a").rename(made.folder.parent / "a")
    (made.folder / "h" / "a").symlink_to(made.folder.parent / "a")


def link_folder(made: Made) -> None:
    (made.folder / "h").rename(made.folder.parent / "h")
    (made.folder / "h").symlink_to(made.folder.parent / "h")


def unsign(made: Made) -> None:
    (made.folder / "index.json.sig").unlink()


def change_index(made: Made) -> None:
    index = made.folder / "index.json"
    index.write_bytes(index.read_bytes().replace(b"1.37.1", b"1.37.2"))


def other_key(made: Made) -> None:
    made.key = keys.throwaway()
    made.sign()


def no_index(made: Made) -> None:
    (made.folder / "index.json").unlink()


def wild_signature(made: Made) -> None:
    (made.folder / "index.json.sig").write_bytes(b"\xff no base64")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip, "h/a: expected SHA-256"),
        (shorten, "h/a: expected 1000 bytes, got 999"),
        (lose, "h/b is missing"),
        (add, "h/c is not in the index"),
        (link, "h/a is not a file"),
        (link_folder, "h is not in the index"),
        (unsign, "It has no index.json.sig"),
        (change_index, "index was changed, or a different key signed it"),
        (other_key, "index was changed, or a different key signed it"),
        (no_index, "It has no index.json"),
        (wild_signature, "index was changed, or a different key signed it"),
    ],
)
def test_any_change_of_the_index_is_one_clear_message(
    made: Made, change: t.Callable[[Made], None], message: str
) -> None:
    change(made)
    with pytest.raises(BundleError, match=message) as raised:
        verify.verify(str(made.folder), made.public)
    assert str(raised.value).startswith((f"bundle_dir {made.folder}: ", "bundle_dir: expected"))
    assert "\n" not in str(raised.value)


def test_invalid_keys_are_refused(made: Made, tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("no key")
    wrong.chmod(0o600)
    for path in (str(wrong), str(tmp_path / "missing")):
        with pytest.raises(BundleError, match=r"bundle_public_key .*expected an Ed25519 public key in PEM"):
            verify.verify(str(made.folder), path)
    with pytest.raises(BundleError, match=r"bundle_key .*expected an Ed25519 key in PEM"):
        keys.private_key(str(wrong))
    wrong.chmod(0o644)
    with pytest.raises(BundleError, match=r"expected a file with mode 0600, got .*Other users can read it"):
        keys.private_key(str(wrong))


def test_a_passphrase_locks_the_key_and_appears_nowhere(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "key")
    key, dummy = keys.private_key(path, "open sesame")
    again, dummy = keys.private_key(path, "open sesame")
    assert keys.sign(key, b"x") == keys.sign(again, b"x")
    for wrong in ("", "something else"):
        with pytest.raises(BundleError) as raised:
            keys.private_key(path, wrong)
        assert "sesame" not in str(raised.value)
        assert "something" not in str(raised.value)
