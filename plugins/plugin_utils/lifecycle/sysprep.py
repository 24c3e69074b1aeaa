# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The remote calls that inspect a machine, clean it up, generalize it for an image, and close WinRM.

generalization.py and sealing.py build batches from these calls. The registry value `ImageState` shows whether sysprep
succeeded; sysprep's exit code does not. Source: learn.microsoft.com/windows-hardware/manufacture/desktop (Sysprep
command-line options, Windows Setup states).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import is_missing
from ..node_config import registries
from ..windows.path_calls import remove_path
from ..windows.registry_calls import remove_value
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Observation
from . import join, sealing

_SYSPREP = "C:\\Windows\\System32\\Sysprep\\sysprep.exe"
_AGENTS = ("RdAgent", "WindowsAzureGuestAgent")
"""Services of the Azure agent. If sysprep runs before they start, machines from the image never report to Azure."""
_EVENT_LOGS = ("Application", "Security", "Setup", "System")
_WSMAN_SERVICE = "winrm/config/service"
CLOUDBASE = "cloudbase-init"
"""The service of cloudbase-init. The playbook keeps the service disabled while the image is built, because
cloudbase-init would treat a start of the build machine as the first boot. cloudbase-init brings its own answer file for
sysprep, which makes the first boot of the image run cloudbase-init with cloudbase-init-unattend.conf. Source:
https://cloudbase-init.readthedocs.io/en/latest/tutorial.html (Sysprepping)."""
_CLOUDBASE_NOTE = {"path": managed_marks.KEY, "name": f"Service {CLOUDBASE}"}
_LOGINS = f"{registries.DOCKER_CONFIG}\\config.json"
_HEADER = re.compile(r"^[ \t]*\[[^\]\n]*\bheader[\"']?[ \t]*\]|^[^#\n]*\bheader[\"']?[ \t]*=", re.MULTILINE)
"""Pattern for HTTP headers in a hosts.toml file. The headers may contain credentials. Source: containerd docs/hosts.md.
"""
_CLOUDBASE_FILES = tuple(
    f"{folder}\\Cloudbase Solutions\\Cloudbase-Init\\conf\\Unattend.xml"
    for folder in ("C:\\Program Files", "C:\\Program Files (x86)")
)


@dataclasses.dataclass(frozen=True)
class WinRmListener:
    """A WinRM HTTPS listener."""

    address: str
    thumbprint: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparedMachine:
    """The state of a machine before it is generalized."""

    listeners: tuple[WinRmListener, ...] = ()
    http: bool = False
    """Whether WinRM also listens on HTTP."""
    sealed: bool = False
    """Whether the machine is already generalized."""
    cloudbase_init: bool = False
    """Whether cloudbase-init is installed."""
    cloudbase_unattend: str = ""
    """Path of cloudbase-init's answer file; empty if there is none."""
    cloudbase_start_mode: str = ""
    """Start mode of cloudbase-init's service before the build; empty if the build did not change it."""


def inspection_calls() -> tuple[Call, ...]:
    """Return the calls that observe a machine before it is generalized."""
    files: list[Json] = [*_CLOUDBASE_FILES]
    return (
        query(
            "listeners",
            "Get-WSManInstance",
            {"ResourceURI": "winrm/config/Listener", "Enumerate": True},
            select=("Address", "Transport", "CertificateThumbprint"),
        ),
        sealing.image_state("state"),
        query("cloudbase", "Get-Service", {"Name": CLOUDBASE}, select=("Name",)),
        query("cloudbase-note", "@read-registry", {"values": [_CLOUDBASE_NOTE]}, on_error="stop"),
        query("cloudbase-files", "@read-file", {"paths": files}, select=("path", "exists"), on_error="stop"),
    )


def read_machine(seen: Observation) -> PreparedMachine:
    """Parse the state of a machine from the results of `inspection_calls`."""
    existing = [str(item["path"]) for item in seen["cloudbase-files"].output if item["exists"]]
    transports = {str(item["Transport"]).upper() for item in seen["listeners"].output}
    return PreparedMachine(
        http="HTTP" in transports,
        sealed=seen["state"].first.get("value") == sealing.SEALED,
        listeners=tuple(
            WinRmListener(str(item["Address"]), str(item["CertificateThumbprint"] or "").replace(" ", ""))
            for item in seen["listeners"].output
            if str(item["Transport"]).upper() == "HTTPS"
        ),
        cloudbase_init=seen["cloudbase"].ok,
        cloudbase_unattend="".join(existing[:1]),
        cloudbase_start_mode=str(seen["cloudbase-note"].first.get("value") or ""),
    )


def registry_calls(folder: str) -> tuple[Call, ...]:
    """Return the calls that find files with registry credentials.

    Args:
        folder: containerd's `config_path`.
    """
    parameters: dict[str, Json] = {"LiteralPath": folder, "Filter": "hosts.toml", "Recurse": True, "File": True}
    return (
        query("hosts", "Get-ChildItem", parameters, select=("FullName",)),
        query("logins", "@read-file", {"paths": [_LOGINS]}, select=("path", "exists"), on_error="stop"),
    )


def registry_files(seen: Observation) -> tuple[list[str], list[str]]:
    """Return the paths of the existing hosts.toml files, and of the existing files with registry logins.

    Raises:
        ValueError: the folder of the hosts.toml files exists but cannot be listed.
    """
    hosts = seen["hosts"]
    if not hosts.ok and not is_missing(hosts):
        raise ValueError(f"the registries' hosts.toml files cannot be listed: {hosts.error}")
    logins = [str(item["path"]) for item in seen["logins"].output if item["exists"]]
    return [str(item["FullName"]) for item in hosts.output], logins


