# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module network_report: see plugins/modules/network_report.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.reports import files, network
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Prints the results of network_check, and writes them to two files. Contacts neither a node nor the cluster."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "result": {"type": "dict", "required": True},
        "path": {"type": "path", "required": True},
        "page": {"type": "path", "required": True},
        "summary": {"type": "bool", "default": False},
        "allow_not_run": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        result, accepted = options["result"], options["allow_not_run"]
        if "results" not in result:
            raise ResourceError("result", result, "expected the registered result of network_check")
        lines = network.table(result["results"], summary=options["summary"])
        total = network.totals(result)
        why = network.problem(result, allow_not_run=accepted)
        for line in (*lines, "", *total, *([f"The pod network has not passed: {why}"] if why else [])):
            show(line)
        if not self._task.check_mode:
            now = datetime.datetime.now(datetime.UTC)
            data = network.document(result, time=f"{now:%Y-%m-%dT%H:%M:%SZ}", allow_not_run=accepted)
            files.write_result("path", options["path"], data)
            html = network.page(result, written=f"Checked {now:%Y-%m-%d %H:%M} UTC", allow_not_run=accepted)
            files.write_result("page", options["page"], html)
        return {
            "changed": False,
            "table": lines,
            "total": total,
            "problem": why,
            "counts": network.counts(result["results"]),
            "path": options["path"],
            "page": options["page"],
        }
