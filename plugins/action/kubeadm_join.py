# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module kubeadm_join: see plugins/modules/kubeadm_join.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.node_config import kubeadm
from ..plugin_utils.remote.errors import BatchLost, NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.wire.messages import Batch


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
        join = (options["configuration"], options["kubeadm"], options["timeout"], options["discovery"])
        try:
            seen = node.run(Batch(calls=kubeadm.join_calls(*join)), step="kubeadm join", private=True)
        except BatchLost:
            # The batch first undoes an incomplete join, so the batch can be repeated.
            calls = kubeadm.join_calls(*join, again=True)
            seen = node.run(Batch(calls=calls), step="kubeadm join", private=True)
        problem = kubeadm.join_problem(seen)
        if problem is not None:
            raise NodeError(f"{node.name}: kubeadm join: {problem}")
        joined = {"type": "Node", "name": node.name, "action": "create", "why": "had not joined the cluster"}
        changes = [] if kubeadm.had_joined(seen) else [joined]
        return session.report(changed=bool(changes), changes=changes)
