# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The logs of a simulated machine arrive as one archive, or nothing is left behind on either side."""

from __future__ import annotations

import json
import tarfile
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.module_utils.redaction.texts import Redaction
from ansible_collections.winkube.node.plugins.plugin_utils.logs import catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.logs.collection import Collection
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

OPTIONS = {
    "since": "3d",
    "limit_mb": 5,
    "sources": [],
    "namespaces": list(catalogue.NAMESPACES),
    "paths": ["C:\\own\\*.log"],
    "hns_timeout": 5.0,
}


class LoggingNode(DirectNode):
    """A simulated machine whose connection breaks at a given step."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.timeouts = Timeouts()
        self.steps: list[str] = []
        self.breaks: dict[str, Exception] = {}

    def _step(self, step: str) -> None:
        self.steps.append(step.partition(" C:")[0])
        if (error := self.breaks.get(self.steps[-1])) is not None:
            raise error

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        self._step(step)
        return super().run(Batch(calls=tuple(calls)))

    def run(self, batch: Batch, *, step: str = "", private: bool = False) -> Observation:
        self._step(step)
        return super().run(batch, step=step, private=private)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[LoggingNode]:
    machine = Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )
    machine.power_on()
    machine.files.make_directory("C:\\own")
    machine.files.write_text("C:\\own\\a.log", "it began\npassword of the link: s3cret-word\n")
    yield LoggingNode(machine)
    machine.power.power_off()


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def collection(node: LoggingNode, tmp_path: Path, messages: list[str]) -> Collection:
    requested, redaction = catalogue.requested_logs(OPTIONS), Redaction(["s3cret-word"])
    return Collection(
        NodeSession(t.cast("t.Any", node), notify=messages.append), requested, tmp_path / "new" / "logs", redaction
    )


def left_behind(node: LoggingNode, tmp_path: Path) -> list[str]:
    """Return the leftovers of a collection: files on the controller that are not archives."""
    return [path.name for path in (tmp_path / "new" / "logs").iterdir() if not path.name.endswith(".tar.gz")]


def test_the_archive_contains_logs_without_secrets_and_a_description(
    node: LoggingNode, collection: Collection, tmp_path: Path, messages: list[str]
) -> None:
    collection.collect()
    archive = collection.outcome.archive
    assert archive == tmp_path / "new" / "logs" / "node-1.tar.gz"
    with tarfile.open(archive) as opened:
        found = {item.name: opened.extractfile(item) for item in opened.getmembers() if item.isfile()}
        texts = {name: file.read().decode("utf-8", "replace") for name, file in found.items() if file is not None}
    (own,) = (text for name, text in texts.items() if name.endswith("a.log"))
    assert own.startswith("it began\n")
    assert not any("s3cret-word" in text for text in texts.values())
    manifest = json.loads(texts["node-1/manifest.json"])
    assert manifest["node"] == "node-1"
    assert (manifest["since_hours"], manifest["limit_bytes"]) == (72.0, 5 * 2**20)
    assert "C:\\own\\a.log" in [file["path"] for file in manifest["files"]]
    assert json.loads(texts["node-1/facts/services.json"])
    result = collection.outcome.to_result()
    assert (result["changed"], result["archive"], result["size"]) == (True, str(archive), archive.stat().st_size)
    assert result["windows"]["version"] == "2022"
    assert left_behind(node, tmp_path) == []
    assert node.steps[0] == "find logs"
    assert node.steps[-1] == "clean up"
    assert any(text.startswith("node-1: downloading ") for text in messages)


def test_a_preview_gathers_nothing(
    node: LoggingNode, collection: Collection, tmp_path: Path, messages: list[str]
) -> None:
    collection.preview()
    assert node.steps == ["find logs"]
    assert not (tmp_path / "new").exists()
    plan = collection.outcome.plan()
    assert "C:\\own\\a.log" in plan["selected"]
    assert messages[0].startswith(f"node-1: would collect {len(plan['selected'])} files (")
    assert not collection.outcome.to_result()["changed"]


@pytest.mark.parametrize("error", [NodeError("node-1: it broke"), AnsibleConnectionFailure("no route to host")])
def test_a_link_that_breaks_leaves_no_archive_and_cleans_up(
    node: LoggingNode, collection: Collection, tmp_path: Path, error: Exception
) -> None:
    node.breaks["gather logs"] = error
    with pytest.raises(type(error)):
        collection.collect()
    assert node.steps == ["find logs", "gather logs", "clean up"]
    # A cleanup does not wait long for a node.
    assert (node.timeouts.reconnect, node.timeouts.first_contact) == (5.0, 5.0)
    assert not collection.outcome.to_result()["changed"]
    assert list((tmp_path / "new" / "logs").iterdir()) == []


def test_an_incomplete_cleanup_is_a_problem_but_not_a_failure(node: LoggingNode, collection: Collection) -> None:
    node.breaks["clean up"] = NodeError("node-1: clean up: no answer")
    collection.collect()
    assert collection.outcome.archive is not None
    assert collection.outcome.problems[-1] == (
        "node-1: clean up: no answer; the gathered files stay on the node until the next run"
    )


def test_a_full_disk_is_reported_before_anything_is_collected(node: LoggingNode, collection: Collection) -> None:
    node.machine.files.free_space = lambda *_: 1 << 20  # type: ignore[assignment]
    with pytest.raises(NodeError, match=r"gather logs: expected \d+ MB of free space on C:, got 1 MB; collect less"):
        collection.collect()
    assert node.steps == ["find logs"]


def test_an_unwritable_folder_is_reported_before_the_node_is_contacted(
    node: LoggingNode, tmp_path: Path, messages: list[str]
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    requested = catalogue.requested_logs(OPTIONS)
    collection = Collection(
        NodeSession(t.cast("t.Any", node), notify=messages.append), requested, tmp_path / "file" / "logs", Redaction()
    )
    with pytest.raises(ResourceError, match="expected a writable folder"):
        collection.collect()
    assert node.steps == []
