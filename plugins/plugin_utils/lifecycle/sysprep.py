# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a prepared machine becomes an image: clean, generalize, wait until Windows says it is sealed, shut down.

Facts: learn.microsoft.com/windows-hardware/manufacture/desktop (Sysprep command-line
options, Windows Setup states); `ImageState` tells the end, not the program's exit.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..engine import managed_marks
from ..engine.changes import is_missing
from ..node_config import kubeadm, registries
from ..windows.path_calls import remove_path
from ..windows.registry_calls import remove_value
from ..wire.messages import Call, Input, Json, Observation

SEALED = "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE"
_STATE_KEY = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State"
_SYSPREP = "C:\\Windows\\System32\\Sysprep\\sysprep.exe"
_LOGS = (
    "C:\\Windows\\System32\\Sysprep\\Panther\\setuperr.log",
    "C:\\Windows\\System32\\Sysprep\\Panther\\setupact.log",
)
_AGENTS = ("RdAgent", "WindowsAzureGuestAgent")
"""The Azure agent's services: sysprep before they run makes an image whose machines never report."""
_WSMAN_SERVICE = "winrm/config/service"
CLOUDBASE = "cloudbase-init"
"""Its service. It has an answer file of its own, by which the image's first boot runs it with
cloudbase-init-unattend.conf: https://cloudbase-init.readthedocs.io/en/latest/tutorial.html (Sysprepping). The playbook
keeps it disabled while the image is built: it would take the builder's own start for a first boot."""
_CLOUDBASE_NOTE = {"path": managed_marks.KEY, "name": f"Service {CLOUDBASE}"}
CERTS_D = "C:\\Program Files\\containerd\\certs.d"
"""Where containerd finds its registries, unless a site says otherwise."""
_LOGINS = f"{registries.DOCKER_CONFIG}\\config.json"
_HEADER = re.compile(r"^[ \t]*\[[^\]\n]*\bheader[\"']?[ \t]*\]|^[^#\n]*\bheader[\"']?[ \t]*=", re.MULTILINE)
"""A table of headers in a hosts.toml: credentials are in headers (containerd docs/hosts.md)."""
_CLOUDBASE_FILES = tuple(
    f"{folder}\\Cloudbase Solutions\\Cloudbase-Init\\conf\\Unattend.xml"
    for folder in ("C:\\Program Files", "C:\\Program Files (x86)")
)


@dataclasses.dataclass(frozen=True)
class WinRmListener:
    """A listener of WinRM that speaks HTTPS."""

    address: str
    thumbprint: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparedMachine:
    """What matters of a machine before it is generalized."""

    listeners: tuple[WinRmListener, ...] = ()
    cloudbase_init: bool = False
    """Whether cloudbase-init is installed."""
    cloudbase_unattend: str = ""
    """Its answer file; empty where there is none."""
    cloudbase_start_mode: str = ""
    """How its service started before the build; empty where the build did not touch it."""


def look_calls() -> tuple[Call, ...]:
    """What to ask the machine."""
    files: list[Json] = [*_CLOUDBASE_FILES]
    return (
        Call(
            id="listeners",
            command="Get-WSManInstance",
            parameters={"ResourceURI": "winrm/config/Listener", "Enumerate": True},
            select=("Address", "Transport", "CertificateThumbprint"),
            on_error="continue",
        ),
        Call(
            id="cloudbase",
            command="Get-Service",
            parameters={"Name": CLOUDBASE},
            select=("Name",),
            on_error="continue",
        ),
        Call(id="cloudbase-note", command="@read-registry", parameters={"values": [_CLOUDBASE_NOTE]}),
        Call(id="cloudbase-files", command="@read-file", parameters={"paths": files}, select=("path", "exists")),
    )


def look(seen: Observation) -> PreparedMachine:
    """Reads the answer to `look_calls`."""
    there = [str(item["path"]) for item in seen["cloudbase-files"].output if item["exists"]]
    return PreparedMachine(
        listeners=tuple(
            WinRmListener(str(item["Address"]), str(item["CertificateThumbprint"] or "").replace(" ", ""))
            for item in seen["listeners"].output
            if str(item["Transport"]).upper() == "HTTPS"
        ),
        cloudbase_init=seen["cloudbase"].ok,
        cloudbase_unattend="".join(there[:1]),
        cloudbase_start_mode=str(seen["cloudbase-note"].first.get("value") or ""),
    )


