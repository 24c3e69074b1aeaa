# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module kubeadm_join: see plugins/modules/kubeadm_join.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import join_commands
from ..plugin_utils.lifecycle.join import JoinChange, KubeadmJoin, finish_join, join_cluster
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
            remaining = None if options["ended_commands"] is None else JoinChange.FINISHED
            return _report(session, JoinChange.JOINED if options["configuration"] else remaining)
        if not options["configuration"]:
            return _report(session, finish_join(node, after, options["ended_commands"]))
        joining = KubeadmJoin(
            configuration=options["configuration"],
            kubeadm=options["kubeadm"],
            timeout=options["timeout"],
            discovery=options["discovery"],
            kubelet=options["kubelet"],
            before=before,
            after=after,
        )
        return _report(session, join_cluster(node, joining))


def _report(session: NodeSession, change: JoinChange | None) -> dict[str, t.Any]:
    """Return the result of the task.

    Args:
        session: the session with the node.
        change: how the node was changed, or None if it was not changed.
    """
    if change is None:
        return session.report(changed=False, changes=[])
    entry = {"type": "Node", "name": session.node.name, "action": change.action, "why": change.why}
    return session.report(changed=True, changes=[entry])
