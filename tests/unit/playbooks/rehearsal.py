# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a playbook with the real Ansible in this process. Modules do nothing, and return the results of a script.

Ansible itself reads the playbook, selects tasks by tags, evaluates conditions, loops and blocks, and templates the
arguments. Only modules that would have an effect outside of the run are replaced.
"""

from __future__ import annotations

import contextlib
import copy
import io
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible import context
from ansible._internal import _task
from ansible.errors import AnsibleConnectionFailure
from ansible.executor import task_executor
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.executor.process.worker import WorkerProcess
from ansible.executor.task_queue_manager import TaskQueueManager
from ansible.inventory.manager import InventoryManager
from ansible.module_utils._internal import _datatag
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.plugins import loader as plugins
from ansible.plugins import strategy
from ansible.plugins.callback import CallbackBase
from ansible.template import trust_as_template
from ansible.utils.vars import load_options_vars
from ansible.vars.manager import VariableManager

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import roles

ROOT = Path(__file__).resolve().parents[3]
REAL = {"add_host", "assert", "debug", "fail", "include_role", "include_tasks", "set_fact", "validate_argument_spec"}
"""Modules of ansible.builtin that really run, because they only change the state of the run."""

NOTED = {"add_host": "add_host", "set_fact": "ansible_facts", "debug": "msg"}
"""The part of these modules' results that is recorded."""
BAD = {"failed", "ignored", "unreachable"}

Result = Mapping[str, t.Any]
ModuleResults = Mapping[str, t.Any]
"""The results of modules: a result, or a list of results for consecutive calls, by the name of the task or module.

`@host` after the name limits it to this host. A result with `unreachable` is a lost connection.
"""


@dataclass(frozen=True)
class Call:
    """One call of a module, of one host or of one item of a loop.

    Attributes:
        uuid: Ansible's id of the task.
        task: the name of the task.
        module: the name of the module, without that of this collection.
        host: the host of the task.
        delegate: the host that the task is delegated to, if any.
        checks: whether the task runs in check mode.
        arguments: the arguments of the module; for set_fact the facts, for assert and similar modules the result.
    """

    uuid: str
    task: str
    module: str
    host: str
    delegate: str
    checks: bool
    arguments: dict[str, t.Any]


@dataclass
class Rehearsal:
    """A playbook, the hosts that it runs on, and the results of modules.

    Attributes:
        playbook: its path in playbooks/, or a playbook as data.
        hosts: the variables of each host.
        results: the results of modules.
        variables: extra variables, as for `-e`.
        groups: the hosts of each group; the default is all hosts in node_windows.
        tags: the value of `--tags`.
        skip_tags: the value of `--skip-tags`.
        checks: whether this is a dry run.
    """

    playbook: str | list[dict[str, t.Any]]
    hosts: Mapping[str, Mapping[str, t.Any]]
    results: ModuleResults = field(default_factory=dict)
    variables: Mapping[str, t.Any] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tags: Sequence[str] = ("all",)
    skip_tags: Sequence[str] = ()
    checks: bool = False


class Listener(t.Protocol):
    """Is notified of the events of a run."""

    def play(self, name: str) -> None:
        """Handle the start of a play, or of the next batch of its hosts."""

    def called(self, call: Call) -> None:
        """Handle the call of a module."""

    def ended(self, call: Call, status: str, message: str) -> None:
        """Handle the end of a task on a host, perhaps without a call. If it failed, there is a message."""


