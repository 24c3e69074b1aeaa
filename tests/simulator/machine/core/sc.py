# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate sc.exe, the service control program.

The name of an option ends with an equals sign, and its value is the next argument. According to
https://learn.microsoft.com/windows-server/administration/windows-commands/sc-config, "a space is required". On the
modelled versions of Windows, sc.exe also accepts one word such as `start=auto`. Microsoft's own tutorial uses `reset=0
actions=...`, which only Server 2008 R2 is known to reject (https://github.com/dotnet/docs/issues/36520). The Windows
builds of kubernetes-sigs/image-builder run `sc.exe config winrm start=delayed-auto`. The exit code is the Win32 error
code. If the command line is invalid, the exit code is 1639.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine import service_rules
from simulator.machine.core import sc_text as text
from simulator.machine.core.services import REFUSALS
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.services import ROOT, Service, ServiceError, make_failure_actions

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

TYPES = {"own": 0x10, "share": 0x20, "kernel": 0x1, "filesys": 0x2, "rec": 0x8, "adapt": 0x4, "interact": 0x100}
STARTS = {"boot": 0, "system": 1, "auto": 2, "demand": 3, "disabled": 4, "delayed-auto": 2}
CONTROLS = {"ignore": 0, "normal": 1, "severe": 2, "critical": 3}
SID_TYPES = {"none": 0, "unrestricted": 1, "restricted": 3}
INFINITE = 0xFFFFFFFF
MAX_NAME = 256
# https://learn.microsoft.com/windows/win32/services/service-security-and-access-rights
DEFAULT_SDDL = (
    "D:(A;;CCLCSWRPWPDTLOCRRC;;;SY)(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;BA)(A;;CCLCSWLOCRRC;;;IU)(A;;CCLCSWLOCRRC;;;SU)"
)
DEFINITION = ("type=", "start=", "error=", "binpath=", "group=", "tag=", "depend=", "obj=", "displayname=", "password=")


class ScUsageError(Exception):
    """A command line has a syntax that sc.exe rejects."""


@dataclass
class SecurityDescriptors:
    """Maps the lower-case names of services to their security descriptors. Unchanged descriptors are omitted."""

    sddl: dict[str, str] = field(default_factory=dict)


def options(words: list[str], known: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the options in a command line of sc.exe. Raise ScUsageError if a name is unknown or a value is missing."""
    found: dict[str, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        name = f"{name.casefold()}{equals}"
        if name not in known or not (value or rest):
            raise ScUsageError(word)
        found.setdefault(name, []).append(value or rest.pop(0))
    return found


def _choice(value: str, choices: Mapping[str, int]) -> int:
    if value.casefold() not in choices:
        raise ScUsageError(value)
    return choices[value.casefold()]


def _definition(given: Mapping[str, list[str]]) -> dict[str, object]:
    """Return the registry values for the options of `sc create` and `sc config`. None marks a value to remove."""
    entries: dict[str, object] = {}
    if "type=" in given:
        kind = 0
        for word in given["type="]:
            kind |= _choice(word, TYPES)
        entries["Type"] = kind
    if "start=" in given:
        word = given["start="][-1].casefold()
        entries["Start"] = _choice(word, STARTS)
        entries["DelayedAutostart"] = 1 if word == "delayed-auto" else None
    if "error=" in given:
        entries["ErrorControl"] = _choice(given["error="][-1], CONTROLS)
    names = {"binpath=": "ImagePath", "group=": "Group", "obj=": "ObjectName", "displayname=": "DisplayName"}
    for option, name in names.items():
        if option in given:
            entries[name] = given[option][-1]
    if "tag=" in given:
        entries["Tag"] = 1 if _choice(given["tag="][-1], {"yes": 1, "no": 0}) else None
    if "depend=" in given:
        needed = [name for name in given["depend="][-1].split("/") if name.strip()]
        groups = [name[1:] for name in needed if name.startswith("+")]
        entries["DependOnService"] = [name for name in needed if not name.startswith("+")] or None
        entries["DependOnGroup"] = groups or None
    return entries


def _account_code(entries: Mapping[str, object], given: Mapping[str, list[str]]) -> int:
    """Return error 1057 if a service's account lacks a required password, else 0. Managed accounts require none."""
    account = str(entries.get("ObjectName") or "LocalSystem").casefold()
    without = account in service_rules.BUILT_IN or account.startswith("nt service\\") or account.endswith("$")
    return 0 if without or "password=" in given else service_rules.INVALID_SERVICE_ACCOUNT


def _number(machine: Machine, name: str, value: str, default: int = 0) -> int:
    data = machine.registry.data(f"{ROOT}\\{name}", value, default)
    return data if isinstance(data, int) else default


def _status(machine: Machine, service: Service, **how: object) -> str:
    return text.status(service, _number(machine, service.name, "Type", 0x10), **how)  # type: ignore[arg-type]


def create(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate `sc create NAME binpath= PATH ...`."""
    name, given = words[0], options(words[1:], DEFINITION)
    if "binpath=" not in given:
        raise ScUsageError("binpath=")
    entries = {key: value for key, value in _definition(given).items() if value is not None}
    # https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew
    if "/" in name or "\\" in name or len(name) > MAX_NAME:
        return text.failed("CreateService", 123)
    if code := _account_code(entries, given):
        return text.failed("CreateService", code)
    path = str(entries.pop("ImagePath"))
    try:
        machine.services.create(name, path, **{"DisplayName": name, **entries})
    except ServiceError as error:
        return text.failed("CreateService", error.code)
    return text.success("CreateService")


def config(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate `sc config NAME OPTION= VALUE ...`."""
    name, given = words[0], options(words[1:], DEFINITION)
    entries = _definition(given)
    if not machine.services.exists(name):
        return text.failed("OpenService", 1060)
    if "ObjectName" in entries and (code := _account_code(entries, given)):
        return text.failed("ChangeServiceConfig", code)
    return _change(machine, name, "ChangeServiceConfig", entries)


def _change(machine: Machine, name: str, function: str, entries: Mapping[str, object]) -> ProgramResult:
    try:
        machine.services.configure(name, **entries)
    except ServiceError as error:
        return text.failed("OpenService" if error.code == 1060 else function, error.code)
    return text.success(function)


def delete(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc delete NAME."""
    try:
        machine.services.delete(words[0])
    except ServiceError as error:
        return text.failed("OpenService" if error.code == 1060 else "DeleteService", error.code)
    machine.part(SecurityDescriptors).sddl.pop(words[0].casefold(), None)
    return text.success("DeleteService")


def start(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate `sc start NAME [ARGUMENT ...]`. The output shows START_PENDING, because sc.exe does not wait."""
    try:
        machine.services.start(words[0])
    except ServiceError as error:
        if error.code in REFUSALS:
            function = "StartService: OpenService" if error.code == 1060 else "StartService"
            return text.failed(function, error.code)
    service = machine.services.get(words[0])
    assert service is not None
    return ProgramResult(0, _status(machine, service, extended=True, state="StartPending"))


def stop(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc stop NAME."""
    service = machine.services.get(words[0])
    try:
        machine.services.stop(words[0])
    except ServiceError as error:
        return text.failed("OpenService" if error.code == 1060 else "ControlService", error.code)
    assert service is not None
    return ProgramResult(0, _status(machine, service, state="StopPending"))


def _no_control(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc pause and sc continue. No modelled service accepts these controls."""
    service = machine.services.get(words[0])
    if service is None:
        return text.failed("OpenService", 1060)
    return text.failed("ControlService", 1052 if service.state == "Running" else 1062)


def query(machine: Machine, words: list[str], *, extended: bool = False) -> ProgramResult:
    """Simulate `sc query [NAME | OPTION= VALUE ...]`. Without NAME or state=, the output omits stopped services."""
    if words and "=" not in words[0]:
        service = machine.services.get(words[0])
        if service is None:
            return text.failed("EnumQueryServicesStatus:OpenService", 1060)
        return ProgramResult(0, _status(machine, service, extended=extended))
    given = options(words, ("type=", "state=", "bufsize=", "ri=", "group="))
    state = given.get("state=", ["active"])[-1].casefold()
    if state not in ("active", "inactive", "all"):
        raise ScUsageError(state)
    kinds = {word.casefold() for word in given.get("type=", ["service"])}
    if unknown := kinds - {*TYPES, "driver", "service", "all"}:
        raise ScUsageError(unknown.pop())
    group = given.get("group=", [None])[-1]
    out = ""
    for name in machine.services.names():
        service = machine.services.get(name)
        if service is None or not _of_kind(_number(machine, name, "Type", 0x10), kinds):
            continue
        if group is not None and str(machine.registry.data(f"{ROOT}\\{name}", "Group", "")) != group:
            continue
        if state == "all" or (service.state == "Stopped") == (state == "inactive"):
            out += _status(machine, service, extended=extended, display=True)
    return ProgramResult(0, out)


def _of_kind(number: int, kinds: set[str]) -> bool:
    if "all" in kinds:
        return True
    requested = {word for word in kinds if word in TYPES}
    if requested:
        return any(number & TYPES[word] for word in requested)
    return bool(number & (0x0F if "driver" in kinds else 0x30))


def queryex(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc queryex, which prints what sc query prints, and the process ids."""
    return query(machine, words, extended=True)


def qc(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc qc NAME."""
    service = machine.services.get(words[0])
    if service is None:
        return text.failed("OpenService", 1060)
    group = str(machine.registry.data(f"{ROOT}\\{service.name}", "Group", ""))
    kind = _number(machine, service.name, "Type", 0x10)
    control = _number(machine, service.name, "ErrorControl", 1)
    tag = _number(machine, service.name, "Tag")
    return ProgramResult(0, text.configuration(service, kind, control, group, tag))


def failure(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate `sc failure NAME reset= SECONDS actions= restart/5000/... reboot= TEXT command= LINE`."""
    name, given = words[0], options(words[1:], ("reset=", "reboot=", "command=", "actions="))
    if ("reset=" in given) != ("actions=" in given):
        message = "ERROR: The reset and actions options must be set simultaneously."
        return ProgramResult(1639, text.joined(["", message, ""]))
    entries: dict[str, object] = {}
    if "actions=" in given:
        word = given["reset="][-1]
        reset = INFINITE if word.casefold() == "infinite" else _unsigned(word)
        entries["FailureActions"] = make_failure_actions(reset, _actions(given["actions="][-1]))
    for option, value in (("reboot=", "RebootMessage"), ("command=", "FailureCommand")):
        if option in given:
            entries[value] = given[option][-1] or None
    return _change(machine, name, "ChangeServiceConfig2", entries)


def _actions(words: str) -> list[tuple[str, int]]:
    """Parse pairs of an action and a delay, such as `restart/5000//1000`. An empty action does nothing."""
    parts = words.replace('"', "").split("/")
    if parts in ([""], ["", ""]):
        return []
    if len(parts) % 2:
        raise ScUsageError(words)
    actions: list[tuple[str, int]] = []
    for action, delay in zip(parts[::2], parts[1::2], strict=True):
        if action.casefold() not in ("", "none", "restart", "run", "reboot"):
            raise ScUsageError(action)
        actions.append((action.casefold(), _unsigned(delay)))
    return actions


