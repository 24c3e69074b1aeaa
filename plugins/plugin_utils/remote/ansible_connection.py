# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Send remote commands over Ansible's connection, count them, and recognize connection failures."""

from __future__ import annotations

import contextlib
import typing as t

from ansible import constants as C  # noqa: N812 - as Ansible's own plugins call it

from ..wire.compression import compressed
from .become_system import as_system
from .orphaned_shells import OrphanedShells

MODULE = "winkube.node.invoke_calls"
COLLECTING_MODULE = "winkube.node.collect_batch"
"""The module that only fetches the results of batches. Its code is a third as long as that of `invoke_calls`."""


KEEPS_FILES = (
    "ANSIBLE_KEEP_REMOTE_FILES (keep_remote_files in ansible.cfg): expected false, because this task would leave "
    "secrets in a temporary file on the node, got true. Unset it"
)


class ConnectionLost(Exception):
    """The connection failed; it is unknown whether the node received and ran the command."""


class _PlayContext(t.Protocol):
    no_log: bool


class _Shell(t.Protocol):
    def get_option(self, option: str) -> t.Any: ...

    def set_option(self, option: str, value: t.Any) -> None: ...


class Connection(t.Protocol):
    """The parts of Ansible's connection plugins (winrm, psrp, ssh) that this collection uses."""

    _play_context: _PlayContext
    _shell: _Shell
    become: t.Any
    exec_command: t.Callable[..., tuple[int, bytes, bytes]]

    def put_file(self, in_path: str, out_path: str) -> None:
        """Upload a file to the node."""

    def reset(self) -> None:
        """Close an open connection and open it again."""

    def close(self) -> None:
        """Close the connection."""


class AnsibleAction(t.Protocol):
    """The parts of Ansible's ActionBase that this collection uses."""

    _task: t.Any
    _connection: t.Any
    _play_context: t.Any
    _loader: t.Any
    _templar: t.Any
    _shared_loader_obj: t.Any

    def _execute_module(self, **arguments: t.Any) -> dict[str, t.Any]: ...


def keeps_files() -> bool:
    """Return whether Ansible keeps its temporary files on the node for debugging."""
    return bool(C.DEFAULT_KEEP_REMOTE_FILES)


class _CountedConnection:
    """A wrapper that counts a connection's commands and turns the connection plugin's exceptions into ConnectionLost.

    Connection plugins raise many exceptions besides AnsibleConnectionFailure (requests.ConnectionError,
    ChunkedEncodingError, WSManFaultError, pypsrp's own), so an exception is recognized by its origin, not by its type.

    Args:
        connection: the wrapped connection, which does the work.
        runner: object that counts the commands.
    """

    def __init__(self, connection: t.Any, runner: ModuleRunner) -> None:
        vars(self).update(_live=connection, _runner=runner)

    def exec_command(self, *arguments: t.Any, **keywords: t.Any) -> tuple[int, bytes, bytes]:
        """Run a command and count it.

        Raises:
            ConnectionLost: the connection plugin raised an exception.
        """
        self._runner.remote_commands += 1
        try:
            result: tuple[int, bytes, bytes] = self._live.exec_command(*arguments, **keywords)
        except Exception as error:
            self._runner.boot = ""
            raise ConnectionLost(str(error) or type(error).__name__) from error
        return result

    def __getattr__(self, name: str) -> t.Any:
        return getattr(vars(self)["_live"], name)

    def __setattr__(self, name: str, value: t.Any) -> None:
        setattr(vars(self)["_live"], name, value)


