# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Proxies on a simulated machine: the role windows_settings removes its own settings, and keeps those of others."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.roles.rendered import resources
from unit.roles.templates import templar

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

OURS = {"windows_settings_http_proxy": "http://proxy.example:3128"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    entry = {"name": "node-1", "address": "127.0.0.11", "windows": "2022", "time_scale": 0.01}
    machine = Machine(MachineSettings.read(entry), tmp_path / "machine")
    machine.power_on()
    yield DirectNode(machine)
    machine.power.power_off()


def proxies(**variables: t.Any) -> list[dict[str, t.Any]]:
    """Return the role's resources for proxies."""
    found = templar(["windows_settings"], {"groups": {}, "hostvars": {}, **variables})
    listed = resources(found, "windows_settings_resources")
    return [one for one in listed if one["type"] == "WinHttpProxy" or str(one.get("name")).endswith("_PROXY")]


def run(node: DirectNode, *arguments: str) -> str:
    call = Call(id="netsh", command="netsh.exe", arguments=("winhttp", *arguments))
    return node.run(Batch(calls=(call,)))["netsh"].stdout


def converge(node: DirectNode, items: list[dict[str, t.Any]]) -> None:
    assert Convergence(NodeSession(node), load(items)).run().failures == []


def test_a_proxy_that_an_administrator_set_stays(node: DirectNode) -> None:
    run(node, "set", "proxy", "proxy-server=theirs.example:8080")
    converge(node, proxies())
    assert "theirs.example:8080" in run(node, "show", "proxy")


def test_a_proxy_set_by_the_role_is_removed_with_the_setting(node: DirectNode) -> None:
    converge(node, proxies(**OURS))
    assert "proxy.example:3128" in run(node, "show", "proxy")
    converge(node, proxies())
    assert "proxy.example:3128" not in run(node, "show", "proxy")
