# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A node over Ansible's connection: run a batch once and only once, whatever happens to the connection; reboot it."""

from __future__ import annotations

import dataclasses
import json
import re
import time
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure

from ..values.printable import printable
from ..wire.asked_answers import only_asked
from ..wire.messages import MAX_BATCH_BYTES, Batch, Call, Observation, Progress
from ..wire.typed_values import BadAnswer
from .ansible_connection import KEEPS_FILES, AnsibleAction, ConnectionLost, ModuleRunner, keeps_files
from .errors import BatchLost, NodeError
from .missing_answers import blocked, failure
from .reboot import NotRebooted, Reboot
from .timeouts import Timeouts

FOLDER = "C:\\ProgramData\\winkube\\batches"
"""Where the module keeps results by key; Ansible's async wrapper leaves its files below, and they go with the key."""

_REFUSED = re.compile(
    r"credentials were rejected|failed to authenticate|\b401\b|access is denied|unauthorized", re.IGNORECASE
)
"""How pywinrm, pypsrp and requests say that a logon was refused."""
_SENDS = 5  # A batch that the node, when asked, never heard of is sent this often.
_PUTS = 3  # A file that does not arrive is sent this often: plugins report a full disk like a broken connection.
_GARBLED = 2  # So many answers in a row that are not JSON are a failure of the module, not of the connection.


