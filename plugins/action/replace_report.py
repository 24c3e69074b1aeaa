# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module replace_report: see plugins/modules/replace_report.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.actions.rollout_report import publish
from ..plugin_utils.reports import replace
from ..plugin_utils.values.ansible_data import plain
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Shows which nodes of the play will be replaced, or the results of replacing them. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "stage": {"type": "str", "choices": ["plan", "result"], "default": "result"},
        "path": {"type": "path"},
    }
    MORE: t.ClassVar[t.Mapping[str, t.Any]] = {"required_if": [("stage", "result", ("path",))]}

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        plans = {host: plan or {} for host, plan in registered(variables, "node_replace_planned").items()}
        records = {host: one or {} for host, one in registered(variables, "node_maintenance_state").items()}
        if options["stage"] == "plan":
            problems = {host: str(one.get("message") or "") for host, one in records.items()}
            for line in replace.plan_table(plans, problems):
                show(line)
            return {"changed": False, "plans": plans}
        new = {str(plan.get("new")) for plan in plans.values()}
        nodes = {
            host: replace.node_entry(_results(variables, plans[host], records[host]), check_mode=self._task.check_mode)
            for host in plans
            # The new machines may be hosts of this play, too.
            if host not in new
        }
        changes = replace.inventory(nodes)
        lines = [*replace.table(nodes), *replace.inventory_lines(changes)]
        return {**publish(nodes, lines, replace.STATUSES, options["path"]), "inventory": changes}


def _results(
    variables: t.Mapping[str, t.Any], plan: t.Mapping[str, t.Any], record: t.Mapping[str, t.Any]
) -> replace.ReplacementResults:
    known = variables["hostvars"]
    new = str(plan.get("new") or "")
    variables_of_new = known[new] if new and new in known else {}
    new_record = plain(variables_of_new.get("node_maintenance_state") or {})
    is_created = bool(new_record) and new_record.get("stage") != "waiting"
    address = str(variables_of_new.get("ansible_host") or "") if is_created else ""
    return replace.ReplacementResults(plan=plan, record=record, new_record=new_record, address=address)
