# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The index and signature of a bundle whose builder is killed at any step of writing or finding them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import keys, signing, verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import (
    INDEX,
    SIGNATURE,
    WORK,
    BundleError,
    IndexEntry,
)

KEY = Ed25519PrivateKey.generate()
PUBLIC = keys.public_pem(KEY.public_key()).decode()
STEPS = ("index half written", "index written", "signature half written", "both written", "index in place", "done")


class Killed(BaseException):
    """An exception that no code catches."""


def entries(*names: str) -> dict[str, IndexEntry]:
    """Return the entries of an index, by path."""
    return {
        name: IndexEntry(path=name, kind="tool", name=name, version="1", source="", sha256="0" * 64, size=1, time="")
        for name in names
    }


OLD, NEW = entries("h/one"), entries("h/one", "h/two")


@contextlib.contextmanager
def killed_after(operations: int, half: bool = False) -> Iterator[None]:
    """Kill the code in a context after this number of file operations. With `half`, the next write is incomplete."""
    write, replace, left = Path.write_bytes, Path.replace, operations

    def due() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def writing(path: Path, data: bytes) -> int:
        if due():
            if half:
                write(path, data[: len(data) // 2])
            raise Killed
        return write(path, data)

    def renaming(path: Path, target: Path) -> Path:
        if due():
            raise Killed
        return replace(path, target)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(Path, "write_bytes", writing)
        patch.setattr(Path, "replace", renaming)
        yield


def cut(step: int) -> contextlib.AbstractContextManager[None]:
    """Return a context in which the code is killed at one of STEPS."""
    return killed_after(*((0, True), (1,), (1, True), (2,), (3,), (4,))[step])  # type: ignore[arg-type]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / WORK).mkdir()
    assert signing.write(tmp_path, KEY, OLD.values())
    return tmp_path


def strictly(bundle: Path) -> dict[str, IndexEntry] | None:
    """Return the index if a playbook accepts it."""
    try:
        return verify.read_index(bundle, PUBLIC)[0]
    except BundleError:
        return None


@pytest.mark.parametrize("step", range(6), ids=STEPS)
def test_a_kill_at_any_step_loses_nothing(bundle: Path, step: int) -> None:
    with cut(step):
        signing.write(bundle, KEY, NEW.values())
    # Only between the two renames the bundle cannot be used.
    assert strictly(bundle) == {"index in place": None, "done": NEW}.get(STEPS[step], OLD)
    expected = OLD if step < 3 else NEW
    before = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    assert signing.read(bundle, KEY, settle=False) == expected
    assert {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()} == before
    assert signing.read(bundle, KEY, settle=True) == expected
    assert strictly(bundle) == expected
    assert signing.write(bundle, KEY, NEW.values()) is (step < 3)
    assert strictly(bundle) == NEW
    assert not signing.write(bundle, KEY, NEW.values())


@pytest.mark.parametrize("step", range(6), ids=STEPS)
def test_a_second_kill_during_the_repeated_run(bundle: Path, step: int) -> None:
    newest = entries("h/one", "h/two", "h/three")
    with cut(step):
        signing.write(bundle, KEY, NEW.values())
    for operations in (0, 1):
        with killed_after(operations):
            signing.read(bundle, KEY, settle=True)
        assert signing.read(bundle, KEY, settle=False) == (OLD if step < 3 else NEW)
    found = signing.read(bundle, KEY, settle=True)
    for later in range(6):
        with cut(later):
            signing.write(bundle, KEY, newest.values())
        assert signing.read(bundle, KEY, settle=True) == (found if later < 3 else newest)


def test_a_first_run_that_was_killed_is_repaired(tmp_path: Path) -> None:
    (tmp_path / WORK).mkdir()
    for step in range(6):
        with cut(step):
            signing.write(tmp_path, KEY, OLD.values())
        assert signing.read(tmp_path, KEY, settle=True) == ({} if step < 3 else OLD)


@pytest.mark.parametrize("changed", [INDEX, SIGNATURE])
def test_files_signed_by_another_key_are_not_trusted(bundle: Path, changed: str) -> None:
    other, stranger = bundle / "other", Ed25519PrivateKey.generate()
    (other / WORK).mkdir(parents=True)
    signing.write(other, stranger, NEW.values())
    for name in (INDEX, SIGNATURE):
        (bundle / WORK / f"{name}.part").write_bytes((other / name).read_bytes())
    assert signing.read(bundle, KEY, settle=True) == OLD
    (bundle / changed).write_bytes((other / changed).read_bytes())
    with pytest.raises(BundleError, match=r"by bundle_public_key in index\.json\.sig, got a different one"):
        signing.read(bundle, KEY, settle=True)


@pytest.mark.parametrize("part", [INDEX, SIGNATURE])
def test_index_or_signature_may_be_left_behind(bundle: Path, part: str) -> None:
    old = {name: (bundle / name).read_bytes() for name in (INDEX, SIGNATURE)}
    signing.write(bundle, KEY, NEW.values())
    (bundle / part).replace(bundle / WORK / f"{part}.part")
    (bundle / part).write_bytes(old[part])
    assert strictly(bundle) is None
    assert signing.read(bundle, KEY, settle=True) == NEW
    assert strictly(bundle) == NEW
