# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module patch_report: see plugins/modules/patch_report.yml."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils import documents, patch_rollout
from ..plugin_utils._link import plain


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Writes what came of a rollout on all hosts of the play; no node is contacted."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        names = {"notes": "node_maintenance_state", "result": "windows_patches_result"}
        dummy, options = self.validate_argument_spec(
            {"path": {"type": "path", "required": True}}
            | {name: {"type": "str", "default": default} for name, default in names.items()}
        )
        variables = task_vars or {}
        hostvars = variables["hostvars"]
        nodes = {
            host: patch_rollout.node_entry(*(plain(hostvars[host].get(options[name])) for name in names))
            for host in variables["ansible_play_hosts_all"]
        }
        counts = patch_rollout.counts(nodes)
        for line in patch_rollout.table(nodes):
            Display().display(line)
        Display().display(", ".join(f"{count} {status}" for status, count in counts.items() if count))
        if counts["not_started"] and counts["failed"] and not self._task.check_mode:
            Display().display("The rollout stopped: more nodes failed than node_maintenance_max_failed allows.")
        path = pathlib.Path(options["path"])
        documents.write_json(path, {"nodes": nodes})
        result.update(changed=False, nodes=nodes, path=str(path), counts=counts)
        return result