def run(rehearsal: Rehearsal, listener: Listener, folder: Path) -> int:
    """Run a playbook, and return the exit status of ansible-playbook.

    Args:
        rehearsal: the run.
        listener: is notified of the events.
        folder: an empty folder for files of this run.
    """
    loader = DataLoader()
    loader.set_basedir(str(folder))
    inventory = _inventory(rehearsal, loader)
    callback = _Callback(listener)
    callback._init_callback_methods()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "CLIARGS", _options(rehearsal))
        # Ansible keeps the options of the first run in a process.
        patch.setattr(load_options_vars, "options_vars", None, raising=False)
        patch.setattr(strategy, "WorkerProcess", _Inline)
        patch.setattr(TaskQueueManager, "load_callbacks", lambda _manager: None)
        patch.setattr(task_executor.TaskExecutor, "_get_connection", _local)
        chooser = _chooser(rehearsal.results, listener)
        patch.setattr(task_executor.TaskExecutor, "_get_action_handler_with_module_context", chooser)
        patch.setattr(roles, "of_role", _resources)
        patch.setattr(jinja2.Environment, "compile", _compile)
        # Ansible copies the data of roles at every import, but strings need no copies.
        patch.setitem(copy._deepcopy_dispatch, _datatag._AnsibleTaggedStr, lambda text, _memo: text)
        # The user's environment must not affect the golden files.
        patch.setenv("PWD", "/rehearsal")
        patch.delenv("KUBECONFIG", raising=False)
        variables = VariableManager(loader=loader, inventory=inventory)
        variables._extra_vars = _trusted(rehearsal.variables)
        executor = PlaybookExecutor([str(_playbook(rehearsal, folder))], inventory, variables, loader, {})
        executor._tqm._callback_plugins.append(callback)
        return int(executor.run())


_COMPILED: dict[tuple[t.Any, ...], t.Any] = {}
_COMPILE = jinja2.Environment.compile


def _compile(environment: t.Any, source: t.Any, *arguments: t.Any, **keywords: t.Any) -> t.Any:
    """Compile each template once. A run has an environment for each task, which would compile it again."""
    if not isinstance(source, str):
        return _COMPILE(environment, source, *arguments, **keywords)
    key = (type(environment), str(source), arguments, tuple(sorted(keywords.items())))
    if key not in _COMPILED:
        _COMPILED[key] = _COMPILE(environment, source, *arguments, **keywords)
    return _COMPILED[key]


def _resources(role: str, _variables: object) -> list[dict[str, str]]:
    """Replace the resources of a role, which other tests cover."""
    return [{"resources_of": role}]


def _trusted(value: t.Any) -> t.Any:
    """Mark the texts in some data as trusted for templating, as Ansible does for an inventory."""
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, Mapping):
        return {key: _trusted(inner) for key, inner in value.items()}
    return [_trusted(inner) for inner in value] if isinstance(value, list) else value


def _inventory(rehearsal: Rehearsal, loader: DataLoader) -> InventoryManager:
    inventory = InventoryManager(loader, ["localhost,"])
    groups = rehearsal.groups or {"node_windows": list(rehearsal.hosts)}
    for group, hosts in groups.items():
        inventory.add_group(group)
        for host in hosts:
            inventory.add_host(host, group)
    for host, variables in rehearsal.hosts.items():
        for name, value in variables.items():
            inventory.get_host(host).set_variable(name, _trusted(value))
    inventory.reconcile_inventory()
    return inventory


def _options(rehearsal: Rehearsal) -> ImmutableDict:
    options = {"tags": tuple(rehearsal.tags), "skip_tags": tuple(rehearsal.skip_tags), "check": rehearsal.checks}
    rest = dict.fromkeys(("listhosts", "listtasks", "listtags", "syntax", "diff", "become", "start_at_task", "step"))
    return ImmutableDict(
        {**context.CLIARGS, **rest, **options, "forks": 5, "verbosity": 0, "connection": "local", "subset": None}
    )


def _playbook(rehearsal: Rehearsal, folder: Path) -> Path:
    if isinstance(rehearsal.playbook, str):
        return ROOT / "playbooks" / rehearsal.playbook
    path = folder / "playbook.yml"
    path.write_text(yaml.safe_dump(rehearsal.playbook, sort_keys=False), encoding="utf-8")
    return path


