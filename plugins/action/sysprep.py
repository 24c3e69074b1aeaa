# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module sysprep: see plugins/modules/sysprep.yml."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import image_proxies, join_state, sysprep
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.protocol import RemoteNode
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.windows import node_paths
from ..plugin_utils.wire.messages import Batch, Call


class ActionModule(NodeAction):
    """Generalizes a machine and shuts it down."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "unattend": {"type": "str"},
        "clean_paths": {"type": "list", "elements": "str", "default": []},
        "reset_winrm": {"type": "bool", "default": True},
        "shutdown": {"type": "bool", "default": True},
        "cloudbase_init": {"type": "bool", "default": True},
        "registry_credentials": {"type": "str", "choices": ["remove", "keep"], "default": "remove"},
        "registry_config_dir": {"type": "str", "default": node_paths.CONTAINERD_REGISTRIES},
        "proxy_credentials": {"type": "str", "choices": ["refuse", "remove", "keep"], "default": "refuse"},
        "docker_configuration_file": {"type": "str", "default": image_proxies.DOCKER_CONFIGURATION},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        machine, removals = self._inspect(session, options)
        if self._task.check_mode:
            return session.report(changed=True)
        unattend = options["unattend"]
        if options["cloudbase_init"] and machine.cloudbase_init:
            unattend = unattend or machine.cloudbase_unattend
            if not unattend:
                session.warn(f"{sysprep.CLOUDBASE} has no Unattend.xml; the image starts without one")
        calls = sysprep.sysprep_calls(
            options["clean_paths"],
            unattend,
            options["timeout"],
            machine.cloudbase_start_mode,
            self._secrets(node, options["registry_config_dir"]) if options["registry_credentials"] == "remove" else (),
            removals,
        )
        seen = node.run(Batch(calls=calls), step="sysprep")
        sealed_before = seen.stopped is not None and seen.stopped.id == "stop-if-sealed"
        if seen.stopped is not None and not sealed_before:
            error = seen[seen.stopped.id].error
            why = sysprep.reason(node.observe(sysprep.log_calls(), step="read sysprep's logs"))
            raise NodeError(f"{node.name}: sysprep: {seen.stopped.id}: {error}; sysprep's log:\n{why}")
        last = sysprep.shutdown_calls(
            machine.listeners, reset_winrm=options["reset_winrm"], shutdown=options["shutdown"]
        )
        if last:
            # The machine shuts down during the last batch, so a missing result is expected.
            node.timeouts = dataclasses.replace(node.timeouts, reconnect=2.0, first_contact=2.0)
            with contextlib.suppress(AnsibleConnectionFailure):
                ended = node.run(Batch(calls=last), step="shut down")
                for problem in sysprep.shutdown_problems(ended):
                    session.warn(problem)
            if options["shutdown"]:
                self._wait_until_off(node)
        sealed = {"type": "Image", "name": node.name, "action": "create", "why": "was not generalized"}
        return session.report(
            changed=not sealed_before or bool(last),
            changes=[] if sealed_before else [sealed],
            generalized=True,
            unattend=unattend or "",
            shutdown=options["shutdown"],
        )

    def _wait_until_off(self, node: RemoteNode, seconds: float = 180.0) -> None:
        """Wait until the machine's port is closed, which shows that the order to shut down arrived.

        The port may close before the machine is off, because the listener is removed first. But a closed port still
        shows that the shutdown was ordered, and there is no other way to check.

        Raises:
            NodeError: the machine still responds.
        """
        address, port = (self._connection.get_option(name) for name in ("remote_addr", "port"))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                socket.create_connection((str(address), int(port or 5986)), timeout=2).close()
            except OSError:
                return
            time.sleep(1)
        raise NodeError(
            f"{node.name}: shut down: the machine is generalized, but still responds after {seconds:.0f} s. "
            "Shut it down yourself, and capture its disk before it boots again"
        )

    @staticmethod
    def _secrets(node: RemoteNode, folder: str) -> list[str]:
        """Return the files with registry credentials, which are removed before the machine is generalized.

        Raises:
            NodeError: the files cannot be determined.
        """
        step = "find registry credentials"
        try:
            hosts, files = sysprep.registry_files(node.observe(sysprep.registry_calls(folder), step=step))
        except ValueError as error:
            raise NodeError(f"{node.name}: sysprep: {error}") from None
        if hosts:
            files += sysprep.sending(node.observe((sysprep.content_call(hosts),), step=step, private=True))
        return files

    @staticmethod
    def _inspect(
        session: NodeSession, options: t.Mapping[str, t.Any]
    ) -> tuple[sysprep.PreparedMachine, tuple[Call, ...]]:
        """Observe the machine, and return the calls that remove passwords of proxies.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows.
            NodeError: the machine has joined a cluster, so an image would contain its identity, or the image would
                contain the password of a proxy.
        """
        asked = image_proxies.calls(options["docker_configuration_file"])
        calls = (*join_state.calls(), *sysprep.inspection_calls(), *asked)
        node, step = session.node, "inspect the machine"
        seen, dummy = session.observe(calls, step=step, private=True)
        session.check_windows()
        if seen["kubeconfig"].first["exists"]:
            raise NodeError(
                f"{node.name}: sysprep: expected a machine that has not joined a cluster, got a node "
                f"({node_paths.KUBELET_CONF} exists). Reset it first"
            )
        passwords = image_proxies.findings(seen) if options["proxy_credentials"] != "keep" else []
        if passwords and options["proxy_credentials"] == "refuse":
            raise NodeError(f"{node.name}: sysprep: {image_proxies.refusal(passwords)}")
        return sysprep.read_machine(seen), tuple(finding.removal for finding in passwords)
