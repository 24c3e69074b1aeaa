# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module join_info: see plugins/modules/join_info.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.active_directory import join, membership
from ..plugin_utils.lifecycle import join_state
from ..plugin_utils.lifecycle.node_network import ClusterNetwork
from ..plugin_utils.preflight.cluster import name_to_resolve
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
        "cni_mtu": {"type": "int", "default": 0},
        "linux_mtu": {"type": "dict", "default": {}},
        "node_addresses": {"type": "dict", "default": {}},
        "domain": {"type": "str", "default": ""},
        "domain_offline": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        if options["domain"]:
            join.check_installed()
        api_server = options["api_server"] or options["cluster_server"]
        hosts = {str(name).lower(): str(address) for name, address in options["hosts"].items()}
        network = join_state.ExpectedNetwork(
            plugin=options["cni_plugin"],
            mode=options["cni_mode"],
            max_pods=options["max_pods"],
            cluster=ClusterNetwork(
                mtu=options["cni_mtu"],
                linux_mtu=int(options["linux_mtu"].get("pods") or 0),
                linux_setting=str(options["linux_mtu"].get("where", "")),
                linux_remedy=str(options["linux_mtu"].get("remedy", "")),
                nodes={str(name): str(address) for name, address in options["node_addresses"].items()},
            ),
        )
        calls = join_state.calls(name_to_resolve(api_server, hosts), counts_addresses=network.needs_azure)
        if options["domain"]:
            calls += membership.calls(options["domain"], online=not options["domain_offline"])
        seen, windows = session.observe(calls, step="read whether it has joined", private=True)
        state = join_state.read(seen, windows, datetime.datetime.now(datetime.UTC))
        if state.joined and api_server and state.server != api_server:
            session.warn(
                f"its kubelet uses the API server at {state.server}, not {api_server}; reset the machine and join it "
                "again to change that"
            )
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
        in_domain = membership.read(seen.calls) if options["domain"] else None
        if in_domain is not None:
            problems += membership.problems(in_domain, options["domain"], joined=state.joined)
        for text in join_state.network_warnings(state, network):
            session.warn(text)
        return session.report(
            joined=state.joined,
            server=state.server,
            prepared=state.prepared,
            kubelet_launcher=state.kubelet_launcher,
            computer_name=state.computer_name,
            node_name=options["node_name"] or state.computer_name.lower(),
            self_named=not options["node_name"],
            clock_skew=round(state.clock_skew, 3),
            ended_commands=state.ended_commands,
            cni=dict(state.cni),
            azure=state.azure,
            in_domain=in_domain is not None and in_domain.is_member_of(options["domain"]),
            uplink_at_risk=state.uplink_at_risk,
            unsupported_windows=session.refused_windows,
            **({"failed": True, "msg": f"{session.name}: " + "; ".join(problems)} if problems else {}),
        )
