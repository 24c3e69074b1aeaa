# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a prepared machine becomes an image: clean, generalize, wait until Windows says it is sealed, shut down.

Private to the collection. Facts: learn.microsoft.com/windows-hardware/manufacture/desktop (Sysprep command-line
options, Windows Setup states); `ImageState` tells the end, not the program's exit.
"""

from __future__ import annotations

import typing as t

from . import kubeadm
from .calls import Call, Input, Observation

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


def _image_state(call_id: str, **more: t.Any) -> Call:
    return Call(
        id=call_id,
        command="@read-registry",
        parameters={"values": [{"path": _STATE_KEY, "name": "ImageState"}]},
        **more,
    )


def generalize_calls(clean_paths: t.Sequence[str], unattend: str | None, timeout: float) -> tuple[Call, ...]:
    """The batch that generalizes; it stops at its first barrier where that was done before.

    Args:
        clean_paths: Windows paths to remove, wildcards allowed.
        unattend: Windows path of the answer file for the first boot, or None.
        timeout: seconds that generalizing may take.
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
    agents = tuple(
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
    return (
        _image_state("before"),
        Call(id="stop-if-sealed", command="@stop-if", input=Input(calls=("before",), where={"value": SEALED})),
        *agents,
        *clean,
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


def shutdown_calls(*, reset_winrm: bool, shutdown: bool, delay: int = 15) -> tuple[Call, ...]:
    """The last batch: the shutdown is ordered first, then WinRM is closed for whoever starts the image.

    Args:
        reset_winrm: drop HTTPS listeners and basic authentication: each machine makes its own at first boot.
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
                id="basic",
                command="Set-WSManInstance",
                parameters={"ResourceURI": f"{_WSMAN_SERVICE}/auth", "ValueSet": {"Basic": "false"}},
                on_error="continue",
                select=(),
            ),
            Call(
                id="listener",
                command="Remove-WSManInstance",
                parameters={
                    "ResourceURI": "winrm/config/Listener",
                    "SelectorSet": {"Address": "*", "Transport": "HTTPS"},
                },
                on_error="continue",
                select=(),
            ),
        ]
    return tuple(calls)
