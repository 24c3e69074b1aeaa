# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines with a container runtime, and running container_images against them in this process."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from integration.actions import connect, run_action
from integration.networks import free_network

from simulator.fleet import Fleet
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

CONTAINERD = r"C:\Program Files\containerd"
CERTS = rf"{CONTAINERD}\certs.d"
HOSTS = ("registry.k8s.io", "mcr.microsoft.com")
CONFIG = rf"""version = 2
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = 'registry.k8s.io/pause:3.10.2'
  [plugins.'io.containerd.grpc.v1.cri'.containerd]
    discard_unpacked_layers = true
  [plugins.'io.containerd.grpc.v1.cri'.registry]
    config_path = '{CERTS}'
"""
QUICK: Mapping[str, Any] = {"delay": 0.01, "retries": 2}
PAUSE = "registry.k8s.io/pause:3.10.2"


class Machines:
    """A fleet whose machines are created one after the other, with containerd running.

    Args:
        count: the number of machines.
        options: the settings of all machines.
    """

    def __init__(self, count: int, **options: Any) -> None:
        network = free_network()
        self.fleet = Fleet(
            [
                MachineSettings.read({"name": f"IMG-{number}", "address": f"{network}.{number + 10}", "windows": "2022",
                               "features": ["Containers"], "time_scale": 0.01, "reboot_seconds": 0.1,
                               **options, **options.get("each", lambda _: {})(number)})
                for number in range(count)
            ]
        )  # fmt: skip
        self._numbers = itertools.count()

    def __enter__(self) -> Machines:
        self.fleet.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.fleet.__exit__(*error)

    def bare(self) -> Machine:
        """Return the next machine, without a runtime."""
        return self.fleet.machine(f"IMG-{next(self._numbers)}")

    def next(self, containerd: str = "2.3.7") -> Machine:
        """Return the next machine, with containerd."""
        machine = self.bare()
        install(machine, containerd)
        return machine

    def requests(self, machine: Machine) -> int:
        """Return the number of WSMan requests to a machine."""
        return int(self.fleet.nodes[machine.name].server.counters.snapshot()["wsman_requests"])


def install(machine: Machine, containerd: str) -> None:
    """Install containerd and crictl, and start containerd."""
    for path, program, version in (
        (r"bin\containerd.exe", "containerd", containerd),
        (r"bin\ctr.exe", "ctr", containerd),
        (r"crictl\crictl.exe", "crictl", "1.37.0"),
    ):
        put(machine, f"{CONTAINERD}\\{path}", make(program, version))
    put(machine, f"{CONTAINERD}\\config.toml", CONFIG.encode())
    line = rf'"{CONTAINERD}\bin\containerd.exe" --run-service --config "{CONTAINERD}\config.toml"'
    machine.services.create("containerd", line, Start=2)
    machine.services.start("containerd")


def put(machine: Machine, path: str, data: bytes) -> None:
    """Write a file, after creating its folders."""
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, data)


def mirrors(registry: SimulatedRegistry, *hosts: str) -> dict[str, Any]:
    """Return the module's option for registries, all with one mirror."""
    return {host: {"mirrors": [registry.url]} for host in hosts or HOSTS}


def ctr(machine: Machine, *arguments: str) -> str:
    """Run ctr on a machine, and return its output."""
    result = machine.programs.run(rf"{CONTAINERD}\bin\ctr.exe", ["-n", "k8s.io", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def names(machine: Machine) -> set[str]:
    """Return the tags in containerd's store."""
    return {name for name in ctr(machine, "images", "list", "-q").split() if "@" not in name and name[:7] != "sha256:"}


def converge(machine: Machine, images: Any, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    """Run container_images once."""
    with connect(machine) as connection:
        arguments = {"images": images, **QUICK, **options}
        return run_action(connection, "container_images", arguments, check_mode=check_mode)


def statuses(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the status of each image, by reference."""
    return {item["reference"]: item["status"] for item in result["images"]}
