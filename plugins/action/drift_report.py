# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module drift_report: see plugins/modules/drift_report.yml."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils import documents, drift
from ..plugin_utils._link import plain


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Writes what a drift check found on all hosts of the play; no node is contacted."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec(
            {"path": {"type": "path", "required": True}, "register": {"type": "str", "required": True}}
        )
        variables = task_vars or {}
        hostvars = variables["hostvars"]
        nodes = {
            host: drift.node_entry(plain(hostvars[host].get(options["register"])))
            for host in variables["ansible_play_hosts_all"]
        }
        for line in drift.table(nodes):
            Display().display(line)
        path = pathlib.Path(options["path"])
        documents.write_json(path, {"nodes": nodes})
        counts = {
            status: sum(1 for entry in nodes.values() if entry["status"] == status)
            for status in ("in_sync", "drift", "error")
        }
        result.update(changed=False, nodes=nodes, path=str(path), **counts)
        return result
