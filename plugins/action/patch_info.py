# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module patch_info: see plugins/modules/patch_info.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.patches import observe, report
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Returns the Windows updates that are installed on a node."""

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        step = "observe the patches"
        answers, windows = session.observe(observe.calls(()), step=step)
        try:
            seen = observe.read(answers, windows)
        except observe.PatchesUnreadable as error:
            raise NodeError(f"{session.name}: {step}: {error}") from error
        for text in seen.warnings:
            session.warn(text)
        shown = report.information(seen.node)
        return session.report(**shown, os_build=seen.node.os_build, release_notes=report.release_notes(shown))
