# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A cluster in memory with a pod network, for tests of network checks without I/O."""

from __future__ import annotations

import copy
import typing as t

from unit.pod_network import PodNetwork

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError

Object = dict[str, t.Any]


def node(name: str, system: str = "windows", *, ready: bool = True, **labels: str) -> Object:
    """Return a node; the last part of its address is unique for short names."""
    conditions = [{"type": "Ready", "status": str(ready), "message": "no CNI"}]
    addresses = [{"type": "InternalIP", "address": f"192.0.2.{sum(name.encode()) % 250}"}]
    metadata = {"name": name, "labels": {"kubernetes.io/os": system, **labels}}
    return {"metadata": metadata, "status": {"conditions": conditions, "addresses": addresses}}


class CheckedCluster:
    """The requests of a network check, and kubelets that react at once.

    Args:
        nodes: the nodes.
    """

    def __init__(self, *nodes: Object) -> None:
        self.nodes_ = list(nodes)
        self.namespaces_: dict[str, Object] = {}
        self.deleting: set[str] = set()
        self.stuck = False
        """Whether namespaces that are deleted stay."""
        self.pods_: dict[str, Object] = {}
        self.services_: list[Object] = []
        self.policies_: list[Object] = []
        self.daemon_sets: set[str] = set()
        self.failures: dict[str, list[ApiError]] = {}
        """Errors that replace the next responses, by method."""
        self.most = 0
        """The largest number of probes at the same time."""
        self.created: list[str] = []
        self.now = 0.0
        self.network = PodNetwork(
            lambda: list(self.pods_.values()), lambda: self.services_, lambda: self.nodes_, lambda: self.policies_
        )

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _fail(self, method: str) -> None:
        if failures := self.failures.get(method):
            raise failures.pop(0)

    def nodes(self) -> list[Object]:
        return self.nodes_

    def daemon_set_names(self) -> set[str]:
        self._fail("daemon_set_names")
        return self.daemon_sets

    def namespaces(self) -> list[Object]:
        return list(self.namespaces_.values())

    def namespace_exists(self, name: str) -> bool:
        self._fail("namespace_exists")
        if name in self.deleting and not self.stuck:
            self.namespaces_.pop(name, None)
            self.pods_.clear()
        return name in self.namespaces_

    def create_namespace(self, body: t.Mapping[str, t.Any]) -> None:
        self._fail("create_namespace")
        self.namespaces_[body["metadata"]["name"]] = dict(body)

    def delete_namespace(self, name: str) -> None:
        self._fail("delete_namespace")
        self.deleting.add(name)

    def create_pod(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        self._fail("create_pod")
        assert namespace in self.namespaces_
        name = body["metadata"]["name"]
        assert name not in self.pods_
        self.created.append(name)
        self.pods_[name] = copy.deepcopy(dict(body))
        self.most = max(self.most, sum(one.startswith("probe") for one in self.pods_))

    def pods(self, namespace: str, role: str) -> list[Object]:
        self._fail("pods")
        for pod in list(self.pods_.values()):
            # A container ends once.
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                pod["status"] = self.network.status(pod)
        return [one for one in self.pods_.values() if one["metadata"]["name"].startswith(role)]

    def delete_pod(self, namespace: str, name: str) -> None:
        self._fail("delete_pod")
        del self.pods_[name]

    def create_service(self, namespace: str, body: t.Mapping[str, t.Any]) -> Object:
        self._fail("create_service")
        number = len(self.services_)
        created = copy.deepcopy(dict(body))
        created["metadata"]["namespace"] = namespace
        created["spec"]["clusterIP"] = f"10.96.0.{number + 10}"
        created["spec"]["ports"][0]["nodePort"] = 30000 + number
        self.services_.append(created)
        return created

    def create_policy(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        self._fail("create_policy")
        self.policies_.append(dict(body))