class Node:
    """One Windows node.

    Args:
        action: the running action plugin, whose connection is used.
        task_vars: its variables.
        patience: how long to wait for what.
        on_progress: told how far a batch that runs detached has come.
        clock, sleep: for tests.
    """

    def __init__(
        self,
        action: AnsibleAction,
        task_vars: t.Mapping[str, t.Any],
        *,
        patience: Timeouts | None = None,
        on_progress: t.Callable[[Progress], None] | None = None,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = str(task_vars.get("inventory_hostname") or "node")
        self.patience = patience or Timeouts()
        self.on_progress = on_progress
        self._runner = ModuleRunner(action, task_vars)
        self._clock, self._sleep = clock, sleep
        self._reached = False
        self._outage: float | None = None
        self._delay = 0.5
        self._refusals = 0
        self._garbled = 0
        self._forget: tuple[str, ...] = ()
        # By key, of batches whose results are fetched later.
        self._asked: dict[str, t.Sequence[Call]] = {}

    @property
    def remote_commands(self) -> int:
        """How many commands were sent to the node."""
        return self._runner.remote_commands

    def observe(self, calls: t.Sequence[Call], *, step: str = "observe", private: bool = False) -> Observation:
        """Runs calls that change nothing: after a broken connection they are simply sent again.

        Args:
            calls: the calls.
            step: names what is done, for messages.
            private: keep what comes back out of the output at any verbosity.

        Raises:
            NodeError: the module failed.
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

    def run(self, batch: Batch, *, step: str = "apply", private: bool = False, system: bool = False) -> Observation:
        """Runs a batch at most once, detached if any of its calls is long.

        Args:
            batch: the batch; it gets a key if it has none.
            step: names what is done, for messages.
            private: keep what comes back out of the output at any verbosity; secret batches always are.
            system: run it as SYSTEM.

        Returns:
            The observation of the finished batch.

        Raises:
            BatchLost: the node began the batch and lost it (a reboot, a killed session).
            NodeError: the module failed, or the batch takes longer than its time.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        key = batch.key or str(uuid.uuid4())
        batch = dataclasses.replace(batch, key=key, forget=self._forget)
        self._asked[key] = batch.calls
        private = private or batch.secret
        deadline = self._clock() + self.patience.batch
        for dummy in range(_SENDS):
            started = False
            try:
                answer = self._send(batch, step, private=private, detach=batch.long, system=system)
                started = answer is None
            except ConnectionLost as error:
                self._recover(error, step)
                answer = None
            if answer is None or answer.state == "known":
                poll = min(self.patience.poll, self.patience.watched_poll) if batch.watched else self.patience.poll
                answer = self._collect(key, step, deadline, private=private, started=started, poll=poll)
            if answer.state == "unknown":
                continue
            self._forget = (key,)
            self._runner.close_abandoned()
            if answer.state == "lost":
                where = f" at {answer.progress.id}" if answer.progress else ""
                raise BatchLost(f"{self.name}: {step}: the node lost the work{where}", answer.progress)
            return answer
        raise NodeError(f"{self.name}: {step}: the batch did not arrive in {_SENDS} attempts")

    def wait(self, key: str, *, step: str) -> Observation:
        """Waits for a batch that an earlier run left at work, and has the node forget it.

        Returns:
            What became of it, without answers: `finished`, or `lost` or `unknown` where there is none.

        Raises:
            NodeError, AnsibleConnectionFailure: as `run`.
        """
        end = self._clock() + self.patience.batch
        answer = self._collect(key, step, end, private=True, started=False, poll=self.patience.poll)
        self._forget = (*self._forget, key)
        return answer

    def start(self, batch: Batch, *, step: str) -> str:
        """Has the node do a batch detached, at most once, and does not wait for it; `peek` tells what became of it.

        Returns:
            The batch's key.

        Raises:
            NodeError: it did not arrive.
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
            # Seen at work it surely arrived, whatever became of the answer.
            if self._poll(key, step, self._clock(), private=batch.secret, started=started, poll=1).state != "unknown":
                self._forget = ()
                self._runner.close_abandoned()
                return key
        raise NodeError(f"{self.name}: {step}: the batch did not arrive in {_SENDS} attempts")

    def peek(self, key: str, *, step: str, seconds: float, asked: t.Sequence[Call] = ()) -> Observation:
        """Asks for the observation of a batch that was left at work, and waits a while for it.

        Args:
            key: the batch's.
            step: names what is done, for messages.
            seconds: how long to wait.
            asked: the batch's calls; answers to others are dropped.

        Returns:
            It; with the state `running`, `lost` or `unknown` where there is none.

        Raises:
            NodeError, AnsibleConnectionFailure: as `run`.
        """
        self._asked[key] = asked
        deadline = self._clock() + seconds
        answer = self._poll(key, step, deadline, private=True, started=False, poll=self.patience.poll)
        if answer.state != "running":
            self._forget = (*self._forget, key)
        return answer

    def forget(self, keys: t.Iterable[str]) -> None:
        """Has the next command delete what the node keeps under these keys."""
        self._forget = (*self._forget, *keys)

    def start_job(
        self, name: str, arguments: t.Mapping[str, t.Any], key: str, *, step: str
    ) -> t.Mapping[str, t.Any] | None:
        """Starts another collection's action detached, as SYSTEM; its result is a file `j…` in the key's folder.

        Args:
            name: the action, such as `ansible.windows.win_updates`.
            arguments: its options.
            key: names the folder below FOLDER.
            step: names what is done, for messages.

        Returns:
            What Ansible's async wrapper answered (`ansible_async_watchdog_pid`; `failed` and `msg`); None where the
            connection broke, and nobody knows whether it started.

        Raises:
            NodeError: its collection is not installed.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        try:
            job = (int(self.patience.batch) + 600, f"{FOLDER}\\{key}")
            result = self._runner.start_job(name, arguments, detach=job)
            if result.get("unreachable"):
                raise ConnectionLost(str(result.get("msg")))
        except LookupError as error:
            raise NodeError(f"{self.name}: {step}: {error}") from error
        except ConnectionLost as error:
            self._recover(error, step)
            return None
        self._contact()
        if result.get("failed") or not result.get("ansible_job_id"):
            return {"failed": True, "msg": failure(result, False)}
        return result

    def put(self, local: str, remote: str, *, step: str) -> None:
        """Writes a file of the controller to the node; a broken connection begins it anew.

        Raises:
            NodeError: the node did not take it in three attempts.
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

    def reboot(self, *, step: str = "reboot") -> None:
        """Reboots the node and waits until it can be used.

        Raises:
            NodeError: it does not come back, or cannot be told to.
            AnsibleConnectionFailure: the node could not be reached before.
        """
        if not self._runner.boot:
            self.observe((), step=step)
        reboot = Reboot(
            send=lambda batch: self._send_reboot(batch, step),
            reconnect=self._runner.reset,
            away=(ConnectionLost, NodeError),
            timeout=self.patience.reboot,
            clock=self._clock,
            sleep=self._sleep,
        )
        try:
            reboot.run(self._runner.boot, f"winkube.node: {step}")
        except NotRebooted as error:
            raise NodeError(f"{self.name}: {step}: {error}") from error
        finally:
            self.forget(reboot.keys)

    def _send_reboot(self, batch: Batch, step: str) -> Observation | None:
        if batch.mode == "run" and batch.key:
            self._asked[batch.key] = batch.calls
        return self._send(batch, step)

    def _collect(self, key: str, step: str, deadline: float, *, private: bool, started: bool, poll: int) -> Observation:
        """Fetches the result of a batch that was sent; waits for it on the node.

        Raises:
            NodeError: it takes longer than its time.
        """
        answer = self._poll(key, step, deadline, private=private, started=started, poll=poll)
        if answer.state == "running":
            where = f", now at {answer.progress.id}" if answer.progress else ""
            raise NodeError(
                f"{self.name}: {step}: not finished after {self.patience.batch:.0f} seconds (timeout){where}; "
                "the node goes on with it"
            )
        return answer

    def _poll(self, key: str, step: str, deadline: float, *, private: bool, started: bool, poll: int) -> Observation:
        """The same; one that is not finished in time has the state `running`."""
        # The wrapper answers when its process has started, a moment before the module claims the key.
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
            poll = max(poll, min(poll * 4, self.patience.longest_poll))
            if self._clock() >= deadline:
                return answer

    def _send(
        self, batch: Batch, step: str, *, private: bool = False, detach: bool = False, system: bool = False
    ) -> Observation | None:
        """Sends a batch once: its observation; None where it was detached, or the answer came back garbled."""
        if batch.secret and keeps_files():
            raise NodeError(f"{self.name}: {step}: {KEEPS_FILES}")
        wire = json.dumps(batch.to_wire(), separators=(",", ":"))
        if len(wire) > MAX_BATCH_BYTES:
            accepted = f"at most {MAX_BATCH_BYTES} are accepted"
            raise NodeError(f"{self.name}: {step}: {len(wire)} bytes in one batch; {accepted}")
        # The watchdog ends what outlives it, so it gets more time than we have.
        job = (int(self.patience.batch) + 600, f"{FOLDER}\\{batch.key}") if detach else None
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
        self._reached = True
        self._outage = None
        self._delay = 0.5
        self._refusals = self._garbled = 0

    def _recover(self, lost: ConnectionLost, step: str) -> None:
        """Connects again, with growing pauses, until there is a connection or no patience left."""
        if self._outage is None:
            self._outage = self._clock()
        error: Exception = lost
        while True:
            self._refusals += _REFUSED.search(str(error)) is not None
            patience = self.patience.reconnect if self._reached else self.patience.first_contact
            if self._clock() - self._outage + self._delay > patience or self._refusals >= self._logons():
                raise AnsibleConnectionFailure(printable(f"{self.name}: {step}: {error}")) from error
            self._sleep(self._delay)
            self._delay = min(self._delay * 2, 15.0)
            try:
                self._runner.reset()
            except Exception as again:
                error = again
            else:
                return

    def _logons(self) -> int:
        """How many refused logons end the attempts: each one counts against the account's lockout threshold.

        A password that was never accepted is tried once. One that was may be refused for a moment while the node
        starts: a domain controller is not reached before the Netlogon service is up.
        """
        return 3 if self._reached else 1