class ModuleRunner:
    """A runner of modules on a node, which uses the connection of an action plugin.

    Args:
        action: the running action plugin.
        task_vars: the variables of the plugin's task.
    """

    def __init__(self, action: AnsibleAction, task_vars: t.Mapping[str, t.Any]) -> None:
        self._action = action
        self._task_vars = task_vars
        self.remote_commands = 0
        """Number of remote commands sent so far."""
        self._abandoned = OrphanedShells()
        self.boot = ""
        """The time of the node's last boot, according to the latest result from the node. Empty if this is unknown, or
        if the node may have rebooted since that result."""

    @property
    def _connection(self) -> Connection:
        return t.cast("Connection", self._action._connection)

    def execute(
        self,
        batch: str,
        *,
        private: bool,
        detach: tuple[int, str] | None = None,
        system: bool = False,
        collects: bool = False,
    ) -> dict[str, t.Any]:
        """Run a batch of calls on the node with one of this collection's modules, without retrying.

        Args:
            batch: the batch as JSON.
            private: whether to hide the result from the connection plugin's output (-vvvvvv).
            detach: time limit in seconds, and the folder for the files of Ansible's async wrapper. None means that the
                batch does not run detached.
            system: whether to run the module as SYSTEM.
            collects: whether the batch fetches the recorded result of another batch, which may have run before the last
                boot.

        Returns:
            The module's result from Ansible.

        Raises:
            ConnectionLost: the connection plugin raised an exception.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._counted())
            if private:
                stack.enter_context(self._censored())
            if detach is not None:
                stack.enter_context(self._detached(*detach))
            if system:
                stack.enter_context(as_system(self._connection))
            result = self._action._execute_module(
                module_name=COLLECTING_MODULE if collects else MODULE,
                module_args={"batch": compressed(batch)},
                task_vars=dict(self._task_vars),
            )
        observation = result.get("observation")
        if isinstance(observation, dict) and not (collects and observation.get("state") == "finished"):
            self.boot = str(observation.get("boot") or "")
        return result

    def start_job(self, name: str, arguments: t.Mapping[str, t.Any], *, detach: tuple[int, str]) -> dict[str, t.Any]:
        """Start another collection's action as SYSTEM, detached from the connection.

        Args:
            name: the action, such as `ansible.windows.win_updates`; it must support async.
            arguments: the options of the action.
            detach: time limit of the action in seconds, and the folder for its result (a file `jNUMBER.NUMBER`).

        Returns:
            The result of Ansible's async wrapper.

        Raises:
            LookupError: the action is not installed.
            ConnectionLost: the connection plugin raised an exception.
        """
        seconds, folder = detach
        with self._counted(), self._detached(seconds, folder), as_system(self._connection):
            plugin = self._other_action(name, arguments, seconds)
            result: dict[str, t.Any] = plugin.run(task_vars=dict(self._task_vars))
        return result

    def run_module(self, name: str, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Run another collection's module without retrying, and hide its arguments and result, which may be secret.

        Args:
            name: the module, such as `microsoft.ad.membership`.
            arguments: the options of the module.

        Returns:
            The module's result from Ansible.

        Raises:
            ConnectionLost: the connection plugin raised an exception.
        """
        with self._counted(), self._censored():
            return self._action._execute_module(
                module_name=name, module_args=dict(arguments), task_vars=dict(self._task_vars)
            )

    def put(self, local: str, remote: str) -> None:
        """Upload a file to the node.

        Raises:
            ConnectionLost: the connection plugin raised an exception.
        """
        self.remote_commands += 1
        try:
            self._connection.put_file(local, remote)
        except Exception as error:
            self.boot = ""
            raise ConnectionLost(str(error) or type(error).__name__) from error

    def _other_action(self, name: str, arguments: t.Mapping[str, t.Any], seconds: int) -> t.Any:
        """Return another collection's action plugin, which uses the same connection.

        Raises:
            LookupError: the action is not installed.
        """
        action = self._action
        task = action._task.copy()
        task.args, task.async_val = dict(arguments), seconds
        plugin = action._shared_loader_obj.action_loader.get(
            name,
            task=task,
            connection=self._connection,
            play_context=action._play_context,
            loader=action._loader,
            templar=action._templar,
            shared_loader_obj=action._shared_loader_obj,
        )
        if plugin is None:
            collection = name.rpartition(".")[0]
            raise LookupError(f"{name} is not installed: install the collection {collection}")
        return plugin

    def reset(self) -> None:
        """Close an open connection and reconnect. A closed connection stays closed until the next command opens it.

        Raises:
            Exception: the plugin could not reach the node. The connection is then closed.
        """
        self._abandoned.note(self._connection)
        try:
            self._connection.reset()
        except Exception:
            self._abandoned.note(self._connection)
            # Without this, psrp would keep a half-open runspace pool and use it again.
            with contextlib.suppress(Exception):
                self._connection.close()
            raise

    def close_abandoned(self) -> None:
        """Delete the shells that failed connections left open. Their commands must no longer be running."""
        self._abandoned.close(self._connection)

    @contextlib.contextmanager
    def _counted(self) -> t.Iterator[None]:
        """Make the action use a `_CountedConnection` while the context is active."""
        connection = self._action._connection
        self._action._connection = _CountedConnection(connection, self)
        try:
            yield
        finally:
            self._action._connection = connection

    @contextlib.contextmanager
    def _censored(self) -> t.Iterator[None]:
        context = self._connection._play_context
        saved, context.no_log = context.no_log, True
        try:
            yield
        finally:
            context.no_log = saved

    @contextlib.contextmanager
    def _detached(self, seconds: int, folder: str) -> t.Iterator[None]:
        """Make Ansible run modules asynchronously while the context is active.

        Ansible's async wrapper reads its settings from the task and the shell.
        """
        task, shell = self._action._task, self._connection._shell
        saved, saved_folder = task.async_val, shell.get_option("async_dir")
        task.async_val = seconds
        shell.set_option("async_dir", folder)
        try:
            yield
        finally:
            task.async_val = saved
            shell.set_option("async_dir", saved_folder)
