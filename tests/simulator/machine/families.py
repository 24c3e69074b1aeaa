# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Which families of cmdlets, programs and services there are.

A family is a module with any of these constants (see ../README.md):

    CMDLETS: Mapping[str, Cmdlet]
    PROGRAMS: Mapping[str, Program]          # a key that ends in .exe lies in C:\Windows\System32 of every machine
    SERVICES: Mapping[str, ServiceProgram]   # by program, or by `program:service name` (`svchost:hns`)
    CONTRACTS: Iterable[Contract]            # what cmdlets accept that no file in ../contracts describes
    STATUS: Mapping[str, Callable[[Machine], object]]   # more keys of GET /simulator/status
    BASELINE: Callable[[Machine], None]      # what a fresh machine has (files, registry, services)
    ON_BOOT: Callable[[Machine], None]       # what is done at each boot, before the automatic services start
    FAULTS: Mapping[str, Callable[[Machine, Mapping[str, object]], None]]   # kinds of POST /simulator/faults
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from simulator.machine.contract import Contract
from simulator.machine.objects import Cmdlet, Program, ServiceProgram

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

Offer = TypeVar("Offer")

NAMES = (
    "simulator.machine.core.items",
    "simulator.machine.core.properties",
    "simulator.machine.core.contents",
    "simulator.machine.core.file_hashes",
    "simulator.machine.core.services",
    "simulator.machine.core.process_cmdlets",
    "simulator.machine.powershell.cmdlets.objects",
    "simulator.machine.powershell.cmdlets.making",
    "simulator.machine.powershell.cmdlets.output",
    "simulator.machine.powershell.cmdlets.session",
    "simulator.machine.powershell.cmdlets.csv_text",
    "simulator.machine.core.json_text",
    "simulator.machine.core.system",
    "simulator.machine.core.sc",
    "simulator.machine.core.reg",
    "simulator.machine.core.shutdown",
    "simulator.machine.core.started_programs",
    "simulator.machine.core.small_cmdlets",
    "simulator.machine.core.small_programs",
    "simulator.machine.core.cmd",
    "simulator.machine.core.powershell",
    "simulator.machine.core.hosts",
    "simulator.windows.account_cmdlets",
    "simulator.windows.features",
    "simulator.windows.firewall",
    "simulator.windows.defender",
    "simulator.windows.antivirus",
    "simulator.windows.tasks",
    "simulator.windows.time",
    "simulator.windows.cim",
    "simulator.windows.network",
    "simulator.windows.network_changes",
    "simulator.windows.tcp",
    "simulator.windows.network_programs",
    "simulator.windows.sysprep",
    "simulator.windows.curl",
    "simulator.windows.tar",
    "simulator.windows.computer",
    "simulator.windows.proxy",
    "simulator.windows.netsh",
    "simulator.windows.appx",
    "simulator.windows.storage",
    "simulator.windows.certificates",
    "simulator.windows.event_logs",
    "simulator.windows.tools",
    "simulator.windows.boot_configuration",
    "simulator.windows.update_boot",
    "simulator.windows.hot_fixes",
    "simulator.windows.packages",
    "simulator.windows.wusa",
    "simulator.windows.dism",
    "simulator.windows.installer",
    "simulator.windows.openssh",
    "simulator.windows.native_images",
    "simulator.windows.authenticode",
    "simulator.windows.winrm",
    "simulator.kubernetes_node.containerd.program",
    "simulator.kubernetes_node.kubelet.program",
    "simulator.kubernetes_node.kubelet.log_runner",
    "simulator.kubernetes_node.kubeadm.program",
    "simulator.kubernetes_node.cni.kube_proxy",
    "simulator.kubernetes_node.cni.flannel",
    "simulator.kubernetes_node.cni.plugins",
    "simulator.kubernetes_node.hns.cmdlets",
    "simulator.kubernetes_node.hns.scenes",
    "simulator.kubernetes_node.containerd.ctr",
    "simulator.kubernetes_node.cri.crictl",
    "simulator.kubernetes_node.kubelet.image_gc",
    "simulator.kubernetes_node.containerd.buildkit",
    "simulator.kubernetes_node.docker.dockerd_service",
    "simulator.kubernetes_node.docker.program",
    "simulator.kubernetes_node.docker.cri_dockerd",
    "simulator.kubernetes_node.nssm.program",
    "simulator.kubernetes_node.nssm.commands",
    "simulator.kubernetes_node.kubelet.pods",
)


