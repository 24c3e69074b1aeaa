# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module drift_report: see plugins/modules/drift_report.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..plugin_utils import documents, drift
from ..plugin_utils._controller_action import ControllerAction, registered
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Writes what a drift check found on all hosts of the play; no node is contacted."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "path": {"type": "path", "required": True},
        "register": {"type": "str", "required": True},
        "before": {"type": "list", "elements": "str", "default": []},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        before = [registered(variables, name) for name in options["before"]]
        nodes = {
            host: drift.node_entry(found, [step[host] for step in before])
            for host, found in registered(variables, options["register"]).items()
        }
        for line in drift.table(nodes):
            show(line)
        path = pathlib.Path(options["path"])
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        documents.write_json(path, {"time": now, "nodes": nodes})
        counts = {
            status: sum(1 for entry in nodes.values() if entry["status"] == status)
            for status in ("in_sync", "drift", "error")
        }
        return {"changed": False, "nodes": nodes, "path": str(path), **counts}
