# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The base class of actions that contact a node."""

from __future__ import annotations

import contextlib
import traceback
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ..connection import checks
from ..connection.host import settings_of_connection
from ..engine.answers import Answers
from ..engine.converge import Convergence
from ..engine.outcome import ConvergenceOutcome
from ..engine.resource import Resource
from ..remote.errors import NodeError
from ..remote.node import Node
from ..remote.session import NodeSession
from ..remote.timeouts import Timeouts
from ..values.ansible_data import plain
from ..values.errors import ResourceError
from ..values.printable import all_printable, printable
from ..values.terminal import show, show_details
from ..windows import code_policies
from ..wire.typed_values import MISREAD
from .forked_workers import exempt_inherited_objects

exempt_inherited_objects()

NODE_OPTIONS: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "reboot": {"type": "bool", "default": True},
    "reboot_timeout": {"type": "int", "default": 1800},
    "timeout": {"type": "int", "default": 3600},
    "reconnect_timeout": {"type": "int", "default": 300},
    "allow_unsupported_windows": {"type": "bool", "default": False},
    "allowed_code_policies": {"type": "list", "elements": "str", "choices": list(code_policies.CHOICES), "default": []},
}
"""Options of every action that contacts a node."""


class NodeAction(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """An action that works on one Windows node.

    A subclass declares its options in addition to NODE_OPTIONS, and does its work in `perform`.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {}
    _requires_connection = True

    def __init__(self, *arguments: t.Any, **keywords: t.Any) -> None:
        super().__init__(*arguments, **keywords)
        self._supports_check_mode = True
        self._supports_async = False
        self.task_vars: dict[str, t.Any] = {}
        """The variables that Ansible passes to the task."""

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        """Do the action's work.

        Args:
            options: the validated options, without Ansible's tags.
            session: the session with the node.

        Returns:
            The action's result.

        Raises:
            NodeError: the work failed. `run` turns this error into a failed result.
            ResourceError: an option is invalid. `run` turns this error into a failed result.
        """
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the action; Ansible calls this method."""
        # Drop Ansible's own form of the arguments, which is large, because it records the origin of each text.
        self._task.args = plain(self._task.args)
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        self.task_vars = task_vars or {}
        dummy, options = self.validate_argument_spec({**NODE_OPTIONS, **self.OPTIONS})
        reason = checks.problem(settings_of_connection(self._connection), allow_insecure=self._allows_insecure())
        if reason is not None:
            result.update(failed=True, msg=f"{self._host()}: {reason}", remote_commands=0)
            return result
        timeouts = Timeouts(
            batch=options["timeout"], reboot=options["reboot_timeout"], reconnect=options["reconnect_timeout"]
        )
        node = Node(t.cast("t.Any", self), {**self.task_vars, "inventory_hostname": self._host()}, timeouts=timeouts)
        session = NodeSession(node, allow_unsupported_windows=options["allow_unsupported_windows"], notify=show)
        try:
            result.update(all_printable(self.perform(options, session)))
        except (NodeError, ResourceError) as error:
            result.update(failed=True, msg=str(error))
        except MISREAD as error:
            # Types and shapes have been checked already, but only the code that reads a property can check its value.
            show_details(traceback.format_exc(), node.name)
            problem = f"{type(error).__name__}: {error}"
            text = f"{node.name}: an answer from the node cannot be used: {problem} (-vvv shows where)"
            result.update(failed=True, msg=printable(text))
        return result

    def passwords(self) -> list[str]:
        """Return the connection's passwords, which must not be in any file that an action writes."""
        passwords = []
        for name in ("remote_password", "password", "become_pass"):
            with contextlib.suppress(KeyError):
                passwords.append(self._connection.get_option(name))
        return [str(password) for password in passwords if password]

    def _host(self) -> str:
        """Return the host's name for messages."""
        return str(self._task.delegate_to or self.task_vars.get("inventory_hostname"))

    def _allows_insecure(self) -> bool:
        """Return whether the user accepts connections that third parties can read."""
        return bool(boolean(self._templar.template(self.task_vars.get(checks.ALLOW, False)), strict=False))

    def converge(
        self, session: NodeSession, resources: t.Sequence[Resource], options: t.Mapping[str, t.Any]
    ) -> dict[str, t.Any]:
        """Converge the node to the given resources, or only plan the changes in check mode.

        Returns:
            The result, which includes failures and what was done before the failures.
        """
        return self.converged(session, resources, options)[0]

    def converged(
        self,
        session: NodeSession,
        resources: t.Sequence[Resource],
        options: t.Mapping[str, t.Any],
        answers: Answers | None = None,
    ) -> tuple[dict[str, t.Any], ConvergenceOutcome]:
        """Converge the node to the given resources, or only plan the changes in check mode.

        Args:
            session: the session with the node.
            resources: the expected resources.
            options: the validated options of the action.
            answers: if given, an object that records what the node returned.

        Returns:
            The result of the task, and the outcome from which it was made.
        """
        work = Convergence(
            session,
            resources,
            check_mode=bool(self._task.check_mode),
            may_reboot=options["reboot"],
            disruptive=options.get("disruptive", "apply"),
            allowed_code_policies=options["allowed_code_policies"],
            check_space=options.get("check_space", True),
            offline=options.get("offline", False),
            disk_limit=options.get("disk_limit_gib", 0) * 2**30 or None,
            answers=answers,
        )
        try:
            outcome = work.run()
        except NodeError as error:
            outcome = self._failed(work.outcome, str(error))
        except AnsibleConnectionFailure as error:
            # The result must contain what was done before the connection was lost.
            outcome = self._failed(work.outcome, str(error))
            return {**outcome.to_result(diff=bool(self._task.diff)), "failed": False, "unreachable": True}, outcome
        return outcome.to_result(diff=bool(self._task.diff)), outcome

    @staticmethod
    def _failed(outcome: ConvergenceOutcome, message: str) -> ConvergenceOutcome:
        outcome.failures.append(message)
        return outcome
