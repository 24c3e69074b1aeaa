# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The JSON document of release notes, and the files of an artifact cache."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from unit.image_contents import CACHE, CONTENTS, HOSTILE, HOSTILE_CONTENTS

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import cached_files, contents, documents
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult


def test_the_document_is_read_as_it_was_written() -> None:
    assert contents.from_json(contents.to_json(CONTENTS), "before") == CONTENTS


def test_texts_of_a_document_are_printable() -> None:
    read = contents.from_json(contents.to_json(HOSTILE_CONTENTS), "before")
    assert "\x1b" not in read.features[0].name
    assert "\\x1b" in read.features[0].name


def test_texts_can_be_changed() -> None:
    changed = contents.with_texts(CONTENTS, lambda text: text.replace("builder", "***"))
    assert changed == dataclasses.replace(CONTENTS, host="***")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "before: expected release notes as JSON, got nothing. Give the .json file that build_image.yml wrote."),
        ("[" * 100_000, "before: expected release notes as JSON, got nothing. "),
        ("[]", "before: expected release notes with schema_version 1, got "),
        ('{"schema_version": 2}', "before: expected release notes with schema_version 1, got "),
        ('{"schema_version": 1}', "before.release: expected a string, got nothing"),
    ],
)
def test_other_files_are_rejected(text: str, message: str) -> None:
    with pytest.raises(ResourceError) as error:
        contents.from_json(text, "before")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"windows": "2022"}, "after.windows: expected a mapping with product, version, "),
        ({"features": [{"name": ["x"]}]}, "after.features[0].name: expected a string, got "),
        ({"disk": {"free": "much"}}, "after.disk.free: expected "),
        ({"artifact": []}, "after.artifact: expected "),
    ],
)
def test_a_document_with_wrong_types_is_rejected(change: dict[str, t.Any], message: str) -> None:
    document = json.loads(contents.to_json(CONTENTS)) | change
    with pytest.raises(ResourceError) as error:
        contents.from_json(json.dumps(document), "after")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "path", ["release-notes.json", "\\\\server\\share\\a", "C:\\a\\..\\b", "C:\\", "/etc/x", "C:\\a?"]
)
def test_a_path_that_is_no_windows_path_is_rejected(path: str) -> None:
    with pytest.raises(ResourceError, match="image_path: expected an absolute Windows path"):
        documents.check_image_path(path)


def test_a_windows_path_and_no_path_are_accepted() -> None:
    documents.check_image_path("C:\\ProgramData\\winkube\\release-notes.json")
    documents.check_image_path("")


def test_each_host_has_files_of_its_own() -> None:
    assert documents.file_name("builder", "json") == "builder.json"
    names = [documents.file_name(host, "sbom") for host in ("../a", "a/b", "a:b", "a_b")]
    assert len(set(names)) == 4
    assert all(name.endswith(".cdx.json") and "/" not in name and name[0] != "." for name in names)


def listed(*paths: str) -> CallResult:
    return CallResult(ok=True, output=tuple({"FullName": path, "Length": 3} for path in paths))


def lines(path: str, text: str) -> list[dict[str, str]]:
    return [{"Path": path, "Line": line} for line in text.splitlines()]


def cached(
    files: CallResult, hashes: t.Mapping[str, str], manifests: t.Sequence[t.Mapping[str, str]] = ()
) -> list[tuple[t.Any, ...]]:
    hashed = CallResult(ok=True, output=tuple({"Path": path, "Hash": value} for path, value in hashes.items()))
    noted = cached_files.artifacts(CACHE, files, hashed, CallResult(ok=True, output=tuple(manifests)))
    return [(one.kind, one.version, one.sha256, one.source, one.custom, one.verified) for one in noted]


def test_a_file_with_a_manifest_is_verified_by_its_own_hash() -> None:
    path = f"{CACHE}\\nssm\\2.24\\nssm-2.24.zip"
    manifest = {"kind": "nssm", "version": "2.24", "sha256": "ab12", "source": "https://me:pw@nssm.cc/a.zip?sig=x"}
    noted = lines(f"{path.upper()}.manifest.json", json.dumps(manifest, indent=1))
    files = listed(path, f"{path}.manifest.json", f"{path}.checksum")
    # The node writes hashes in upper case. Its manifest contains no credentials, but nothing guarantees that.
    expected = ("nssm", "2.24", "ab12", "https://nssm.cc/a.zip", False, True)
    assert cached(files, {path: "AB12", f"{path}.manifest.json": "FF"}, noted) == [expected]
    assert cached(files, {path: "AB13"}, noted) == [(*expected[:2], "ab13", *expected[3:5], False)]


@pytest.mark.parametrize("text", ["no JSON", "[1]", "[" * 100_000, ""])
def test_a_file_without_a_manifest_is_known_by_its_path(text: str) -> None:
    path = f"{CACHE}\\containerd\\2.3.7\\containerd.tar.gz"
    noted = lines(f"{path}.manifest.json", text)
    assert cached(listed(path), {path: "AB"}, noted) == [("containerd", "2.3.7", "ab", "", False, False)]


def test_files_of_users_and_other_files_are_listed_too() -> None:
    own, stray = f"{CACHE}\\moby\\custom\\0123456789abcdef\\docker.zip", f"{CACHE}\\left.part"
    alone = f"{CACHE}\\x\\1\\a.checksum"
    assert cached(listed(own, stray, alone), {own: "AB", stray: "CD"}) == [
        ("left.part", "", "cd", "", False, False),
        ("moby", "", "ab", "", True, False),
        ("x", "1", "", "", False, False),
    ]


def test_a_cache_that_does_not_exist_is_empty() -> None:
    missing = CallResult(ok=False)
    assert cached_files.artifacts(CACHE, missing, None, missing) == ()


def test_the_hostile_text_is_what_it_claims() -> None:
    assert {"<", "|", "`", "\x1b", "\n", "\u202e"} <= set(HOSTILE)
