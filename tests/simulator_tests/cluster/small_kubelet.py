# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A minimal kubelet for several nodes: pods run, become ready, and end when they are deleted."""

from __future__ import annotations

import threading
from types import TracebackType

from simulator_tests.cluster.node_client import Client, node_object, run_pod, set_ready
from simulator_tests.waiting import wait_for


class SmallKubelet:
    """Registers nodes and runs their pods, with the rights of the administrator.

    A context manager, which deletes the nodes at the end.

    Args:
        admin: the administrator.
        nodes: the names of the nodes.
        labels: the labels of each node.
    """

    def __init__(self, admin: Client, nodes: list[str], labels: dict[str, str]) -> None:
        self._admin, self._nodes, self._labels = admin, nodes, labels
        self.ready = True
        """Whether pods that are pending start and become ready."""
        self.lets_go = True
        """Whether deleted pods end. Otherwise they stay with a deletionTimestamp."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="small-kubelet", daemon=True)

    def __enter__(self) -> SmallKubelet:
        for node in self._nodes:
            code, body = self._admin.request("POST", "/api/v1/nodes", node_object(node, labels=self._labels))
            assert code == 201, body
            set_ready(self._admin, node)
        for node in self._nodes:
            path = f"/api/v1/nodes/{node}"
            wait_for(lambda path=path: not self._admin.get(path)["spec"].get("taints"), "the node takes pods")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(10)
        for node in self._nodes:
            self._admin.request("DELETE", f"/api/v1/nodes/{node}")

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            for node in self._nodes:
                self._turn(node)

    def _turn(self, node: str) -> None:
        for pod in self._admin.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")["items"]:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp"):
                if self.lets_go:
                    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
                    self._admin.request("DELETE", path, {"gracePeriodSeconds": 0})
            elif self.ready and pod["status"]["phase"] == "Pending":
                try:
                    run_pod(self._admin, pod)
                except AssertionError:  # the pod was deleted in the meantime
                    continue
