# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The kubelets of some nodes in a real cluster, whose pods experience a modelled pod network (unit/pod_network.py).

They also remove the namespaces of network checks: the namespace controller of Kubernetes begins only five seconds after
a deletion (kubernetes/kubernetes, pkg/controller/namespace/namespace_controller.go, namespaceDeletionGracePeriod).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from simulator_tests.cluster.node_client import MERGE, Client, node_object, set_ready
from simulator_tests.waiting import wait_for
from unit.pod_network import PodNetwork

_ENDED = ("Succeeded", "Failed")
_SELECTOR = "labelSelector=winkube.node%2Fpurpose%3Dnetwork-check"
_CONTENT = (
    *(("api/v1", kind) for kind in ("pods", "services", "serviceaccounts", "configmaps")),
    ("apis/networking.k8s.io/v1", "networkpolicies"),
)
"""What a namespace of a network check contains."""


class NetworkKubelets:
    """Registers nodes, and runs the pods of network checks on them. A context manager.

    Args:
        admin: the administrator.
        nodes: the operating systems of the nodes, by name.
    """

    def __init__(self, admin: Client, nodes: Mapping[str, str]) -> None:
        self._admin, self._nodes = admin, nodes
        self._seen: dict[str, list[dict[str, Any]]] = {}
        self.network = PodNetwork(
            lambda: self._seen["pods"], lambda: self._seen["services"], lambda: self._seen["nodes"],
            lambda: self._seen["networkpolicies"],
        )  # fmt: skip
        self.removes_namespaces = True
        """Whether the content of deleted namespaces is removed at once."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="network-kubelets", daemon=True)

    def __enter__(self) -> NetworkKubelets:
        for number, (name, system) in enumerate(self._nodes.items()):
            node = node_object(name, labels={"kubernetes.io/os": system})
            node["status"]["addresses"] = [{"type": "InternalIP", "address": f"192.0.2.{number + 10}"}]
            code, body = self._admin.request("POST", "/api/v1/nodes", node)
            assert code == 201, body
            set_ready(self._admin, name)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(10)

    def wait(self) -> None:
        """Wait until the nodes accept pods."""
        for name in self._nodes:
            path = f"/api/v1/nodes/{name}"
            wait_for(lambda path=path: not self._admin.get(path)["spec"].get("taints"), "the node takes pods")

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            self._poll()
            for pod in self._seen["pods"]:
                self._turn(pod)
            if self.removes_namespaces:
                self._remove_namespaces()

    def _poll(self) -> None:
        kinds = ("api/v1/pods", "api/v1/services", "apis/networking.k8s.io/v1/networkpolicies")
        for path in kinds:
            self._seen[path.rpartition("/")[2]] = self._admin.get(f"/{path}?{_SELECTOR}")["items"]
        self._seen["nodes"] = self._admin.get("/api/v1/nodes")["items"]

    def _turn(self, pod: dict[str, Any]) -> None:
        metadata, status = pod["metadata"], pod.get("status") or {}
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if not pod["spec"].get("nodeName"):
            return
        if metadata.get("deletionTimestamp"):
            self._admin.request("DELETE", path, {"gracePeriodSeconds": 0})
        elif status.get("phase") not in _ENDED:
            found = self.network.status(pod)
            states = [one["state"] for one in found["containerStatuses"]]
            if states != [one["state"] for one in status.get("containerStatuses") or ()]:
                code, body = self._admin.request("PATCH", f"{path}/status", {"status": found}, MERGE)
                assert code in (200, 404), body
                pod["status"] = found

    def _remove_namespaces(self) -> None:
        """Remove deleted namespaces. A namespace with pods is removed later: their kubelets remove them first."""
        for namespace in self._admin.get(f"/api/v1/namespaces?{_SELECTOR}")["items"]:
            name = namespace["metadata"]["name"]
            if not namespace["metadata"].get("deletionTimestamp"):
                continue
            for group, kind in _CONTENT:
                self._admin.request("DELETE", f"/{group}/namespaces/{name}/{kind}")
            if not self._admin.get(f"/api/v1/namespaces/{name}/pods")["items"]:
                final = {"metadata": {"name": name}, "spec": {"finalizers": []}}
                self._admin.request("PUT", f"/api/v1/namespaces/{name}/finalize", final)
