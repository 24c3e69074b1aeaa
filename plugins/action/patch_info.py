# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module patch_info: see plugins/modules/patch_info.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils import patches_observe, patches_report
from ..plugin_utils._action import NodeAction
from ..plugin_utils.node import Node, NodeError


class ActionModule(NodeAction):
    """Tells which patches a node has."""

    def perform(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        step = "look at the patches"
        try:
            seen = patches_observe.read(node.observe(patches_observe.calls(()), step=step))
        except patches_observe.PatchesUnreadable as error:
            raise NodeError(f"{node.name}: {step}: {error}") from error
        shown = patches_report.information(seen.node)
        result: dict[str, t.Any] = {
            "changed": False,
            **shown,
            "os_build": seen.node.os_build,
            "release_notes": patches_report.release_notes(shown),
            "remote_commands": node.remote_commands,
        }
        if seen.warnings:
            result["warnings"] = [f"{node.name}: {text}" for text in seen.warnings]
        return result
