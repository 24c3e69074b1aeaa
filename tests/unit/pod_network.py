# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A pod network as a model: what agnhost in a pod experiences, and what a kubelet reports of it.

The model knows only the objects in the API: pods with their addresses, services with their selectors, nodes, network
policies. A connection succeeds if a running `netexec` listens at its end. Faults break links, name resolution or
NodePorts. agnhost's output is that of kubernetes/kubernetes, test/images/agnhost/connect/connect.go.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

Object = dict[str, t.Any]
DOMAIN = "cluster.local"


@dataclasses.dataclass
class PodNetwork:
    """The network, and its faults."""

    pods: t.Callable[[], list[Object]]
    services: t.Callable[[], list[Object]]
    nodes: t.Callable[[], list[Object]]
    policies: t.Callable[[], list[Object]]
    broken: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Pairs of nodes between which no packet arrives, in this direction."""
    without_dns: set[str] = dataclasses.field(default_factory=set)
    """Nodes on which pods cannot resolve names."""
    without_node_port: set[str] = dataclasses.field(default_factory=set)
    """Nodes that accept no connections to NodePorts."""
    outside: set[str] = dataclasses.field(default_factory=lambda: {"registry.k8s.io:443"})
    """What can be reached outside of the cluster."""
    enforcing: set[str] = dataclasses.field(default_factory=set)
    """Operating systems whose nodes enforce network policies."""
    silent: set[str] = dataclasses.field(default_factory=set)
    """Nodes whose containers run, but never end."""
    no_image: set[str] = dataclasses.field(default_factory=set)
    """Nodes that cannot pull images."""
    hiccups: int = 0
    """How many of the next connections fail."""

    def status(self, pod: Object) -> Object:
        """Return the status that a kubelet reports of a pod."""
        node = pod["spec"].get("nodeName") or _bound(pod)
        containers = pod["spec"]["containers"]
        if node in self.no_image:
            waiting = {"reason": "ErrImagePull", "message": f'failed to pull image "{containers[0]["image"]}": 403'}
            states: list[Object] = [{"waiting": waiting}] * len(containers)
            return _status("Pending", "", containers, states)
        address = str((pod.get("status") or {}).get("podIP") or _address(pod))
        states = [self._state(pod, node, container) for container in containers]
        ended = all("terminated" in state for state in states)
        good = all(state.get("terminated", {}).get("exitCode") == 0 for state in states)
        phase = "Running" if not ended else "Succeeded" if good else "Failed"
        return _status(phase, address, containers, states)

    def _state(self, pod: Object, node: str, container: Object) -> Object:
        program, *arguments = container["args"]
        if program == "netexec" or node in self.silent:
            return {"running": {"startedAt": "2026-11-25T12:00:00Z"}}
        assert program == "connect"
        assert re.fullmatch(r"--timeout=\d+s", arguments[0])
        printed = self.connect(node, arguments[1])
        ended = {"startedAt": "2026-11-25T12:00:00Z", "finishedAt": "2026-11-25T12:00:05Z"}
        if not printed:
            return {"terminated": {"exitCode": 0, "reason": "Completed", **ended}}
        # terminationMessagePolicy: FallbackToLogsOnError.
        assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
        return {"terminated": {"exitCode": 1, "reason": "Error", "message": f"{printed}\n", **ended}}

    def connect(self, source: str, address: str) -> str:
        """Return what agnhost prints if a pod on a node connects to HOST:PORT; empty if that succeeds."""
        if self.hiccups:
            self.hiccups -= 1
            return "TIMEOUT"
        host, _colon, port = address.rpartition(":")
        if not re.fullmatch(r"[\d.]+", host):
            if source in self.without_dns:
                return f"DNS: lookup {host}: no such host"
            if address in self.outside:
                return ""
            named = [one for one in self.services() if host == _dns_name(one)]
            if not named:
                return f"DNS: lookup {host}: no such host"
            host = named[0]["spec"]["clusterIP"]
        return self._to_address(source, host, int(port))

    def _to_address(self, source: str, host: str, port: int) -> str:
        for service in self.services():
            ports = service["spec"]["ports"][0]
            entry = next((one["metadata"]["name"] for one in self.nodes() if host in _addresses(one)), "")
            if host == service["spec"]["clusterIP"] and port == ports["port"]:
                return self._to_backend(source, service)
            if entry and port == ports.get("nodePort"):
                if entry in self.without_node_port or (source, entry) in self.broken:
                    return "TIMEOUT"
                # On Windows, a node's own pods cannot reach its NodePorts either.
                return self._to_backend(entry, service) if source != entry else "TIMEOUT"
        target = next((one for one in self.pods() if (one.get("status") or {}).get("podIP") == host), None)
        return self._to_pod(source, target, port) if target else "OTHER: dial tcp: no route to host"

    def _to_backend(self, source: str, service: Object) -> str:
        selector = service["spec"]["selector"].items()
        behind = [one for one in self.pods() if selector <= (one["metadata"].get("labels") or {}).items()]
        return self._to_pod(source, behind[0], service["spec"]["ports"][0]["targetPort"]) if behind else "REFUSED"

    def _to_pod(self, source: str, pod: Object, port: int) -> str:
        node = pod["spec"].get("nodeName") or _bound(pod)
        if (source, node) in self.broken or self._denied(pod, node):
            return "TIMEOUT"
        arguments = pod["spec"]["containers"][0]["args"]
        return "" if arguments == ["netexec", f"--http-port={port}"] else "REFUSED"

    def _denied(self, pod: Object, node: str) -> bool:
        system = next(
            one["metadata"]["labels"]["kubernetes.io/os"] for one in self.nodes() if one["metadata"]["name"] == node
        )
        if system not in self.enforcing:
            return False
        labels = (pod["metadata"].get("labels") or {}).items()
        return any(
            "Ingress" in one["spec"]["policyTypes"]
            and not one["spec"].get("ingress")
            and one["spec"]["podSelector"]["matchLabels"].items() <= labels
            for one in self.policies()
        )


def _bound(pod: Object) -> str:
    """Return the node that a pod is meant for, as the scheduler determines it."""
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (field,) = affinity["nodeSelectorTerms"][0]["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    return str(field["values"][0])


def _address(pod: Object) -> str:
    number = sum(pod["metadata"]["name"].encode()) % 250
    node = sum(_bound(pod).encode()) % 250
    kind = 1 if pod["spec"]["containers"][0]["args"][0] == "netexec" else 2
    return f"10.{243 + kind}.{node}.{number}"


def _addresses(node: Object) -> list[str]:
    return [one["address"] for one in (node.get("status") or {}).get("addresses") or ()]


def _dns_name(service: Object) -> str:
    return f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc.{DOMAIN}"


def _status(phase: str, address: str, containers: list[Object], states: list[Object]) -> Object:
    statuses = [
        {"name": one["name"], "image": one["image"], "imageID": "", "ready": "running" in state, "restartCount": 0,
         "state": state}
        for one, state in zip(containers, states, strict=True)
    ]  # fmt: skip
    found: Object = {"phase": phase, "containerStatuses": statuses}
    return {**found, "podIP": address, "podIPs": [{"ip": address}]} if address else found
