# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module uplink_guard: see plugins/modules/uplink_guard.yml."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from ..plugin_utils._action import NodeAction
from ..plugin_utils.calls import Batch
from ..plugin_utils.hns import guard, uplink
from ..plugin_utils.node import Node
from ..plugin_utils.resources._base import ResourceError


class ActionModule(NodeAction):
    """Keeps static addresses of a node over the switch that a CNI's network makes."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "state": {"type": "str", "choices": ["started", "finished"], "default": "started"},
        "guard": {"type": "dict", "default": {}},
        "network_timeout": {"type": "int", "default": 3600},
        "settle": {"type": "float", "default": 15.0},
        "timeout": {"type": "int", "default": 120},
    }

    def perform(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        for name in ("network_timeout", "settle", "timeout"):
            if options[name] < 0:
                raise ResourceError(name, options[name], "wanted seconds, 0 or more")
        work = self._start if options["state"] == "started" else self._finish
        return {
            "changed": False,
            "guard": {},
            "changes": [],
            **work(options, node),
            "remote_commands": node.remote_commands,
        }

    def _start(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        links = uplink.read(node.observe(uplink.calls(), step="look for static addresses").calls)
        if not links.at_risk or self._task.check_mode:
            return {}
        # The node's watchdog ends a batch that takes longer than its time.
        node.patience = dataclasses.replace(node.patience, batch=options["network_timeout"] + 600)
        calls = guard.calls(links.at_risk, network_timeout=options["network_timeout"], settle=options["settle"])
        key = node.start(Batch(calls=calls, key=str(uuid.uuid4())), step="guard static addresses")
        return {"guard": {"key": key, "uplinks": [one.to_json() for one in links.at_risk]}}

    def _finish(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        if not options["guard"]:
            return {}
        try:
            uplinks = [uplink.Uplink.from_json(one) for one in options["guard"]["uplinks"]]
            key = str(options["guard"]["key"])
        except (KeyError, TypeError, ValueError) as error:
            raise ResourceError("guard", options["guard"], "wanted what state started returned") from error
        seen = node.peek(key, step="see to static addresses", seconds=options["timeout"])
        if seen.state == "running":
            said = (
                f"{node.name}: no network was made within {options['timeout']} s; "
                "the guard of the static address waits on"
            )
            return {"guard": options["guard"], "warnings": [said]}
        if seen.state in ("unknown", "lost"):
            said = f"{node.name}: the guard of the static address ended before its time, by a reboot perhaps"
            return {"warnings": [said]}
        changes = [
            {"type": "Uplink", "name": name, "why": f"was reset to DHCP by a new network: {what}", "action": "update"}
            for name, what in guard.restored(uplinks, seen.calls).items()
        ]
        failures = guard.failures(uplinks, seen.calls)
        failed = {"failed": True, "msg": "\n".join(f"{node.name}: {text}" for text in failures)} if failures else {}
        return {"changed": bool(changes), "changes": changes, **failed}
