# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node's services that use HNS networks, and the order in which they stop and start (no I/O).

Sources of the orders: AgentBaker windowsnodereset.ps1 (kube-proxy, kubelet, csi-proxy stop first);
kubernetes-for-windows, "Networking with kube-proxy and flanneld services" (docker, kubelet, kube-proxy, flanneld).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...wire.calls import action, query
from ...wire.messages import Call, CallResult, Input
from ...wire.scopes import Scope

RUNTIMES = ("docker", "containerd")
START, STOP = Scope("start."), Scope("stop.")
"""Id prefixes of the calls that start and stop services; each call's id ends with the service's name."""
RESTART_HNS = "restart-hns"
"""Id of the call that restarts HNS."""
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
"""The order in which services start. Both spellings of kube-proxy are in use (AgentBaker: kubeproxy)."""
_PROXIES = ("kube-proxy", "kubeproxy")
HNS = "hns"
RELATED = (*_START, HNS, "vmcompute")
_KEY = "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\"
_START_MODES = {2: "automatic", 3: "manual", 4: "disabled"}
_START_DELAY = 3.0
"""Seconds between attempts to start a service."""
_SERVICE_TIMEOUT = 120.0
"""Time limit for a service to stop or start, in seconds."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstalledService:
    """An installed Windows service."""

    name: str
    status: str
    """Running, Stopped, or a pending state."""
    start_mode: str

    @property
    def running(self) -> bool:
        """Whether the service is running or starting."""
        return self.status.lower() in ("running", "startpending", "continuepending")


def calls() -> tuple[Call, ...]:
    """Return the calls that read the status and start mode of the services that can use HNS networks."""
    return (
        query(
            "services",
            "Get-Service",
            {"Name": list(RELATED), "ErrorAction": "SilentlyContinue"},
            select=("Name", "Status"),
        ),
        query(
            "service-keys", "@read-registry", {"values": [{"path": _KEY + name, "name": "Start"} for name in RELATED]}
        ),
    )


def read(seen: t.Mapping[str, CallResult]) -> tuple[InstalledService, ...]:
    """Return the installed services in their start order, as read from the results of `calls`."""
    modes = {
        str(item["path"])[len(_KEY) :].lower(): _START_MODES.get(item.get("value") or 0, "")
        for item in (seen["service-keys"].output if "service-keys" in seen else ())
    }
    by_name = {str(item["Name"]).lower(): item for item in (seen["services"].output if "services" in seen else ())}
    return tuple(
        InstalledService(name=name, status=str(by_name[name.lower()]["Status"]), start_mode=modes.get(name.lower(), ""))
        for name in RELATED
        if name.lower() in by_name
    )


def installed_runtimes(services: t.Iterable[InstalledService]) -> tuple[str, ...]:
    """Return the container runtimes that can run containers: those whose service is running or not disabled."""
    return tuple(
        service.name
        for service in services
        if service.name in RUNTIMES and (service.running or service.start_mode != "disabled")
    )


def start_order(names: t.Iterable[str], *, overlay: bool) -> tuple[str, ...]:
    """Return services in the order in which to start them, without services for which no order is defined.

    Args:
        names: the services to put in order.
        overlay: whether the network is an overlay (vxlan). If so, flanneld starts before kube-proxy, which needs an
            address from flanneld's network (kubernetes#78338).
    """
    order = [name.lower() for name in _START]
    if overlay:
        order.remove("flanneld")
        order.insert(min(order.index(name) for name in _PROXIES), "flanneld")
    known = {name.lower(): name for name in names}
    return tuple(known[name] for name in order if name in known)


def stop_order(names: t.Iterable[str]) -> tuple[str, ...]:
    """Return services in the order in which to stop them.

    Container runtimes are left out, because they are needed to stop containers.
    """
    ordered = start_order((name for name in names if name not in RUNTIMES), overlay=False)
    first = [name for name in ordered if name in _PROXIES]
    return (*first, *(name for name in reversed(ordered) if name not in first))


def stop_calls(names: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that stop services; the batch ends if a service does not stop."""
    return tuple(
        action(STOP.id(name), "Stop-Service", {"Name": name, "Force": True}, timeout=_SERVICE_TIMEOUT) for name in names
    )


def start_calls(names: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that start services. They run even if earlier calls of the batch failed."""
    return tuple(
        action(
            START.id(name),
            "Start-Service",
            {"Name": name},
            on_error="continue",
            always=True,
            retries=3,
            delay=_START_DELAY,
            timeout=_SERVICE_TIMEOUT,
        )
        for name in names
    )


def is_of_service(call_id: str) -> bool:
    """Return whether a call starts, stops or restarts a service."""
    return call_id in START or call_id in STOP or call_id == RESTART_HNS


def restart_hns_calls(seconds: float, answer_within: float) -> tuple[Call, ...]:
    """Return the calls that restart HNS with its dependent services and then query it.

    Args:
        seconds: time limit of the restart.
        answer_within: time limit of the query in seconds.
    """
    return (
        action(
            RESTART_HNS,
            "Restart-Service",
            {"Name": HNS, "Force": True},
            timeout=seconds,
            on_error="continue",
            long=True,
        ),
        query("hns-service", "Get-Service", {"Name": HNS}, select=("Status",)),
        # The restart may have stopped the service without starting it again.
        action(
            "start-hns",
            "Start-Service",
            {},
            input=Input(calls=("hns-service",), where={"Status": "Stopped"}, parameter="Name", property="Name"),
            timeout=seconds,
            on_error="continue",
            always=True,
        ),
        query("answer", "Get-HnsNetwork", select=("ID",), timeout=answer_within, retries=1, delay=2.0),
    )
