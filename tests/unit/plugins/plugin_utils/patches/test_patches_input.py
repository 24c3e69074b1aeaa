# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The user's list of patches: parsing, and errors before a node is accessed."""

from __future__ import annotations

import contextlib
import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.patches.input import (
    check_sources,
    known_builds,
    read_patches,
)
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.signatures import check_signers

SHA = "ab" * 32
URL = "https://h/windows10.0-kb5046616-x64_f9.msu"
FILE = {"url": URL, "sha256": SHA}


def nowhere(name: str) -> str:
    raise ResourceError("file", name, "there is no such file")


def one(entry: t.Any, source: str = "") -> Patch:
    (found,) = read_patches([entry], source, nowhere)
    return found


@pytest.mark.parametrize("entry", ["KB5046616", "kb5046616", "5046616", 5046616, {"kb": 5046616}])
def test_a_number_is_a_public_patch_whose_build_is_known(entry: t.Any) -> None:
    found = one(entry)
    assert (found.kb, found.public, found.build) == ("KB5046616", True, (20348, 2849))


def test_the_kb_number_is_read_from_the_file_name() -> None:
    found = one(FILE)
    assert (found.kb, found.public, found.requires) == ("KB5046616", False, ())
    assert one({**FILE, "kb": "KB1234567"}).kb == "KB1234567"


def test_a_name_can_mark_a_test_signed_patch() -> None:
    found = one({**FILE, "url": "https://h/Windows10.0-KB999999-x64-InstallForTestingPurposesOnly.exe?sig=x"})
    assert (found.kb, found.test_signed, found.arguments) == ("KB999999", True, ("/q", "/norestart"))
    assert one(FILE).test_signed is None


