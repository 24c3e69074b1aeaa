# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Give a running node networks, pods and containers, for tests that use only HTTP (POST /simulator/faults).

{"kind": "hns_scene", "scene": "flannel-host-gw", "running": 3, "stale": 2}    calls `hns.fixtures.populate`
{"kind": "hns_scene", "scene": "docker", "running": 2, "stopped": 1}           calls `docker.fixtures.populate`
{"kind": "hns_scene", "network": "lab", "type": "Transparent"}                 creates a network, as an operator would
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.docker import fixtures
from simulator.kubernetes_node.hns import fixtures as hns_fixtures
from simulator.kubernetes_node.hns.networks import SCENES

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_NETWORK_PARAMETERS = {"network", "type", "subnet", "gateway"}
TYPES = ("NAT", "L2Bridge", "Overlay", "Transparent", "L2Tunnel")


def set_scene(machine: Machine, fault: Mapping[str, object]) -> None:
    """Create the HNS networks, pods and containers that the fault `hns_scene` describes.

    Raises:
        ValueError: HNS is not installed, or the fault is invalid. The message contains the reason.
    """
    if machine.services.get("hns") is None:
        raise ValueError("HNS is not installed: install the Windows feature Containers on the node")
    given = {name: value for name, value in fault.items() if name not in ("kind", "machine", "scene")}
    if "network" in fault:
        _network(machine, given)
        return
    scene = str(fault.get("scene"))
    if scene == "docker":
        _check(fixtures.populate, given)
        fixtures.populate(machine, **given)  # type: ignore[arg-type]
        return
    if scene not in SCENES:
        raise ValueError(f"expected one of the scenes {', '.join([*SCENES, 'docker'])}, got {scene}")
    _check(hns_fixtures.populate, given)
    if not machine.services.exists("containerd"):
        hns_fixtures.install(machine)
    hns_fixtures.populate(machine, scene, **given)  # type: ignore[arg-type]


def _network(machine: Machine, given: Mapping[str, object]) -> None:
    kind = str(given.get("type", "Transparent"))
    if kind not in TYPES:
        raise ValueError(f"expected one of the network types {', '.join(TYPES)}, got {kind}")
    unknown = sorted(set(given) - _NETWORK_PARAMETERS)
    if unknown:
        expected = ", ".join(sorted(_NETWORK_PARAMETERS))
        raise ValueError(f"unknown scene parameter {', '.join(unknown)}: expected one of {expected}")
    texts = [str(given.get(name, "")) for name in ("subnet", "gateway")]
    hns_fixtures.add_network(machine, str(given["network"]), kind, *texts)


def _check(populate: Callable[..., object], given: Mapping[str, object]) -> None:
    """Raise ValueError if a parameter of the fault `hns_scene` is unknown, or its value has the wrong type."""
    known = inspect.signature(populate).parameters
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"unknown scene parameter {name}: expected one of {', '.join(list(known)[1:])}")
        default = known[name].default
        requested = int if default is None else type(default)
        if type(value) is not requested:
            raise ValueError(f"expected the type {requested.__name__} for the scene parameter {name}, got {value!r}")


FAULTS = {"hns_scene": set_scene}
