# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Call services through their NodePorts on Windows nodes. All I/O goes through objects that the caller passes."""

from __future__ import annotations

import typing as t

from .api_error import ApiError

Object = dict[str, t.Any]


class ServiceCall(t.NamedTuple):
    """One HTTP request to a service through a node, or the reason why the service could not be called."""

    service: str
    node: str
    """Name of the node, or an empty string if the service could not be called."""
    url: str
    """Requested URL, or an empty string if the service could not be called."""
    problem: str
    """Why the call failed, or an empty string if it succeeded."""


class CallsApi(t.Protocol):
    """The interface for requests to the cluster. Every method raises ApiError if its request fails."""

    def nodes(self) -> list[Object]:
        """Return all nodes."""

    def service(self, name: str) -> Object | None:
        """Return a service by its name, or None if it does not exist."""

    def deployment(self, name: str) -> Object | None:
        """Return a Deployment by its name, or None if it does not exist."""


class CallTools(t.NamedTuple):
    """The clock and the HTTP client."""

    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]
    get: t.Callable[[str], str]
    """Requests a URL, and returns why the request failed, or an empty string if the response has the status 200."""


def windows_addresses(nodes: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, str]:
    """Return the internal addresses of the Windows nodes that are Ready, by node name.

    Args:
        nodes: nodes as the API returns them.
    """
    addresses_by_node = {}
    for node in nodes:
        labels, status = node["metadata"].get("labels") or {}, node.get("status") or {}
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
        addresses = [one["address"] for one in status.get("addresses") or () if one["type"] == "InternalIP"]
        if labels.get("kubernetes.io/os") == "windows" and ready and addresses:
            addresses_by_node[str(node["metadata"]["name"])] = str(addresses[0])
    return addresses_by_node


def call_all(api: CallsApi, services: t.Iterable[str], tools: CallTools) -> list[ServiceCall]:
    """Call each service once through each Windows node that is Ready. A service that is not ready is not called.

    Args:
        api: the requests to the cluster.
        services: names of services. The Deployment of a service has the same name.
        tools: the HTTP client.

    Returns:
        One entry for each call, and one entry with the reason for each service that could not be called.

    Raises:
        ApiError: a request to the cluster failed.
    """
    addresses = windows_addresses(api.nodes())
    calls: list[ServiceCall] = []
    for name in services:
        why, port = _state(api, name)
        if not why and not addresses:
            why = "the cluster has no Windows node that is Ready"
        if why:
            calls.append(ServiceCall(name, "", "", why))
            continue
        for node, address in addresses.items():
            host = f"[{address}]" if ":" in address else address
            url = f"http://{host}:{port}/"
            calls.append(ServiceCall(name, node, url, tools.get(url)))
    return calls


def _state(api: CallsApi, name: str) -> tuple[str, int]:
    """Return two values: why a service cannot be called yet (empty if it can be called), and its NodePort (or 0)."""
    deployment, service = api.deployment(name), api.service(name)
    if deployment is None or service is None:
        return f"the namespace has no {'Deployment' if deployment is None else 'Service'} of this name", 0
    expected = int((deployment.get("spec") or {}).get("replicas") or 1)
    available = int((deployment.get("status") or {}).get("availableReplicas") or 0)
    if available < expected:
        return f"expected {expected} available pods, got {available}", 0
    ports = [one.get("nodePort") for one in service["spec"].get("ports") or ()]
    return ("", int(ports[0])) if ports and ports[0] else ("the service has no NodePort", 0)


def wait_for_calls(api: CallsApi, services: t.Sequence[str], seconds: float, tools: CallTools) -> list[ServiceCall]:
    """Call services until all calls succeed or the time is up.

    Args:
        api: the requests to the cluster.
        services: names of services.
        seconds: how long to wait.
        tools: clock and HTTP client.

    Returns:
        The result of the last attempt; see `call_all`.

    Raises:
        ApiError: a request to the cluster failed permanently, or failed when the time was up.
    """
    end = tools.clock() + seconds
    while True:
        try:
            calls = call_all(api, services, tools)
            if not any(one.problem for one in calls) or tools.clock() >= end:
                return calls
        except ApiError as error:
            if not error.is_temporary or tools.clock() >= end:
                raise
        tools.sleep(2.0)
