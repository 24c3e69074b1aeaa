# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module uplink_guard: see plugins/modules/uplink_guard.yml."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.hns.facts import uplink
from ..plugin_utils.hns.guard import addresses
from ..plugin_utils.remote.protocol import RemoteNode
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.wire.messages import Batch


class ActionModule(NodeAction):
    """Protects the static addresses of a node while a CNI creates its network."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "guard": {"type": "dict", "default": {}},
        "network_timeout": {"type": "int", "default": 3600},
        "settle": {"type": "float", "default": 15.0},
        "timeout": {"type": "int", "default": 120},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        for name in ("network_timeout", "settle", "timeout"):
            if options[name] < 0:
                raise ResourceError(name, options[name], "expected 0 or more seconds")
        work = self._start if options["state"] == "present" else self._finish
        return session.report(**{"guard": {}, "changes": [], **work(options, session)})

    def _start(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        seen = node.observe(addresses.inspection_calls(), step="read static addresses").calls
        at_risk = uplink.read(seen).at_risk
        if not at_risk or self._task.check_mode:
            return {}
        key, earlier = addresses.noted(seen)
        if key:
            # An earlier guard is enough unless the adapters' addresses have changed. A guard that has ended is removed.
            state = node.peek(key, step="check for an earlier guard", seconds=0).state
            if state == "running" and earlier == at_risk:
                return {"guard": addresses.to_json(at_risk, key)}
        return {"guard": self._start_guard(at_risk, options, node)}

    def _start_guard(
        self, at_risk: t.Sequence[uplink.Uplink], options: t.Mapping[str, t.Any], node: RemoteNode
    ) -> dict[str, t.Any]:
        """Start a guard on the node, and return it."""
        key, times = str(uuid.uuid4()), {"network_timeout": options["network_timeout"], "settle": options["settle"]}
        # The watchdog on the node ends a batch at its time limit, so the limit must cover the guard's whole time.
        node.timeouts = dataclasses.replace(node.timeouts, batch=addresses.time_limit(at_risk, **times))
        node.start(Batch(calls=addresses.calls(at_risk, key, **times), key=key), step="guard static addresses")
        return addresses.to_json(at_risk, key)

    def _finish(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        if not options["guard"]:
            return {}
        try:
            key, uplinks = addresses.from_json(options["guard"])
        except (KeyError, TypeError, ValueError) as error:
            raise ResourceError("guard", options["guard"], "expected the guard that state: present returned") from error
        asked = addresses.calls(uplinks, key, network_timeout=options["network_timeout"], settle=options["settle"])
        seen = node.peek(key, step="wait for the address guard", seconds=options["timeout"], asked=asked)
        if seen.state == "running":
            # With a timeout of 0, the action was not meant to wait, so it does not warn.
            if options["timeout"]:
                session.warn(
                    f"no network was created within {options['timeout']} s; "
                    "the guard of the static address keeps waiting"
                )
            return {"guard": options["guard"]}
        if seen.state in ("unknown", "lost"):
            return self._restart_guard(options, session)
        if addresses.replaced(seen.calls):
            why = f"{addresses.NOTE} was removed, or belongs to a later guard"
            session.warn(f"the guard of the static address did nothing: {why}")
            return {}
        changes = [
            {"type": "Uplink", "name": name, "why": f"was reset to DHCP by a new network: {what}", "action": "update"}
            for name, what in addresses.restored(uplinks, seen.calls).items()
        ]
        failures = addresses.failures(uplinks, seen.calls)
        failed = {"failed": True, "msg": "\n".join(f"{node.name}: {text}" for text in failures)} if failures else {}
        return {"changed": bool(changes), "changes": changes, **failed}

    def _restart_guard(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        """Report that a guard has ended early, and start another one if the network does not exist yet."""
        node = session.node
        at_risk = uplink.read(node.observe(addresses.inspection_calls(), step="read static addresses").calls).at_risk
        ended = (
            "the guard of the static address ended early, perhaps because of a reboot; "
            f"{addresses.NOTE} on the node has the adapter's former settings"
        )
        if not at_risk or self._task.check_mode:
            session.warn(ended)
            return {}
        session.warn(f"{ended}; a new guard was started")
        return {"guard": self._start_guard(at_risk, options, node)}
