# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated machine with faults: an antivirus, slow imports of modules, a wrong clock, German messages."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.hns.facts.node_facts import listing_calls
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call
from simulator.artifacts import ArtifactServer
from simulator.machine import executables
from simulator.machine.faults import set_fault
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = pytest.mark.waits

Item = dict[str, t.Any]
MakeNode = Callable[..., DirectNode]
OLD, NEW = executables.make("kubelet", "1.36.0"), executables.make("kubelet", "1.37.1")


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[MakeNode]:
    """Yield a function that creates a node, on which a second of Windows' time takes a twentieth of a real one."""
    made: list[Machine] = []

    def make(**entry: object) -> DirectNode:
        options = {"time_scale": 0.05, "feature_seconds": 0.01, "reboot_seconds": 0.01, **entry}
        settings = MachineSettings.read({"name": "node-1", "address": "127.0.0.11", "windows": "2022", **options})
        machine = Machine(settings, tmp_path / f"machine-{len(made)}")
        machine.power_on()
        made.append(machine)
        return DirectNode(machine)

    yield make
    for machine in made:
        machine.power.power_off()


def converge(node: DirectNode, *items: Item, check_mode: bool = False) -> ConvergenceOutcome:
    return Convergence(NodeSession(node), load(items), check_mode=check_mode).run()


def kubelet(server: ArtifactServer) -> Item:
    """Return an old kubelet that a download replaces."""
    server.put("/kubelet.exe", NEW)
    urls, sha256 = [f"{server.url}/kubelet.exe"], hashlib.sha256(NEW).hexdigest()
    return {"type": "Artifact", "name": "kubelet", "path": r"C:\k\kubelet.exe", "urls": urls, "sha256": sha256}


def with_old_kubelet(node: DirectNode) -> None:
    node.machine.files.make_directory(r"C:\k")
    node.machine.files.write_bytes(r"C:\k\kubelet.exe", OLD)


def test_a_file_kept_open_by_a_scanner_is_replaced_eventually(make_node: MakeNode) -> None:
    node = make_node(time_scale=0.1)
    with_old_kubelet(node)
    blocked: list[str] = []
    set_fault(node.machine, {"kind": "antivirus", "seconds": 5})
    node.machine.files.on_written.append(lambda path: blocked.append(path) if is_held(node, path) else None)

    with ArtifactServer() as server:
        outcome = converge(node, kubelet(server))

    assert outcome.failures == []
    assert blocked, "the scanner has held the download"
    assert node.machine.files.read_bytes(r"C:\k\kubelet.exe") == NEW


def is_held(node: DirectNode, path: str) -> bool:
    return node.machine.files.open.blocks(path, "d")


def test_a_file_removed_by_an_antivirus_is_reported_with_its_message(make_node: MakeNode) -> None:
    node = make_node()
    with_old_kubelet(node)
    set_fault(node.machine, {"kind": "antivirus", "seconds": 600, "blocks": ["*kubelet.exe.*"]})

    with ArtifactServer() as server:
        outcome = converge(node, kubelet(server))

    assert "the file contains a virus or potentially unwanted software" in str(outcome.failures)


def test_hns_is_listed_though_its_module_imports_slowly(make_node: MakeNode) -> None:
    node = make_node(features=["Containers"])
    set_fault(node.machine, {"kind": "slow_imports", "seconds": 40, "modules": ["HostNetworkingService"]})

    default = node.observe(listing_calls(60))
    hasty = node.observe(tuple(_kept_on(call) for call in listing_calls(20)))

    assert [name for name, result in default.calls.items() if result.error] == []
    assert {result.error.id for result in hasty.calls.values() if result.error} == {"CommandTimeout"}


def _kept_on(call: Call) -> Call:
    return dataclasses.replace(call, on_error="continue")


@pytest.mark.parametrize(("offset", "word"), [(600, "ahead of"), (-7200, "behind")])
def test_a_wrong_clock_is_reported_before_tls_fails(make_node: MakeNode, offset: int, word: str) -> None:
    node = make_node(clock_offset=offset)

    found = NodeSession(node).observe(join_state.calls(""), step="read the clock")
    state = join_state.read(*found, datetime.datetime.now(datetime.UTC))
    messages = list(
        join_state.problems(state, cluster_servers=[], skew_limit=240, refuse_joined=False, require_prepared=False)
    )

    assert len(messages) == 1
    expected = (
        f" s {word} the controller's clock; expected at most 240 s, because certificates may be rejected otherwise"
    )
    assert expected in messages[0]
    assert abs(state.clock_skew - offset) < 60


GERMAN: list[Item] = [
    {"type": "W32Time", "name": "t", "peers": ["192.0.2.1"]},
    {"type": "WinHttpProxy", "name": "p", "proxy": "proxy:3128", "bypass": ["*.example.org"]},
    {"type": "Service", "name": "kubelet", "path": r"C:\k\kubelet.exe", "start_mode": "demand", "description": "Größe"},
]


def test_a_german_windows_converges(make_node: MakeNode) -> None:
    node = make_node(language="de-DE")
    with_old_kubelet(node)

    assert converge(node, *GERMAN).failures == []

    assert converge(node, *GERMAN, check_mode=True).changes == []


def test_german_errors_are_reported_in_full(make_node: MakeNode) -> None:
    node = make_node(language="de-DE")
    call = Call(id="start", command="sc.exe", arguments=("start", "WinRM"), on_error="continue")

    result = node.observe((call,))["start"]

    assert "Es wird bereits eine Instanz des Dienstes ausgeführt." in result.stdout
