# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe, change and reboot a Windows node over Ansible's connection, and reconnect if the connection fails.

After a connection failure, observations are repeated, but a batch that changes something runs at most once.
"""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure

from ..values.printable import printable
from ..windows.node_paths import PROGRAM_DATA
from ..wire.asked_answers import only_asked
from ..wire.messages import MAX_BATCH_BYTES, Batch, Call, Observation, Progress
from ..wire.typed_values import BadAnswer
from . import download
from .ansible_connection import KEEPS_FILES, AnsibleAction, ConnectionLost, ModuleRunner, keeps_files
from .errors import BatchLost, NodeError
from .missing_answers import blocked, failure
from .other_modules import OtherModules
from .outage import Outage, ReconnectFailed
from .reboot import NotRebooted, Reboot, reboot_message
from .timeouts import Timeouts

FOLDER = f"{PROGRAM_DATA}\\batches"
"""Folder with the results of batches, in files named after the batches' keys. Ansible's async wrapper uses a subfolder
for each key. The subfolder is deleted with the result."""

_SENDS = 5  # Maximum number of times that a batch is sent if the node reports each time that it did not receive it.
_PUTS = 3  # Number of attempts to send a file: limited, because plugins report a full disk as a connection failure.
_GARBLED = 2  # Number of consecutive results that are not JSON after which the module, not the connection, has failed.


class Node:
    """A Windows node.

    Args:
        action: the running action plugin, whose connection is used.
        task_vars: the variables of the plugin's task.
        timeouts: time limits.
        on_progress: function that receives the progress of detached batches.
        clock: replaces time.monotonic in tests.
        sleep: replaces time.sleep in tests.
    """

    def __init__(
        self,
        action: AnsibleAction,
        task_vars: t.Mapping[str, t.Any],
        *,
        timeouts: Timeouts | None = None,
        on_progress: t.Callable[[Progress], None] | None = None,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = str(task_vars.get("inventory_hostname") or "node")
        self.timeouts = timeouts or Timeouts()
        self.on_progress = on_progress
        self._runner = ModuleRunner(action, task_vars)
        self._clock, self._sleep = clock, sleep
        self._outage = Outage(self._runner.reset, clock, sleep)
        self._may_reboot = False
        self._garbled = 0
        self._forget: tuple[str, ...] = ()
        # The calls, by key, of batches whose results are fetched later.
        self._asked: dict[str, t.Sequence[Call]] = {}
        self._others = OtherModules(self.name, self._runner, self._contact, self._recover)

    @property
    def remote_commands(self) -> int:
        """Number of commands that were sent to the node."""
        return self._runner.remote_commands

    def observe(self, calls: t.Sequence[Call], *, step: str = "observe", private: bool = False) -> Observation:
        """Run calls that change nothing, and repeat them after a connection failure.

        Args:
            calls: the calls to run in one batch.
            step: name of the step, for messages.
            private: whether to keep the result out of the output at any verbosity.

        Raises:
            NodeError: the batch is too large or must not be sent (see `_send`), the module failed, or the node's answer
                cannot be used.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        batch = Batch(calls=tuple(calls), forget=self._forget)
        while True:
            try:
                answer = self._send(batch, step, private=private)
            except ConnectionLost as error:
                self._recover(error, step)
                continue
            if answer is not None:
                self._forget = ()
                self._runner.close_abandoned()
                return answer

    def run(
        self,
        batch: Batch,
        *,
        step: str = "apply",
        private: bool = False,
        system: bool = False,
        may_reboot: bool = False,
    ) -> Observation:
        """Run a batch of calls at most once. If a call is marked as long, the batch runs detached from the connection.

        Args:
            batch: the batch; it gets a key if it has none.
            step: name of the step, for messages.
            private: whether to keep the result out of the output at any verbosity. Results of secret batches are always
                private.
            system: whether to run the batch as SYSTEM.
            may_reboot: whether the batch's last calls may reboot the node, in which case the node may be away for
                longer.

        Returns:
            The observation of the finished batch.

        Raises:
            BatchLost: the node started the batch, but its process ended without a result, for example because of a
                reboot or because its remote shell was closed.
            NodeError: as for `observe`, or the node did not receive the batch, or the batch exceeded its time limit.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        key = batch.key or str(uuid.uuid4())
        batch = dataclasses.replace(batch, key=key, forget=self._forget)
        self._asked[key] = batch.calls
        private = private or batch.secret
        self._may_reboot = may_reboot
        deadline = self._clock() + self.timeouts.batch
        for dummy in range(_SENDS):
            started = False
            try:
                answer = self._send(batch, step, private=private, detach=batch.long, system=system)
                started = answer is None
            except ConnectionLost as error:
                self._recover(error, step)
                answer = None
            if answer is None or answer.state == "known":
                poll = min(self.timeouts.poll, self.timeouts.watched_poll) if batch.watched else self.timeouts.poll
                answer = self._collect(key, step, deadline, private=private, started=started, poll=poll)
            if answer.state == "unknown":
                continue
            self._forget = (key,)
            self._runner.close_abandoned()
            if answer.state == "lost":
                where = f" at {answer.progress.id}" if answer.progress else ""
                raise BatchLost(f"{self.name}: {step}: the node lost the batch{where}", answer.progress)
            return answer
        raise NodeError(f"{self.name}: {step}: the node did not receive the batch after {_SENDS} attempts")

    def wait(self, key: str, *, step: str) -> Observation:
        """Wait for a batch that an earlier run left running. The next `observe`, `run` or `start` deletes the result.

        Returns:
            The batch's observation without results. The state is `finished`, `lost`, or `unknown` if there is no such
            batch.

        Raises:
            NodeError: as for `run`.
            AnsibleConnectionFailure: as for `run`.
        """
        end = self._clock() + self.timeouts.batch
        answer = self._collect(key, step, end, private=True, started=False, poll=self.timeouts.poll)
        self._forget = (*self._forget, key)
        return answer

    def start(self, batch: Batch, *, step: str) -> str:
        """Start a batch at most once, detached from the connection, without waiting for it. `peek` returns its state.

        Returns:
            The key of the batch.

        Raises:
            NodeError: as for `observe`, or the node did not receive the batch.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        key = batch.key or str(uuid.uuid4())
        batch = dataclasses.replace(batch, key=key, forget=self._forget)
        for dummy in range(_SENDS):
            try:
                started = self._send(batch, step, private=batch.secret, detach=True) is None
            except ConnectionLost as error:
                self._recover(error, step)
                started = False
            # If the node knows the batch, it has arrived, even if the response to it was lost.
            if self._poll(key, step, self._clock(), private=batch.secret, started=started, poll=1).state != "unknown":
                self._forget = ()
                self._runner.close_abandoned()
                return key
        raise NodeError(f"{self.name}: {step}: the node did not receive the batch after {_SENDS} attempts")

    def peek(self, key: str, *, step: str, seconds: float, asked: t.Sequence[Call] = ()) -> Observation:
        """Wait for a limited time for a batch that was left running, and return its observation.

        If the batch is no longer running, the next `observe`, `run` or `start` deletes its result.

        Args:
            key: key of the batch.
            step: name of the step, for messages.
            seconds: maximum time to wait.
            asked: the calls whose results are returned. By default, no results are returned.

        Returns:
            The observation; its state is `running`, `lost` or `unknown` if the batch has not finished.

        Raises:
            NodeError: as for `observe`.
            AnsibleConnectionFailure: as for `observe`.
        """
        self._asked[key] = asked
        deadline = self._clock() + seconds
        answer = self._poll(key, step, deadline, private=True, started=False, poll=self.timeouts.poll)
        if answer.state != "running":
            self._forget = (*self._forget, key)
        return answer

    def forget(self, keys: t.Iterable[str]) -> None:
        """Make the next `observe`, `run` or `start` delete the results of the batches with the given keys."""
        self._forget = (*self._forget, *keys)

    def start_job(
        self, name: str, arguments: t.Mapping[str, t.Any], key: str, *, step: str
    ) -> t.Mapping[str, t.Any] | None:
        """Start another collection's action detached, with its result in the subfolder of `FOLDER` for `key`."""
        seconds = int(self.timeouts.batch) + 600
        return self._others.start_job(name, arguments, folder=f"{FOLDER}\\{key}", seconds=seconds, step=step)

    def run_module(self, name: str, arguments: t.Mapping[str, t.Any], *, step: str) -> t.Mapping[str, t.Any] | None:
        """Run another collection's module once, as `OtherModules.run` describes."""
        return self._others.run(name, arguments, step=step)

    def put(self, local: str, remote: str, *, step: str) -> None:
        """Upload a file, and start again from the beginning after a connection failure.

        Raises:
            NodeError: three attempts failed.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        error = ConnectionLost("not sent")
        for dummy in range(_PUTS):
            try:
                self._runner.put(local, remote)
            except ConnectionLost as lost:
                error = lost
                self._recover(lost, step)
            else:
                self._contact()
                return
        raise NodeError(f"{self.name}: {step}: {error}")

    def fetch(self, path: str, size: int, sha256: str, target: t.BinaryIO) -> int:
        """Download a file in pieces. `download.fetch` describes the arguments."""
        return download.fetch(self, path, size, sha256, target)

    def reboot(self, *, step: str = "reboot", ordered: bool | None = False, boot: str = "") -> None:
        """Wait until the node has rebooted and can be used; request the reboot if no batch has done so.

        Args:
            step: name of the step, for messages.
            ordered: whether a batch has requested the reboot (`reboot.order`); None if unknown.
            boot: the boot time in the last observation before that batch. If it is empty, the boot time in the latest
                observation is used.

        Raises:
            NodeError: the node did not come back in time, or rejected the request to reboot.
            AnsibleConnectionFailure: the node could not be reached before the reboot.
        """
        if not (boot or self._runner.boot):
            self.observe((), step=step)
        reboot = Reboot(
            send=lambda batch: self._send_reboot(batch, step),
            reconnect=self._runner.reset,
            away=(ConnectionLost, NodeError),
            timeout=self.timeouts.reboot,
            clock=self._clock,
            sleep=self._sleep,
        )
        try:
            reboot.run(boot or self._runner.boot, reboot_message(step), ordered=ordered)
        except NotRebooted as error:
            raise NodeError(f"{self.name}: {step}: {error}") from error
        finally:
            self.forget(reboot.keys)

    def _send_reboot(self, batch: Batch, step: str) -> Observation | None:
        if batch.mode == "run" and batch.key:
            self._asked[batch.key] = batch.calls
        return self._send(batch, step)

    def _collect(self, key: str, step: str, deadline: float, *, private: bool, started: bool, poll: int) -> Observation:
        """Have the node wait for the result of a batch, and fetch this result.

        Raises:
            NodeError: the batch exceeded its time limit.
        """
        answer = self._poll(key, step, deadline, private=private, started=started, poll=poll)
        if answer.state == "running":
            where = f", now at {answer.progress.id}" if answer.progress else ""
            raise NodeError(
                f"{self.name}: {step}: not finished after {self.timeouts.batch:.0f} seconds (timeout){where}; "
                "the batch keeps running on the node"
            )
        return answer

    def _poll(self, key: str, step: str, deadline: float, *, private: bool, started: bool, poll: int) -> Observation:
        """Return the result of a batch. Its state is `running` if the batch does not finish before the deadline."""
        # The wrapper returns when its process has started, shortly before the node knows the key.
        early = 10 if started else 0
        while True:
            left = max(0.0, deadline - self._clock())
            batch = Batch(mode="collect", key=key, wait=max(1, int(min(poll, left))))
            try:
                answer = self._send(batch, step, private=private)
            except ConnectionLost as error:
                self._recover(error, step)
                continue
            if answer is None:
                continue
            if answer.state == "unknown" and early:
                early -= 1
                self._sleep(0.5)
                continue
            if answer.state != "running":
                return answer
            if answer.progress and self.on_progress:
                self.on_progress(answer.progress)
            poll = max(poll, min(poll * 4, self.timeouts.longest_poll))
            if self._clock() >= deadline:
                return answer

    def _send(
        self, batch: Batch, step: str, *, private: bool = False, detach: bool = False, system: bool = False
    ) -> Observation | None:
        """Send a batch once, and return its observation, or None if the batch is detached or its result is not JSON.

        Raises:
            ConnectionLost: the connection failed.
            NodeError: the batch is too large, or contains secrets and Ansible would keep it in a file on the node; or
                the module failed; or the node's answer cannot be used.
        """
        if batch.secret and keeps_files():
            raise NodeError(f"{self.name}: {step}: {KEEPS_FILES}")
        wire = json.dumps(batch.to_wire(), separators=(",", ":"))
        if len(wire) > MAX_BATCH_BYTES:
            expected = f"expected at most {MAX_BATCH_BYTES} bytes in one batch"
            raise NodeError(f"{self.name}: {step}: {expected}, got {len(wire)}")
        # The wrapper's watchdog kills the batch at its own time limit, which must be longer than ours.
        job = (int(self.timeouts.batch) + 600, f"{FOLDER}\\{batch.key}") if detach else None
        collects = batch.mode == "collect"
        result = self._runner.execute(wire, private=private, detach=job, system=system, collects=collects)
        observation = result.get("observation")
        if isinstance(observation, dict):
            self._contact()
            asked = self._asked.get(str(batch.key), ()) if collects else batch.calls
            try:
                return only_asked(Observation.from_wire(observation), asked)
            except BadAnswer as error:
                raise NodeError(f"{self.name}: {step}: the node's answer cannot be used: {error}") from error
        if detach and result.get("ansible_job_id") and not result.get("failed"):
            self._contact()
            return None
        if result.get("unreachable"):
            raise ConnectionLost(str(result.get("msg")))
        self._garbled += 1
        if result.get("_ansible_parsed", True) or self._garbled >= _GARBLED or blocked(result):
            raise NodeError(f"{self.name}: {step}: {failure(result, private)}")
        return None

    def _contact(self) -> None:
        self._outage.end()
        self._garbled = 0

    def _recover(self, lost: ConnectionLost, step: str) -> None:
        """Try to reconnect, with ever longer pauses, until an attempt succeeds.

        Raises:
            AnsibleConnectionFailure: the time limit was reached, or the node rejected the logon too often.
        """
        try:
            self._outage.reconnect(lost, self.timeouts, may_reboot=self._may_reboot)
        except ReconnectFailed as error:
            raise AnsibleConnectionFailure(printable(f"{self.name}: {step}: {error}")) from error
