# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The time and the controller's memory for 50 prepared servers that join a cluster with 25 forks.

The run is `site.yml --tags join`. `site.yml --tags install` prepares the servers before it, which is not measured. The
servers, their kubeadm and the cluster are simulated on the same machine, so the seconds are those of everything
together. Set BENCH_JOIN_NODES to measure another number of servers, such as `BENCH_JOIN_NODES=10`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from integration.memory import AVAILABLE
from integration.memory import measure as run_measured
from integration.networks import free_network
from integration.playbooks import Site, cluster_nodes, describe, node_name

from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.world import World

NODES, FORKS = 50, 25
WINDOWS = ("2019", "2022", "2025")
PREPARATION_SECONDS = 3600
"""The time limit for the run that prepares the servers."""
SAMPLE_SECONDS = 2.0
"""Time between two samples of the memory, which take CPU time of the machine that is measured."""


def measure() -> Mapping[str, float]:
    """Prepare the servers, and measure their join.

    Raises:
        RuntimeError: a node did not join.
    """
    number = int(os.environ.get("BENCH_JOIN_NODES") or NODES)
    nodes = [{"name": f"n{index:02}", "windows": WINDOWS[index % len(WINDOWS)]} for index in range(number)]
    file = describe(nodes, free_network(), {"kind": "memory"})
    with (
        mock.patch.object(kubeadm_real, "find", return_value=None),
        tempfile.TemporaryDirectory() as folder,
        World(file, Path(folder) / "fleet") as world,
    ):
        return _join(Site(world, Path(folder) / "controller"))


def _join(site: Site) -> Mapping[str, float]:
    forks = ("--forks", str(FORKS))
    site.run("site.yml", "--tags", "install", *forks, timeout=PREPARATION_SECONDS).expect()
    command = site.command("site.yml", "--tags", "join", *forks)
    began = time.monotonic()
    run, samples = run_measured(site, command, seconds=SAMPLE_SECONDS)
    seconds = time.monotonic() - began
    run.expect()
    ready = {name for name, node in cluster_nodes(site).items() if node["ready"]}
    if missing := {node_name(host) for host in site.hosts()} - ready:
        raise RuntimeError(f"expected Ready nodes, got none for {', '.join(sorted(missing))}")
    figures = {
        "nodes": float(len(ready)),
        "seconds": seconds,
        "remote_commands": float(max(site.counters(host)["remote_commands"] for host in site.hosts())),
    }
    peak, processes = max(samples)
    return figures | ({"megabytes_pss": peak, "processes": float(processes)} if AVAILABLE else {})
