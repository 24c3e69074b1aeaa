# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module logs_index: see plugins/modules/logs_index.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ansible.plugins.action import ActionBase

from ..plugin_utils import documents, logs_page
from ..plugin_utils._link import plain


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Writes the index page of logs of all hosts of the play; no node is contacted."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec(
            {
                "directory": {"type": "path", "required": True},
                "register": {"type": "str", "required": True},
                "since": {"type": "str", "default": ""},
            }
        )
        variables = task_vars or {}
        hostvars = variables["hostvars"]
        directory = pathlib.Path(options["directory"])
        nodes = [
            logs_page.entry(host, plain(hostvars[host].get(options["register"])), str(directory))
            for host in variables["ansible_play_hosts_all"]
        ]
        path = directory / "index.html"
        if not self._task.check_mode:
            now = datetime.datetime.now(datetime.UTC)
            written = f"Collected {now:%Y-%m-%d %H:%M} UTC"
            documents.write_text(path, logs_page.page(nodes, written=written, since=options["since"]))
        counts = {
            status: sum(1 for node in nodes if node["status"] == status)
            for status in ("complete", "partial", "failed", "unreachable", "skipped")
        }
        # As keys of the result, `failed` and `unreachable` would be Ansible's own.
        result.update(changed=not self._task.check_mode, path=str(path), nodes=nodes, counts=counts)
        return result