def registry_calls(folder: str) -> tuple[Call, ...]:
    """What to ask for files that may hold credentials of registries.

    Args:
        folder: containerd's `config_path`.
    """
    parameters: dict[str, Json] = {"LiteralPath": folder, "Filter": "hosts.toml", "Recurse": True, "File": True}
    return (
        Call(id="hosts", command="Get-ChildItem", parameters=parameters, select=("FullName",), on_error="continue"),
        Call(id="logins", command="@read-file", parameters={"paths": [_LOGINS]}, select=("path", "exists")),
    )


def registry_files(seen: Observation) -> tuple[list[str], list[str]]:
    """Files by the answer to `registry_calls`: those hosts.toml that are there, and those that hold credentials anyway.

    Raises:
        ValueError: the folder cannot be listed, although it is there.
    """
    hosts = seen["hosts"]
    if not hosts.ok and not is_missing(hosts):
        raise ValueError(f"registries' files cannot be listed: {hosts.error}")
    logins = [str(item["path"]) for item in seen["logins"].output if item["exists"]]
    return [str(item["FullName"]) for item in hosts.output], logins


def content_call(paths: t.Sequence[str]) -> Call:
    """Reads hosts.toml files; what they say is for `sending` only."""
    return Call(id="contents", command="@read-file", parameters={"paths": list(paths), "content": True})


def sending(seen: Observation) -> list[str]:
    """Files that send headers, or whose content nobody could read, by the answer to `content_call`."""
    return [str(item["path"]) for item in seen["contents"].output if _sends_headers(item)]


def _sends_headers(item: t.Mapping[str, t.Any]) -> bool:
    content = item.get("content")
    return bool(item["exists"]) and (not isinstance(content, str) or bool(_HEADER.search(content)))


def _image_state(call_id: str, **more: t.Any) -> Call:
    return Call(
        id=call_id,
        command="@read-registry",
        parameters={"values": [{"path": _STATE_KEY, "name": "ImageState"}]},
        **more,
    )


def _set_back(start_mode: str) -> t.Iterator[Call]:
    """cloudbase-init starts as it did before the build."""
    if start_mode:
        arguments = ("config", CLOUDBASE, "start=", start_mode)
        yield Call(id="cloudbase-start-mode", command="sc.exe", arguments=arguments)
        yield remove_value("cloudbase-forget", managed_marks.KEY, _CLOUDBASE_NOTE["name"])


def _wait_for_agents() -> tuple[Call, ...]:
    """Waits until each agent of the cloud that is there runs: sysprep in the middle of its start breaks it."""
    return tuple(
        call
        for name in _AGENTS
        for call in (
            Call(
                id=f"agent-{name}",
                command="Get-Service",
                parameters={"Name": name},
                select=("Name", "Status"),
                on_error="continue",
            ),
            Call(
                id=f"wait-{name}",
                command="Get-Service",
                input=Input(calls=(f"agent-{name}",), parameter="Name", property="Name"),
                select=("Name", "Status"),
                needs=(f"agent-{name}",),
                until={"Status": "Running"},
                retries=60,
                delay=5.0,
            ),
        )
    )


