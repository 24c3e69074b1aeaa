# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module kubeadm_join: see plugins/modules/kubeadm_join.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle.join import join_cluster
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Joins a prepared machine to a cluster."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "configuration": {"type": "str", "required": True, "no_log": True},
        "discovery": {"type": "str", "default": ""},
        "kubeadm": {"type": "str", "default": "C:\\k\\kubeadm.exe"},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        if self._task.check_mode:
            return session.report(changed=True)
        joined = join_cluster(
            node, options["configuration"], options["kubeadm"], options["timeout"], options["discovery"]
        )
        change = {"type": "Node", "name": node.name, "action": "create", "why": "had not joined the cluster"}
        return session.report(changed=joined, changes=[change] if joined else [])
