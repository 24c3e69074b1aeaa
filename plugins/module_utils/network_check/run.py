# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run a check of the pod network: create a namespace, perform all checks in it, and delete the namespace.

The caller passes the objects that do I/O.
"""

from __future__ import annotations

import typing as t

from ..api_error import ApiError
from . import leftovers, objects
from .connections import Connections, Settings, Tools
from .nodes import Participants
from .plan import NOT_RUN, CheckPlan, Outcome, plan
from .policies import PolicyStage, policy_plan
from .pool import PodApi

PREFIX = "winkube-network-check"
_POLL = 1.0


class RunApi(PodApi, t.Protocol):
    """The API requests of a network check. Every method raises ApiError if its request fails."""

    def namespaces(self) -> list[dict[str, t.Any]]:
        """Return the namespaces that this run and earlier runs of the network check have created."""

    def namespace_exists(self, name: str) -> bool:
        """Return whether a namespace exists. A namespace that is being deleted still exists."""

    def create_namespace(self, body: t.Mapping[str, t.Any]) -> None:
        """Create a namespace."""

    def delete_namespace(self, name: str) -> None:
        """Ask the API server to delete a namespace with its content."""

    def create_service(self, namespace: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Create a Service, and return it with the addresses and ports that the API server assigned."""

    def create_policy(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a NetworkPolicy."""

    def daemon_set_names(self) -> set[str]:
        """Return the names of the DaemonSets in all namespaces."""


class RunResult(t.NamedTuple):
    """The result of a run of the network check."""

    outcomes: list[Outcome]
    namespace: str
    removed: bool
    """Whether the run has deleted its namespace completely."""


def dry_run(nodes: Participants, settings: Settings) -> list[Outcome]:
    """Return the outcomes that check mode reports, without contacting the cluster.

    Each check that a run would open a connection for has the status NOT_RUN.
    """
    planned = plan(nodes, settings.outbound_url, from_controller=settings.from_controller)
    checks = [*planned.checks, *policy_plan(planned.checks, settings)]
    return [*planned.outcomes, *(Outcome(check, NOT_RUN, "this is a run in check mode") for check in checks)]


def run(
    api: RunApi, nodes: Participants, settings: Settings, tools: Tools, *, token: str, mark: leftovers.RunMark
) -> RunResult:
    """Perform all checks in a new namespace, and delete this namespace even if the run fails.

    Args:
        api: sends the API requests.
        nodes: the nodes that take part.
        settings: the settings of the network check.
        tools: the clock of this machine, and the function that opens connections from it.
        token: a random string, which the name of the namespace contains.
        mark: identifies the run in an annotation of the namespace.

    Raises:
        ApiError: the namespace could not be created.
    """
    planned = plan(nodes, settings.outbound_url, from_controller=settings.from_controller)
    namespace = f"{PREFIX}-{token}"
    removed = False
    try:
        api.create_namespace(objects.namespace(namespace, str(mark)))
        outcomes = _outcomes(api, nodes, planned, settings, tools, namespace)
    finally:
        removed = remove_namespaces(api, [namespace], settings.cleanup_timeout, tools) == []
    return RunResult([*planned.outcomes, *outcomes], namespace, removed)


def _outcomes(
    api: RunApi, nodes: Participants, planned: CheckPlan, settings: Settings, tools: Tools, namespace: str
) -> list[Outcome]:
    """Perform the checks, and return their outcomes.

    If a request fails permanently, the checks that have no outcome yet get the status NOT_RUN.
    """
    connections = Connections(api, namespace, nodes, settings, tools)
    policies = PolicyStage(connections, planned.checks, settings)
    failure = ""
    try:
        connections.prepare(planned.backends)
        connections.perform(planned.checks)
        policies.perform(api, namespace)
    except ApiError as error:
        failure = f"a request to the API server failed: {error}"
    outcomes = [connections.outcomes.get(check) or Outcome(check, NOT_RUN, failure) for check in planned.checks]
    return [*outcomes, *policies.outcomes(failure)]


def remove_namespaces(api: RunApi, names: t.Sequence[str], seconds: float, tools: Tools) -> list[str]:
    """Delete namespaces, and wait until they no longer exist.

    Args:
        api: sends the API requests.
        names: names of the namespaces.
        seconds: maximum time to wait.
        tools: the clock of this machine.

    Returns:
        The names of the namespaces that may still exist, because the time is up or the API server does not respond.
    """
    end = tools.clock() + seconds
    left, requested = list(names), set()
    while left:
        for name in list(left):
            try:
                if name not in requested:
                    api.delete_namespace(name)
                    requested.add(name)
                if not api.namespace_exists(name):
                    left.remove(name)
            except ApiError:
                # The API server may be unavailable for a moment. The time limit ends the loop.
                continue
        if not left or tools.clock() >= end:
            break
        tools.sleep(_POLL)
    return left


def interrupted(api: RunApi, machine: str, now: float, runs: t.Callable[[int], bool]) -> tuple[list[str], list[str]]:
    """Return the namespaces of runs that ended without deleting them, and the namespaces of runs in progress.

    Args:
        api: sends the API requests.
        machine: the name of this machine, as it is recorded in namespaces.
        now: the current time in seconds since 1970.
        runs: returns whether a process with a given ID is running on this machine.

    Raises:
        ApiError: a request failed.
    """
    ended: list[str] = []
    others: list[str] = []
    for namespace in api.namespaces():
        group = ended if leftovers.is_interrupted(namespace, machine, now, runs) else others
        group.append(str(namespace["metadata"]["name"]))
    return ended, others
