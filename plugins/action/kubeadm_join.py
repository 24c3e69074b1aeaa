# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module kubeadm_join: see plugins/modules/kubeadm_join.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import join_commands
from ..plugin_utils.lifecycle.join import KubeadmJoin, finish_join, join_cluster
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Joins a prepared machine to a cluster."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "configuration": {"type": "str", "default": "", "no_log": True},
        "discovery": {"type": "str", "default": "", "no_log": True},
        "kubeadm": {"type": "str", "default": "C:\\k\\kubeadm.exe"},
        "kubelet": {"type": "dict", "default": {}, "no_log": True},
        "pre_commands": {"type": "list", "elements": "raw", "default": [], "no_log": True},
        "post_commands": {"type": "list", "elements": "raw", "default": [], "no_log": True},
        "ended_commands": {"type": "int"},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        before, after = (join_commands.commands(options[name], name) for name in ("pre_commands", "post_commands"))
        if self._task.check_mode:
            return session.report(changed=bool(options["configuration"]) or options["ended_commands"] is not None)
        if not options["configuration"]:
            return session.report(changed=finish_join(node, after, options["ended_commands"]))
        joining = KubeadmJoin(
            configuration=options["configuration"],
            kubeadm=options["kubeadm"],
            timeout=options["timeout"],
            discovery=options["discovery"],
            kubelet=options["kubelet"],
            before=before,
            after=after,
        )
        joined = join_cluster(node, joining)
        change = {"type": "Node", "name": node.name, "action": "create", "why": "had not joined the cluster"}
        return session.report(changed=joined, changes=[change] if joined else [])
