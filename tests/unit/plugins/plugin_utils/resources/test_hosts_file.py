# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Lines of the hosts file on a simulated machine, and the names that it resolves with them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.resource_answers import one

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.networking import names


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022"}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


def converge(node: DirectNode, entries: dict[str, str]) -> None:
    outcome = Convergence(NodeSession(node), [one(type="HostsFile", name="m", entries=entries)]).run()
    assert outcome.failures == []


HOSTS = "C:\\Windows\\System32\\drivers\\etc\\hosts"


def test_other_lines_of_the_hosts_file_stay(node: DirectNode) -> None:
    own = "# by hand\r\n10.3.0.7 k8s.example.com\r\n10.3.0.8 files\r\n"
    node.machine.files.write_text(HOSTS, own)
    converge(node, {"k8s.example.com": "10.3.0.1"})
    # Windows uses the first line with the name.
    assert names.resolve(node.machine, "k8s.example.com") == ["10.3.0.1"]
    assert names.resolve(node.machine, "files") == ["10.3.0.8"]
    converge(node, {})
    assert node.machine.files.read_text(HOSTS) == own


def test_a_partly_unreadable_hosts_file_is_not_changed(node: DirectNode) -> None:
    for content, message in (
        ("10.3.0.8 files\r\n" * 5000, "65536"),
        ("10.3.0.8 fil\N{REPLACEMENT CHARACTER}s\r\n", "UTF-8"),
    ):
        node.machine.files.write_text(HOSTS, content)
        with pytest.raises(NodeError, match=message):
            converge(node, {"a": "10.3.0.1"})
        converge(node, {})
        assert node.machine.files.read_text(HOSTS) == content


def test_a_machine_reports_whether_it_resolves_the_control_plane(node: DirectNode) -> None:
    def unresolved() -> str:
        found = NodeSession(node).observe(join_state.calls("k8s.example.com"), step="resolve")
        return join_state.read(*found, datetime.datetime.now(datetime.UTC)).unresolved

    assert "k8s.example.com : DNS name does not exist" in unresolved()
    converge(node, {"k8s.example.com": "10.3.0.1"})
    assert unresolved() == ""


@pytest.mark.parametrize("entries", [{"a b": "10.3.0.1"}, {"": "10.3.0.1"}, {"a\n10.3.0.2 b": "10.3.0.1"}, {"a": "b"}])
def test_invalid_names_and_addresses_are_refused(entries: dict[str, str]) -> None:
    with pytest.raises(ResourceError, match="expected"):
        one(type="HostsFile", name="m", entries=entries)
