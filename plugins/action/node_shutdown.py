# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module node_shutdown: see plugins/modules/node_shutdown.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle.shutdown import changes, shut_down
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Disables a machine's kubelet, and shuts the machine down."""

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        if not self._task.check_mode:
            shut_down(session.node)
        return session.report(changed=True, changes=changes(session.name))
