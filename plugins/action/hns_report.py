# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module hns_report: see plugins/modules/hns_report.yml."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils import hns_report
from ..plugin_utils._link import plain


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Prints one table of what hns_info found on all hosts of the play; no node is contacted."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec(
            {"register": {"type": "str", "required": True}, "summary": {"type": "bool", "default": False}}
        )
        variables = task_vars or {}
        hostvars = variables["hostvars"]
        nodes: dict[str, t.Mapping[str, t.Any] | None] = {}
        rows: list[hns_report.Row] = []
        for host in variables["ansible_play_hosts_all"]:
            known = plain(hostvars[host].get(options["register"])) or {}
            facts = known.get("hns")
            nodes[host] = facts
            message = str(known.get("msg") or "an earlier step failed; see the run's output")
            rows += hns_report.rows(host, facts, message=message, summary=options["summary"])
        lines = hns_report.table(rows)
        for line in lines:
            Display().display(line)
        result.update(changed=False, table=lines, **hns_report.counts(nodes))
        return result
