# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run an action plugin as a task does: through Ansible's entry point, with validated options."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.actions import node_action
from ansible_collections.winkube.node.plugins.plugin_utils.remote.timeouts import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation

PSRP = {"protocol": "https", "port": 5986, "auth": "ntlm", "cert_validation": "validate", "remote_addr": "192.0.2.1"}
"""The options of an encrypted connection."""


class Connection:
    """The properties of a connection that actions read.

    Args:
        options: the options of the connection plugin psrp.
    """

    transport = "psrp"

    def __init__(self, options: t.Mapping[str, t.Any] = PSRP) -> None:
        self.options = dict(options)
        self._shell = types.SimpleNamespace(SHELL_FAMILY="powershell", tmpdir="C:\\Temp")

    def get_options(self) -> dict[str, t.Any]:
        return self.options

    def get_option(self, name: str) -> t.Any:
        return self.options[name]


@dataclasses.dataclass
class Task:
    """The attributes of a task that actions read."""

    args: dict[str, t.Any]
    check_mode: bool = False
    diff: bool = False
    async_val: int = 0
    action: str = "winkube.node.under_test"
    connection: str = "psrp"
    delegate_to: str | None = None
    path: str = "/play.yml:1"
    included: str | None = None

    def get_path(self) -> str:
        return self.path

    def get_search_path(self) -> list[str]:
        return []

    def get_play(self) -> types.SimpleNamespace:
        return types.SimpleNamespace(_included_path=self.included)


def variables_of(results: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return Ansible's variables of a play.

    Args:
        results: the variables of each host, as in `hostvars`.
    """
    first = next(iter(results), None)
    return {"inventory_hostname": first, "ansible_play_hosts_all": list(results), "hostvars": dict(results)}


def run(
    action: t.Any,
    options: t.Mapping[str, t.Any],
    variables: t.Mapping[str, t.Any] | None = None,
    *,
    connection: t.Any = None,
    **task: t.Any,
) -> dict[str, t.Any]:
    """Return the result of an action.

    Args:
        action: the module of the action plugin.
        options: the options of the task.
        variables: Ansible's variables.
        connection: replaces the connection plugin.
        task: other attributes of the task.
    """
    loader, known = DataLoader(), dict(variables or {})
    plugin = action.ActionModule(
        Task(dict(options), **task), connection or Connection(), None, loader, Templar(loader, variables=known), None
    )
    return t.cast("dict[str, t.Any]", plugin.run(task_vars=known))


class Node(DirectNode):
    """A simulated machine as an action sees it.

    Args:
        machine: the simulated machine, or a stand-in with its own responses.
    """

    def __init__(self, machine: t.Any = None) -> None:
        super().__init__(machine)
        self.timeouts = Timeouts()
        self.steps: list[tuple[str, bool]] = []
        """The steps, each with whether it was hidden from the output."""

    def observe(self, calls: t.Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        return self.run(Batch(calls=tuple(calls)), step=step, private=private)

    def run(self, batch: Batch, *, step: str = "", private: bool = False, may_reboot: bool = False) -> Observation:
        self.steps.append((step, private))
        return super().run(batch, step=step, private=private)


def run_on(
    node: t.Any,
    action: t.Any,
    options: t.Mapping[str, t.Any],
    variables: t.Mapping[str, t.Any] | None = None,
    **more: t.Any,
) -> dict[str, t.Any]:
    """Return the result of an action on a node without a connection.

    Args:
        node: the node, which records the time limits that the action was given.
        action, options, variables, more: as in `run`.
    """

    def node_of_the_test(plugin: object, known: t.Mapping[str, t.Any], *, timeouts: Timeouts) -> t.Any:
        node.name, node.timeouts = known["inventory_hostname"], timeouts
        return node

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_action, "Node", node_of_the_test)
        return run(action, options, {"inventory_hostname": "node-1", **(variables or {})}, **more)


class Answering:
    """A node with the responses of a test.

    Args:
        answers: observations, or exceptions to raise instead, in order.
    """

    def __init__(self, *answers: Observation | Exception) -> None:
        self.answers = list(answers)
        self.name = ""
        self.timeouts = Timeouts()
        self.asked: list[tuple[tuple[Call, ...], str, bool]] = []

    @property
    def remote_commands(self) -> int:
        return len(self.asked)

    def run(self, batch: Batch, *, step: str, private: bool = False) -> Observation:
        self.asked.append((batch.calls, step, private))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def move_clock(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch, ahead: datetime.timedelta) -> None:
    """Move the controller's clock."""

    class Moved(datetime.datetime):
        """A clock that is ahead or behind."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
            assert tz is datetime.UTC
            return datetime.datetime.now(tz) + ahead

    monkeypatch.setattr(module, "datetime", types.SimpleNamespace(datetime=Moved, UTC=datetime.UTC))
