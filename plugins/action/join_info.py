# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module join_info: see plugins/modules/join_info.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import join_state
from ..plugin_utils.preflight.cluster import name_to_resolve
from ..plugin_utils.remote.node import Node
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Returns whether a machine is a node of a cluster."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "cluster_server": {"type": "str", "default": ""},
        "api_server": {"type": "str", "default": ""},
        "hosts": {"type": "dict", "default": {}},
        "clock_skew_limit": {"type": "float", "default": 0.0},
        "refuse_joined": {"type": "bool", "default": False},
        "require_prepared": {"type": "bool", "default": False},
        "node_name": {"type": "str", "default": ""},
        "next_computer_name": {"type": "str", "default": ""},
        "cni_plugin": {"type": "str", "default": ""},
        "cni_mode": {"type": "str", "default": ""},
        "max_pods": {"type": "int", "default": 0},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession[Node]) -> dict[str, t.Any]:
        node = session.node
        api_server = options["api_server"] or options["cluster_server"]
        hosts = {str(name).lower(): str(address) for name, address in options["hosts"].items()}
        network = join_state.ExpectedNetwork(
            plugin=options["cni_plugin"], mode=options["cni_mode"], max_pods=options["max_pods"]
        )
        calls = join_state.calls(name_to_resolve(api_server, hosts), counts_addresses=network.needs_azure)
        seen = node.observe(calls, step="read whether it has joined", private=True)
        state = join_state.read(seen, datetime.datetime.now(datetime.UTC))
        session.windows = state.windows
        if state.joined and api_server and state.server != api_server:
            session.warn(f"its kubelet uses the API server at {state.server}, not {api_server}; a re-join changes that")
        problems = list(
            join_state.problems(
                state,
                cluster_servers=[one for one in (options["cluster_server"], options["api_server"]) if one],
                skew_limit=options["clock_skew_limit"],
                refuse_joined=options["refuse_joined"],
                require_prepared=options["require_prepared"],
                # In check mode, the machine was not renamed.
                node_name="" if self._task.check_mode else options["node_name"],
                next_name=options["next_computer_name"],
            )
        )
        problems += join_state.network_problems(state, network)
        return session.report(
            joined=state.joined,
            server=state.server,
            prepared=state.prepared,
            computer_name=state.computer_name,
            node_name=options["node_name"] or state.computer_name.lower(),
            self_named=not options["node_name"],
            clock_skew=round(state.clock_skew, 3),
            cni=dict(state.cni),
            azure=state.azure,
            uplink_at_risk=state.uplink_at_risk,
            unsupported_windows=session.refused_windows,
            **({"failed": True, "msg": f"{node.name}: " + "; ".join(problems)} if problems else {}),
        )
