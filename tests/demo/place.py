# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The place of a demo: a loopback network and a build folder that no other demo uses."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from integration.networks import free_network

from demo.controller import ROOT

_NETWORK = "127.50.0"
"""The first three parts of all addresses in inventories/demo."""
FLEET = ROOT / "inventories" / "demo" / "fleet.yml"
INVENTORY = ROOT / "inventories" / "demo" / "hosts.yml"


class BusyError(RuntimeError):
    """Another demo uses the build folder. The message contains its path."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The files of a demo, with its own addresses."""

    network: str
    """The first three parts of the demo's addresses."""
    fleet: Path
    inventory: Path


def take(folder: Path) -> Place:
    """Write the demo's fleet file and inventory with the addresses of a free network.

    Args:
        folder: the folder to write them to.

    Raises:
        LookupError: no network is free.
    """
    network = free_network()
    place = Place(network=network, fleet=folder / FLEET.name, inventory=folder / INVENTORY.name)
    for source, copy in ((FLEET, place.fleet), (INVENTORY, place.inventory)):
        text = source.read_text(encoding="utf-8")
        copy.write_text(text.replace(f"{_NETWORK}.", f"{network}."), encoding="utf-8")
    return place


@contextlib.contextmanager
def alone(build: Path) -> Iterator[None]:
    """Lock a build folder, so that a second demo of this checkout does not remove the files of the first one.

    Raises:
        BusyError: another demo has locked it.
    """
    build.parent.mkdir(parents=True, exist_ok=True)
    with build.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(
                f"another demo of this checkout is running, and writes to {build}: wait for it, or use another checkout"
            ) from None
        yield
