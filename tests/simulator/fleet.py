# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A fleet of simulated servers in one process, as a fleet file describes it.

The fleet file (YAML):

    nodes:
      - {name: win-a, address: 127.20.0.11, windows: "2022", user: Administrator, password: …, …}
    artifacts: {…}      # further servers, described in world.py
    registry: {…}
    cluster: {…}
    domain: {…}

The keys of a node are the fields of `machine.settings.MachineSettings`, and the options that the simulated cmdlets,
programs and services define.
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
from simulator.machine.families import load
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.transport.certificates import FleetCertificate, make_fleet_certificate
from simulator.transport.server import NodeServer

HTTP_PORT = 5985
HTTPS_PORT = 5986
_SERVERS = ("artifacts", "registry", "cluster", "domain")
_PLENTY = 2 << 30
"""The minimum number of free bytes for using /dev/shm. In a container, /dev/shm has only 64 MB by default."""


@dataclass(frozen=True)
class FleetFile:
    """The contents of a fleet file."""

    nodes: tuple[MachineSettings, ...]
    artifacts: Mapping[str, object] = field(default_factory=dict)
    registry: Mapping[str, object] = field(default_factory=dict)
    cluster: Mapping[str, object] = field(default_factory=dict)
    domain: Mapping[str, object] = field(default_factory=dict)


def read_fleet(path: Path) -> FleetFile:
    """Read a fleet file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the contents are invalid. The message says why.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(document, Mapping) or not isinstance(document.get("nodes"), list):
        raise ValueError(f"{path}: expected a mapping with a list under the key `nodes`")
    if unknown := document.keys() - {"nodes", *_SERVERS}:
        raise ValueError(
            f"{path}: expected only the keys nodes, {', '.join(_SERVERS)}, "
            f"got unknown keys: {', '.join(sorted(map(str, unknown)))}"
        )
    nodes = tuple(MachineSettings.read(entry) for entry in document["nodes"])
    for what in ("name", "address"):
        values = [getattr(node, what) for node in nodes]
        if twice := {value for value in values if values.count(value) > 1}:
            raise ValueError(f"{path}: two nodes have the same {what}: {', '.join(sorted(twice))}")
    return FleetFile(nodes, *(document.get(key) or {} for key in _SERVERS))


@dataclass
class FleetNode:
    """A simulated machine, and the server that listens on its network ports."""

    machine: Machine
    server: NodeServer

    def status(self) -> dict[str, object]:
        """Return the node's status, which is part of the response to GET /simulator/status."""
        return self.server.status()


def _memory() -> Path | None:
    """Return /dev/shm as the folder for temporary files, or None if TMPDIR is set.

    The result is also None if /dev/shm does not exist or lacks space.

    A node's disk consists of many small files. On a real file system, half of the kernel's work would be journaling.
    """
    memory = Path("/dev/shm")  # mkdtemp creates a new folder in it
    with contextlib.suppress(OSError):
        if "TMPDIR" not in os.environ and shutil.disk_usage(memory).free >= _PLENTY:
            return memory
    return None


class Fleet:
    """A fleet of simulated servers, each of which listens on its own address.

    It is a context manager that starts the fleet on entry and stops it on exit.

    Args:
        nodes: the settings of the nodes.
        state: the folder for the nodes' files. By default, it is a temporary folder, which `stop` deletes.
        http_port: the port for WinRM over HTTP, on every node.
        https_port: the port for WinRM over HTTPS.
    """

    def __init__(
        self,
        nodes: Iterable[MachineSettings],
        state: Path | None = None,
        *,
        http_port: int = HTTP_PORT,
        https_port: int = HTTPS_PORT,
    ) -> None:
        self._temporary = state is None
        self.state = state or Path(tempfile.mkdtemp(prefix="simulator-", dir=_memory()))
        self.state.mkdir(parents=True, exist_ok=True)
        self._ports = (http_port, https_port)
        self._families = load()
        self._settings = tuple(nodes)
        self.nodes: dict[str, FleetNode] = {}
        self.certificate: FleetCertificate | None = None

    def start(self) -> None:
        """Set up and boot the machines, and open their ports.

        Raises:
            OSError: an address is not available, or a port is in use.
            ValueError: the settings of a node are invalid.
        """
        addresses = [settings.address for settings in self._settings]
        names = [settings.name for settings in self._settings]
        self.certificate = make_fleet_certificate(self.state / "certificate", addresses, names)
        try:
            for settings in self._settings:
                self.add(settings)
        except BaseException:
            self.stop()
            raise

    def add(self, settings: MachineSettings, source: Machine | None = None) -> FleetNode:
        """Add a machine, boot it, and return it.

        Args:
            settings: the settings of the machine.
            source: the machine whose disk is copied. If it is None, Windows is set up in the machine's folder. Files
                from an earlier run are kept, unless the fleet's folder is temporary.

        Raises:
            OSError: the machine cannot listen on its address.
            ValueError: the settings are invalid.
        """
        assert self.certificate is not None, "the fleet has to be started first"
        folder = self.state / "nodes" / settings.name
        if folder.exists() and self._temporary:
            shutil.rmtree(folder)
        machine = Machine(settings, folder, self._families, source)
        context = self.certificate.server_context()
        http, https = self._ports
        server = NodeServer(settings.address, MachineHost(machine), context, http_port=http, https_port=https)
        node = FleetNode(machine, server)
        self.nodes[settings.name] = node
        machine.power_on()
        if not server.is_listening:
            reasons = "WinRM has no listener that works, or no network adapter has this address"
            raise OSError(f"{settings.name} opened no port on {settings.address}: {reasons}")
        return node

    def machine(self, name: str) -> Machine:
        """Return the machine with the given name in the fleet file.

        Raises:
            KeyError: there is no such machine.
        """
        return self.nodes[name].machine

    def deploy_image(self, from_node: str, name: str, address: str, **changes: object) -> FleetNode:
        """Start a new machine from a copy of another machine's disk, as a cloud does from a golden image.

        Args:
            from_node: the machine whose disk is copied; it must be off.
            name: the new machine's name in the fleet. Its computer name is the one on the disk, or a random one if the
                disk was generalized.
            address: the new machine's address.
            changes: further settings of the new machine (`user`, `password`, `disk_gb`, options …).

        Returns:
            The new machine.

        Raises:
            ValueError: the machine whose disk is copied is not off, the name or address is already in use, or a setting
                is invalid.
            KeyError: the machine whose disk is copied does not exist.
            OSError: the new machine cannot listen on its address.
        """
        other = self.machine(from_node)
        if other.power.state != "off":
            raise ValueError(f"{from_node} is not off: shut it down before you copy its disk")
        if name in self.nodes or address in (node.machine.address for node in self.nodes.values()):
            raise ValueError(f"the name {name} or the address {address} is already in use")
        old = other.settings
        entry = {key: getattr(old, key) for key in MachineSettings.__annotations__ if key != "options"}
        merged = MachineSettings.read({**old.options, **entry, **changes, "name": name, "address": address})
        return self.add(merged, other)

    def stop(self) -> None:
        """Close all ports of the fleet, end all processes, and delete the fleet's folder if it is temporary."""
        for node in self.nodes.values():
            node.machine.power.retire()
            node.server.stop()
        if self._temporary:
            shutil.rmtree(self.state, ignore_errors=True)

    def __enter__(self) -> Fleet:
        """Start the fleet."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the fleet."""
        self.stop()
