# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_comparison: see plugins/modules/image_comparison.yml."""

from __future__ import annotations

import dataclasses
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.release_notes import comparison, page
from ..plugin_utils.release_notes.files import read_notes
from ..plugin_utils.reports import files
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Shows the differences between two releases of an image. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "before": {"type": "path", "required": True},
        "after": {"type": "path", "required": True},
        "path": {"type": "path", "required": True},
        "page": {"type": "path", "required": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        before, after = (read_notes(name, options[name], f"compare_images_{name}") for name in ("before", "after"))
        differences = comparison.compare(before, after)
        lines = comparison.table(differences) if differences else []
        total = comparison.total(before, after, differences)
        for line in (*lines, *([""] if lines else []), total):
            show(line)
        result = {
            "differences": [dataclasses.asdict(one) for one in differences],
            "counts": comparison.counts(differences),
        }
        if not self._task.check_mode:
            document = {"schema_version": 1, "before": before.release, "after": after.release, **result}
            files.write_result("path", options["path"], document)
            html = page.comparison_page(before, after, differences)
            files.write_result("page", options["page"], html)
        return {
            "changed": False,
            "table": lines,
            "total": total,
            **result,
            "path": options["path"],
            "page": options["page"],
        }
