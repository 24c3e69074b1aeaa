# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ansible's Windows modules that the simulated machine answers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.machine.modules import (
    access,
    accounts,
    archives,
    async_status,
    basic,
    commands,
    copy,
    downloads,
    environment,
    facts,
    features,
    files,
    firewall,
    invoke_calls,
    nssm,
    packages,
    registry,
    rights,
    services,
    win_updates,
)
from simulator.machine.modules.arguments import ArgumentError, Arguments, Module
from simulator.machine.session import Session

MODULES: Mapping[str, Module] = {
    "async_status": async_status.run,
    "invoke_calls": invoke_calls.run,
    "ping": basic.ping,
    "setup": facts.run,
    "slurp": files.slurp,
    "stat": files.stat,
    "win_acl": access.acl,
    "win_acl_inheritance": access.inheritance,
    "win_command": commands.command,
    "win_copy": copy.run,
    "win_environment": environment.variables,
    "win_feature": features.run,
    "win_file": files.file,
    "win_firewall_rule": firewall.run,
    "win_get_url": downloads.run,
    "win_group": accounts.group,
    "win_group_membership": accounts.membership,
    "win_nssm": nssm.run,
    "win_package": packages.run,
    "win_path": environment.path,
    "win_ping": basic.ping,
    "win_powershell": commands.powershell,
    "win_reg_stat": registry.stat,
    "win_regedit": registry.edit,
    "win_service": services.run,
    "win_shell": commands.shell,
    "win_stat": files.stat,
    "win_unzip": archives.unzip,
    "win_updates": win_updates.run,
    "win_user_right": rights.run,
}


def run(session: Session, script: str, text: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a module and return its answer.

    Parameters:
        script: its name with its collection (`ansible.windows.win_ping.ps1`).
        text: the script that Ansible sent.
        arguments: complex_args.
    """
    name = script.removesuffix(".ps1").rsplit(".", 1)[-1]
    module = MODULES.get(name)
    if module is None:
        return {"changed": False, "failed": True, "msg": f"the simulator does not model the module {name}"}
    try:
        return module(session, Arguments(arguments, text))
    except ArgumentError as error:
        return {"changed": False, "failed": True, "msg": str(error)}
