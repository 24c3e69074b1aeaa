# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""The families of cmdlets, programs and services, and how they are found.

A family is a module with any of these constants (see ../README.md):

    CMDLETS: Mapping[str, Cmdlet]
    PROGRAMS: Mapping[str, Program]       # a key that ends in .exe is a file on every new machine (`baseline.PLACES`)
    SERVICES: Mapping[str, ServiceProgram] # by program, or by `program:service name` (`svchost:hns`)
    CONTRACTS: Iterable[Contract]         # contracts of cmdlets that are missing from ../contracts
    STATUS: Mapping[str, Callable[[Machine], object]]  # additional keys of GET /simulator/status
    STATUS_FOLDERS: Iterable[str]         # folders whose files GET /simulator/status lists
    BASELINE: Callable[[Machine], None]   # adds its files, registry values and services to a new machine
    ON_BOOT: Callable[[Machine], None]    # called at each boot, before automatic services start
    FAULTS: Mapping[str, Callable[[Machine, Mapping[str, object]], None]]   # fault kinds of POST /simulator/faults
    MODULES: Mapping[str, Module]         # Ansible modules, by their name without the collection
    SCRIPTS: Mapping[str, ModelledFile]   # PowerShell scripts that are not interpreted, by the name of the file

A layer is a list of families and the names of the layers that it needs. Packages declare their layers as entry points
in the `simulator.layers` group.
"""

from __future__ import annotations

import functools
import importlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from simulator.machine.contract import Contract
from simulator.machine.objects import Cmdlet, Program, ServiceProgram

if TYPE_CHECKING:
    from simulator.machine.machine import Machine
    from simulator.machine.modelled_scripts import ModelledFile
    from simulator.machine.modules.arguments import Module

Offer = TypeVar("Offer")

GROUP = "simulator.layers"
_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


@dataclass(frozen=True)
class Layer:
    """A layer: families of cmdlets, programs and services that belong together.

    Attributes:
        modules: the families, in the order in which machines are set up and booted.
        needs: the layers that must come before this one.
    """

    modules: tuple[str, ...]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Families:
    """All cmdlets, programs, services and other parts that families offer, by name.

    The names of cmdlets and programs are in lower case.
    """

    cmdlets: Mapping[str, tuple[str, Cmdlet]] = field(default_factory=dict)
    programs: Mapping[str, Program] = field(default_factory=dict)
    services: Mapping[str, ServiceProgram] = field(default_factory=dict)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    status: Mapping[str, Callable[[Machine], object]] = field(default_factory=dict)
    faults: Mapping[str, Callable[[Machine, Mapping[str, object]], None]] = field(default_factory=dict)
    baseline: tuple[Callable[[Machine], None], ...] = ()
    on_boot: tuple[Callable[[Machine], None], ...] = ()
    in_box: tuple[str, ...] = ()
    modules: Mapping[str, Module] = field(default_factory=dict)
    status_folders: tuple[str, ...] = ()
    scripts: Mapping[str, ModelledFile] = field(default_factory=dict)

    def program(self, name: str) -> Program | None:
        """Return the program with this identity, such as `kubelet` or `sc.exe`, or None if no family offers it."""
        key = name.casefold()
        return self.programs.get(key) or self.programs.get(_bare(key)) or self.programs.get(key + ".exe")

    def service(self, program: str, service: str) -> ServiceProgram | None:
        """Return the service program for an executable and a service's name, or None if no family offers it."""
        bare = _bare(program.casefold())
        return self.services.get(f"{bare}:{service.casefold()}") or self.services.get(bare)


@functools.cache
def names() -> tuple[str, ...]:
    """Return the names of all families. The families of a layer come after those of the layers that it needs."""
    layers: dict[str, Layer] = {entry.name: entry.load() for entry in declared()}
    order = TopologicalSorter({name: sorted(layer.needs) for name, layer in sorted(layers.items())}).static_order()
    return tuple(family for name in order for family in layers[name].modules)


def declared(project: Path = _PROJECT) -> list[EntryPoint]:
    """Return the entry points that declare the simulator's layers.

    They come from installed packages and from the checkout's pyproject.toml, so that the simulator works in a checkout
    without installation. An installed package does not contain pyproject.toml.

    Args:
        project: the checkout's pyproject.toml; ignored if it does not exist.
    """
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if project.is_file():
        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
        found |= {name: EntryPoint(name, value, GROUP) for name, value in table.items()}
    return list(found.values())


def load(families: Iterable[str] | None = None) -> Families:
    """Import families and return what they offer.

    Args:
        families: the family modules; by default, those of all layers.

    Raises:
        ValueError: two families offer the same name.
    """
    cmdlets: dict[str, tuple[str, Cmdlet]] = {}
    programs: dict[str, Program] = {}
    services: dict[str, ServiceProgram] = {}
    contracts: dict[str, Contract] = {}
    status: dict[str, Callable[[Machine], object]] = {}
    faults: dict[str, Callable[[Machine, Mapping[str, object]], None]] = {}
    baseline: list[Callable[[Machine], None]] = []
    on_boot: list[Callable[[Machine], None]] = []
    in_box: list[str] = []
    modules: dict[str, Module] = {}
    status_folders: list[str] = []
    scripts: dict[str, ModelledFile] = {}
    for name in names() if families is None else families:
        module = importlib.import_module(name)
        _merge(cmdlets, {key.casefold(): (key, value) for key, value in _mapping(module, "CMDLETS").items()}, name)
        offered = _mapping(module, "PROGRAMS")
        _merge(programs, {key.casefold(): value for key, value in offered.items()}, name)
        in_box += [key for key in offered if key.casefold().endswith(".exe")]
        _merge(services, {_service_key(key): value for key, value in _mapping(module, "SERVICES").items()}, name)
        _merge(contracts, {entry.command.casefold(): entry for entry in getattr(module, "CONTRACTS", ())}, name)
        _merge(status, _mapping(module, "STATUS"), name)
        _merge(faults, _mapping(module, "FAULTS"), name)
        _merge(modules, _mapping(module, "MODULES"), name)
        _merge(scripts, {key.casefold(): value for key, value in _mapping(module, "SCRIPTS").items()}, name)
        status_folders += getattr(module, "STATUS_FOLDERS", ())
        if hasattr(module, "BASELINE"):
            baseline.append(module.BASELINE)
        if hasattr(module, "ON_BOOT"):
            on_boot.append(module.ON_BOOT)
    made = (tuple(baseline), tuple(on_boot), tuple(in_box), modules, tuple(status_folders), scripts)
    return Families(cmdlets, programs, services, contracts, status, faults, *made)


def _mapping(module: ModuleType, constant: str) -> dict[str, object]:
    return dict(getattr(module, constant, {}))


def _merge(into: dict[str, Offer], offered: Mapping[str, object], family: str) -> None:
    if twice := into.keys() & offered.keys():
        raise ValueError(f"{family} offers names that another family also offers: {', '.join(sorted(twice))}")
    into.update(offered)  # type: ignore[arg-type]


def _bare(name: str) -> str:
    return name.removesuffix(".exe")


def _service_key(key: str) -> str:
    program, colon, service = key.casefold().partition(":")
    return _bare(program) + colon + service
