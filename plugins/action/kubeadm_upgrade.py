# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module kubeadm_upgrade: see plugins/modules/kubeadm_upgrade.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle.upgrade import upgrade_node
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Adapts the configuration of a node's kubelet to a different version of Kubernetes."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "steps": {"type": "list", "elements": "str", "required": True},
        "end_processes": {"type": "list", "elements": "str", "default": []},
        "kubeadm_timeout": {"type": "int", "default": 300},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        steps = options["steps"]
        changes = [
            {"type": "Node", "name": session.name, "action": "update", "why": f"kubeadm upgrade node of {version}"}
            for version in steps
        ]
        if steps and not self._task.check_mode:
            upgrade_node(session.node, steps, options["kubeadm_timeout"], options["end_processes"])
        return session.report(changed=bool(steps), changes=changes)
