# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action that generalizes a machine: its own checks, and when it is finished."""

from __future__ import annotations

import dataclasses
import socket
import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.direct_node import DirectNode
from unit.fake_node import FakeTime

from ansible_collections.winkube.node.plugins.action import sysprep as action
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import generalization as generalizing
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession, UnsupportedWindows
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, CallResult, Observation
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = pytest.mark.waits

OPTIONS: dict[str, t.Any] = {
    "timeout": 60,
    **{name: spec.get("default") for name, spec in action.ActionModule.OPTIONS.items()},
    "cloudbase_init": False,
    "registry_credentials": "keep",
    "proxy_credentials": "keep",
}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(
        MachineSettings.read({"name": "win1", "address": "127.0.0.1", "windows": "2022"}), tmp_path / "machine"
    )
    found.power_on()
    yield found
    found.power.power_off()


def generalization(session: NodeSession) -> generalizing.Generalization:
    options = generalizing.GeneralizationOptions.of(OPTIONS)
    return generalizing.Generalization(session, options, generalizing.Link("127.0.0.1", 5986))


@pytest.mark.parametrize("joined", [True, False])
def test_a_joined_node_is_not_generalized(machine: Machine, joined: bool) -> None:
    if joined:
        machine.files.make_directory("C:\\etc\\kubernetes")
        machine.files.write_text("C:\\etc\\kubernetes\\kubelet.conf", "a kubeconfig")
    session = NodeSession(t.cast("t.Any", DirectNode(machine)))
    if joined:
        with pytest.raises(
            NodeError, match="node-1: sysprep: expected a machine that has not joined a cluster, got a node"
        ):
            generalization(session).inspect()
    else:
        assert generalization(session).inspect().machine.cloudbase_init is False


VERSION, LOG = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion", r"C:\Windows\Temp\a.log"


class Cleaning(action.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action with `clean_only`."""

    def __init__(self, *, check_mode: bool) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode)
        self._connection = types.SimpleNamespace(get_option={"remote_addr": "127.0.0.1", "port": 5986}.get)


def clean(machine: Machine, *, check_mode: bool = False, allow: bool = False) -> tuple[dict[str, t.Any], int]:
    """Run the action with `clean_only` on a machine with a file in a temporary folder."""
    machine.files.write_text(LOG, "x" * 5000)
    node = DirectNode(machine)
    session = NodeSession(t.cast("t.Any", node), allow_unsupported_windows=allow)
    options = OPTIONS | {"clean_only": True, "clean_paths": [r"C:\Windows\Temp\*"]}
    return Cleaning(check_mode=check_mode).perform(options, session), node.remote_commands


def test_a_supported_machine_is_cleaned_with_one_remote_command(machine: Machine) -> None:
    result, remote_commands = clean(machine)
    assert (result["changed"], result["freed_bytes"] >= 4096, remote_commands) == (True, True, 1)
    assert not machine.files.exists(LOG)


@pytest.mark.parametrize(
    ("name", "value"), [("CurrentBuild", "14393"), ("InstallationType", "Client"), ("CurrentBuild", "")]
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_nothing_of_another_windows_is_cleaned(machine: Machine, name: str, value: str, check_mode: bool) -> None:
    machine.registry.set(VERSION, name, value)
    with pytest.raises(UnsupportedWindows, match=r"node-1: .* is not supported; expected build 17763"):
        clean(machine, check_mode=check_mode)
    assert machine.files.exists(LOG)
    result, _ = clean(machine, check_mode=check_mode, allow=True)
    assert (result["changed"], machine.files.exists(LOG)) == (not check_mode, check_mode)


@dataclasses.dataclass
class Sealed:
    """A node that accepts all requests."""

    name: str = "win1"
    timeouts: Timeouts = dataclasses.field(default_factory=Timeouts)
    remote_commands: int = 0
    ran: list[str] = dataclasses.field(default_factory=list)

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        return self.run(Batch(calls=tuple(calls)), step=step)

    def start(self, batch: Batch, *, step: str) -> str:
        self.ran.append(step)
        return str(batch.key)

    def run(self, batch: Batch, *, step: str = "") -> Observation:
        self.remote_commands += 1
        self.ran.append(step)
        return Observation(calls={call.id: CallResult(ok=True) for call in batch.calls})


class Listening(action.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action with a machine whose WinRM port is a local socket."""

    def __init__(self, port: int) -> None:
        self._task = types.SimpleNamespace(check_mode=False)
        options = {"remote_addr": "127.0.0.1", "port": port}
        self._connection = types.SimpleNamespace(get_option=options.get)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every machine be one that is ready for sysprep."""
    monkeypatch.setattr(generalizing.Generalization, "inspect", lambda _self: generalizing.Inspected())


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("closes_after", [0.0, 20.0])
def test_sysprep_is_done_when_the_machine_is_off(monkeypatch: pytest.MonkeyPatch, closes_after: float) -> None:
    time = FakeTime()
    with socket.create_server(("127.0.0.1", 0), backlog=100) as port:

        def sleep(seconds: float) -> None:
            time.sleep(seconds)
            if time.now >= closes_after:
                port.close()

        monkeypatch.setattr(generalizing, "time", types.SimpleNamespace(monotonic=time.clock, sleep=sleep))
        node = Sealed()
        result = Listening(port.getsockname()[1]).perform(OPTIONS, NodeSession(t.cast("t.Any", node)))
    assert result["generalized"]
    assert node.ran == ["sysprep", "read the state of the image"]
    assert closes_after <= time.now < closes_after + 5


@pytest.mark.usefixtures("prepared")
def test_a_machine_that_stays_up_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime()
    monkeypatch.setattr(
        generalizing, "time", types.SimpleNamespace(monotonic=time.clock, sleep=lambda _: time.sleep(30))
    )
    with (
        socket.create_server(("127.0.0.1", 0), backlog=100) as port,
        pytest.raises(NodeError, match="win1: shut down: the machine is generalized, but still responds after 180 s"),
    ):
        Listening(port.getsockname()[1]).perform(OPTIONS, NodeSession(t.cast("t.Any", Sealed())))