def sysprep_calls(
    clean_paths: t.Sequence[str],
    unattend: str | None,
    timeout: float,
    cloudbase_start_mode: str = "",
    secrets: t.Sequence[str] = (),
    removals: t.Sequence[Call] = (),
) -> tuple[Call, ...]:
    """The batch that generalizes; it stops at its first barrier where that was done before.

    Args:
        clean_paths: Windows paths to remove, wildcards allowed.
        unattend: Windows path of the answer file for the first boot, or None.
        timeout: seconds that generalizing may take.
        cloudbase_start_mode: how cloudbase-init's service shall start, as sc.exe says it; empty: as it does.
        secrets: files that no image may carry; where one cannot be removed, nothing is generalized.
        removals: further calls that take secrets away, likewise.
    """
    answer_file = (f"/unattend:{unattend}",) if unattend else ()
    # A join that was cut off may have left its token.
    clean_paths = (*clean_paths, *kubeadm.LEFTOVERS)
    clean = tuple(
        Call(
            id=f"clean-{number}",
            command="Remove-Item",
            parameters={"Path": path, "Recurse": True, "Force": True, "ErrorAction": "SilentlyContinue"},
            on_error="continue",
            select=(),
        )
        for number, path in enumerate(clean_paths)
    )
    return (
        _image_state("before"),
        Call(id="stop-if-sealed", command="@stop-if", input=Input(calls=("before",), where={"value": SEALED})),
        *_wait_for_agents(),
        *clean,
        *(remove_path(path, f"secret-{number}") for number, path in enumerate(secrets)),
        *removals,
        *_set_back(cloudbase_start_mode),
        Call(
            id="sysprep",
            command=_SYSPREP,
            arguments=("/oobe", "/generalize", "/mode:vm", "/quiet", "/quit", *answer_file),
            timeout=timeout,
            long=True,
        ),
        _image_state("sealed", until={"value": SEALED}, retries=max(1, int(timeout // 5)), delay=5.0),
    )


def log_calls() -> tuple[Call, ...]:
    """Reads what sysprep wrote about its failure."""
    return (
        Call(id="logs", command="@read-file", parameters={"paths": list(_LOGS), "content": True}, on_error="continue"),
    )


def reason(seen: Observation, lines: int = 12) -> str:
    """The end of sysprep's error log, or of its activity log where there is none."""
    for file in seen["logs"].output:
        text = (file.get("content") or "").strip()
        if text:
            return "\n".join(text.splitlines()[-lines:])
    return "sysprep left no log"


def shutdown_calls(
    listeners: t.Sequence[WinRmListener], *, reset_winrm: bool, shutdown: bool, delay: int = 15
) -> tuple[Call, ...]:
    """The last batch: the shutdown is ordered first, then WinRM is closed for whoever starts the image.

    It runs detached: the connection over which it came may be what it closes.

    Args:
        listeners: those that speak HTTPS.
        reset_winrm: drop them with their certificates, and basic authentication: each machine makes its own at first
            boot.
        shutdown: power off.
        delay: seconds until the machine goes down.
    """
    calls: list[Call] = []
    if shutdown:
        calls.append(
            Call(
                id="shutdown",
                command="shutdown.exe",
                arguments=("/s", "/t", str(delay), "/c", "winkube.node: image built"),
            )
        )
    if reset_winrm:
        calls += [
            Call(
                id="unencrypted",
                command="Set-WSManInstance",
                parameters={"ResourceURI": _WSMAN_SERVICE, "ValueSet": {"AllowUnencrypted": "false"}},
                on_error="continue",
                select=(),
                long=True,
            ),
            Call(
                id="basic",
                command="Set-WSManInstance",
                parameters={"ResourceURI": f"{_WSMAN_SERVICE}/auth", "ValueSet": {"Basic": "false"}},
                on_error="continue",
                select=(),
            ),
            *(call for number, each in enumerate(listeners) for call in _drop(number, each)),
        ]
    return tuple(calls)


def _drop(number: int, listener: WinRmListener) -> t.Iterator[Call]:
    """Removes a listener, then its certificate with the private key: in the image, all machines would share it."""
    yield Call(
        id=f"listener-{number}",
        command="Remove-WSManInstance",
        parameters={
            "ResourceURI": "winrm/config/Listener",
            "SelectorSet": {"Address": listener.address, "Transport": "HTTPS"},
        },
        on_error="continue",
        select=(),
    )
    if listener.thumbprint:
        path = f"Cert:\\LocalMachine\\My\\{listener.thumbprint}"
        yield Call(
            id=f"certificate-{number}",
            command="Remove-Item",
            parameters={"LiteralPath": path, "DeleteKey": True, "Force": True},
            on_error="continue",
            select=(),
        )


def shutdown_problems(seen: Observation) -> list[str]:
    """What of the last batch failed, a sentence each."""
    return [f"{call}: {result.error}" for call, result in seen.calls.items() if result.error is not None]
