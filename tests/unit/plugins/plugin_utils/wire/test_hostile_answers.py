# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node that returns values of any type and size: the engine ends with one clear error, or continues."""

from __future__ import annotations

import random
import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.altered_node import ODD, Altered, Recording, places, replaced
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.actions.node_action import NodeAction
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

RESOURCES: list[dict[str, t.Any]] = [
    {"type": "Registry", "key": "HKLM:\\SOFTWARE\\X", "value_name": "a", "value_type": "DWord", "value": 1},
    {"type": "Environment", "name": "HTTP_PROXY", "value": "http://p:1"},
    {"type": "Environment", "name": "PATH", "path_entries": ["C:\\k"]},
    {"type": "WindowsFeature", "name": "Containers"},
    {"type": "Service", "name": "example", "path": "C:\\e.exe", "environment": {"A": "b"}},
    {"type": "FirewallRule", "name": "kubelet", "protocol": "TCP", "local_ports": ["10250"]},
    {"type": "File", "name": "C:\\x.toml", "content": "a\n"},
    {"type": "Directory", "name": "C:\\data", "acl": "D:P(A;OICI;FA;;;SY)"},
    {"type": "DefenderExclusion", "name": "k", "paths": ["C:\\k"]},
    {"type": "PageFile", "name": "m", "files": [{"path": "C:\\p.sys", "initial_mb": 512, "maximum_mb": 1024}]},
    {"type": "TimeZone", "name": "UTC"},
    {"type": "W32Time", "name": "m", "peers": ["ntp1"]},
    {"type": "WindowsUpdateSettings", "name": "m", "automatic_updates": "disabled"},
    {"type": "WinHttpProxy", "name": "m", "proxy": "p:3128"},
    {"type": "ComputerName", "name": "win-worker-1"},
    {"type": "ScheduledTask", "name": "\\x", "execute": "C:\\x.exe"},
    {"type": "Archive", "name": "C:\\k", "path": "C:\\k.zip", "check": ["k.exe"]},
    {"type": "ArtifactCache", "name": "C:\\cache", "keep": []},
]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DirectNode]:
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022"}
    machine = Machine(MachineSettings.read(entry), Path(tmp_path_factory.mktemp("machine")))
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


def test_values_of_any_type_end_in_one_clear_error_or_do_no_harm(honest: DirectNode) -> None:
    recording = Recording(honest.machine)
    Convergence(NodeSession(recording), load(RESOURCES), check_mode=True).run()
    choice = random.Random(12)
    tried = [(path, value) for path in places(recording.wires) for value in choice.sample(ODD, 2)]
    messages = [error for path, value in tried if (error := outcome(replaced(recording.wires, path, value)))]
    assert len(tried) > 600
    assert 100 < len(messages) < len(tried)
    assert [text for text in messages if not (text.startswith("node-1: ") and text.isprintable())] == []


def outcome(wires: dict[str, dict[str, t.Any]]) -> str:
    """Return how converging on these results failed; empty if it continued."""
    try:
        Convergence(NodeSession(t.cast("t.Any", Altered(wires))), load(RESOURCES), check_mode=True).run()
    except NodeError as error:
        return str(error)
    return ""


class Probe(NodeAction):
    """An action whose parser fails on a node's result."""

    def perform(self, options: t.Mapping[str, t.Any], session: t.Any) -> dict[str, t.Any]:
        answer: t.Any = self.task_vars["answer"]
        return {"changed": False, "msg": f"{answer['text']} {int(answer['number'])}"}


def result_of(answer: t.Any) -> dict[str, t.Any]:
    task = types.SimpleNamespace(args={}, async_val=0, check_mode=False, diff=False, delegate_to=None, action="probe")
    shell = types.SimpleNamespace(tmpdir=None)
    connection = types.SimpleNamespace(_shell=shell, transport="psrp", get_options=dict)
    templar = types.SimpleNamespace(template=lambda value, **_: value)
    parts: dict[str, t.Any] = {"loader": None, "templar": templar, "shared_loader_obj": None}
    action = Probe(task=task, connection=connection, play_context=types.SimpleNamespace(), **parts)
    return action.run(None, {"inventory_hostname": "win-1", "answer": answer})


def test_an_action_gives_back_nothing_that_a_terminal_acts_on() -> None:
    assert result_of({"text": "\x1b[2J", "number": 1})["msg"] == "\\x1b[2J 1"


@pytest.mark.parametrize("answer", [None, {}, {"text": "x", "number": []}, {"text": "x", "number": "\x1b"}, 5])
def test_an_action_that_cannot_read_an_answer_fails_with_a_sentence(answer: t.Any) -> None:
    result = result_of(answer)
    assert result["failed"] is True
    assert result["msg"].startswith("win-1: an answer from the node cannot be used: ")
    assert result["msg"].isprintable()
