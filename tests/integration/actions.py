# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running the collection's actions in this process over Ansible's real connection plugins, without a playbook."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.playbook.task import Task
from ansible.plugins import loader as plugin_loader
from ansible.template import Templar

from simulator.machine.machine import Machine

CONNECTIONS: dict[str, dict[str, Any]] = {
    "winrm": {"ansible_winrm_scheme": "http", "ansible_winrm_transport": "ntlm", "ansible_winrm_read_timeout_sec": 30},
    "psrp": {
        "ansible_psrp_protocol": "http",
        "ansible_psrp_auth": "ntlm",
        "ansible_psrp_reconnection_retries": 0,
        "ansible_psrp_connection_timeout": 5,
        "ansible_psrp_read_timeout": 25,
        "ansible_psrp_operation_timeout": 20,
    },
}


@contextlib.contextmanager
def connect(machine: Machine, kind: str = "winrm", port: int = 5985, **more: Any) -> Iterator[Any]:
    """Yield an unused connection of the kind winrm or psrp to a machine, as a task has it. `more` are variables."""
    variables = {
        "ansible_host": machine.address,
        "ansible_port": port,
        "ansible_user": machine.settings.user,
        "ansible_password": machine.settings.password,
        **CONNECTIONS[kind],
        **more,
    }
    extras = {name: value for name, value in variables.items() if name.startswith("ansible_winrm_")}
    connection = plugin_loader.connection_loader.get(f"ansible.builtin.{kind}", PlayContext())
    connection.set_options(var_options={**variables, "_extras": extras if kind == "winrm" else {}})
    connection._shell.set_options(var_options={})
    try:
        yield connection
    finally:
        # Errors while closing a connection do not matter.
        with contextlib.suppress(Exception):
            connection.close()


def run_action(
    connection: Any,
    name: str,
    arguments: Mapping[str, Any],
    *,
    check_mode: bool = False,
    host: str = "win",
    variables: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run one action as one task.

    Args:
        connection: a connection from `connect`.
        name: the name of the action, without that of the collection.
        arguments: the options of the action.
        check_mode: whether to change nothing.
        host: the inventory name of the machine.
        variables: further variables of Ansible.

    Returns:
        The task's result.
    """
    task, loader = Task(), DataLoader()
    task.action, task.environment, task.args = f"winkube.node.{name}", [], dict(arguments)
    task.check_mode = check_mode
    action = plugin_loader.action_loader.get(
        task.action,
        task=task,
        connection=connection,
        play_context=PlayContext(),
        loader=loader,
        templar=Templar(loader=loader),
        shared_loader_obj=plugin_loader,
    )
    result: dict[str, Any] = action.run(task_vars={"inventory_hostname": host, **(variables or {})})
    return result
