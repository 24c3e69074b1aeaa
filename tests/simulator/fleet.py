# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A fleet of simulated servers in one process: its file, its machines, their network.

The fleet file (YAML):

    nodes:
      - {name: win-a, address: 127.20.0.11, windows: "2022", user: Administrator, password: …, …}
    artifacts: {…}      # what else there is: see world.py
    registry: {…}
    cluster: {…}

A node's keys are those of `machine.settings.Settings`; others are options of the families.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import yaml

from simulator.machine.endpoint import MachineHost
from simulator.machine.families import Families, load
from simulator.machine.machine import Machine
from simulator.machine.settings import Settings
from simulator.transport.certificates import FleetCertificate, make_fleet_certificate
from simulator.transport.server import NodeServer

HTTP_PORT = 5985
HTTPS_PORT = 5986
_PLENTY = 2 << 30
"""Bytes that have to be free in memory; a container has 64 MB unless told."""


@dataclass(frozen=True)
class FleetFile:
    """What a fleet file says."""

    nodes: tuple[Settings, ...]
    artifacts: Mapping[str, object] = field(default_factory=dict)
    registry: Mapping[str, object] = field(default_factory=dict)
    cluster: Mapping[str, object] = field(default_factory=dict)


def read_fleet(path: Path) -> FleetFile:
    """Read a fleet file. Raises ValueError that says what is wrong, OSError."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no YAML: {error}") from None
    if not isinstance(document, Mapping) or not isinstance(document.get("nodes"), list):
        raise ValueError(f"{path} needs a list of nodes")
    if unknown := document.keys() - {"nodes", "artifacts", "registry", "cluster"}:
        raise ValueError(f"{path} has unknown keys: {', '.join(sorted(map(str, unknown)))}")
    nodes = tuple(Settings.read(entry) for entry in document["nodes"])
    for what in ("name", "address"):
        values = [getattr(node, what) for node in nodes]
        if twice := {value for value in values if values.count(value) > 1}:
            raise ValueError(f"{path}: two nodes have the {what} {', '.join(sorted(twice))}")
    return FleetFile(nodes, *(document.get(key) or {} for key in ("artifacts", "registry", "cluster")))


@dataclass
class Node:
    """A machine with its network."""

    machine: Machine
    server: NodeServer

    def status(self) -> dict[str, object]:
        """Return what GET /simulator/status answers."""
        return self.server.status()


def _memory() -> Path | None:
    """Return a folder in memory where there is plenty of room, and nobody wants another one: disks are all small files.

    Half of what the kernel does for a fleet is otherwise the journal of a file system whose files nobody keeps.
    """
    memory = Path("/dev/shm")  # mkdtemp makes a folder of our own in it
    with contextlib.suppress(OSError):
        if "TMPDIR" not in os.environ and shutil.disk_usage(memory).free >= _PLENTY:
            return memory
    return None


class Fleet:
    """Machines that answer on their addresses. Use as a context, or `start` and `stop`.

    Args:
        nodes: their settings.
        state: a folder for their files; a temporary one by default, deleted at the end.
        http_port, https_port: of every node.
    """

    def __init__(
        self,
        nodes: Iterable[Settings],
        state: Path | None = None,
        *,
        http_port: int = HTTP_PORT,
        https_port: int = HTTPS_PORT,
        families: Families | None = None,
    ) -> None:
        self._temporary = state is None
        self.state = state or Path(tempfile.mkdtemp(prefix="simulator-", dir=_memory()))
        self.state.mkdir(parents=True, exist_ok=True)
        self._ports = (http_port, https_port)
        self._families = families if families is not None else load()
        self._settings = tuple(nodes)
        self.nodes: dict[str, Node] = {}
        self.certificate: FleetCertificate | None = None

    def start(self) -> None:
        """Set the machines up, boot them, open their ports. Raises OSError if an address or port is taken."""
        addresses = [settings.address for settings in self._settings]
        names = [settings.name for settings in self._settings]
        self.certificate = make_fleet_certificate(self.state / "certificate", addresses, names)
        try:
            for settings in self._settings:
                self.add(settings)
        except BaseException:
            self.stop()
            raise

    def add(self, settings: Settings, source: Machine | None = None, *, power_on: bool = True) -> Node:
        """Add a machine, fresh or with another's disk, and boot it."""
        assert self.certificate is not None, "the fleet has to be started first"
        folder = self.state / "nodes" / settings.name
        if folder.exists() and self._temporary:
            shutil.rmtree(folder)
        machine = Machine(settings, folder, self._families, source)
        context = self.certificate.server_context()
        http, https = self._ports
        server = NodeServer(settings.address, MachineHost(machine), context, http_port=http, https_port=https)
        node = Node(machine, server)
        self.nodes[settings.name] = node
        if power_on:
            machine.power_on()
            if not server.is_listening:
                raise OSError(f"{settings.name} cannot listen on {settings.address}")
        return node

    def machine(self, name: str) -> Machine:
        """Return a machine by the name in the fleet file. Raises KeyError."""
        return self.nodes[name].machine

    def deploy_image(self, from_node: str, name: str, address: str, **changes: object) -> Node:
        """Start a new machine from the disk of one that is off (as a cloud does from a golden image).

        Args:
            from_node: whose disk; it has to be off.
            name, address: of the new machine's entry in the fleet. Its computer name is on the disk, or random if that
                was generalized.
            changes: other settings of the new machine (`user`, `password`, `disk_gb`, options …).

        Raises: ValueError if the other machine runs, or a name or address is taken.
        """
        other = self.machine(from_node)
        if other.power.state != "off":
            raise ValueError(f"{from_node} runs: an image is taken of a machine that is off")
        if name in self.nodes or address in (node.machine.address for node in self.nodes.values()):
            raise ValueError(f"{name} or {address} is taken")
        old = other.settings
        entry = {key: getattr(old, key) for key in Settings.__annotations__ if key != "options"}
        merged = Settings.read({**old.options, **entry, **changes, "name": name, "address": address})
        return self.add(merged, other)

    def stop(self) -> None:
        """Close all ports, end everything that runs, and delete the temporary folder."""
        for node in self.nodes.values():
            node.machine.power.retire()
            node.server.stop()
        if self._temporary:
            shutil.rmtree(self.state, ignore_errors=True)

    def __enter__(self) -> Fleet:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()
