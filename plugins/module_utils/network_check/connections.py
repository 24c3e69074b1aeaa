# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create server pods and Services, and open connections to test them. The caller passes the objects that do I/O."""

from __future__ import annotations

import concurrent.futures
import typing as t

from ..api_error import ApiError
from . import objects
from .nodes import CheckedNode, Participants
from .outcome import Answer, answers, is_running, server_address
from .plan import (
    CONTROLLER,
    FAILED,
    NODE_PORT,
    NOT_RUN,
    OUTBOUND,
    PASSED,
    SERVICE_DNS,
    SERVICE_IP,
    Check,
    Outcome,
    host_and_port,
)
from .pool import Pod, PodApi, Pool, PoolLimits

PROBES_PER_POD = 4
"""How many connections one pod opens at the same time, each from its own container. On Windows, each container needs
about 50 MB of memory."""


class Settings(t.NamedTuple):
    """The settings of a network check."""

    images: objects.Images
    dns_domain: str
    outbound_url: str = ""
    policy: str = "auto"
    from_controller: bool = False
    parallel: int = 50
    attempts: int = 3
    connect_timeout: int = 5
    result_timeout: int = 60
    pod_timeout: int = 600
    timeout: int = 3600
    cleanup_timeout: int = 300
    retry_delay: float = 5.0
    poll: float = 1.0


class ServerPod(t.NamedTuple):
    """The address of a node's server pod, or the reason why the pod has no address."""

    address: str
    problem: str = ""


class ServiceAddress(t.NamedTuple):
    """The name and addresses of the Service for a server pod, or the reason why the Service could not be created."""

    name: str = ""
    address: str = ""
    node_port: int = 0
    problem: str = ""


class Tools(t.NamedTuple):
    """The functions with which a run reads the clock, sleeps, and opens connections from this machine."""

    clock: t.Callable[[], float]
    """Returns the time of a monotonic clock, in seconds."""
    sleep: t.Callable[[float], None]
    connect: t.Callable[[str, int, float], str]
    """Opens a TCP connection from this machine. Returns why this failed, or an empty string if it succeeded."""


