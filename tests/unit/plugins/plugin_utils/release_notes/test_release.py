# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Names of releases, and the gallery versions that belong to them."""

from __future__ import annotations

import datetime
import re
import subprocess
from pathlib import Path

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import release as release_names
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.release import ImageRelease, commit_of
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

ROOT = Path(__file__).resolve().parents[5]
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *IDENTITY, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("20261126.1a2b3c4d", "2026.1126.3"),
        ("20260105.1a2b3c4", "2026.0105.3"),
        (f"20261001.{'a' * 64}", "2026.1001.3"),
    ],
)
def test_a_release_and_its_gallery_version(name: str, version: str) -> None:
    release = ImageRelease.parse(name)
    assert str(release) == name
    assert release.gallery_version(3) == version


def test_gallery_versions_have_the_order_of_their_dates() -> None:
    days = [datetime.date(2025, 12, 31) + datetime.timedelta(days=number) for number in range(400)]
    versions = [tuple(map(int, ImageRelease(date=day, commit="1a2b3c4").gallery_version(0).split("."))) for day in days]
    assert versions == sorted(set(versions))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "2026",
        "20261126",
        "20261326.1a2b3c4d",
        "20260230.1a2b3c4d",
        "19991126.1a2b3c4d",
        "20261126.",
        "20261126.1a2b3c",
        "20261126.1A2B3C4D",
        "20261126.build-7",
        f"20261126.{'a' * 65}",
        "20261126.1a2b3c4d\n",
        "20261126.a b",
        "20261126.../x",
        "v20261126.abc",
        "20261126.-",
    ],
)
def test_other_names_are_rejected(name: str) -> None:
    with pytest.raises(ResourceError, match=r"image_release: expected YYYYMMDD\.commithash"):
        ImageRelease.parse(name, "image_release")


def test_packer_accepts_the_same_names() -> None:
    text = (ROOT / "packer" / "variables.pkr.hcl").read_text(encoding="utf-8")
    expression = re.search(r'regex_replace\(var\.release, "\^(.*)\$", ""\)', text)
    assert expression is not None
    assert expression[1] == release_names._NAME.pattern


@pytest.mark.parametrize("number", [-1, 2**31])
def test_a_number_that_azure_rejects_is_rejected(number: int) -> None:
    with pytest.raises(ResourceError, match="number: expected 0 to 2147483647"):
        ImageRelease.parse("20261126.1a2b3c4d").gallery_version(number)
    assert ImageRelease.parse("20261126.1a2b3c4d").gallery_version(2**31 - 1) == "2026.1126.2147483647"


def test_the_commit_of_a_repository(tmp_path: Path) -> None:
    assert commit_of(str(tmp_path / "missing")) == ("", False)
    git(tmp_path, "init", "-q")
    # There is no commit yet.
    assert commit_of(str(tmp_path)) == ("", False)
    file = tmp_path / "image-vars.yml"
    file.write_text("a: 1\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "a")
    # A tag would otherwise be part of the name.
    git(tmp_path, "tag", "-a", "v1.0", "-m", "v1.0")
    whole = git(tmp_path, "rev-parse", "HEAD")
    commit, modified = commit_of(str(tmp_path))
    assert (len(commit), whole.startswith(commit), modified) == (8, True, False)
    ImageRelease.parse(f"20261126.{commit}")
    file.write_text("a: 2\n", encoding="utf-8")
    assert commit_of(str(tmp_path)) == (commit, True)


def test_the_commit_is_unknown_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(str(tmp_path)) == ("", False)
