# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs playbooks as a user does, and measures them with the servers' counters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.fleet import Fleet
from simulator.transport.counters import Counters

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The counters of one node for one run."""

    commands: int
    """Remote commands: the WSMan commands and PSRP pipelines that the server ran."""
    requests: int
    """The number of HTTP requests."""
    bytes_sent: int
    """The number of bytes from the controller to the node."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run of a playbook."""

    name: str
    status: int
    """The exit status of ansible-playbook."""
    seconds: float
    report: dict[str, Any]
    """The contents of report.json from the collection's callback."""
    nodes: dict[str, Counted]
    """The counters by the nodes' names in the fleet file."""

    def changed(self, host: str) -> int:
        """Return how many tasks changed something on a host."""
        return sum(1 for task in self.report["nodes"].get(host, ()) if task["changed"])


class Controller:
    """The controller, which runs Ansible.

    Args:
        build: the folder for reports.
        fleet: the servers.
        kubeconfig: the kubeconfig of the cluster.
        inventory: the inventory with the servers' addresses.
    """

    def __init__(self, build: Path, fleet: Fleet, kubeconfig: Path, inventory: Path) -> None:
        self._build, self._fleet, self._kubeconfig, self._inventory = build, fleet, kubeconfig, inventory

    def play(self, name: str, playbook: str, *arguments: str) -> Ran:
        """Run a playbook of the collection. Its output goes to the terminal.

        Args:
            name: the name of the run, and of the folder for its report.
            playbook: the file name in playbooks/.
            arguments: further arguments for ansible-playbook.
        """
        for node in self._fleet.nodes.values():
            node.server.counters.reset()
        folder = self._build / name
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(Path(__file__).parent / "ansible.cfg"),
            "KUBECONFIG": str(self._kubeconfig),
            "WINKUBE_REPORT_DIR": str(folder),
            "ANSIBLE_FORCE_COLOR": "1" if sys.stdout.isatty() else "0",
        }
        program = Path(sys.executable).parent / "ansible-playbook"
        command = [str(program), "-i", str(self._inventory), str(ROOT / "playbooks" / playbook), *arguments]
        began = time.monotonic()
        status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        seconds = round(time.monotonic() - began, 1)
        file = folder / "report.json"
        report = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"nodes": {}}
        counted = {key: _counted(node.server.counters) for key, node in self._fleet.nodes.items()}
        return Ran(name=name, status=status, seconds=seconds, report=report, nodes=counted)


def _counted(counters: Counters) -> Counted:
    values = counters.snapshot()
    return Counted(commands=values["remote_commands"], requests=values["http_requests"], bytes_sent=values["bytes_in"])
