# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module join_info: see plugins/modules/join_info.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.active_directory import join, membership
from ..plugin_utils.lifecycle import join_state
from ..plugin_utils.preflight.cluster import name_to_resolve
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.wire.messages import Call


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
        network = join_state.ExpectedNetwork.of(options)
        seen, windows = session.observe(_calls(options, network), step="read whether it has joined", private=True)
        state = join_state.read(seen, windows, datetime.datetime.now(datetime.UTC))
        in_domain = membership.read(seen.calls) if options["domain"] else None
        server = _api_server(options)
        if state.joined and server and state.server != server:
            session.warn(
                f"the kubelet uses the API server at {state.server}, not {server}; reset the machine and join it "
                "again to change that"
            )
        for text in join_state.network_warnings(state, network):
            session.warn(text)
        problems = [*self._problems(options, state), *join_state.network_problems(state, network)]
        if in_domain is not None:
            problems += membership.problems(in_domain, options["domain"], joined=state.joined)
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

    def _problems(self, options: t.Mapping[str, t.Any], state: join_state.JoinState) -> t.Iterable[str]:
        return join_state.problems(
            state,
            cluster_servers=[one for one in (options["cluster_server"], options["api_server"]) if one],
            skew_limit=options["clock_skew_limit"],
            refuse_joined=options["refuse_joined"],
            require_prepared=options["require_prepared"],
            # In check mode, the machine was not renamed.
            node_name="" if self._task.check_mode else options["node_name"],
            next_name=options["next_computer_name"],
        )


def _api_server(options: t.Mapping[str, t.Any]) -> str:
    """Return the API server that the node's kubelet should use, or an empty string if the options name none."""
    return str(options["api_server"] or options["cluster_server"])


def _calls(options: t.Mapping[str, t.Any], network: join_state.ExpectedNetwork) -> tuple[Call, ...]:
    hosts = {str(name).lower(): str(address) for name, address in options["hosts"].items()}
    calls = join_state.calls(name_to_resolve(_api_server(options), hosts), counts_addresses=network.needs_azure)
    if options["domain"]:
        calls += membership.calls(options["domain"], online=not options["domain_offline"])
    return calls
