# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module generalize: see plugins/modules/generalize.yml."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils import generalize, join_state
from ..plugin_utils._action import NodeAction
from ..plugin_utils.calls import Batch
from ..plugin_utils.node import Node, NodeError


class ActionModule(NodeAction):
    """Generalizes a machine and shuts it down."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "unattend": {"type": "str"},
        "clean_paths": {"type": "list", "elements": "str", "default": []},
        "reset_winrm": {"type": "bool", "default": True},
        "shutdown": {"type": "bool", "default": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], node: Node) -> dict[str, t.Any]:
        self._refuse_node(node)
        if self._task.check_mode:
            return {"changed": True, "remote_commands": node.remote_commands}
        calls = generalize.generalize_calls(options["clean_paths"], options["unattend"], options["timeout"])
        seen = node.run(Batch(calls=calls), step="generalize")
        sealed_before = seen.stopped is not None and seen.stopped.id == "stop-if-sealed"
        if seen.stopped is not None and not sealed_before:
            error = seen[seen.stopped.id].error
            why = generalize.reason(node.observe(generalize.log_calls(), step="read sysprep's logs"))
            raise NodeError(f"{node.name}: generalize: {seen.stopped.id}: {error}; sysprep says:\n{why}")
        last = generalize.shutdown_calls(reset_winrm=options["reset_winrm"], shutdown=options["shutdown"])
        if last:
            # The machine goes away under the last batch: an answer that does not come is what was asked for.
            node.patience = dataclasses.replace(node.patience, reconnect=2.0, first_contact=2.0)
            with contextlib.suppress(AnsibleConnectionFailure):
                node.run(Batch(calls=last), step="shut down")
            if options["shutdown"]:
                self._wait_until_off(node)
        sealed = {"type": "Image", "name": node.name, "action": "create", "why": "was not generalized"}
        return {
            "changed": not sealed_before or bool(last),
            "changes": [] if sealed_before else [sealed],
            "generalized": True,
            "shutdown": options["shutdown"],
            "remote_commands": node.remote_commands,
        }

    def _wait_until_off(self, node: Node, seconds: float = 180.0) -> None:
        """A link that broke before the order arrived looks like a machine that went away: its port tells them apart.

        Raises:
            NodeError: the machine still answers.
        """
        address, port = (self._connection.get_option(name) for name in ("remote_addr", "port"))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                socket.create_connection((str(address), int(port or 5986)), timeout=2).close()
            except OSError:
                return
            time.sleep(1)
        raise NodeError(f"{node.name}: shut down: it is generalized, but still answers after {seconds:.0f} s")

    @staticmethod
    def _refuse_node(node: Node) -> None:
        """An image of a cluster node would carry its identity.

        Raises:
            NodeError: the machine has joined a cluster.
        """
        seen = node.observe(join_state.calls(), step="look whether it has joined", private=True)
        if seen["kubeconfig"].first["exists"]:
            raise NodeError(f"{node.name}: a cluster node is not generalized ({join_state.KUBELET_CONF} exists)")
