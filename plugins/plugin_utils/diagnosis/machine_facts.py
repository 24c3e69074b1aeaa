# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe the services, proxy variables, host name and disk space of a node (no I/O)."""

from __future__ import annotations

import dataclasses
import ntpath
import typing as t

from ..windows import command_line, registry_keys
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json
from .proxies import NAMES as PROXY_NAMES

SERVICES = ("kubelet", "containerd", "docker", "cri-dockerd", "kube-proxy", "kubeproxy", "hns", "vmcompute")
"""The services on which a node depends. AgentBaker calls kube-proxy's service `kubeproxy`."""
_START_MODES = {2: "automatic", 3: "manual", 4: "disabled"}
_TCPIP = f"{registry_keys.SERVICES}\\Tcpip\\Parameters"
_SERVICE_VALUES = ("ImagePath", "Start", "Environment")
_NSSM_VALUES = ("Application", "AppParameters", "AppEnvironmentExtra", "AppStdout", "AppStderr")
"""Names of the registry values with the settings of a service that nssm runs. Source: nssm.cc/usage."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceFacts:
    """The observed state of one of the node's services."""

    name: str
    status: str
    """Running, Stopped, or a pending state."""
    start_mode: str
    """automatic, manual or disabled, or an empty string if unknown."""
    command: tuple[str, ...]
    """The service's program and its arguments. If nssm runs the service, this is the program that nssm starts."""
    environment: t.Mapping[str, str]
    """The environment variables that are set only for this service, with names in upper case."""
    output: str = ""
    """The file to which nssm writes the program's standard output, or an empty string if there is none."""
    log: str = ""
    """The file to which nssm writes the program's standard error, or an empty string if there is none."""

    @property
    def running(self) -> bool:
        """Whether the service is running or starting."""
        return self.status.lower() in ("running", "startpending", "continuepending")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiskSpace:
    """The size and the free space of the system drive, in bytes."""

    free: int
    total: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """The observed services, host name, proxy variables and disk space of a machine."""

    services: t.Mapping[str, ServiceFacts]
    """Installed services by name."""
    host_name: str
    """The DNS host name, which the kubelet uses. It may be longer than the computer name."""
    environment: t.Mapping[str, str]
    """The machine's proxy variables, with names in upper case."""
    disk: DiskSpace | None
    """The space on the system drive, or None if unknown."""

    def environment_of(self, service: str) -> dict[str, str]:
        """Return the environment of a service's program: the machine's proxy variables and the service's variables."""
        own = self.services[service].environment if service in self.services else {}
        return {**self.environment, **own}


def calls() -> tuple[Call, ...]:
    """Return the calls that observe the machine."""
    values: list[Json] = [{"path": path, "name": name} for path, name in _registry_values()]
    return (
        query(
            "services",
            "Get-Service",
            {"Name": list(SERVICES), "ErrorAction": "SilentlyContinue"},
            select=("Name", "Status"),
        ),
        query("registry", "@read-registry", {"values": values}),
        query("disk", "@free-space", {"path": "C:\\"}),
    )


def read(seen: t.Mapping[str, CallResult]) -> MachineFacts:
    """Return the state of the machine from the results of the calls that `calls` returned."""
    entries = zip(_registry_values(), seen["registry"].output, strict=False)
    registry = {key: item.get("value") for key, item in entries if isinstance(item, dict)}
    statuses = {str(item["Name"]).lower(): str(item["Status"]) for item in seen["services"].output}
    services = {name: _service(name, statuses[name], registry) for name in SERVICES if name in statuses}
    machine = {name: registry.get((registry_keys.ENVIRONMENT, name)) for name in PROXY_NAMES}
    space = seen["disk"].first if seen["disk"].ok else None
    return MachineFacts(
        services=services,
        host_name=str(registry.get((_TCPIP, "Hostname")) or ""),
        environment={name: str(value) for name, value in machine.items() if value},
        disk=DiskSpace(free=int(space["free"]), total=int(space["total"])) if space and space["total"] else None,
    )


def _registry_values() -> list[tuple[str, str]]:
    """Return the key and the name of each registry value to read."""
    return [
        *((f"{registry_keys.SERVICES}\\{service}", name) for service in SERVICES for name in _SERVICE_VALUES),
        *((f"{registry_keys.SERVICES}\\{service}\\Parameters", name) for service in SERVICES for name in _NSSM_VALUES),
        (_TCPIP, "Hostname"),
        *((registry_keys.ENVIRONMENT, name) for name in PROXY_NAMES),
    ]


def _service(name: str, status: str, registry: t.Mapping[tuple[str, str], t.Any]) -> ServiceFacts:
    key = f"{registry_keys.SERVICES}\\{name}"
    command = command_line.split(str(registry.get((key, "ImagePath")) or ""))
    variables = _variables(registry.get((key, "Environment")))
    files = {"output": "", "log": ""}
    if command and ntpath.basename(command[0]).lower() == "nssm.exe":
        parameters = f"{key}\\Parameters"
        application = str(registry.get((parameters, "Application")) or "")
        command = [application, *command_line.split(f"x {registry.get((parameters, 'AppParameters')) or ''}")[1:]]
        variables |= _variables(registry.get((parameters, "AppEnvironmentExtra")))
        files = {
            field: str(registry.get((parameters, value)) or "")
            for field, value in (("output", "AppStdout"), ("log", "AppStderr"))
        }
    start = registry.get((key, "Start"))
    return ServiceFacts(
        name=name,
        status=status,
        start_mode=_START_MODES.get(start, "") if isinstance(start, int) else "",
        command=tuple(command),
        environment=variables,
        **files,
    )


def _variables(value: object) -> dict[str, str]:
    """Return the environment variables in a registry value, which is a list of `NAME=VALUE` strings."""
    items = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    pairs = (str(item).partition("=") for item in items)
    return {name.upper(): text for name, sign, text in pairs if sign}
