# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module logs_index: see plugins/modules/logs_index.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.logs import page
from ..plugin_utils.reports import files
from ..plugin_utils.values.errors import ResourceError


class ActionModule(ControllerAction):
    """Writes an index page for the logs of all hosts in the play. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "directory": {"type": "path", "required": True},
        "results_var": {"type": "str", "required": True},
        "since": {"type": "str", "default": ""},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        directory = pathlib.Path(options["directory"])
        nodes = [
            page.entry(host, result, str(directory))
            for host, result in registered(variables, options["results_var"]).items()
        ]
        path = directory / "index.html"
        if not self._task.check_mode:
            now = datetime.datetime.now(datetime.UTC)
            written = f"Collected {now:%Y-%m-%d %H:%M} UTC"
            try:
                files.write_text(path, page.page(nodes, written=written, since=options["since"]))
            except OSError as error:
                expected = f"expected a writable folder ({error})"
                raise ResourceError("directory", options["directory"], expected) from error
        counts = {
            status: sum(1 for node in nodes if node["status"] == status)
            for status in ("complete", "partial", "failed", "unreachable", "skipped")
        }
        # The keys `failed` and `unreachable` have a meaning to Ansible, so they cannot be used here.
        return {"changed": not self._task.check_mode, "path": str(path), "nodes": nodes, "counts": counts}
