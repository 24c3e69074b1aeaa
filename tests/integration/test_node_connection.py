# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node over Ansible's real connection plugins, which fail at every request in turn: no batch runs twice."""

from __future__ import annotations

import contextlib
import itertools
import typing as t
from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins import loader as plugin_loader
from ansible.plugins.action import ActionBase
from ansible.template import Templar
from integration.networks import free_network
from integration.patching import no_pauses

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost
from ansible_collections.winkube.node.plugins.plugin_utils.remote.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call
from simulator.fleet import Fleet
from simulator.machine.settings import MachineSettings
from simulator.transport.faults import TransportFault

pytestmark = [
    pytest.mark.waits,
    pytest.mark.integration,
    pytest.mark.xdist_group("node_link"),
    pytest.mark.usefixtures("no_pauses", "prompt"),
]
__all__ = ["no_pauses"]

PASSWORD = "Passw0rd!"
CONNECTIONS: dict[str, dict[str, t.Any]] = {
    "winrm": {"ansible_winrm_scheme": "http", "ansible_winrm_transport": "ntlm", "ansible_winrm_read_timeout_sec": 30},
    "psrp": {
        "ansible_psrp_protocol": "http",
        "ansible_psrp_auth": "ntlm",
        "ansible_psrp_reconnection_retries": 0,
        "ansible_psrp_read_timeout": 25,
        "ansible_psrp_operation_timeout": 20,
    },
}
NUMBERS = itertools.count()


