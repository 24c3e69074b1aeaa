# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Windows service: its definition and its state."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import ObservationError, create, is_missing, only, remove, update
from ..engine.resource import Change, Resource, ServiceEffect, ServiceInterruption
from ..node_config import kubelet_flags
from ..values.errors import ResourceError
from ..values.versions import EXPECTED, Version
from ..windows import service_recovery
from ..windows.command_line import join, merge_flags, quote, split
from ..windows.registry_calls import remove_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Results

_SERVICES = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\"
_START = {0: "boot", 1: "system", 2: "auto", 3: "demand", 4: "disabled"}
_NEEDS_RESTART = frozenset({"command_line", "environment", "account"})
"""Properties whose changes take effect only at the next start of the service."""
_INTERRUPTS = frozenset({"stop", "restart", "delete"})
"""Ids of the calls that stop, restart or delete the service."""
_RUNS = frozenset({"Running", "StartPending", "ContinuePending", "PausePending", "Paused"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service(Resource):
    """A Windows service. Only the properties that you set are managed.

    If the command line, environment or account of a running service changes, the service is restarted.
    """

    type: t.ClassVar[str] = "Service"
    name: str = dataclasses.field(metadata={"help": "The service's name (not its display name)."})
    path: str | None = dataclasses.field(
        default=None,
        metadata={"help": "Path of the executable, without quotation marks. Required to create a service."},
    )
    arguments: str | tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={"help": "A list, whose items are quoted by Windows' rules, or a string that is appended unchanged."},
    )
    arguments_from_file: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "An environment file on the node, which may be missing. Its flags are added to `arguments` and"
            " replace flags of the same name. For the kubelet: `C:\\var\\lib\\kubelet\\kubeadm-flags.env`."
        },
    )
    arguments_variable: str = dataclasses.field(
        default="KUBELET_KUBEADM_ARGS",
        metadata={"help": "The variable in `arguments_from_file` that contains the flags."},
    )
    arguments_for_kubelet: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The version of the kubelet that this service runs, such as `1.36.2`. Flags from"
            " `arguments_from_file` that this version does not support are left out with a warning, because the kubelet"
            " would not start with them."
        },
    )
    display_name: str | None = dataclasses.field(
        default=None, metadata={"help": "The service's name in the user interface."}
    )
    description: str | None = dataclasses.field(default=None, metadata={"help": "What the service is for."})
    start_mode: t.Literal["auto", "delayed-auto", "demand", "disabled"] | None = dataclasses.field(
        default=None, metadata={"help": "When the service starts. The default for a new service is `demand`."}
    )
    dependencies: tuple[str, ...] | None = dataclasses.field(
        default=None,
        metadata={"help": "Services that must run before this one. An empty list removes all dependencies."},
    )
    environment: t.Mapping[str, str] | None = dataclasses.field(
        default=None,
        metadata={"help": "All variables of the service's own environment. An empty mapping removes all of them."},
    )
    recovery: service_recovery.Recovery | None = dataclasses.field(
        default=None, metadata={"help": "What the service control manager does when the service fails."}
    )
    account: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "An account without a password: `LocalSystem`, `NT AUTHORITY\\NetworkService`, `DOM\\gmsa$`."
        },
    )
    state: t.Literal["running", "stopped", "absent"] | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The state of the service; `absent` deletes the service. If omitted, the service is neither"
            " started nor stopped."
        },
    )
    if_exists: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to do nothing if the service does not exist."}
    )
    cuts_connection: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether the start of the service may interrupt the connection to the node. If so, a detached"
            " process starts the service. flanneld, for example, turns the network adapter into a virtual switch."
        },
    )
    remember_start_mode: bool = dataclasses.field(
        default=False,
        metadata={
            "help": "Whether to record the start mode on the node before the service is disabled."
            " `winkube.node.sysprep` restores the recorded start mode of cloudbase-init."
        },
    )

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^\\/*?\[\]]{1,256}", self.name):
            raise ResourceError("name", self.name, r"expected a service's name, without \ / * ? [ or ]")
        if self.path is None and (self.arguments or self.arguments_from_file):
            raise ResourceError("arguments", self.arguments, "expected arguments only with path")
        if self.arguments_for_kubelet is not None:
            try:
                Version.parse(self.arguments_for_kubelet)
            except ValueError:
                raise ResourceError("arguments_for_kubelet", self.arguments_for_kubelet, EXPECTED) from None
        if self.path is not None and (not self.path.strip() or '"' in self.path):
            raise ResourceError("path", self.path, "expected the executable's path, without quotation marks")
        for name in self.environment or ():
            if not name or "=" in name:
                raise ResourceError("environment", name, "expected a variable's name, without =")
        for service in self.dependencies or ():
            if not service or "/" in service:
                raise ResourceError("dependencies", service, "expected a service's name, without /")

    @property
    def key(self) -> str:
        return _SERVICES + self.name

    @property
    def private(self) -> bool:
        """Whether the node's answers may contain secrets: a service's environment may contain a proxy password."""
        return self.no_log or self.environment is not None

    def joined(self, other: t.Self) -> t.Self | None:
        """Return whichever of the two resources contains all settings of the other, or None if neither does.

        The sysprep and cloudbase_init roles, for example, both disable cloudbase-init's service.
        """
        if (self.windows, self.if_exists) != (other.windows, other.if_exists):
            return None
        settings = [field for field in dataclasses.fields(self) if field.name != "name"]
        for one, part in ((self, other), (other, self)):
            if all(getattr(part, field.name) in (field.default, getattr(one, field.name)) for field in settings):
                return one
        return None

    def observe(self) -> tuple[Call, ...]:
        calls = [
            query("service", "Get-Service", {"Name": [self.name]}, select=("Name", "Status")),
            query("definition", "@read-registry", {"values": [{"path": self.key}]}, select=("key_exists", "values")),
        ]
        if self.arguments_from_file:
            parameters: dict[str, Json] = {"paths": [self.arguments_from_file], "content": True}
            calls.append(query("flags", "@read-file", parameters))
        return tuple(calls)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = self._plan(seen)
        if change is None:
            return None
        ids = {call.id for call in change.calls}
        change = dataclasses.replace(
            change,
            service=self._effect(ids),
            interruptions=(ServiceInterruption(service=self.name),) if ids & _INTERRUPTS else (),
            # A service that cuts the connection turns the adapter into a virtual switch when it starts.
            changes_network=self.cuts_connection and "start" in ids,
        )
        if self.state == "absent" or not (dropped := self._flags(seen).dropped):
            return change
        warning = (
            f"{self.arguments_from_file} has flags that kubelet {self.arguments_for_kubelet} does not support;"
            f" they are left out: {' '.join(map(_shown, dropped))}"
        )
        return dataclasses.replace(change, warnings=(*change.warnings, warning))

    def _effect(self, ids: t.Collection[str]) -> ServiceEffect | None:
        """Return what a change does to the service (start, restart or stop it), or None if it does none of these.

        Args:
            ids: ids of the calls of the change.
        """
        if self.state in ("stopped", "absent"):
            return ServiceEffect(service=self.name, effect="stops")
        if "restart" in ids:
            return ServiceEffect(service=self.name, effect="restarts")
        return ServiceEffect(service=self.name, effect="starts") if "start" in ids else None

    def _plan(self, seen: Results) -> Change | None:
        status = self._status(seen)
        if status is None:
            return self._plan_create(seen)
        if self.state == "absent":
            return self._plan_remove(status)
        before, after = self._observed(seen), self._desired(seen)
        changed = frozenset(key for key in after if before.get(key) != after[key])
        before["state"] = "running" if status in _RUNS else "stopped"
        if self.state is not None:
            after["state"] = self.state
        calls = [*self._define("config", after, changed), *self._run(status, bool(changed & _NEEDS_RESTART))]
        if self.remember_start_mode and "start_mode" in changed and self.start_mode == "disabled":
            calls = [*managed_marks.write(self.title, str(before["start_mode"])), *calls]
        return update(self, before, after, calls)

    def _status(self, seen: Results) -> str | None:
        """Return the status from the service control manager, or None if there is no such service."""
        if is_missing(seen.get("service")):
            return None
        return str(only(self, seen, "service").get("Status"))

    def _desired(self, seen: Results) -> dict[str, t.Any]:
        """Return the desired values of the managed properties, in the form in which `_observed` returns values."""
        desired = {
            "command_line": None if self.path is None else self._command_line(seen),
            "start_mode": self.start_mode,
            "display_name": self.display_name,
            "description": self.description,
            "dependencies": None if self.dependencies is None else sorted(self.dependencies, key=str.casefold),
            "account": self.account,
            "environment": None if self.environment is None else dict(sorted(self.environment.items())),
            "recovery": self.recovery and self.recovery.text,
            "recovery_on_error_exit": self.recovery and self.recovery.on_error_exit,
        }
        return {key: value for key, value in desired.items() if value is not None}

    def _command_line(self, seen: Results) -> str:
        program = quote(self.path or "")
        if isinstance(self.arguments, str):
            line, arguments = (
                f"{program} {self.arguments}".rstrip(),
                split(f"x {self.arguments}")[1:],
            )
        else:
            line, arguments = join([self.path or "", *self.arguments]), list(self.arguments)
        added = self._flags(seen).kept
        if not added:
            return line
        return join([self.path or "", *merge_flags(arguments, added)])

    def _flags(self, seen: Results) -> kubelet_flags.Flags:
        if not self.arguments_from_file:
            return kubelet_flags.Flags([], [])
        content = str(only(self, seen, "flags").get("content") or "")
        return kubelet_flags.of_file(content, self.arguments_variable, self.arguments_for_kubelet)

    def _observed(self, seen: Results) -> dict[str, t.Any]:
        entry = only(self, seen, "definition")
        if not entry.get("key_exists"):
            raise ObservationError(self.title, "definition", f"the service exists but its key {self.key} does not")
        values = {name.casefold(): value for name, value in (entry.get("values") or {}).items()}

        def value(name: str) -> t.Any:
            return (values.get(name.casefold()) or {}).get("value")

        start = _START.get(value("Start"), str(value("Start")))
        command_line = str(value("ImagePath") or "")
        if self.path is not None and _same_line(command_line, self._command_line(seen)):
            command_line = self._command_line(seen)
        account = str(value("ObjectName") or "LocalSystem")
        return {
            "command_line": command_line,
            "start_mode": "delayed-auto" if start == "auto" and value("DelayedAutostart") else start,
            "display_name": value("DisplayName"),
            "description": value("Description"),
            "dependencies": _spelled_like(self.dependencies or (), value("DependOnService") or ()),
            "account": self.account if self.account and account.casefold() == self.account.casefold() else account,
            "environment": _variables(value("Environment") or ()),
            "recovery": service_recovery.parse(value("FailureActions")),
            "recovery_on_error_exit": bool(value("FailureActionsOnNonCrashFailures")),
        }

    def _plan_create(self, seen: Results) -> Change | None:
        if self.state == "absent" or self.if_exists:
            return None
        if self.path is None:
            raise ResourceError(self.title, None, "expected an existing service", "Set path to create the service.")
        after = self._desired(seen)
        calls = [*self._define("create", after, frozenset(after)), *self._run("Stopped", False)]
        return create(self, {**after, **({"state": self.state} if self.state else {})}, calls)

    def _plan_remove(self, status: str) -> Change:
        stop = action("stop", "Stop-Service", {"Name": [self.name], "Force": True})
        delete = action("delete", "sc.exe", arguments=("delete", self.name))
        state = "running" if status in _RUNS else "stopped"
        return remove(self, {"state": state}, [*([stop] if state == "running" else []), delete])

    def _define(self, verb: str, after: t.Mapping[str, t.Any], changed: frozenset[str]) -> t.Iterator[Call]:
        """Yield the calls that write the changed properties of the service's definition."""
        options = self._sc_options(after, changed)
        if verb == "create":
            options = ["type=", "own", "error=", "normal", *options]
        if options:
            # Retry error 1072: a deleted service continues to exist until all handles to it are closed.
            retries = 5 if verb == "create" else 0
            arguments = (verb, self.name, *options)
            yield action(verb, "sc.exe", arguments=arguments, retries=retries, delay=2, secret=self.no_log)
        if "description" in changed:
            yield action("description", "sc.exe", arguments=("description", self.name, after["description"]))
        if "recovery" in changed and self.recovery:
            reset = str(self.recovery.reset_seconds)
            arguments = ("failure", self.name, "reset=", reset, "actions=", self.recovery.sc_actions)
            yield action("recovery", "sc.exe", arguments=arguments)
        if "recovery_on_error_exit" in changed:
            flag = "1" if after["recovery_on_error_exit"] else "0"
            yield action("failureflag", "sc.exe", arguments=("failureflag", self.name, flag))
        if "environment" in changed:
            pairs: list[Json] = [f"{name}={value}" for name, value in after["environment"].items()]
            if pairs:
                yield set_value("environment", self.key, "Environment", "MultiString", pairs)
            elif verb == "config":
                yield remove_value("environment", self.key, "Environment")

    def _sc_options(self, after: t.Mapping[str, t.Any], changed: frozenset[str]) -> list[str]:
        """Return the sc.exe options for the changed properties. sc.exe expects `NAME=` and the value separately."""
        options = {
            "command_line": ("binpath=", after.get("command_line")),
            "start_mode": ("start=", after.get("start_mode")),
            "display_name": ("displayname=", after.get("display_name")),
            "dependencies": ("depend=", "/".join(self.dependencies or ()) or "/"),
            "account": ("obj=", after.get("account")),
        }
        return [str(word) for key, pair in options.items() if key in changed for word in pair]

    def _run(self, status: str, restart: bool) -> t.Iterator[Call]:
        """Yield the calls that start, stop or restart the service. `plan` recognizes these calls by their ids."""
        runs = status in _RUNS
        named: dict[str, Json] = {"Name": [self.name]}
        if self.state == "stopped":
            if runs:
                yield action("stop", "Stop-Service", {**named, "Force": True})
        elif runs and (restart or (self.state == "running" and status == "Paused")):
            yield action("restart", "Restart-Service", {**named, "Force": True}, retries=1, long=self.cuts_connection)
        elif not runs and self.state == "running":
            if status == "StopPending":
                # Start-Service fails while the service is stopping.
                yield query(
                    "stopped",
                    "Get-Service",
                    named,
                    select=("Status",),
                    until={"Status": "Stopped"},
                    retries=30,
                    delay=2,
                    on_error="stop",
                )
            yield action("start", "Start-Service", named, retries=1, delay=3, long=self.cuts_connection)


def _shown(word: str) -> str:
    """Return a word from a file on the node without unprintable characters, so that it is safe to print."""
    return "".join(letter for letter in word if letter.isprintable())[:200]


def running(calls: tuple[str, ...]) -> Input:
    """Return an input that passes the running services to a later call. `calls` are the ids of Get-Service calls."""
    return Input(calls=calls, where={"Status": "Running"}, parameter="Name", property="Name")


def _same_line(one: str, other: str) -> bool:
    first, second = split(one), split(other)
    return first[1:] == second[1:] and "".join(first[:1]).casefold() == "".join(second[:1]).casefold()


def _spelled_like(desired: t.Iterable[str], observed: t.Iterable[str]) -> list[str]:
    """Return the observed service names, sorted. A name that differs only in case is spelled as in `desired`."""
    spelling = {name.casefold(): name for name in desired}
    return sorted((spelling.get(str(name).casefold(), str(name)) for name in observed), key=str.casefold)


def _variables(lines: t.Iterable[t.Any]) -> dict[str, str]:
    pairs = (str(line).partition("=") for line in lines)
    return dict(sorted((name, value) for name, dummy, value in pairs))
