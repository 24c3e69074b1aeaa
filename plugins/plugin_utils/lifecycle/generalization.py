# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Turn a prepared machine into an image: inspect the machine, start the batch that seals it, and follow that batch.

The batch is in sealing.py. Its calls come from sysprep.py, image_identity.py, image_proxies.py and first_boot.py.
"""

from __future__ import annotations

import dataclasses
import socket
import time
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure

from ..remote.errors import BatchLost, NodeError
from ..remote.node import FOLDER
from ..remote.session import NodeSession
from ..windows import node_paths
from ..wire.calls import query
from ..wire.messages import Batch, Call, Observation
from . import first_boot, image_identity, image_proxies, join_state, sealing, sysprep, sysprep_failures
from .image_identity import MachineIdentity
from .sealing import Sealing

_DRIVE = "C:\\"
_GIB = 2**30
_HTTP = 5985
"""Port of WinRM's default listener."""
_BETWEEN = 1.0
"""Seconds between two checks of whether a port is closed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneralizationOptions:
    """The options of the sysprep module that describe the generalization."""

    unattend: str | None
    clean_paths: t.Sequence[str]
    reset_winrm: bool
    end: sealing.End
    cloudbase_init: bool
    registry_credentials: str
    registry_config_dir: str
    proxy_credentials: str
    docker_configuration_file: str
    user_apps: str
    remove_build_account: bool
    remove_accounts: t.Sequence[str]
    first_boot_winrm: bool
    disk_limit_gib: float
    max_fill_percent: int
    timeout: float

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> GeneralizationOptions:
        """Return the generalization options among all options of the sysprep module."""
        return cls(**{field.name: options[field.name] for field in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True)
class Link:
    """Ansible's connection to the machine."""

    address: str
    port: int
    user: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inspected:
    """What was observed on the machine before its generalization."""

    machine: sysprep.PreparedMachine = dataclasses.field(default_factory=sysprep.PreparedMachine)
    identity: MachineIdentity = dataclasses.field(default_factory=MachineIdentity)
    removals: tuple[Call, ...] = ()
    """The calls that remove proxy passwords."""
    hosts_files: tuple[str, ...] = ()
    """Paths of hosts.toml files of container registries, which may contain headers with credentials."""
    credentials: tuple[str, ...] = ()
    """Files that always contain registry credentials."""