class _Inline(WorkerProcess):  # type: ignore[misc]  # ansible ships no type information
    """A worker that runs its task immediately in this process."""

    def start(self) -> None:
        # Like a separate process, it gets its own task, which it may change.
        self._task = self._task.copy(exclude_tasks=True)
        self._host = copy.copy(self._host)
        # `_run` reads these streams after the task.
        streams = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with streams[0], streams[1], _task.TaskContext(self._task):
            self._run()

    def is_alive(self) -> bool:
        return False

    @property
    def exitcode(self) -> int:
        return 0


def _local(executor: t.Any, _variables: t.Any, _templar: t.Any, _name: str) -> t.Any:
    return plugins.connection_loader.get("ansible.builtin.local", executor._play_context, None)


def _chooser(results: ModuleResults, listener: Listener) -> t.Callable[..., tuple[t.Any, None]]:
    """Return a replacement for Ansible's selection of the plugin that runs a task."""
    original = task_executor.TaskExecutor._get_action_handler_with_module_context
    left = {name: list(value) for name, value in results.items() if isinstance(value, list)}

    def answer(call: Call) -> Result:
        for name in (f"{call.task}@{call.host}", call.task, f"{call.module}@{call.host}", call.module):
            if left.get(name):
                return t.cast("Result", left[name].pop(0))
            if name in results and name not in left:
                return t.cast("Result", results[name])
        return {}

    def choose(executor: t.Any, templar: t.Any) -> tuple[t.Any, None]:
        handler = None
        if executor._task.action.removeprefix("ansible.builtin.") in REAL:
            handler, _context = original(executor, templar)
        return _Plugin(executor, listener, answer, handler), None

    return choose


def _module_of(task: t.Any) -> str:
    return str(task.action).removeprefix("ansible.builtin.").removeprefix("winkube.node.")


class _Plugin:
    """Replaces the plugin of a module, or runs before it.

    Args:
        executor: runs the task.
        listener: is notified of the call.
        answer: the result of the module.
        handler: the real plugin, for modules that really run.
    """

    _requires_connection = False

    def __init__(
        self, executor: t.Any, listener: Listener, answer: t.Callable[[Call], Result], handler: t.Any = None
    ) -> None:
        self._executor, self._listener, self._answer, self._handler = executor, listener, answer, handler
        self._module = _module_of(executor._task)

    def run(self, task_vars: t.Any = None) -> dict[str, t.Any]:
        if self._handler:
            result: dict[str, t.Any] = self._handler.run(task_vars=task_vars)
            noted = NOTED.get(self._module, "")
            self._notify({noted: result[noted]} if noted in result else {})
            return result
        given = self._notify(dict(self._executor._task.args))
        result = copy.deepcopy(dict(self._answer(given)))
        if result.pop("unreachable", False):
            raise AnsibleConnectionFailure(str(result.get("msg", "no route to host")))
        return {"changed": False, **result}

    def _notify(self, arguments: dict[str, t.Any]) -> Call:
        task = self._executor._task
        host, delegate = self._executor._host.name, task.delegate_to or ""
        call = Call(task._uuid, task.name, self._module, host, delegate, bool(task.check_mode), arguments)
        self._listener.called(call)
        return call

    def cleanup(self, force: bool = False) -> None:
        """Do nothing, because nothing is left behind."""


class _Callback(CallbackBase):  # type: ignore[misc]  # ansible ships no type information
    """Notifies the listener of events."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "rehearsal"

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener = listener

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        self._listener.play(play.get_name())

    def _ended(self, result: t.Any, status: str) -> None:
        message = result._result.get("msg", "") if status in BAD else ""
        task = result._task
        call = Call(task._uuid, task.name, _module_of(task), result._host.get_name(), "", False, {})
        self._listener.ended(call, status, str(message))

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._ended(result, "changed" if result._result.get("changed") else "ok")

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._ended(result, "ignored" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._ended(result, "unreachable")
