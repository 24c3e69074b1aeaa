# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The options of win_service that change the configuration of a service, and their registry values.

The options follow win_service.ps1 and SCManager.cs of ansible.windows 3.3. Source of the values: the structures in
https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-changeserviceconfig2w.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.machine.machine import Machine
from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.service_rules import ROOT, account_exists
from simulator.machine.services import Service, make_failure_actions

INTERACTIVE = 0x100
MODES = {"auto": (2, 0), "delayed": (2, 1), "manual": (3, 0), "disabled": (4, 0)}
ERROR_CONTROL = {"ignore": 0, "normal": 1, "severe": 2, "critical": 3}
TYPES = {"win32_own_process": 0x10, "win32_share_process": 0x20, "user_own_process": 0x50, "user_share_process": 0x60}
SID_TYPES = {"none": 0, "unrestricted": 1, "restricted": 3}
# https://learn.microsoft.com/windows/win32/api/winsvc/ns-winsvc-service_preshutdown_info: since Windows 10 1703
PRE_SHUTDOWN_MS = 10_000
_ACTIONS = {"none": "none", "reboot": "reboot", "restart": "restart", "run_command": "run"}
_SYSTEM = "LocalSystem"
_LOCAL_SERVICE, _NETWORK_SERVICE = "NT AUTHORITY\\LOCAL SERVICE", "NT AUTHORITY\\NETWORK SERVICE"
_ACCOUNTS: Mapping[str, str] = {
    "localsystem": _SYSTEM,
    "system": _SYSTEM,
    "nt authority\\system": _SYSTEM,
    "s-1-5-18": _SYSTEM,
    "local service": _LOCAL_SERVICE,
    "localservice": _LOCAL_SERVICE,
    "nt authority\\localservice": _LOCAL_SERVICE,
    "nt authority\\local service": _LOCAL_SERVICE,
    "s-1-5-19": _LOCAL_SERVICE,
    "network service": _NETWORK_SERVICE,
    "networkservice": _NETWORK_SERVICE,
    "nt authority\\networkservice": _NETWORK_SERVICE,
    "nt authority\\network service": _NETWORK_SERVICE,
    "s-1-5-20": _NETWORK_SERVICE,
}


def account(machine: Machine, name: str, service: str) -> str:
    """Return the name of an account as Windows spells it.

    Raises:
        ArgumentError: the account does not exist.
    """
    known = _ACCOUNTS.get(name.casefold())
    if known:
        return known
    if not account_exists(machine, name, service):
        why = "Some or all identity references could not be translated."
        raise ArgumentError(
            f'Unhandled exception while executing module: Exception calling "Translate" with "1" argument(s): "{why}"'
        )
    authority, _, user = name.rpartition("\\")
    if authority.casefold() == "nt service":
        return f"NT SERVICE\\{user}"
    if user.endswith("$") and authority:
        return name  # a managed account of a domain
    return f"{machine.name.upper()}\\{user}"


