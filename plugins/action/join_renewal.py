# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module join_renewal: see plugins/modules/join_renewal.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import join_renewal
from ..plugin_utils.lifecycle.join_renewal import ClusterFacts
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Undoes the join of a node that cannot return to its cluster by itself, so that it can join again."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "ca_certificate": {"type": "str", "required": True},
        "nodes": {"type": "list", "elements": "str", "required": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        step = "read the kubelet's credentials"
        seen = session.node.observe(join_renewal.calls(), step=step, private=True)
        now = join_renewal.safe_time(seen, datetime.datetime.now(datetime.UTC))
        own = join_renewal.read(seen)
        cluster = ClusterFacts(ca_certificate=options["ca_certificate"], nodes=options["nodes"])
        reason = join_renewal.reason(own, cluster, now)
        if not reason and (refused := join_renewal.other_cluster(own, cluster)):
            raise NodeError(f"{session.name}: {refused}")
        if not reason:
            return session.report(rejoin="")
        if not self._task.check_mode:
            session.report_progress(f"it joins again: {reason}")
            join_renewal.undo(session.node)
        change = {"type": "Node", "name": session.name, "action": "delete", "why": reason}
        return session.report(changed=True, rejoin=reason, changes=[change])
