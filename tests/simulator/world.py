# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starting everything that a fleet file describes: nodes, artifact server, registry, cluster and domain.

nodes: […]                                          # see fleet.py
artifacts: {address: 127.50.0.1, port: 8081}        # optional; port 0 picks a free port; also user, query, rate
registry: {address: 127.50.0.1, port: 5000}         # optional; also user, auth, rate
cluster: {address: 127.50.0.1, kind: auto, …}       # optional; further keys are arguments of start_cluster,
                                                    # such as calico: {install: kubespray, strict_affinity: true}
domain: {name: corp.example.com, users: {…}, …}     # optional; arguments of DomainDirectory
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulator.artifacts.server import ArtifactServer
from simulator.cluster.cluster import SimulatedCluster, start_cluster
from simulator.fleet import HTTP_PORT, HTTPS_PORT, Fleet, FleetFile
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.windows.directory.domain_directory import DomainDirectory


class World:
    """Everything that a fleet file describes, as a context manager.

    Args:
        file: the contents of the fleet file.
        state: the folder for the files of the nodes; by default a temporary folder.
        http_port, https_port: the WinRM ports of every node.
    """

    def __init__(
        self, file: FleetFile, state: Path | None = None, *, http_port: int = HTTP_PORT, https_port: int = HTTPS_PORT
    ) -> None:
        self._file = file
        self._stack = contextlib.ExitStack()
        described: Mapping[str, Any] = file.domain
        self.domain = DomainDirectory(**described) if described else None
        known = {"directory": self.domain} if self.domain else {}
        nodes = [dataclasses.replace(one, options={**one.options, **known}) for one in file.nodes]
        self.fleet = Fleet(nodes, state, http_port=http_port, https_port=https_port)
        self.artifacts: ArtifactServer | None = None
        self.registry: SimulatedRegistry | None = None
        self.cluster: SimulatedCluster | None = None

    def __enter__(self) -> World:
        """Start everything that the fleet file describes. If one part fails, stop the parts that were started."""
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop everything. The nodes stop first, because their kubelets call the cluster."""
        self._stack.close()

    def _start(self) -> None:
        if self._file.cluster:
            options: dict[str, Any] = dict(self._file.cluster)
            self.cluster = start_cluster(**options)
            self._stack.callback(self.cluster.stop)
        if self._file.artifacts:
            self.artifacts = ArtifactServer(**_options(self._file.artifacts, "user", "query", "rate"))
            self.artifacts.start()
            self._stack.callback(self.artifacts.close)
        if self._file.registry:
            self.registry = SimulatedRegistry(**_options(self._file.registry, "user", "auth", "rate"))
            self._stack.callback(self.registry.stop)
        self.fleet.start()
        self._stack.callback(self.fleet.stop)


def _options(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the address, port and other options of a server, such as the registry, from the fleet file.

    Raises:
        ValueError: a key is unknown.
    """
    if unknown := entry.keys() - {"address", "port", *names}:
        raise ValueError(
            f"expected only the keys {', '.join(('address', 'port', *names))} for a server in the fleet file, "
            f"got {', '.join(sorted(unknown))}"
        )
    return {"address": "127.0.0.1", "port": 0, **entry}
