# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pushing files of a bundle to a simulated machine in pieces: existing ones are skipped, and wrong ones rejected."""

from __future__ import annotations

import hashlib
import pathlib
import typing as t
from collections.abc import Iterator

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import push, use
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import IndexEntry
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.verify import Bundle
from ansible_collections.winkube.node.plugins.plugin_utils.remote import upload
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

CONTENT = bytes(range(256)) * 40
PLACE = f"{use.PUSHED}\\dl.example\\a.exe"


class TakingNode(DirectNode):
    """A simulated machine that receives files. A test may damage them on the way."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.put_files: list[str] = []
        self.damage = b""

    def put(self, local: str, remote: str, *, step: str) -> None:
        self.put_files.append(remote)
        self.machine.files.write_bytes(remote, self.damage or pathlib.Path(local).read_bytes())


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Iterator[TakingNode]:
    machine = Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )
    machine.power_on()
    yield TakingNode(machine)
    machine.power.power_off()


def entry(path: str, data: bytes, kind: str = "kubernetes", **more: t.Any) -> IndexEntry:
    given = {"name": "a", "version": "1", "source": "s", "time": "t", **more}
    return IndexEntry(path=path, kind=kind, sha256=hashlib.sha256(data).hexdigest(), size=len(data), **given)


@pytest.fixture
def bundle(tmp_path: pathlib.Path) -> Bundle:
    path = tmp_path / "bundle" / "dl.example" / "a.exe"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    known = entry("dl.example/a.exe", CONTENT)
    return Bundle(directory=tmp_path / "bundle", entries={known.path: known})


def sent(node: TakingNode, bundle: Bundle) -> list[str]:
    """Push all files of the bundle, and return the paths of those that were sent."""
    work = push.Push(NodeSession(t.cast("t.Any", node)), bundle)
    work.run(list(bundle.entries.values()))
    return work.pushed


@pytest.mark.parametrize(("piece", "count"), [(len(CONTENT), 1), (4000, 3)])
def test_a_file_arrives_whole_and_once(
    node: TakingNode, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, piece: int, count: int
) -> None:
    monkeypatch.setattr(upload, "PIECE", piece)
    assert sent(node, bundle) == ["dl.example/a.exe"]
    assert node.machine.files.read_bytes(PLACE) == CONTENT
    assert len(node.put_files) == count
    assert not any(node.machine.files.exists(path) for path in node.put_files)
    assert sent(node, bundle) == []
    assert len(node.put_files) == count


def test_a_file_that_is_another_one_is_sent_again(node: TakingNode, bundle: Bundle) -> None:
    sent(node, bundle)
    node.machine.files.write_bytes(PLACE, b"another")
    assert sent(node, bundle) == ["dl.example/a.exe"]
    assert node.machine.files.read_bytes(PLACE) == CONTENT


def test_a_file_that_was_damaged_on_the_way_is_refused(node: TakingNode, bundle: Bundle) -> None:
    node.damage = CONTENT[::-1]
    with pytest.raises(NodeError, match=r"node-1: dl\.example/a\.exe could not be joined from its pieces"):
        sent(node, bundle)
    assert not node.machine.files.exists(PLACE)


def test_a_bundle_that_does_not_fit_is_not_uploaded(node: TakingNode, bundle: Bundle) -> None:
    free = 3 * len(CONTENT) + 512 * 2**20
    node.machine.files.free_space = lambda *_: free - 1  # type: ignore[assignment]
    with pytest.raises(NodeError, match=r"expected at least 537 MB .* that the node lacks \(1\), got 536 MB"):
        sent(node, bundle)
    assert node.put_files == []
    node.machine.files.free_space = lambda *_: free  # type: ignore[assignment]
    assert sent(node, bundle) == ["dl.example/a.exe"]


def test_a_node_gets_what_its_resources_need_of_the_bundle() -> None:
    entries = [
        entry("dl.example/a.exe", b"a"),
        entry("dl.example/a.exe.sha256", b"b", "checksum"),
        entry("dl.example/other.exe", b"c"),
        entry("images/new.tar", b"d", "container-image", name="pause.example/pause:3", windows=("2025",)),
        entry("images/old.tar", b"e", "container-image", name="pause.example/pause:3", windows=("2019", "2022")),
    ]
    url = "https://dl.example/a.exe"
    resources = load(
        [
            {"type": "Artifact", "name": "a 1", "path": "C:\\a.exe", "urls": [url], "checksum_url": f"{url}.sha256"},
            {
                "type": "Artifact",
                "name": "b 1",
                "path": "C:\\b.exe",
                "urls": ["https://dl.example/b"],
                "sha256": "a" * 64,
            },
            {"type": "ContainerImage", "name": "pause.example/pause:3"},
            {"type": "Directory", "name": "C:\\k"},
        ]
    )
    found = push.needed_entries(resources, {one.path: one for one in entries}, "2022")
    assert [one.path for one in found] == ["dl.example/a.exe", "dl.example/a.exe.sha256", "images/old.tar"]