class Probe(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """An action without any behaviour."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        return {}


def servers(*names: str) -> Fleet:
    network = free_network()
    return Fleet(
        MachineSettings(name=name, address=f"{network}.{number}", password=PASSWORD, reboot_seconds=0.2)
        for number, name in enumerate(names, start=1)
    )


@pytest.fixture
def fleet() -> t.Iterator[Fleet]:
    with servers("LINK") as fleet:
        yield fleet


@pytest.fixture(params=CONNECTIONS)
def kind_of_link(request: pytest.FixtureRequest) -> str:
    # Ansible's loader is not thread-safe when several threads request the same plugin for the first time.
    plugin_loader.connection_loader.get(f"ansible.builtin.{request.param}", PlayContext())
    return str(request.param)


@pytest.fixture
def node(kind_of_link: str, fleet: Fleet) -> t.Iterator[Node]:
    with linked(fleet, "LINK", kind_of_link) as node:
        yield node


@contextlib.contextmanager
def linked(fleet: Fleet, name: str, kind: str) -> t.Iterator[Node]:
    """Yield a server as the engine sees it, over its own connection."""
    variables = {
        "ansible_host": fleet.machine(name).address,
        "ansible_port": 5985,
        "ansible_user": "Administrator",
        "ansible_password": PASSWORD,
        **CONNECTIONS[kind],
    }
    context = PlayContext()
    connection = plugin_loader.connection_loader.get(f"ansible.builtin.{kind}", context)
    connection.set_options(var_options={**variables, "_extras": {}})
    connection._shell.set_options(var_options={})
    task, loader = Task(), DataLoader()
    task.action, task.environment = "winkube.node.node_state", []
    action = Probe(task, connection, context, loader, Templar(loader=loader), plugin_loader)
    fleet.nodes[name].server.faults.clear()
    yield Node(
        t.cast("t.Any", action), {"inventory_hostname": "link"}, timeouts=Timeouts(reconnect=30, first_contact=10)
    )
    fleet.nodes[name].server.faults.clear()
    connection.close()


def once(key: str, *, long: bool) -> Batch:
    """Return a batch that fails if it runs twice, because creating an existing registry key requires Force."""
    path = {"Path": f"HKLM:\\SOFTWARE\\Once-{key}"}
    return Batch(calls=(Call(id="make", command="New-Item", parameters=path, select=(), long=long),))


def break_link(fleet: Fleet, kind: str, request: int, **more: t.Any) -> None:
    fleet.nodes["LINK"].server.set_fault(TransportFault(kind=kind, request=request, **more))


@pytest.mark.parametrize("long", [False, True], ids=["direct", "detached"])
@pytest.mark.parametrize("kind", ["before", "after", "during"])
def test_a_batch_runs_once_wherever_the_link_breaks(kind_of_link: str, kind: str, long: bool) -> None:
    # An execution takes four requests, and a detached batch two executions. Each fault has its own server.
    names = {f"LINK-{request}": request for request in range(1, 9 if long else 5)}

    def hurt(name: str) -> None:
        request, server = names[name], fleet.nodes[name].server
        with linked(fleet, name, kind_of_link) as node:
            node.observe((Call(id="free", command="@free-space", parameters={"path": "C:\\"}),))
            server.set_fault(TransportFault(kind=kind, request=request))
            try:
                answer = node.run(once("1", long=long), step=f"request {request}")
            except BatchLost:
                # psrp's reset ends a direct command. Then it is unknown whether it ran, so its effects are observed.
                assert not long
            else:
                assert answer.calls["make"].ok, (request, answer.calls["make"].error)
                assert fleet.machine(name).registry.key_exists("HKLM:\\SOFTWARE\\Once-1")
            assert not server.faults.pending(), request

    with servers(*names) as fleet, ThreadPoolExecutor(8) as pool:
        list(pool.map(hurt, names))


def test_nothing_is_left_on_the_node(node: Node, fleet: Fleet) -> None:
    for long in (False, True):
        node.run(once(f"{next(NUMBERS)}", long=long))
    node.observe((Call(id="free", command="@free-space", parameters={"path": "C:\\"}),))
    left = [entry.path for entry in fleet.machine("LINK").files.listing("C:\\ProgramData\\winkube\\batches")]
    assert left == []


def test_work_goes_on_while_the_link_is_down(node: Node, fleet: Fleet) -> None:
    wait = Call(id="wait", command="Start-Sleep", parameters={"Seconds": 1}, long=True)
    key = f"{next(NUMBERS)}"
    break_link(fleet, "link_down", 6, seconds=0.5)
    answer = node.run(Batch(calls=(wait, *once(key, long=True).calls)))
    assert answer.stopped is None
    assert answer["make"].ok


def test_a_shell_that_is_gone_is_a_broken_link(node: Node, fleet: Fleet) -> None:
    node.run(once(f"{next(NUMBERS)}", long=False))
    fleet.nodes["LINK"].server.forget_shells()
    assert node.run(once(f"{next(NUMBERS)}", long=False))["make"].ok


@pytest.mark.parametrize(("action", "kind"), [("Receive", "link_down"), ("Create", "link_down"), ("Create", "after")])
def test_broken_connections_leave_no_shell_on_the_node(node: Node, fleet: Fleet, action: str, kind: str) -> None:
    free = (Call(id="free", command="@free-space", parameters={"path": "C:\\"}),)
    server = fleet.nodes["LINK"].server
    node.observe(free)
    # While the connection is down, whatever the plugin tries to close stays open. The next shell is created after the
    # first one is gone.
    break_link(fleet, kind, 1, action=action, seconds=0.3)
    if action == "Create":
        server.forget_shells()
    node.observe(free)
    assert not server.faults.pending()
    kinds = [shell["kind"] for shell in server.service.describe()]
    # If the response to the creation of a shell is lost, winrm does not know its name, which the node chooses.
    assert kinds in (["psrp"], ["winrs", "winrs"] if (action, kind) == ("Create", "after") else ["winrs"])


def test_a_reboot_in_the_middle_loses_the_work(node: Node, fleet: Fleet) -> None:
    wait = Call(id="wait", command="Start-Sleep", parameters={"Seconds": 60}, long=True)
    power = fleet.machine("LINK").power
    break_link(fleet, "call", 8, callback=power.reboot)
    with pytest.raises(BatchLost, match="link: apply: the node lost the batch at wait"):
        node.run(Batch(calls=(wait,)))


@pytest.mark.parametrize("kind", ["before", "after"])
def test_a_node_reboots_once_though_the_link_broke_under_the_order(node: Node, fleet: Fleet, kind: str) -> None:
    power = fleet.machine("LINK").power
    # The first command reads the boot time, and the second one is the reboot.
    break_link(fleet, kind, 2, action="Command")
    node.reboot(step="for what was changed")
    assert not fleet.nodes["LINK"].server.faults.pending()
    assert power.boots == 2