@dataclass
class ServiceSettings:
    """The changes that a task requests for one service."""

    machine: Machine
    service: Service
    arguments: ModuleArguments

    def changes(self) -> dict[str, object]:
        """Return the registry values to write. None marks a value to remove.

        Raises:
            ArgumentError: an option is invalid.
        """
        found: dict[str, object] = {}
        for part in (self._account, self._texts, self._numbers, self._lists, self._failures, self._start, self._type):
            found.update(part())
        return found

    def _value(self, name: str, default: Any = None) -> Any:
        return self.machine.registry.data(f"{ROOT}\\{self.service.name}", name, default)

    def _account(self) -> Iterator[tuple[str, object]]:
        requested = self.arguments.raw("username")
        if requested and (name := account(self.machine, str(requested), self.service.name)):
            current = _ACCOUNTS.get(self.service.account.casefold(), self.service.account)
            if name.casefold() != current.casefold():
                yield "ObjectName", name

    def _texts(self) -> Iterator[tuple[str, object]]:
        for option, value, current in (
            ("path", "ImagePath", self.service.image_path),
            ("display_name", "DisplayName", self.service.display_name),
        ):
            requested = self.arguments.raw(option)
            if requested and requested != current:
                yield value, str(requested)
        for option, value in (("description", "Description"), ("load_order_group", "Group")):
            requested = self.arguments.raw(option)
            if requested is not None and str(requested) != str(self._value(value, "") or ""):
                yield value, str(requested) or None

    def _numbers(self) -> Iterator[tuple[str, object]]:
        choices = (
            ("error_control", "ErrorControl", ERROR_CONTROL, 1),
            ("sid_info", "ServiceSidType", SID_TYPES, 0),
        )
        for option, value, numbers, default in choices:
            requested = self.arguments.raw(option)
            if requested and (number := numbers[str(requested).casefold()]) != self._value(value, default):
                yield value, number
        timeout = self.arguments.raw("pre_shutdown_timeout_ms")
        if timeout is not None and timeout != self._value("PreshutdownTimeout", PRE_SHUTDOWN_MS):
            yield "PreshutdownTimeout", timeout

    def _lists(self) -> Iterator[tuple[str, object]]:
        requested = self.arguments.raw("dependencies")
        if requested is not None:
            action = self.arguments.text("dependency_action", default="set").casefold()
            current = self.service.dependencies
            removed = (
                [name for name in current if (name in requested) == (action == "remove")] if action != "add" else []
            )
            added = [name for name in requested if name not in current] if action != "remove" else []
            if removed or added:
                yield "DependOnService", [name for name in current if name not in removed] + added or None
        privileges = self.arguments.raw("required_privileges")
        if privileges is not None and set(privileges) != set(self._value("RequiredPrivileges", []) or []):
            yield "RequiredPrivileges", privileges or None

    def _failures(self) -> Iterator[tuple[str, object]]:
        flag = self.arguments.raw("failure_actions_on_non_crash_failure")
        if flag is not None and bool(flag) != bool(self._value("FailureActionsOnNonCrashFailures", 0)):
            yield "FailureActionsOnNonCrashFailures", int(bool(flag))
        for option, value in (("failure_command", "FailureCommand"), ("failure_reboot_msg", "RebootMessage")):
            requested = self.arguments.raw(option)
            if requested is not None and str(requested) != str(self._value(value, "") or ""):
                yield value, str(requested) or None
        reset, actions = recovery(self._value("FailureActions"))
        wanted_reset, given = self.arguments.raw("failure_reset_period_sec"), self.arguments.raw("failure_actions")
        wanted_actions = actions if given is None else [_action(item) for item in given]
        new_reset = reset if wanted_reset is None else int(wanted_reset)
        if (new_reset, wanted_actions) == (reset, actions):
            return
        if not wanted_actions and given is None:
            why = "Cannot set FailureAction ResetPeriod without explicit Actions and no existing Actions"
            raise ArgumentError(
                f'Unhandled exception while executing module: Exception setting "FailureActions": "{why}"'
            )
        # Without actions there is no reset period: ns-winsvc-service_failure_actionsw, lpsaActions.
        yield "FailureActions", make_failure_actions(new_reset, wanted_actions) if wanted_actions else None

    def _start(self) -> Iterator[tuple[str, object]]:
        requested = self.arguments.raw("start_mode")
        if requested:
            start, delayed = MODES[str(requested).casefold()]
            if (self.service.start, int(self.service.delayed)) != (start, delayed):
                yield from (("Start", start), ("DelayedAutostart", delayed))

    def _type(self) -> Iterator[tuple[str, object]]:
        current = int(self._value("Type", 0x10))
        requested = self.arguments.raw("service_type")
        number = TYPES[str(requested).casefold()] if requested else current & ~INTERACTIVE
        if self.arguments.flag("desktop_interact"):
            name = self.arguments.text("username", default=self.service.account) or self.service.account
            if _ACCOUNTS.get(name.casefold()) != _SYSTEM:
                raise ArgumentError("Can only set 'desktop_interact' to true when 'username' equals 'SYSTEM'")
            number |= INTERACTIVE
        if number != current:
            yield "Type", number


def _action(item: Mapping[str, Any]) -> tuple[str, int]:
    return _ACTIONS[str(item["type"]).casefold()], int(item.get("delay_ms") or 0)


def recovery(data: object) -> tuple[int, list[tuple[str, int]]]:
    """Return the reset period and the actions from a FailureActions value, or 0 and no actions for other data."""
    if not isinstance(data, bytes) or len(data) < 20:
        return 0, []
    reset, count = struct.unpack_from("<I", data, 0)[0], struct.unpack_from("<I", data, 12)[0]
    pairs = [struct.unpack_from("<II", data, 20 + 8 * index) for index in range(min(count, (len(data) - 20) // 8))]
    return reset, [(("none", "restart", "reboot", "run")[kind], delay) for kind, delay in pairs]
