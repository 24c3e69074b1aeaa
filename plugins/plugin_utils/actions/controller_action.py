# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the collection's actions have in common that contact no node: their options read, what the hosts registered."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ..values.ansible_data import plain
from ..values.errors import ResourceError


class ControllerAction(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """An action that works on the controller alone.

    A subclass says which options it takes, and what it does in `perform`.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {}
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {}
    """What else Ansible is to check of them, such as `required_if`."""
    _requires_connection = False
    _supports_check_mode = True

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Does the action's work.

        Args:
            options: validated.
            variables: Ansible's variables of this run.

        Returns:
            The action's result.
        """
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ansible's entry point."""
        self._task.args = plain(self._task.args)
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec({**self.OPTIONS}, **self.MORE)
        result.update(self.perform(options, task_vars or {}))
        return result


def registered(variables: t.Mapping[str, t.Any], name: str) -> dict[str, t.Any]:
    """What each host of the play has in a variable, by host; None where it has none.

    Args:
        variables: Ansible's.
        name: of the variable, as tasks register it.
    """
    hostvars = variables["hostvars"]
    return {host: plain(hostvars[host].get(name)) for host in variables["ansible_play_hosts_all"]}


def controller_file(action: ActionBase, name: str) -> str:
    """A file beside the playbook or role, as Ansible looks for them.

    Raises:
        ResourceError: there is none.
    """
    try:
        return str(action._find_needle("files", name))
    except AnsibleError:
        accepted = "there is no such file on the controller; wanted a path, or patch_source"
        raise ResourceError("file", name, accepted) from None
