# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module hns_report: see plugins/modules/hns_report.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.reports import hns
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Prints one table of the results of hns_info for all hosts of the play. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "results_var": {"type": "str", "required": True},
        "summary": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        nodes: dict[str, t.Mapping[str, t.Any] | None] = {}
        rows: list[hns.Row] = []
        for host, result in registered(variables, options["results_var"]).items():
            known = result or {}
            facts = known.get("hns")
            nodes[host] = facts
            message = str(known.get("msg") or "an earlier step failed; see the run's output")
            rows += hns.rows(host, facts, message=message, summary=options["summary"])
        lines = hns.table(rows)
        total = hns.totals(nodes)
        for line in (*lines, "", total):
            show(line)
        return {"changed": False, "table": lines, "total": total, **hns.counts(nodes)}