def content_call(paths: t.Sequence[str]) -> Call:
    """Return the call that reads hosts.toml files. The function `sending` parses the result."""
    return query("contents", "@read-file", {"paths": list(paths), "content": True}, on_error="stop")


def sending(seen: Observation) -> list[str]:
    """Return the paths of hosts.toml files that set HTTP headers, or that could not be read."""
    return [str(item["path"]) for item in seen["contents"].output if _sends_headers(item)]


def _sends_headers(item: t.Mapping[str, t.Any]) -> bool:
    content = item.get("content")
    return bool(item["exists"]) and (not isinstance(content, str) or bool(_HEADER.search(content)))


def _restore_start_mode(start_mode: str) -> t.Iterator[Call]:
    """Yield the calls that restore the start mode of cloudbase-init."""
    if start_mode:
        arguments = ("config", CLOUDBASE, "start=", start_mode)
        yield action("cloudbase-start-mode", "sc.exe", arguments=arguments)
        yield remove_value("cloudbase-forget", managed_marks.KEY, _CLOUDBASE_NOTE["name"])


def _wait_for_agents() -> tuple[Call, ...]:
    """Return the calls that wait until installed Azure agents run, because sysprep breaks agents that are starting."""
    return tuple(
        call
        for name in _AGENTS
        for call in (
            query(f"agent-{name}", "Get-Service", {"Name": name}, select=("Name", "Status")),
            query(
                f"wait-{name}",
                "Get-Service",
                input=Input(calls=(f"agent-{name}",), parameter="Name", property="Name"),
                select=("Name", "Status"),
                needs=(f"agent-{name}",),
                until={"Status": "Running"},
                retries=60,
                delay=5.0,
                on_error="stop",
            ),
        )
    )


def cleaning_calls(clean_paths: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that remove files and clear the event logs. A file that is in use is kept.

    Args:
        clean_paths: Windows paths to remove. The paths may contain wildcards.
    """
    files = (
        action(
            f"clean-{number}",
            "Remove-Item",
            {"Path": path, "Recurse": True, "Force": True, "ErrorAction": "SilentlyContinue"},
            on_error="continue",
        )
        for number, path in enumerate(clean_paths)
    )
    logs = (
        action(f"log-{name.lower()}", "wevtutil.exe", arguments=("clear-log", name), on_error="continue")
        for name in _EVENT_LOGS
    )
    return (*files, *logs)


def preparing_calls(clean_paths: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that wait for the Azure agent, remove files, and clear the event logs.

    Args:
        clean_paths: Windows paths to remove. The paths may contain wildcards.
    """
    # An interrupted join may have left its token.
    return (*_wait_for_agents(), *cleaning_calls((*clean_paths, *join.LEFTOVERS)))


def secret_calls(
    cloudbase_start_mode: str = "", secrets: t.Sequence[str] = (), removals: t.Sequence[Call] = ()
) -> tuple[Call, ...]:
    """Return the calls that remove secrets and restore the start mode of cloudbase-init.

    If one of these calls fails, the machine is not generalized.

    Args:
        cloudbase_start_mode: start mode of cloudbase-init's service in sc.exe's notation; empty for no change.
        secrets: files that no image may contain.
        removals: further calls that remove secrets.
    """
    return (
        *(remove_path(path, f"secret-{number}") for number, path in enumerate(secrets)),
        *removals,
        *_restore_start_mode(cloudbase_start_mode),
    )


def sysprep_call(unattend: str | None, timeout: float) -> Call:
    """Return the call that generalizes the machine.

    Args:
        unattend: Windows path of the answer file for the first boot; None if the image has no answer file.
        timeout: time limit in seconds.
    """
    answer_file = (f"/unattend:{unattend}",) if unattend else ()
    return action(
        "sysprep",
        _SYSPREP,
        arguments=("/oobe", "/generalize", "/mode:vm", "/quiet", "/quit", *answer_file),
        timeout=timeout,
        long=True,
    )


def winrm_calls(listeners: t.Sequence[WinRmListener]) -> tuple[Call, ...]:
    """Return the calls that reset insecure WinRM settings and remove the HTTPS listeners.

    These calls may close the connection.

    Args:
        listeners: the HTTPS listeners, which are removed with their certificates.
    """
    return (
        action(
            "unencrypted",
            "Set-WSManInstance",
            {"ResourceURI": _WSMAN_SERVICE, "ValueSet": {"AllowUnencrypted": "false"}},
            long=True,
        ),
        action("basic", "Set-WSManInstance", {"ResourceURI": f"{_WSMAN_SERVICE}/auth", "ValueSet": {"Basic": "false"}}),
        *(call for number, each in enumerate(listeners) for call in _drop(number, each)),
    )


def _drop(number: int, listener: WinRmListener) -> t.Iterator[Call]:
    """Yield the calls that remove a listener and its certificate, which all machines from the image would share.

    The listener is removed last, so that a closed port shows that the certificate is gone, too. The calls succeed even
    if the certificate and the listener no longer exist.
    """
    if listener.thumbprint:
        path = f"Cert:\\LocalMachine\\My\\{listener.thumbprint}"
        certificate = query(f"certificate-{number}", "Get-Item", {"LiteralPath": path}, select=("Thumbprint",))
        yield certificate
        yield action(
            f"certificate-{number}-gone",
            "Remove-Item",
            {"LiteralPath": path, "DeleteKey": True, "Force": True},
            needs=(certificate.id,),
        )
    selectors: dict[str, Json] = {"Address": listener.address, "Transport": "HTTPS"}
    yield action(
        f"listener-{number}",
        "Remove-WSManInstance",
        {"ResourceURI": "winrm/config/Listener", "SelectorSet": selectors},
        on_error="continue",
    )