class ServiceApi(PodApi, t.Protocol):
    """The API requests that `Connections` needs. Every method raises ApiError if its request fails."""

    def create_service(self, namespace: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Create a Service, and return it with the addresses and ports that the API server assigned."""


class Connections:
    """Opens the connections of a run, and records the outcome of each check.

    Args:
        api: sends the API requests.
        namespace: the namespace that the run created.
        nodes: the nodes that take part.
        settings: the settings of the network check.
        tools: the clock of this machine, and the function that opens connections from it.
    """

    def __init__(self, api: ServiceApi, namespace: str, nodes: Participants, settings: Settings, tools: Tools) -> None:
        self._api, self._namespace, self._settings, self._tools = api, namespace, settings, tools
        self._nodes = {node.name: node for node in (*nodes.windows, *nodes.linux)}
        self._end = tools.clock() + settings.timeout
        self._servers: dict[str, ServerPod] = {}
        self._services: dict[str, ServiceAddress] = {}
        self._pods = 0
        self.outcomes: dict[Check, Outcome] = {}

    def prepare(self, backends: t.Sequence[CheckedNode]) -> None:
        """Start a server pod on each node, and create a Service for each of the pods that need one.

        Args:
            backends: the nodes whose server pods need a Service.

        Raises:
            ApiError: a request failed permanently.
        """
        names = {f"server-{number}": node for number, node in enumerate(self._nodes.values())}
        pods = [objects.server_pod(name, node, self._settings.images) for name, node in names.items()]
        servers: dict[str, ServerPod] = self._pool("server").run(pods, _ServerReader(), keep=True)
        self._servers = {node.name: servers[name] for name, node in names.items()}
        for name, node in names.items():
            if node in backends:
                self._services[node.name] = self._create_service(f"service-{name.rpartition('-')[2]}", name)

    def perform(self, checks: t.Sequence[Check], *, blocked: bool = False) -> None:
        """Perform checks, and record their outcomes. Checks that fail are repeated.

        Args:
            checks: the checks.
            blocked: whether the connections are expected to fail.

        Raises:
            ApiError: a request failed permanently.
        """
        remaining = list(checks)
        for attempt in range(1, self._settings.attempts + 1):
            for check, (address, answer) in self._round(remaining).items():
                self.outcomes[check] = _outcome(check, address, answer, attempt, blocked)
            remaining = [check for check in remaining if self.outcomes[check].status == FAILED]
            if not remaining or self._tools.clock() >= self._end:
                break
            if attempt < self._settings.attempts:
                self._tools.sleep(self._settings.retry_delay)

    def lost_servers(self) -> set[str]:
        """Return the names of the nodes whose server pod is no longer running at its previous address.

        Raises:
            ApiError: the request failed.
        """
        addresses = {server_address(pod) for pod in self._api.pods(self._namespace, "server")}
        return {name for name, server in self._servers.items() if server.address not in addresses}

    def _create_service(self, name: str, pod: str) -> ServiceAddress:
        try:
            created = self._api.create_service(self._namespace, objects.service(name, pod))
        except ApiError as error:
            return ServiceAddress(problem=f"the service cannot be created: {error}")
        port = next((one.get("nodePort") for one in created["spec"]["ports"]), None)
        return ServiceAddress(name, str(created["spec"]["clusterIP"]), port if isinstance(port, int) else 0)

    def _pool(self, role: str) -> Pool[t.Any]:
        limits = PoolLimits(self._settings.parallel, self._settings.pod_timeout, self._end, self._settings.poll)
        return Pool(self._api, self._namespace, role, limits, self._tools.clock, self._tools.sleep)

    def _round(self, checks: t.Iterable[Check]) -> dict[Check, tuple[str, Answer]]:
        """Open the connection of each check once, and return the destination and the result of each check."""
        results: dict[Check, tuple[str, Answer]] = {}
        by_source: dict[str, list[tuple[Check, objects.Probe]]] = {}
        for check in checks:
            host, port, problem = self._destination(check)
            if problem:
                results[check] = ("", Answer(None, problem))
                continue
            probes = by_source.setdefault(check.source, [])
            name = f"probe-{len(probes)}"
            probes.append((check, objects.Probe(name, host, port, self._settings.connect_timeout)))
        own = by_source.pop(CONTROLLER, [])
        results.update(self._from_pods(by_source))
        results.update(self._from_controller(own))
        return results

    def _from_pods(
        self, by_source: t.Mapping[str, t.Sequence[tuple[Check, objects.Probe]]]
    ) -> dict[Check, tuple[str, Answer]]:
        pods: dict[str, t.Sequence[tuple[Check, objects.Probe]]] = {}
        bodies = []
        for source, probes in by_source.items():
            for first in range(0, len(probes), PROBES_PER_POD):
                part = probes[first : first + PROBES_PER_POD]
                name = f"probe-{self._pods}"
                self._pods += 1
                pods[name] = part
                each = [probe for dummy, probe in part]
                bodies.append(objects.probe_pod(name, self._nodes[source], each, self._settings.images))
        reader = _ProbeReader(self._settings, self._tools.clock)
        answered: dict[str, dict[str, Answer]] = self._pool("probe").run(bodies, reader, keep=False)
        missing = Answer(None, "the pod's status contains no result of this probe")
        return {
            check: (probe.address, answered[name].get(probe.name) or answered[name].get("") or missing)
            for name, part in pods.items()
            for check, probe in part
        }

    def _from_controller(self, probes: t.Sequence[tuple[Check, objects.Probe]]) -> dict[Check, tuple[str, Answer]]:
        def connect(probe: objects.Probe) -> Answer:
            why = self._tools.connect(probe.host, probe.port, float(probe.seconds))
            return Answer(not why, why)

        if not probes:
            return {}
        with concurrent.futures.ThreadPoolExecutor(self._settings.parallel) as pool:
            connected = list(pool.map(connect, [probe for dummy, probe in probes]))
        return {check: (probe.address, answer) for (check, probe), answer in zip(probes, connected)}  # noqa: B905

    def _destination(self, check: Check) -> tuple[str, int, str]:
        """Return a check's destination (host, port), and why the check cannot run, or an empty string if it can."""
        if check.kind == OUTBOUND:
            return (*host_and_port(check.target), "")
        server = self._servers[check.server]
        if server.problem:
            return "", 0, f"the server pod on {check.server} is not running: {server.problem}"
        if check.kind not in (SERVICE_IP, SERVICE_DNS, NODE_PORT):
            return server.address, objects.SERVER_PORT, ""
        service = self._services[check.server]
        if service.problem:
            return "", 0, service.problem
        if check.kind == NODE_PORT:
            problem = "" if service.node_port else "the API server assigned no NodePort to the service"
            return self._nodes[check.target].address, service.node_port, problem
        name = f"{service.name}.{self._namespace}.svc.{self._settings.dns_domain}"
        return service.address if check.kind == SERVICE_IP else name, objects.SERVER_PORT, ""


def _outcome(check: Check, address: str, answer: Answer, attempt: int, blocked: bool) -> Outcome:
    if answer.connected is None:
        return Outcome(check, NOT_RUN, answer.detail, address, attempt)
    if not blocked:
        return Outcome(check, PASSED if answer.connected else FAILED, answer.detail, address, attempt)
    if answer.connected:
        return Outcome(check, FAILED, "expected the network policy to block the connection", address, attempt)
    return Outcome(check, PASSED, f"blocked: {answer.detail}", address, attempt)


class _ServerReader:
    """Reads the addresses of server pods, for the pool that runs these pods."""

    def read(self, pod: Pod) -> ServerPod | None:
        """Return the address of a server pod, or None if its server is not running yet."""
        address = server_address(pod)
        return ServerPod(address) if address else None

    def give_up(self, pod: Pod | None, why: str) -> ServerPod:  # noqa: ARG002 - the protocol names it
        """Return a result that contains the reason why a server pod is not running, instead of its address."""
        return ServerPod("", why)


class _ProbeReader:
    """Reads the results of the probes in a pod, for the pool that runs these pods.

    The results are mappings from the name of each probe's container to its result. The key "" contains the result of
    all probes that the mapping does not name.
    """

    def __init__(self, settings: Settings, clock: t.Callable[[], float]) -> None:
        self._settings, self._clock = settings, clock
        self._running: dict[str, float] = {}

    def read(self, pod: Pod) -> dict[str, Answer] | None:
        """Return the results of a pod's probes, or None if a probe may still report a result."""
        answered = answers(pod, self._settings.connect_timeout)
        if len(answered) == len(pod["spec"].get("containers") or ()):
            return answered
        if not is_running(pod):
            return None
        limit = self._settings.connect_timeout + self._settings.result_timeout
        since = self._running.setdefault(pod["metadata"]["name"], self._clock())
        if self._clock() - since <= limit:
            return None
        return self.give_up(pod, f"the probe started, but reported no result within {limit} seconds")

    def give_up(self, pod: Pod | None, why: str) -> dict[str, Answer]:
        """Return the results so far, and the reason why the remaining probes have no result."""
        answered = answers(pod, self._settings.connect_timeout) if pod is not None else {}
        return {**answered, "": Answer(None, why)}
