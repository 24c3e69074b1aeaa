# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible modules that every simulated machine can run, by name. Other packages add more modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simulator.machine.modules import (
    access,
    accounts,
    archives,
    async_status,
    basic,
    commands,
    copy,
    environment,
    facts,
    files,
    nssm,
    registry,
    rights,
    services,
    specification,
    win_powershell,
)
from simulator.machine.modules.argument_checks import INTERNAL, Checks, NoCheckModeError, masked
from simulator.machine.modules.arguments import ArgumentError, Module, ModuleArguments
from simulator.machine.modules.specification import Rules
from simulator.machine.registry import RegistryDeniedError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.session import Session

MODULES: Mapping[str, Module] = {
    "async_status": async_status.run,
    "ping": basic.ping,
    "setup": facts.run,
    "slurp": files.slurp,
    "stat": files.stat,
    "win_acl": access.acl,
    "win_acl_inheritance": access.inheritance,
    "win_command": commands.command,
    "win_copy": copy.run,
    "win_environment": environment.variables,
    "win_file": files.file,
    "win_group": accounts.group,
    "win_group_membership": accounts.membership,
    "win_nssm": nssm.run,
    "win_path": environment.path,
    "win_ping": basic.ping,
    "win_powershell": win_powershell.run,
    "win_reg_stat": registry.stat,
    "win_regedit": registry.edit,
    "win_service": services.run,
    "win_shell": commands.shell,
    "win_stat": files.stat,
    "win_unzip": archives.unzip,
    "win_user": accounts.user,
    "win_user_right": rights.run,
}


def run(
    session: Session, script: str, text: str, arguments: Mapping[str, Any], utilities: Iterable[str] = ()
) -> dict[str, Any]:
    """Run a module and return its result.

    Args:
        script: the name of the script with its collection (`ansible.windows.win_ping.ps1`).
        text: the script that Ansible sent.
        arguments: the module's arguments (complex_args).
        utilities: the texts of the module_utils that Ansible sent with the module.
    """
    name = script.removesuffix(".ps1").rsplit(".", 1)[-1]
    module = session.machine.families.modules.get(name)
    if module is None:
        return _failed(f"the simulator does not model the module {name}")
    try:
        rules = specification.read(text, utilities)
    except specification.UnreadableError as error:
        return _failed(f"the simulator cannot evaluate {name}'s argument specification: {error}")
    if rules is None:
        return _legacy(session, module, name, text, arguments)
    return _checked(session, module, name, text, arguments, rules)


def _checked(
    session: Session, module: Module, name: str, text: str, arguments: Mapping[str, Any], rules: Rules
) -> dict[str, Any]:
    """Run a module that uses Ansible.Basic, which checks its arguments and removes secrets from its result."""
    checks = Checks(str(arguments.get(f"{INTERNAL}module_name") or name), session.expand)
    internal = {key: value for key, value in arguments.items() if key.startswith(INTERNAL)}
    try:
        params = checks.run(rules, arguments)
    except ArgumentError as error:
        refusal: dict[str, Any] = masked(_failed(str(error)), checks.secrets)
        return refusal
    except NoCheckModeError as error:
        return {"changed": False, "skipped": True, "msg": str(error)}
    requested = {key.casefold() for key in arguments} | {
        option.casefold() for alias, option in rules.aliases.items() if alias in arguments
    }
    given = {
        option: params[option]
        for option, settings in rules.options.items()
        if option.casefold() in requested and params[option] != settings.default
    }
    answer = _run(session, module, ModuleArguments({**internal, **params}, text, name, given))
    shown: dict[str, Any] = masked({**answer, "invocation": {"module_args": params}}, checks.secrets)
    return shown


def _legacy(session: Session, module: Module, name: str, text: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run an older module, which reads the options that it knows and ignores all others."""
    asked = specification.asked_for(text)
    given = {
        option: arguments[key]
        for option, aliases in asked.items()
        for key in (option, *aliases)
        if arguments.get(key) is not None
    }
    return _run(session, module, ModuleArguments(arguments, text, name, given))


def _run(session: Session, module: Module, arguments: ModuleArguments) -> dict[str, Any]:
    try:
        with session.machine.acting.as_account(session.user):
            return module(session, arguments)
    except (ArgumentError, AccessDeniedError, RegistryDeniedError) as error:
        return _failed(str(error))


def _failed(message: str) -> dict[str, Any]:
    return {"changed": False, "failed": True, "msg": message}
