# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module hns_info: see plugins/modules/hns_info.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.hns.cleanup.options import FACTS_OPTIONS, facts_options
from ..plugin_utils.hns.facts import node_facts as hns_facts
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Returns the objects in HNS and their owners."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = FACTS_OPTIONS

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        seen = session.node.observe(hns_facts.facts_calls(facts_options(options)), step="observe HNS")
        return session.report(hns=hns_facts.to_result(hns_facts.read_facts(seen)))
