# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module patch_report: see plugins/modules/patch_report.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.actions.rollout_report import publish
from ..plugin_utils.reports import patch


class ActionModule(ControllerAction):
    """Prints the results of patching the hosts of the play, and writes them to a file. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "path": {"type": "path", "required": True},
        "notes_var": {"type": "str", "default": "node_maintenance_state"},
        "results_var": {"type": "str", "default": "windows_patches_result"},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        notes, results = (registered(variables, options[name]) for name in ("notes_var", "results_var"))
        nodes = {host: patch.node_entry(notes[host], results[host], check_mode=self._task.check_mode) for host in notes}
        return publish(nodes, patch.table(nodes), patch.STATUSES, options["path"])