def _unsigned(word: str) -> int:
    if not word.isdigit() or int(word) > INFINITE:
        raise ScUsageError(word)
    return int(word)


def failureflag(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc failureflag NAME 0|1."""
    flag = words[1] if len(words) > 1 else "0"
    if flag not in ("0", "1"):
        raise ScUsageError(flag)
    return _change(machine, words[0], "ChangeServiceConfig2", {"FailureActionsOnNonCrashFailures": int(flag)})


def qfailure(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc qfailure NAME."""
    service = machine.services.get(words[0])
    if service is None:
        return text.failed("OpenService", 1060)
    data, key = machine.registry.data, f"{ROOT}\\{service.name}"
    message, command = str(data(key, "RebootMessage", "")), str(data(key, "FailureCommand", ""))
    return ProgramResult(0, text.failure(service.name, data(key, "FailureActions"), message, command))


def qfailureflag(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc qfailureflag NAME."""
    if not machine.services.exists(words[0]):
        return text.failed("OpenService", 1060)
    flag = "TRUE" if _number(machine, words[0], "FailureActionsOnNonCrashFailures") else "FALSE"
    lines = ["[SC] QueryServiceConfig2 SUCCESS", "", f"SERVICE_NAME: {words[0]}"]
    return ProgramResult(0, text.joined([*lines, f"FAILURE_ACTIONS_ON_NONCRASH_FAILURES: {flag}"]))


def description(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate `sc description NAME [TEXT]`. Without TEXT, the command removes the description."""
    given = words[1] if len(words) > 1 else ""
    return _change(machine, words[0], "ChangeServiceConfig2", {"Description": given or None})


def qdescription(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc qdescription NAME."""
    service = machine.services.get(words[0])
    if service is None:
        return text.failed("OpenService", 1060)
    lines = ["[SC] QueryServiceConfig2 SUCCESS", "", f"SERVICE_NAME: {service.name}"]
    return ProgramResult(0, text.joined([*lines, f"DESCRIPTION:  {service.description}"]))


def sidtype(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc sidtype NAME none|unrestricted|restricted."""
    if len(words) != 2:
        raise ScUsageError("sidtype")
    return _change(machine, words[0], "ChangeServiceConfig2", {"ServiceSidType": _choice(words[1], SID_TYPES)})


def sdshow(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc sdshow NAME."""
    if not machine.services.exists(words[0]):
        return text.failed("OpenService", 1060)
    sddl = machine.part(SecurityDescriptors).sddl.get(words[0].casefold(), DEFAULT_SDDL)
    return ProgramResult(0, text.joined(["", sddl]))


def sdset(machine: Machine, words: list[str]) -> ProgramResult:
    """Simulate sc sdset NAME SDDL."""
    if len(words) != 2:
        raise ScUsageError("sdset")
    if not machine.services.exists(words[0]):
        return text.failed("OpenService", 1060)
    if "D:" not in words[1]:
        return text.failed("ConvertStringSecurityDescriptorToSecurityDescriptor", 87)
    machine.part(SecurityDescriptors).sddl[words[0].casefold()] = words[1]
    return text.success("SetServiceObjectSecurity")


Command = Callable[["Machine", list[str]], ProgramResult]
COMMANDS: Mapping[str, Command] = {
    "query": query, "queryex": queryex, "qc": qc, "create": create, "config": config, "delete": delete, "start": start,
    "stop": stop, "pause": _no_control, "continue": _no_control, "failure": failure, "qfailure": qfailure,
    "failureflag": failureflag, "qfailureflag": qfailureflag, "description": description, "qdescription": qdescription,
    "sidtype": sidtype, "sdshow": sdshow, "sdset": sdset,
}  # fmt: skip


def sc(machine: Machine, run: Invocation) -> ProgramResult:
    r"""Simulate `sc.exe [\\SERVER] COMMAND [NAME] ...`."""
    words = list(run.argv)
    if words and words[0].startswith("\\\\"):
        server = words.pop(0)[2:].casefold()
        if server not in ("localhost", ".", "127.0.0.1", machine.name.casefold()):
            return text.failed("OpenSCManager", 1722)
    verb = words.pop(0).casefold() if words else ""
    command = COMMANDS.get(verb)
    if command is None:
        return ProgramResult(1639, text.joined(["*** Unrecognized Command ***", *_usage("")]))
    if not words and verb not in ("query", "queryex"):
        return ProgramResult(1639, text.joined(_usage(verb)))
    try:
        return command(machine, words)
    except ScUsageError:
        return ProgramResult(1639, text.joined(["", "ERROR:  Invalid Option", "", *_usage(verb)]))


def _usage(verb: str) -> list[str]:
    return [
        "DESCRIPTION:",
        "        SC is a command line program used for communicating with the",
        "        Service Control Manager and services.",
        "USAGE:",
        f"        sc <server> {verb or '[command]'} [service name] <option1> <option2>...",
        "",
    ]


PROGRAMS: Mapping[str, Program] = {"sc.exe": sc}
