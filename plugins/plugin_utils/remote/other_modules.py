# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run modules of other collections on a node over the node's Ansible connection."""

from __future__ import annotations

import typing as t

from ansible.plugins.loader import module_loader

from .ansible_connection import KEEPS_FILES, ConnectionLost, ModuleRunner, keeps_files
from .errors import NodeError
from .missing_answers import failure


def check_installed(module: str, variable: str, hint: str = "") -> None:
    """Check that the controller has a Windows module, before a node is contacted.

    Args:
        module: the module, such as `microsoft.ad.membership`.
        variable: the variable that needs the module.
        hint: another way to obtain the module.

    Raises:
        NodeError: the module is not installed.
    """
    if not module_loader.find_plugin_with_context(module, mod_type=".ps1").resolved:
        collection = module.rpartition(".")[0]
        also = f"; {hint}" if hint else ""
        raise NodeError(
            f"{variable} needs the module {module}, which is not installed. Install the collection {collection} "
            f"(ansible-galaxy collection install {collection}{also})"
        )


class OtherModules:
    """A runner of other collections' modules on one node.

    Args:
        name: the node's name, for messages.
        runner: the node's connection.
        contact: function that is called when the node has responded.
        recover: function that is called with a connection failure and the name of the step, and reconnects.
    """

    def __init__(
        self,
        name: str,
        runner: ModuleRunner,
        contact: t.Callable[[], None],
        recover: t.Callable[[ConnectionLost, str], None],
    ) -> None:
        self._name, self._runner = name, runner
        self._contact, self._recover = contact, recover

    def start_job(
        self, name: str, arguments: t.Mapping[str, t.Any], *, folder: str, seconds: int, step: str
    ) -> t.Mapping[str, t.Any] | None:
        """Start another collection's action as SYSTEM, detached from the connection.

        Args:
            name: the action, such as `ansible.windows.win_updates`.
            arguments: the options of the action.
            folder: the folder on the node for the file with the result. The file's name begins with `j`.
            seconds: time limit of the action.
            step: name of the step, for messages.

        Returns:
            The result of Ansible's async wrapper (`ansible_async_watchdog_pid`, or `failed` and `msg`); None if the
            connection failed and it is unknown whether the action started.

        Raises:
            NodeError: the action is not installed.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        try:
            result = self._answered(self._runner.start_job(name, arguments, detach=(seconds, folder)))
        except LookupError as error:
            raise NodeError(f"{self._name}: {step}: {error}") from error
        except ConnectionLost as error:
            self._recover(error, step)
            return None
        if result.get("failed") or not result.get("ansible_job_id"):
            return {"failed": True, "msg": failure(result, False)}
        return result

    def run(self, name: str, arguments: t.Mapping[str, t.Any], *, step: str) -> t.Mapping[str, t.Any] | None:
        """Run another collection's module once, and hide its arguments and result, which may contain secrets.

        Args:
            name: the module, such as `microsoft.ad.membership`.
            arguments: the options of the module.
            step: name of the step, for messages.

        Returns:
            The module's result (`changed`, `failed`, `msg` …); None if the connection failed and it is unknown whether
            the module ran.

        Raises:
            NodeError: Ansible would keep the arguments in a file on the node.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        if keeps_files():
            raise NodeError(f"{self._name}: {step}: {KEEPS_FILES}")
        try:
            return self._answered(self._runner.run_module(name, arguments))
        except ConnectionLost as error:
            self._recover(error, step)
            return None

    def _answered(self, result: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
        if result.get("unreachable"):
            raise ConnectionLost(str(result.get("msg")))
        self._contact()
        return result
