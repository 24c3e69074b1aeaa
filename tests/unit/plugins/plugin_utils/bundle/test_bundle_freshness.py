# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A bundle that is older than one that was used before: rejected, although it is signed."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import freshness, index, keys, signing, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import WORK, BundleError, IndexEntry, IndexStamp
from ansible_collections.winkube.node.plugins.plugin_utils.remote import upload

KEY = Ed25519PrivateKey.generate()
PUBLIC = keys.public_pem(KEY.public_key()).decode()
NOW = datetime.datetime.now(datetime.UTC)


def made(folder: Path, names: Sequence[str]) -> None:
    """Build or change a bundle."""
    (folder / WORK).mkdir(parents=True, exist_ok=True)
    entries = []
    for name in names:
        (folder / "h").mkdir(exist_ok=True)
        (folder / "h" / name).write_bytes(b"x")
        sha256 = upload.sha256(folder / "h" / name)
        more = {"kind": "tool", "name": name, "version": "1", "source": "", "time": ""}
        entries.append(IndexEntry(path=f"h/{name}", sha256=sha256, size=1, **more))
    signing.write(folder, KEY, entries)


def check(folder: Path, state: Path, *, max_age: int = 0, allow_older: bool = False, days: float = 0) -> str:
    """Use a bundle."""
    now = NOW + datetime.timedelta(days=days, seconds=5)
    bundle = verify.verify(str(folder), PUBLIC)
    return freshness.check(bundle, PUBLIC, max_age=max_age, allow_older=allow_older, state=state, now=now)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made(tmp_path / "bundle", ["one"])
    return tmp_path / "bundle"


def test_a_bundle_that_was_put_back_is_refused(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state" / "winkube" / "bundles.json"
    assert check(folder, state) == ""
    shutil.copytree(folder, tmp_path / "old")
    made(folder, ["one", "two"])
    assert check(folder, state) == ""
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "old", folder)
    with pytest.raises(BundleError, match=r"at least as new as the one used last.*bundle_allow_older"):
        check(folder, state)
    # In another folder it is another bundle, because a key may sign several.
    assert check(tmp_path / "old", state) == ""
    assert check(folder, state, allow_older=True) == ""
    assert check(folder, state) == ""
    assert state.stat().st_mode & 0o777 == 0o600


def test_an_index_without_a_serial_is_older_than_any_other(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "bundles.json"
    check(folder, state)
    data = index.dump(verify.verify(str(folder), PUBLIC).entries.values())
    (folder / index.INDEX).write_bytes(data)
    (folder / index.SIGNATURE).write_bytes(keys.sign(KEY, data))
    with pytest.raises(BundleError, match="serial 0"):
        check(folder, state)
    # bundle.yml sets one.
    made(folder, ["one"])
    assert check(folder, state) == ""


def test_a_bundle_expires_if_configured(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "bundles.json"
    assert check(folder, state, max_age=30, days=29) == ""
    with pytest.raises(BundleError, match=r"signed in the last 30 days .bundle_max_age..*bundle_refresh: true"):
        check(folder, state, max_age=30, days=31)
    assert check(folder, state, days=3000) == ""


def test_a_failure_to_record_the_bundle_is_a_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "could not check whether" in check(folder, tmp_path / "file" / "bundles.json")
    state = tmp_path / "bundles.json"
    state.write_text("[no JSON")
    assert check(folder, state) == ""


def test_the_same_files_are_signed_once_and_serials_only_grow(folder: Path) -> None:
    before = (folder / index.INDEX).read_bytes()
    made(folder, ["one"])
    assert (folder / index.INDEX).read_bytes() == before
    first = index.load_stamp(before)
    made(folder, ["one", "two"])
    assert index.load_stamp((folder / index.INDEX).read_bytes()).serial > first.serial
    # A clock that goes back does not reject any of them.
    assert first.after(NOW - datetime.timedelta(days=400)).serial == first.serial + 1
    assert IndexStamp().after(NOW).serial == int(NOW.timestamp())


@pytest.mark.parametrize(
    "wrong", [{"serial": -1}, {"serial": "1"}, {"made": 5}, {"made": "yesterday"}, {"serial": True}]
)
def test_invalid_timestamps_are_refused(wrong: dict[str, object]) -> None:
    document = {**json.loads(index.dump([])), **wrong}
    with pytest.raises(BundleError, match=r"expected a (number|time)"):
        index.load_stamp(json.dumps(document).encode())