@dataclass(frozen=True)
class Families:
    """Everything that the families offer, by name (names of cmdlets and programs in lower case)."""

    cmdlets: Mapping[str, tuple[str, Cmdlet]] = field(default_factory=dict)
    programs: Mapping[str, Program] = field(default_factory=dict)
    services: Mapping[str, ServiceProgram] = field(default_factory=dict)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    status: Mapping[str, Callable[[Machine], object]] = field(default_factory=dict)
    faults: Mapping[str, Callable[[Machine, Mapping[str, object]], None]] = field(default_factory=dict)
    baseline: tuple[Callable[[Machine], None], ...] = ()
    on_boot: tuple[Callable[[Machine], None], ...] = ()
    in_box: tuple[str, ...] = ()

    def program(self, name: str) -> Program | None:
        """Return the program of an executable's identity (`kubelet`, `sc.exe`)."""
        key = name.casefold()
        return self.programs.get(key) or self.programs.get(_bare(key)) or self.programs.get(key + ".exe")

    def service(self, program: str, service: str) -> ServiceProgram | None:
        """Return what runs as a service behind an executable's identity."""
        bare = _bare(program.casefold())
        return self.services.get(f"{bare}:{service.casefold()}") or self.services.get(bare)


def load(names: Iterable[str] = NAMES) -> Families:
    """Import the families and return what they offer. Raises ValueError if two offer the same."""
    cmdlets: dict[str, tuple[str, Cmdlet]] = {}
    programs: dict[str, Program] = {}
    services: dict[str, ServiceProgram] = {}
    contracts: dict[str, Contract] = {}
    status: dict[str, Callable[[Machine], object]] = {}
    faults: dict[str, Callable[[Machine, Mapping[str, object]], None]] = {}
    baseline: list[Callable[[Machine], None]] = []
    on_boot: list[Callable[[Machine], None]] = []
    in_box: list[str] = []
    for name in names:
        module = importlib.import_module(name)
        _merge(cmdlets, {key.casefold(): (key, value) for key, value in _mapping(module, "CMDLETS").items()}, name)
        offered = _mapping(module, "PROGRAMS")
        _merge(programs, {key.casefold(): value for key, value in offered.items()}, name)
        in_box += [key for key in offered if key.casefold().endswith(".exe")]
        _merge(services, {_service_key(key): value for key, value in _mapping(module, "SERVICES").items()}, name)
        _merge(contracts, {entry.command.casefold(): entry for entry in getattr(module, "CONTRACTS", ())}, name)
        _merge(status, _mapping(module, "STATUS"), name)
        _merge(faults, _mapping(module, "FAULTS"), name)
        if hasattr(module, "BASELINE"):
            baseline.append(module.BASELINE)
        if hasattr(module, "ON_BOOT"):
            on_boot.append(module.ON_BOOT)
    made = (tuple(baseline), tuple(on_boot), tuple(in_box))
    return Families(cmdlets, programs, services, contracts, status, faults, *made)


def _mapping(module: ModuleType, constant: str) -> dict[str, object]:
    return dict(getattr(module, constant, {}))


def _merge(into: dict[str, Offer], offered: Mapping[str, object], family: str) -> None:
    if twice := into.keys() & offered.keys():
        raise ValueError(f"{family} offers again what another family offers: {', '.join(sorted(twice))}")
    into.update(offered)  # type: ignore[arg-type]


def _bare(name: str) -> str:
    return name.removesuffix(".exe")


def _service_key(key: str) -> str:
    program, colon, service = key.casefold().partition(":")
    return _bare(program) + colon + service
