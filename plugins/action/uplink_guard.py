# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module uplink_guard: see plugins/modules/uplink_guard.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.hns.guard.guard import AddressGuard
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Protects the static IP addresses of a node while a CNI plugin creates the pod network."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "guard": {"type": "dict", "default": {}},
        "network_timeout": {"type": "int", "default": 3600},
        "settle": {"type": "float", "default": 15.0},
        "timeout": {"type": "int", "default": 120},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        for name in ("network_timeout", "settle", "timeout"):
            if options[name] < 0:
                raise ResourceError(name, options[name], "expected 0 or more seconds")
        guard = AddressGuard(
            session,
            network_timeout=options["network_timeout"],
            settle=options["settle"],
            check_mode=bool(self._task.check_mode),
        )
        if options["state"] == "present":
            return session.report(guard=guard.start(), changes=[])
        return session.report(**{"guard": {}, "changes": [], **guard.finish(options["guard"], options["timeout"])})
