# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module patch_info: see plugins/modules/patch_info.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.patches import observe, report
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.node import Node


class ActionModule(NodeAction):
    """Returns the patches of a node."""

    def perform(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        step = "look at the patches"
        try:
            seen = observe.read(node.observe(observe.calls(()), step=step))
        except observe.PatchesUnreadable as error:
            raise NodeError(f"{node.name}: {step}: {error}") from error
        shown = report.information(seen.node)
        result: dict[str, t.Any] = {
            "changed": False,
            **shown,
            "os_build": seen.node.os_build,
            "release_notes": report.release_notes(shown),
            "remote_commands": node.remote_commands,
        }
        if seen.warnings:
            result["warnings"] = [f"{node.name}: {text}" for text in seen.warnings]
        return result
