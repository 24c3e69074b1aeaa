# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module preflight_report: see plugins/modules/preflight_report.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.reports import cluster_findings, problems
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Prints the problems that preflight or cluster_check found for the hosts of the play. Contacts no node.

    A problem that several hosts share is printed once.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "results_var": {"type": "str", "required": True},
        "findings": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Print the problems, and fail if there are any."""
        results = registered(variables, options["results_var"])
        by_host = {host: list((result or {}).get("problems") or ()) for host, result in results.items()}
        if options["findings"]:
            for line in cluster_findings.table(cluster_findings.shared(results), len(results)):
                show(line)
        for line in problems.lines(by_host):
            show(line)
        if any(by_host.values()):
            return {"changed": False, "failed": True, "msg": problems.summary(by_host)}
        return {"changed": False}
