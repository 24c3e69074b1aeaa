# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module node_state: see plugins/modules/node_state.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.resources.load import load


class ActionModule(NodeAction):
    """Brings a node into the state that a list of resources describes."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "resources": {"type": "list", "elements": "dict", "required": True},
        "disruptive": {"type": "str", "choices": ["apply", "defer"], "default": "apply"},
        "offline": {"type": "bool", "default": False},
        "check_space": {"type": "bool", "default": True},
        "disk_limit_gib": {"type": "int", "default": 0},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        return self.converge(session, load(options["resources"]), options)