class Generalization:
    """The generalization of a machine, as the final step of building an image.

    Args:
        session: the session with the machine.
        options: the options of the sysprep module.
        link: how Ansible connects to the machine.
    """

    def __init__(self, session: NodeSession, options: GeneralizationOptions, link: Link) -> None:
        self._session, self._node = session, session.node
        self._options, self._link = options, link

    def inspect(self) -> Inspected:
        """Observe the machine, and reject it if it must not become an image.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows version.
            NodeError: the machine has joined a cluster, has not finished its first boot, must reboot for updates, or
                has a disk that is too full; the image would contain a proxy's password; or the files with registry
                settings cannot be listed.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        options = self._options
        accounts = self._accounts()
        calls = (
            *first_boot.wait_calls(),
            *join_state.calls(),
            *sysprep.inspection_calls(),
            *image_proxies.calls(options.docker_configuration_file),
            *image_identity.inspection_calls(accounts),
            *(sysprep.registry_calls(options.registry_config_dir) if options.registry_credentials == "remove" else ()),
            query("space", "@free-space", {"path": _DRIVE}, on_error="stop"),
        )
        seen, windows = self._session.observe(calls, step="inspect the machine", private=True)
        self._session.check_windows()
        machine = sysprep.read_machine(seen)
        passwords = image_proxies.findings(seen) if options.proxy_credentials != "keep" else []
        if seen["kubeconfig"].first["exists"]:
            self._refuse(
                "expected a machine that has not joined a cluster, got a node "
                f"({node_paths.KUBELET_CONF} exists). Reset it first"
            )
        if early := first_boot.unfinished(seen):
            self._refuse(early)
        if not machine.sealed and (pending := sysprep_failures.refused(windows.pending_reboot)):
            self._refuse(pending)
        if full := self._too_full(seen):
            self._refuse(full)
        if passwords and options.proxy_credentials == "refuse":
            self._refuse(image_proxies.refusal(passwords))
        hosts, credentials = self._registry_files(seen)
        return Inspected(
            machine=machine,
            identity=image_identity.read(seen, accounts, windows.active_computer_name),
            removals=tuple(finding.removal for finding in passwords),
            hosts_files=tuple(hosts),
            credentials=tuple(credentials),
        )

    def clean(self) -> dict[str, t.Any]:
        """Remove files and logs that no image needs. Return `changed` and `freed_bytes` for the action's result.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows version.
            NodeError: the cleanup failed, or the machine lost the batch.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        calls = sysprep.cleaning_calls(self._options.clean_paths)
        space = query("space", "@free-space", {"path": _DRIVE}, on_error="stop")
        after = dataclasses.replace(space, id="space-after")
        seen = self._session.run_if_supported((space, *calls, after), step="clean up")
        freed = max(0, int(seen["space-after"].first["free"]) - int(seen["space"].first["free"]))
        return {"changed": bool(freed), "freed_bytes": freed}

    def check_windows(self) -> None:
        """Check only whether the collection supports the machine's Windows version.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows version.
            NodeError: the machine did not return its version.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        self._session.observe((), step="read the version of Windows")
        self._session.check_windows()

    def run(self, inspected: Inspected) -> dict[str, t.Any]:
        """Generalize the machine and finish the build.

        Args:
            inspected: the observations that `inspect` returned.

        Returns:
            The values `changed`, `changes`, `generalized`, `unattend`, `shutdown` and `shutdown_command` for the result
            of the action.

        Raises:
            NodeError: sysprep or another call of the batch failed, the connection was lost before the image was sealed,
                the machine did not shut down, or its HTTPS listener was not closed.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        unattend = self._unattend(inspected.machine)
        batch = self._sealing(inspected, unattend)
        calls = sealing.calls(batch)
        before = self._node.timeouts
        # The watchdog on the node ends the batch some minutes after this limit.
        self._node.timeouts = dataclasses.replace(before, batch=sealing.time_limit(batch))
        self._node.start(Batch(calls=calls, key=batch.key), step="sysprep")
        self._node.timeouts = before
        waits = batch.end == "shutdown_command"
        if waits:
            self._node.run(Batch(calls=sealing.arming_calls(batch.key)), step="register the task that runs sysprep")
        else:
            self._follow(batch, calls)
        if batch.end == "power_off":
            self._wait_until_off(inspected.machine, batch.key)
        if batch.end == "leave_running" and self._options.reset_winrm and inspected.machine.listeners:
            self._wait_until_closed(batch.key)
        sealed = {"type": "Image", "name": self._node.name, "action": "create", "why": "was not generalized"}
        return {
            "changed": True,
            "changes": [] if inspected.machine.sealed or waits else [sealed],
            "generalized": not waits,
            "unattend": unattend or "",
            "shutdown": batch.end == "power_off",
            "shutdown_command": sealing.SHUTDOWN_COMMAND if waits else "",
        }

    def _refuse(self, why: str) -> t.NoReturn:
        raise NodeError(f"{self._node.name}: sysprep: {why}")

    def _accounts(self) -> list[str]:
        """Return the names of the accounts that the image must not contain, in any form that `local_names` accepts."""
        own = [self._link.user] if self._options.remove_build_account and self._link.user else []
        return [*own, *self._options.remove_accounts]

    def _too_full(self, seen: Observation) -> str:
        """Return why the disk is too full for an image, or an empty string if it is not too full."""
        space, limit = seen["space"].first, self._options.max_fill_percent
        used = int(space["total"]) - int(space["free"])
        size = min(int(space["total"]), int(self._options.disk_limit_gib * _GIB) or int(space["total"]))
        percent = 100 * used / size
        if not limit or percent <= limit:
            return ""
        return (
            f"expected drive C to be at most {limit} % full, got {percent:.0f} % ({used / _GIB:.1f} of "
            f"{size / _GIB:.1f} GiB). Cache fewer versions, use a larger disk, or raise sysprep_max_fill_percent"
        )

    def _registry_files(self, seen: Observation) -> tuple[list[str], list[str]]:
        if self._options.registry_credentials != "remove":
            return [], []
        try:
            return sysprep.registry_files(seen)
        except ValueError as error:
            self._refuse(str(error))

    def _unattend(self, machine: sysprep.PreparedMachine) -> str | None:
        """Return the path of the answer file for Windows' setup, or None if the image has no answer file."""
        unattend = self._options.unattend
        if self._options.cloudbase_init and machine.cloudbase_init:
            unattend = unattend or machine.cloudbase_unattend
            if not unattend:
                self._session.warn(f"{sysprep.CLOUDBASE} has no Unattend.xml; the image starts without one")
        return unattend

    def _sealing(self, inspected: Inspected, unattend: str | None) -> Sealing:
        """Return the batch that turns the machine into an image."""
        options, machine, identity = self._options, inspected.machine, inspected.identity
        files = [*inspected.credentials]
        if inspected.hosts_files:
            call = sysprep.content_call(inspected.hosts_files)
            files += sysprep.sending(self._node.observe((call,), step="find registry credentials", private=True))
        apps = image_identity.app_calls(identity) if options.user_apps == "remove" else ()
        https = options.reset_winrm and options.first_boot_winrm and bool(machine.listeners)
        certificates = [each.thumbprint for each in machine.listeners if each.thumbprint and options.reset_winrm]
        return Sealing(
            key=str(uuid.uuid4()),
            end=options.end,
            preparing=(*sysprep.preparing_calls(options.clean_paths), *apps),
            secrets=sysprep.secret_calls(machine.cloudbase_start_mode, files, inspected.removals),
            sysprep=sysprep.sysprep_call(unattend, options.timeout),
            timeout=options.timeout,
            lasting=(
                *image_identity.removal_calls(identity),
                *first_boot.calls(accounts=identity.accounts, winrm_https=https, certificates=certificates),
            ),
            closing=(
                *image_identity.closing_calls(identity),
                *(sysprep.winrm_calls(machine.listeners) if options.reset_winrm else ()),
            ),
        )

    def _follow(self, batch: Sealing, calls: tuple[Call, ...]) -> None:
        """Wait until the machine reports that it is sealed, and let `batch` continue.

        Raises:
            NodeError: the batch failed or did not finish in time, or the machine could no longer be queried.
        """
        node, step = self._node, "read the state of the image"
        end = time.monotonic() + 2 * batch.timeout
        try:
            while True:
                done = sealing.followed(node.run(Batch(calls=sealing.follow_calls(batch.key)), step=step))
                if done:
                    return
                # Without a result, the batch may have been lost.
                seen = node.peek(batch.key, step="follow sysprep", seconds=1 if done is None else 60, asked=calls)
                if seen.state != "running":
                    self._explain(seen)
                if time.monotonic() > end:
                    self._refuse(f"not finished after {2 * batch.timeout:.0f} s; see {sealing.RESULT} later")
        except AnsibleConnectionFailure as error:
            self._refuse(
                f"the connection broke before the state of the image was read ({error}). The machine stays on. See "
                f"{sealing.RESULT} on its console; if the machine can be reached, run the playbook again"
            )
        except BatchLost:
            self._refuse("the machine restarted while it was generalized. Run the playbook again")

    def _explain(self, seen: Observation) -> t.NoReturn:
        logs = self._node.observe(sysprep_failures.log_calls(), step="read sysprep's logs")
        self._refuse(sealing.explanation(seen, logs))

    def _wait_until_off(self, machine: sysprep.PreparedMachine, key: str, seconds: float = 180.0) -> None:
        """Wait until the machine's ports are closed, which shows that the machine is off.

        The port that Ansible uses may close before the machine is off. If WinRM also listens on its default port, that
        port stays open until the machine is off.

        Raises:
            NodeError: the machine still responds.
        """
        if self._still_open({self._link.port, *([_HTTP] if machine.http else [])}, seconds):
            raise NodeError(
                f"{self._node.name}: shut down: the machine is generalized, but still responds after {seconds:.0f} s. "
                f"`stopped` in {FOLDER}\\{key}.json names the call that failed. Shut the machine down yourself, and "
                "capture its disk before it boots again"
            )

    def _wait_until_closed(self, key: str, seconds: float = 120.0) -> None:
        """Wait until the HTTPS listener that Ansible uses is closed. Do not wait if the connection uses HTTP.

        Raises:
            NodeError: the listener still responds, so the image would contain its certificate.
        """
        if self._link.port != _HTTP and self._still_open({self._link.port}, seconds):
            self._refuse(
                f"the machine is generalized, but its HTTPS listener is still open after {seconds:.0f} s. "
                f"`stopped` in {FOLDER}\\{key}.json names the call that failed. Run the playbook again"
            )

    def _still_open(self, ports: set[int], seconds: float) -> bool:
        """Wait until all ports are closed or the time is up, and return whether a port is still open."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ports = {port for port in ports if self._answers(port)}
            if not ports:
                return False
            time.sleep(_BETWEEN)
        return True

    def _answers(self, port: int) -> bool:
        try:
            socket.create_connection((self._link.address, port), timeout=2).close()
        except OSError:
            return False
        return True