def test_files_are_found_in_a_folder_or_on_a_mirror(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kb5046616.cab").write_bytes(b"x")
    entry = {"file": "kb5046616.cab", "sha256": f"sha256:{SHA.upper()}"}
    by_folder, by_mirror = one(entry, str(tmp_path)), one(entry, "https://mirror/p/?sig=s")
    assert by_folder.file is not None
    assert by_mirror.file is not None
    assert (by_folder.file.local, by_folder.file.sha256) == (str(tmp_path / "kb5046616.cab"), SHA)
    assert (by_mirror.file.url, by_mirror.file.name) == ("https://mirror/p/kb5046616.cab?sig=s", "kb5046616.cab")


REFUSED: dict[str, tuple[t.Any, str]] = {
    "nothing": ({}, "kb, file and url"),
    "a list": ([1], "KB number"),
    "a word": ("november", "KB number"),
    "truth": (True, "KB number"),
    "an unknown key": (
        {"kb": 5046616, "sha": SHA},
        "].sha: expected one of the properties file, url",
    ),
    "no hash": ({"url": URL}, "64 hexadecimal digits"),
    "a short hash": ({**FILE, "sha256": "ab"}, "64 hexadecimal digits"),
    "a hash without a file": ({"kb": 5046616, "sha256": SHA}, "file or url"),
    "two sources": ({**FILE, "file": "a.msu"}, "either file or url"),
    "a zip": ({**FILE, "url": "https://h/kb5046616.zip"}, ".msu, .cab, .exe"),
    "a share": ({**FILE, "url": r"\\\\server\\kb5046616.msu"}, "http or https"),
    "a local URL": ({**FILE, "url": "file:///c:/kb5046616.msu"}, "http or https"),
    "a strange name": ({**FILE, "url": "https://h/kb5046616%22%20x.msu"}, "file name"),
    "a file that is not there": ({"file": "kb5046616.msu", "sha256": SHA}, "no such file"),
    "nothing to find it by": ({**FILE, "url": "https://h/fix.exe"}, "kb, build or package"),
    "a number as build": ({"kb": 5046616, "build": 20348.27}, "quotes"),
    "half a build": ({"kb": 5046616, "build": "20348"}, "a build and its revision"),
    "companions of a cab": ({**FILE, "url": "https://h/kb5046616.cab", "requires": [FILE]}, "only with an .msu"),
    "companions without a hash": ({**FILE, "requires": [{"url": "https://h/kb5043080.msu"}]}, "64 hexadecimal digits"),
    "a companion of its own name": ({**FILE, "requires": [FILE]}, "different file names"),
    "companions as text": ({**FILE, "requires": "kb5043080.msu"}, "a list of mappings with file, url, sha256"),
    "arguments of a msu": ({**FILE, "arguments": ["/x"]}, "only with an .exe"),
    "maybe": ({**FILE, "test_signed": "maybe"}, "true or false"),
    "another Windows": ({"kb": 5046616, "windows": ["2016"]}, "2019, 2022, 23H2, 2025"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_patches_are_refused_by_name(case: str) -> None:
    entry, accepted = REFUSED[case]
    with pytest.raises(ResourceError) as caught:
        read_patches(["KB5044281", entry], "", nowhere)
    assert accepted in str(caught.value)
    assert "patches[1]" in str(caught.value) or case == "a file that is not there"


MORE_REFUSED: dict[str, t.Any] = {
    "an unknown key of a companion": {**FILE, "requires": [{"url": URL, "kb": 1}]},
    "a companion as text": {**FILE, "requires": ["kb5043080.msu"]},
    "a cab as companion": {**FILE, "requires": [{"url": "https://h/base.cab", "sha256": SHA}]},
    "companions of nothing": {"kb": 5046616, "requires": [FILE]},
    "arguments without a file": {"kb": 5046616, "arguments": ["/q"]},
    "test-signed without a file": {"kb": 5046616, "test_signed": False},
    "arguments as text": {**FILE, "url": "https://h/kb5046616.exe", "arguments": "/q"},
    "arguments of objects": {**FILE, "url": "https://h/kb5046616.exe", "arguments": [{}]},
    "a number with a word": {"kb": "KB5046616 for x64"},
    "a build with letters": {"kb": 5046616, "build": "20348.x"},
    "a long build": {"kb": 5046616, "build": "203480.1"},
    "a long name": {**FILE, "url": f"https://h/{'a' * 148}.msu", "kb": 5046616},
    "a URL with a password": {**FILE, "url": "ftp://user:secret@h/kb5046616.msu?sig=secret"},
}
ACCEPTED: dict[str, tuple[t.Any, str]] = {
    "a number": (5046616, ""),
    "an unknown number": ("kb999999", ""),
    "a name and a build": ({"kb": "KB5046616", "name": "November", "build": " 10.0.20348.2900 "}, ""),
    "empty keys": ({"kb": 5046616, "sha256": "", "requires": [], "arguments": None, "windows": None}, ""),
    "a file": ({**FILE, "package": "*x*", "windows": ["2022", "23H2"], "test_signed": False}, ""),
    "a file with a checkpoint": ({**FILE, "requires": [{"url": "https://h/kb5043080.MSU", "sha256": SHA}]}, ""),
    "an exe": ({**FILE, "url": "https://h/fix.exe", "build": "20348.1"}, ""),
    "an exe with arguments": ({**FILE, "url": "https://h/kb5046616.exe", "arguments": ["/x", 1]}, ""),
    "an exe without arguments": ({**FILE, "url": "https://h/kb5046616.exe", "arguments": []}, ""),
    "for tests": ({**FILE, "url": "https://h/kb5046616-InstallForTestingPurposesOnly.exe"}, ""),
    "a file at a mirror": ({"file": "a/kb5046616.cab", "sha256": f" SHA256:{SHA.upper()} "}, "http://h/m/?sig=s"),
    "a URL beside a mirror": (FILE, "http://mirror/"),
    "a longest name": ({**FILE, "url": f"https://h/{'a' * 147}.msu", "kb": 5046616}, ""),
    "one Windows": ({"kb": 5046616, "windows": 2022}, ""),
}


def test_entries_are_read_or_refused_in_full() -> None:
    found: dict[str, t.Any] = {name: one(entry, source) for name, (entry, source) in ACCEPTED.items()}
    refused = {name: entry for name, (entry, _accepted) in REFUSED.items()} | MORE_REFUSED
    for name, entry in refused.items():
        with pytest.raises(ResourceError) as caught:
            one(entry)
        found[name] = caught.value
    outcomes.check("patches/entries", found)


def test_a_refused_url_is_shown_without_its_signature() -> None:
    with pytest.raises(ResourceError) as caught:
        one({**FILE, "url": "ftp://user:secret@h/kb5046616.msu?sig=secret"})
    assert "secret" not in str(caught.value)


def test_files_of_the_controller_are_found(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kb5046616.cab"
    path.write_bytes(b"x")
    for file, source in ((path.name, ""), (str(path), "/nowhere"), (path.name, str(tmp_path))):
        (found,) = read_patches([{"file": file, "sha256": SHA}], source, lambda name: str(tmp_path / name))
        assert found.file is not None
        assert (found.file.local, found.file.url, found.file.extension) == (str(path), "", ".cab")
    with pytest.raises(ResourceError) as caught:
        one({"file": "other.cab", "sha256": SHA}, str(tmp_path))
    missing = f"expected a readable file on the controller, got '{tmp_path}/other.cab'"
    assert str(caught.value) == f"patches[0].file: {missing}"


def test_a_patch_is_listed_once_per_windows_version() -> None:
    with pytest.raises(ResourceError, match=r"patches\[1\].*patches\[0\] is the same"):
        read_patches(["KB5046616", FILE], "", nowhere)
    named = [{"kb": 999999, "name": name} for name in ("a", "b")]
    with pytest.raises(
        ResourceError, match=r"patches\[1\]: expected each patch once, got 'b'\. patches\[0\] is the same"
    ):
        read_patches(named, "", nowhere)
    fix = {"url": "https://h/fix.exe", "sha256": SHA, "build": "20348.1"}
    with pytest.raises(ResourceError, match=r"each patch once, got 'FIX.exe'\. patches\[0\] is the same"):
        read_patches([fix, {**fix, "name": "FIX.exe"}], "", nowhere)
    assert len(read_patches([fix, {**fix, "name": "other"}], "", nowhere)) == 2
    assert len(read_patches([{"kb": 999999, "windows": "2022"}, {"kb": 999999, "windows": "2025"}], "", nowhere)) == 2


def test_without_an_update_server_every_patch_needs_a_file() -> None:
    check_sources([one(FILE)], "none")
    check_sources([one("KB5046616")], "wsus")
    with pytest.raises(ResourceError, match=r"update_server is none, got .KB5046616"):
        check_sources([one(FILE), one("KB5046616")], "none")


@pytest.mark.parametrize("signers", [[], ["ab" * 20, "AB" * 20], ["CN=Microsoft Windows, O=Microsoft Corporation"]])
def test_signers_are_thumbprints_or_subjects(signers: list[str]) -> None:
    check_signers(signers)


@pytest.mark.parametrize("signers", [["Microsoft"], ["ab"], ["ab" * 20, "CN=X"]])
def test_other_signers_are_refused(signers: list[str]) -> None:
    with pytest.raises(ResourceError, match="allowed_signers"):
        check_signers(signers)


def test_known_updates_are_of_supported_builds() -> None:
    assert {build for build, dummy in known_builds().values()} == {17763, 20348, 26100}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=6,
)
KEYS = ["name", "kb", "build", "package", "file", "url", "sha256", "requires", "arguments", "test_signed", "windows"]


@given(st.lists(JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5), max_size=3), st.text(max_size=10))
def test_wild_input_is_read_or_refused(entries: list[t.Any], source: str) -> None:
    found: t.Sequence[t.Any] = entries
    with contextlib.suppress(ResourceError):
        found = read_patches(entries, source, nowhere)
    assert len(found) == len(entries)
