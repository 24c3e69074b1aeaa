# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The services of a node that use its HNS networks: which there are, and in which order they stop and start. Pure.

Orders: AgentBaker windowsnodereset.ps1 (kube-proxy, kubelet, csi-proxy stop first);
kubernetes-for-windows, "Networking with kube-proxy and flanneld services" (docker, kubelet, kube-proxy, flanneld).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.messages import Call, CallResult, Input

RUNTIMES = ("docker", "containerd")
_START = (
    *RUNTIMES,
    "csi-proxy",
    "hybrid-overlay-node",
    "antrea-agent",
    "CalicoNode",
    "CalicoFelix",
    "CalicoConfd",
    "kubelet",
    "kube-proxy",
    "kubeproxy",
    "flanneld",
)
"""Order of starting. Both spellings of kube-proxy are in use (AgentBaker: kubeproxy)."""
_PROXIES = ("kube-proxy", "kubeproxy")
HNS = "hns"
RELATED = (*_START, HNS, "vmcompute")
_KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\"
_START_MODES = {2: "automatic", 3: "manual", 4: "disabled"}
_START_DELAY = 3.0
"""Seconds between attempts to start a service."""
_PATIENCE = 120.0
"""Seconds for a service to stop or start."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstalledService:
    """A service that is there."""

    name: str
    status: str
    """Running, Stopped, or what it is on its way to."""
    start_mode: str

    @property
    def running(self) -> bool:
        """Whether it runs, or is about to."""
        return self.status.lower() in ("running", "startpending", "continuepending")


def calls() -> tuple[Call, ...]:
    """Asks for all of them at once."""
    return (
        Call(
            id="services",
            command="Get-Service",
            parameters={"Name": list(RELATED), "ErrorAction": "SilentlyContinue"},
            select=("Name", "Status"),
            on_error="continue",
        ),
        Call(
            id="service-keys",
            command="@read-registry",
            parameters={"values": [{"path": _KEY + name, "name": "Start"} for name in RELATED]},
            on_error="continue",
        ),
    )


def read(seen: t.Mapping[str, CallResult]) -> tuple[InstalledService, ...]:
    """Reads the answers to `calls`, in the order of starting."""
    modes = {
        str(item["path"])[len(_KEY) :].lower(): _START_MODES.get(item.get("value") or 0, "")
        for item in (seen["service-keys"].output if "service-keys" in seen else ())
    }
    found = {str(item["Name"]).lower(): item for item in (seen["services"].output if "services" in seen else ())}
    return tuple(
        InstalledService(name=name, status=str(found[name.lower()]["Status"]), start_mode=modes.get(name.lower(), ""))
        for name in RELATED
        if name.lower() in found
    )


def installed_runtimes(services: t.Iterable[InstalledService]) -> tuple[str, ...]:
    """Runtimes that may run containers here: one that is disabled and stopped cannot."""
    return tuple(
        service.name
        for service in services
        if service.name in RUNTIMES and (service.running or service.start_mode != "disabled")
    )


def start_order(names: t.Iterable[str], *, overlay: bool) -> tuple[str, ...]:
    """Services in the order in which they start.

    Args:
        names: which.
        overlay: with vxlan kube-proxy needs the source address that flanneld's network gives (kubernetes#78338).
    """
    order = [name.lower() for name in _START]
    if overlay:
        order.remove("flanneld")
        order.insert(min(order.index(name) for name in _PROXIES), "flanneld")
    known = {name.lower(): name for name in names}
    return tuple(known[name] for name in order if name in known)


def stop_order(names: t.Iterable[str]) -> tuple[str, ...]:
    """Services in the order in which they stop; the runtime goes on: containers are stopped through it."""
    ordered = start_order((name for name in names if name not in RUNTIMES), overlay=False)
    first = [name for name in ordered if name in _PROXIES]
    return (*first, *(name for name in reversed(ordered) if name not in first))


def stop_calls(names: t.Sequence[str]) -> tuple[Call, ...]:
    """Stops services; one that does not stop ends the batch."""
    return tuple(
        Call(
            id=f"stop.{name}",
            command="Stop-Service",
            parameters={"Name": name, "Force": True},
            select=(),
            timeout=_PATIENCE,
        )
        for name in names
    )


def start_calls(names: t.Sequence[str]) -> tuple[Call, ...]:
    """Starts services, whatever happened before."""
    starts = tuple(
        Call(
            id=f"start.{name}",
            command="Start-Service",
            parameters={"Name": name},
            select=(),
            on_error="continue",
            always=True,
            retries=3,
            delay=_START_DELAY,
            timeout=_PATIENCE,
        )
        for name in names
    )
    return (*starts, *after_calls(names))


def after_calls(names: t.Sequence[str]) -> tuple[Call, ...]:
    """Looks at services at the end of a batch."""
    if not names:
        return ()
    return (
        Call(
            id="services-after",
            command="Get-Service",
            parameters={"Name": list(names), "ErrorAction": "SilentlyContinue"},
            select=("Name", "Status"),
            on_error="continue",
            always=True,
        ),
    )


def restart_hns_calls(seconds: float, answer_within: float) -> tuple[Call, ...]:
    """Restarts HNS with the services that depend on it, and asks it something.

    Args:
        seconds: for the restart.
        answer_within: seconds for the answer.
    """
    return (
        Call(
            id="restart-hns",
            command="Restart-Service",
            parameters={"Name": HNS, "Force": True},
            select=(),
            timeout=seconds,
            on_error="continue",
            long=True,
        ),
        Call(
            id="hns-service", command="Get-Service", parameters={"Name": HNS}, select=("Status",), on_error="continue"
        ),
        # Where the restart stopped it, but did not get as far as starting it.
        Call(
            id="start-hns",
            command="Start-Service",
            parameters={},
            input=Input(calls=("hns-service",), where={"Status": "Stopped"}, parameter="Name", property="Name"),
            select=(),
            timeout=seconds,
            on_error="continue",
            always=True,
        ),
        Call(
            id="answer",
            command="Get-HnsNetwork",
            select=("ID",),
            timeout=answer_within,
            retries=1,
            delay=2.0,
            on_error="continue",
        ),
    )
