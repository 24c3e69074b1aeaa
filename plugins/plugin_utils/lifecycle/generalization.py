# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Turn a prepared machine into an image: inspect it, run sysprep, shut it down (the calls are in sysprep.py)."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..windows import node_paths
from ..wire.messages import Batch, Call
from . import image_proxies, join_state, sysprep


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneralizationOptions:
    """The options of the module sysprep."""

    unattend: str | None
    clean_paths: t.Sequence[str]
    reset_winrm: bool
    shutdown: bool
    cloudbase_init: bool
    registry_credentials: str
    registry_config_dir: str
    proxy_credentials: str
    docker_configuration_file: str
    timeout: float

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> GeneralizationOptions:
        """Select these options from the module's options, which include others."""
        return cls(**{field.name: options[field.name] for field in dataclasses.fields(cls)})


class Generalization:
    """Generalizes a machine and shuts it down.

    Args:
        session: the session with the machine.
        options: the options.
        address: address and port of the machine's remote management.
    """

    def __init__(self, session: NodeSession, options: GeneralizationOptions, address: tuple[str, int]) -> None:
        self._session, self._node = session, session.node
        self._options = options
        self._address = address

    def inspect(self) -> tuple[sysprep.PreparedMachine, tuple[Call, ...]]:
        """Observe the machine, and return the calls that remove passwords of proxies.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows.
            NodeError: the machine has joined a cluster, so an image would contain its identity, or the image would
                contain the password of a proxy.
        """
        asked = image_proxies.calls(self._options.docker_configuration_file)
        calls = (*join_state.calls(), *sysprep.inspection_calls(), *asked)
        seen, dummy = self._session.observe(calls, step="inspect the machine", private=True)
        self._session.check_windows()
        if seen["kubeconfig"].first["exists"]:
            raise NodeError(
                f"{self._node.name}: sysprep: expected a machine that has not joined a cluster, got a node "
                f"({node_paths.KUBELET_CONF} exists). Reset it first"
            )
        passwords = image_proxies.findings(seen) if self._options.proxy_credentials != "keep" else []
        if passwords and self._options.proxy_credentials == "refuse":
            raise NodeError(f"{self._node.name}: sysprep: {image_proxies.refusal(passwords)}")
        return sysprep.read_machine(seen), tuple(finding.removal for finding in passwords)

    def run(self, machine: sysprep.PreparedMachine, removals: tuple[Call, ...]) -> dict[str, t.Any]:
        """Generalize the machine, shut it down if the options ask for that, and return values of the action's result.

        Args:
            machine: the observed machine.
            removals: the calls that remove passwords of proxies.

        Raises:
            NodeError: sysprep failed, or the machine does not shut down.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        unattend = self._unattend(machine)
        sealed_before = self._seal(machine, unattend, removals)
        shuts_down = self._options.shutdown
        last = sysprep.shutdown_calls(machine.listeners, reset_winrm=self._options.reset_winrm, shutdown=shuts_down)
        if last:
            self._end(last)
        sealed = {"type": "Image", "name": self._node.name, "action": "create", "why": "was not generalized"}
        return {
            "changed": not sealed_before or bool(last),
            "changes": [] if sealed_before else [sealed],
            "generalized": True,
            "unattend": unattend or "",
            "shutdown": shuts_down,
        }

    def _unattend(self, machine: sysprep.PreparedMachine) -> str | None:
        """Return the path of the answer file; None for an image without one."""
        unattend = self._options.unattend
        if self._options.cloudbase_init and machine.cloudbase_init:
            unattend = unattend or machine.cloudbase_unattend
            if not unattend:
                self._session.warn(f"{sysprep.CLOUDBASE} has no Unattend.xml; the image starts without one")
        return unattend

    def _seal(self, machine: sysprep.PreparedMachine, unattend: str | None, removals: tuple[Call, ...]) -> bool:
        """Run sysprep, and return whether the machine was generalized before."""
        options, node = self._options, self._node
        calls = sysprep.sysprep_calls(
            options.clean_paths,
            unattend,
            options.timeout,
            machine.cloudbase_start_mode,
            self._files_with_credentials() if options.registry_credentials == "remove" else (),
            removals,
        )
        seen = node.run(Batch(calls=calls), step="sysprep")
        sealed_before = seen.stopped is not None and seen.stopped.id == "stop-if-sealed"
        if seen.stopped is not None and not sealed_before:
            error = seen[seen.stopped.id].error
            why = sysprep.reason(node.observe(sysprep.log_calls(), step="read sysprep's logs"))
            raise NodeError(f"{node.name}: sysprep: {seen.stopped.id}: {error}; sysprep's log:\n{why}")
        return sealed_before

    def _files_with_credentials(self) -> list[str]:
        """Return the files with registry credentials, which are removed before the machine is generalized.

        Raises:
            NodeError: the files cannot be determined.
        """
        node, step = self._node, "find registry credentials"
        calls = sysprep.registry_calls(self._options.registry_config_dir)
        try:
            hosts, files = sysprep.registry_files(node.observe(calls, step=step))
        except ValueError as error:
            raise NodeError(f"{node.name}: sysprep: {error}") from None
        if hosts:
            files += sysprep.sending(node.observe((sysprep.content_call(hosts),), step=step, private=True))
        return files

    def _end(self, calls: tuple[Call, ...]) -> None:
        """Run the last batch, and wait until the machine is off if the batch shuts it down."""
        node = self._node
        # The machine shuts down during the last batch, so a missing result is expected.
        node.timeouts = dataclasses.replace(node.timeouts, reconnect=2.0, first_contact=2.0)
        with contextlib.suppress(AnsibleConnectionFailure):
            ended = node.run(Batch(calls=calls), step="shut down")
            for problem in sysprep.shutdown_problems(ended):
                self._session.warn(problem)
        if self._options.shutdown:
            self._wait_until_off()

    def _wait_until_off(self, seconds: float = 180.0) -> None:
        """Wait until the machine's port is closed, which shows that the order to shut down arrived.

        The port may close before the machine is off, because the listener is removed first. But a closed port still
        shows that the shutdown was ordered, and there is no other way to check.

        Raises:
            NodeError: the machine still responds.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                socket.create_connection(self._address, timeout=2).close()
            except OSError:
                return
            time.sleep(1)
        raise NodeError(
            f"{self._node.name}: shut down: the machine is generalized, but still responds after {seconds:.0f} s. "
            "Shut it down yourself, and capture its disk before it boots again"
        )
