# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether a NetworkPolicy blocks connections that work without it. This is the last stage of a run.

The caller passes the objects that do I/O.
"""

from __future__ import annotations

import typing as t

from . import objects
from .connections import Connections, Settings
from .nodes import LINUX, WINDOWS
from .plan import FAILED, NETWORK_POLICY, NOT_APPLICABLE, NOT_RUN, PASSED, POD_TO_POD, Check, Outcome, policy_checks
from .policy_engines import missing_engine

AUTO, EXPECTED, SKIP = "auto", "expected", "skip"
MODES = (AUTO, EXPECTED, SKIP)


class PolicyApi(t.Protocol):
    """The API requests that `PolicyStage` needs. Every method raises ApiError if its request fails."""

    def create_policy(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a NetworkPolicy."""

    def daemon_set_names(self) -> set[str]:
        """Return the names of the DaemonSets in all namespaces."""


def policy_plan(checks: t.Iterable[Check], settings: Settings) -> list[Check]:
    """Return the checks of the NetworkPolicy, or an empty list if these checks are disabled."""
    return [] if settings.policy == SKIP else policy_checks(checks)


class PolicyStage:
    """Checks whether a NetworkPolicy blocks connections.

    Args:
        connections: opens the connections, and contains the outcomes of all other checks.
        checks: all other checks of the run.
        settings: the settings of the network check.
    """

    def __init__(self, connections: Connections, checks: t.Sequence[Check], settings: Settings) -> None:
        self._connections, self._settings = connections, settings
        self._checks = policy_plan(checks, settings)
        self._without: list[Outcome] = []
        if settings.policy == SKIP:
            why = "checks of network policies are disabled"
            self._without.append(Outcome(Check(NETWORK_POLICY, "", ""), NOT_APPLICABLE, why))

    def perform(self, api: PolicyApi, namespace: str) -> None:
        """If any of the planned connections work, create the NetworkPolicy, and check whether it blocks them.

        Args:
            api: sends the API requests.
            namespace: the namespace that the run created.

        Raises:
            ApiError: a request failed permanently.
        """
        if self._settings.policy == AUTO and self._checks:
            self._leave_out_unenforced(api.daemon_set_names())
        working = [check for check in self._checks if self._works_without(check)]
        if working:
            api.create_policy(namespace, objects.deny_policy("deny-all"))
            self._connections.perform(working, blocked=True)
            self._distrust(self._connections.lost_servers())

    def outcomes(self, failure: str) -> list[Outcome]:
        """Return the outcomes of the checks of the NetworkPolicy.

        Args:
            failure: why the run ended early, or an empty string if it did not.
        """
        known = self._connections.outcomes
        reason = failure or "the run ended before this check"
        return [*(known.get(check) or Outcome(check, NOT_RUN, reason) for check in self._checks), *self._without]

    def _distrust(self, lost: t.Container[str]) -> None:
        """Change the status of passed checks to NOT_RUN if their server pod has stopped.

        A connection to a stopped pod fails even if no NetworkPolicy blocks it.

        Args:
            lost: names of the nodes whose server pod has stopped.
        """
        for check in self._checks:
            known = self._connections.outcomes.get(check)
            if check.target in lost and known is not None and known.status == PASSED:
                why = f"the server pod on {check.target} stopped during the check"
                self._connections.outcomes[check] = known._replace(status=NOT_RUN, detail=why)

    def _leave_out_unenforced(self, daemon_sets: t.Collection[str]) -> None:
        for system in (WINDOWS, LINUX):
            why = missing_engine(system, daemon_sets)
            if why and any(check.target_os == system for check in self._checks):
                self._checks = [check for check in self._checks if check.target_os != system]
                self._without.append(Outcome(Check(NETWORK_POLICY, "", "", "", "", system), NOT_APPLICABLE, why))

    def _works_without(self, check: Check) -> bool:
        """Return whether a connection works without the NetworkPolicy. If it does not, record the check as NOT_RUN."""
        before = self._connections.outcomes[check._replace(kind=POD_TO_POD)]
        if before.status not in (FAILED, NOT_RUN):
            return True
        state = "fails" if before.status == FAILED else "could not be checked"
        why = f"the same connection without a network policy {state}"
        self._connections.outcomes[check] = Outcome(check, NOT_RUN, why, before.address)
        return False
