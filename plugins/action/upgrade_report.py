# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module upgrade_report: see plugins/modules/upgrade_report.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.actions.rollout_report import publish
from ..plugin_utils.reports import upgrade
from ..plugin_utils.values.terminal import show

_RESULTS = {
    "plan": "node_upgrade_planned",
    "record": "node_maintenance_state",
    "staged": "node_upgrade_staged",
    "converged": "node_upgrade_converged",
    "patches": "windows_patches_result",
}
"""The variables with registered results and facts that the report reads."""


class ActionModule(ControllerAction):
    """Shows the plan or the results of an upgrade for all hosts of the play. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "stage": {"type": "str", "choices": ["plan", "result"], "default": "result"},
        "path": {"type": "path"},
    }
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {"required_if": [("stage", "result", ("path",))]}

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if options["stage"] == "plan":
            plans = {host: plan or {} for host, plan in registered(variables, _RESULTS["plan"]).items()}
            for line in upgrade.plan_table(plans):
                show(line)
            return {"changed": False, "plans": plans}
        results = {field: registered(variables, name) for field, name in _RESULTS.items()}
        nodes = {
            host: upgrade.node_entry(
                upgrade.HostResults(
                    plan=results["plan"][host],
                    **{field: of_hosts[host] or {} for field, of_hosts in results.items() if field != "plan"},
                ),
                check_mode=self._task.check_mode,
            )
            for host in results["record"]
        }
        return publish(nodes, upgrade.table(nodes), upgrade.STATUSES, options["path"])
