# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A network check, from the creation of its namespace to the removal of the namespace.

All I/O goes through objects that the caller passes.
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
    """The requests of a run; every method raises ApiError if its request fails."""

    def namespaces(self) -> list[dict[str, t.Any]]:
        """Return the namespaces of all network checks."""

    def namespace_exists(self, name: str) -> bool:
        """Return whether a namespace still exists."""

    def create_namespace(self, body: t.Mapping[str, t.Any]) -> None:
        """Create a namespace."""

    def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace."""

    def create_service(self, namespace: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Create a service, and return it."""

    def create_policy(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a network policy."""

    def daemon_set_names(self) -> set[str]:
        """Return the names of all DaemonSets."""


class RunResult(t.NamedTuple):
    """The result of a run."""

    outcomes: list[Outcome]
    namespace: str
    removed: bool
    """Whether the namespace is gone."""


def dry_run(nodes: Participants, settings: Settings) -> list[Outcome]:
    """Return the outcomes in check mode: the known ones, and NOT_RUN for each check that a run would perform."""
    planned = plan(nodes, settings.outbound_url, from_controller=settings.from_controller)
    checks = [*planned.checks, *policy_plan(planned.checks, settings)]
    return [*planned.outcomes, *(Outcome(check, NOT_RUN, "this is a run in check mode") for check in checks)]


def run(
    api: RunApi, nodes: Participants, settings: Settings, tools: Tools, *, token: str, mark: leftovers.RunMark
) -> RunResult:
    """Perform a run's checks in a new namespace, and remove this namespace even if the run fails.

    Args:
        api: the requests.
        nodes: the nodes that take part.
        settings: the settings.
        tools: clock and connections.
        token: a random string for the namespace's name.
        mark: the mark of the namespace.

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
    """Perform the checks. If a request fails permanently, record all checks without an outcome as not run."""
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
    """Delete namespaces, and wait until they are gone.

    Args:
        api: the requests.
        names: the namespaces.
        seconds: how long to wait.
        tools: the clock.

    Returns:
        The namespaces that still exist, or whose state is unknown because the API server does not respond.
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
    """Return the namespaces that ended runs have left behind, and the namespaces of all other runs.

    Args:
        api: the requests.
        machine: the name of this machine.
        now: the current time in seconds since 1970.
        runs: returns whether a process of this machine is still running.

    Raises:
        ApiError: a request failed.
    """
    ended: list[str] = []
    others: list[str] = []
    for namespace in api.namespaces():
        group = ended if leftovers.is_interrupted(namespace, machine, now, runs) else others
        group.append(str(namespace["metadata"]["name"]))
    return ended, others
