# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The base class of actions that work only on the controller, and functions that find registered results and files."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ..values.ansible_data import plain
from ..values.errors import ResourceError
from .forked_workers import exempt_inherited_objects

exempt_inherited_objects()


class ControllerAction(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """An action that works on the controller only.

    A subclass declares its options, and does its work in `perform`.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {}
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {}
    """Further checks of the options by Ansible, such as `required_if`."""
    _requires_connection = False
    _supports_check_mode = True

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Do the action's work.

        Args:
            options: the validated options.
            variables: the variables that Ansible passes to the task.

        Returns:
            The action's result.
        """
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the action; Ansible calls this method."""
        self._task.args = plain(self._task.args)
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec({**self.OPTIONS}, **self.MORE)
        result.update(self.perform(options, task_vars or {}))
        return result


def registered(variables: t.Mapping[str, t.Any], name: str) -> dict[str, t.Any]:
    """Return the value of a variable for each host of the play, or None for a host without this variable.

    Args:
        variables: the variables that Ansible passes to the task.
        name: name of a registered variable.
    """
    hostvars = variables["hostvars"]
    return {host: plain(hostvars[host].get(name)) for host in variables["ansible_play_hosts_all"]}


def controller_file(action: ActionBase, name: str) -> str:
    """Return the path of a file on the controller. Ansible searches for it in the role and next to the playbook.

    Raises:
        ResourceError: there is no such file.
    """
    try:
        return str(action._find_needle("files", name))
    except AnsibleError:
        hint = "Set patch_source if the file is in a different folder or on a mirror."
        raise ResourceError("file", name, "expected the name of a file on the controller", hint) from None
