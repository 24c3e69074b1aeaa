# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Patch one node: observe, install, reboot and observe again until nothing is left to do (docs/patches.md)."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from ..remote.errors import BatchLost, NodeError
from ..remote.session import NodeSession
from ..remote.upload import push, sha256
from ..windows.path_calls import make_directory
from ..wire.messages import Batch, Call, Progress
from . import files as patches_files
from . import observe as patches_observe
from . import update as patches_update
from .observe import BATCH_KEY, JOB_KEY, Leftovers, PatchesUnreadable, PatchObservation
from .outcome import Attempt, PatchRecord
from .patch import WELL, Patch, judge

_STARTS = 3
"""Maximum number of attempts to start the Windows Update job, if connection failures prevent its start."""
_LEAST_FREE = 16 * 2**20
"""Minimum free space in bytes. With less, a node cannot even record the state of an installation."""
_MAX_WAITS = 3
"""Maximum number of times that the run waits for the work of earlier runs."""
FIRST_POLL, POLL = 600, 900
"""How long the first poll and each later poll wait on the node for the end of an installation, in seconds. A cumulative
update takes 15 to 30 minutes, and each poll is a remote command. A poll returns as soon as the installation ends."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchOptions:
    """Options of a run that patches a node."""

    rules: patches_files.FileRules = dataclasses.field(default_factory=patches_files.FileRules)
    server: str = "default"
    """Source of public patches: default, wsus, windows_update or none."""
    may_reboot: bool = True
    max_reboots: int = 3
    settle: float = 600.0
    """Time limit for the update stack to become idle after a reboot, in seconds."""
    check_mode: bool = False
    """Whether the run only observes the node and reports, without changing it."""


class PatchRun:
    """A run that patches a node.

    Args:
        session: the session with the node.
        patches: the patches to install, in the user's order.
        options: options of the run.
    """

    def __init__(
        self,
        session: NodeSession,
        patches: t.Sequence[Patch],
        options: PatchOptions,
    ) -> None:
        self._session, self._node = session, session.node
        self._options = options
        self._restore: dict[str, str] = {}
        self.records = [PatchRecord(patch=patch) for patch in patches]
        self.reboots = 0
        self.seen: PatchObservation | None = None
        """The latest observation of the node, or None before the first observation."""
        self.first: PatchObservation | None = None
        self.warnings: list[str] = []

    def run(self) -> None:
        """Patch the node. The records of the patches contain the outcome, even after an exception.

        Raises:
            NodeError: the run cannot continue.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        seen = self._observe_when_idle(settle=False)
        self._session.check_windows()
        if self._session.version_warning:
            self.warnings.append(self._session.version_warning)
        if self._options.check_mode:
            return
        while True:
            if self._reboot_needed(seen):
                if not self._may_reboot():
                    break
                self._reboot()
            else:
                todo = [record for record in self.records if record.wants_attempt(self.reboots)]
                if not todo:
                    break
                self._attempt(todo, seen)
                if self._reboot_needed(None) and self._may_reboot():
                    self._reboot()
            seen = self._observe_when_idle(settle=True)
        self._tidy(seen)

    # --- Observing.

    def _observe_when_idle(self, *, settle: bool) -> PatchObservation:
        """Observe the node, after waiting for the work of earlier runs. Check mode does not wait."""
        seen = self._observe(settle=settle)
        for dummy in range(_MAX_WAITS):
            left = seen.leftovers
            self._node.forget(left.done)
            if self._options.check_mode or not (left.batches or left.jobs):
                break
            self._wait_for(left)
            seen = self._observe(settle=True)
        return seen

    def _observe(self, *, settle: bool) -> PatchObservation:
        calls = patches_observe.calls([record.patch for record in self.records])
        first: tuple[Call, ...] = ()
        if settle:
            back = patches_observe.restore_calls(self._restore)
            first = (*patches_observe.settle_calls(self._options.settle), *back)
        step = "observe the patches"
        answers, windows = self._session.observe(calls, step=step, first=first)
        try:
            seen = patches_observe.read(answers, windows)
        except PatchesUnreadable as error:
            raise NodeError(f"{self._node.name}: {step}: {error}") from error
        self.seen, self.first = seen, self.first or seen
        # Services that an earlier run did not restore are restored together with the services of this run.
        self._restore = dict(seen.node.to_restore)
        self.warnings.extend(text for text in seen.warnings if text not in self.warnings)
        if not seen.settled:
            self.warnings.append(f"the update stack was still busy after {self._options.settle:.0f} s (settle_timeout)")
        for record in self.records:
            record.record_state(judge(record.patch, seen.node), self.reboots)
        return seen

    def _wait_for(self, left: Leftovers) -> None:
        """Wait for the work of an earlier run whose connection or controller was lost."""
        self._session.report_progress(
            f"an earlier run is still working on this node; waiting for it ({', '.join((*left.batches, *left.jobs))})"
        )
        for key in left.batches:
            self._node.wait(key, step="wait for an earlier run")
        for key, pid in left.jobs.items():
            self._node.observe(patches_update.wait_calls(key, pid, 900), step="wait for Windows Update")

    # --- Rebooting.

    def _reboot_needed(self, seen: PatchObservation | None) -> bool:
        """Return whether the node must reboot before anything else.

        Args:
            seen: an observation of the node. If it is None, only the attempts since the last reboot are considered.
        """
        if any(record.wants_reboot(self.reboots) for record in self.records):
            return True
        return seen is not None and (
            seen.node.stack_pending or any(_status(record) == "needs_reboot" for record in self.records)
        )

    def _may_reboot(self) -> bool:
        return self._options.may_reboot and self.reboots < self._options.max_reboots

    def _reboot(self) -> None:
        self._session.report_progress("rebooting")
        self._node.reboot(step="reboot for patches")
        self.reboots += 1

    # --- Installing.

    def _attempt(self, todo: t.Sequence[PatchRecord], seen: PatchObservation) -> None:
        """Install public patches first, then patches with files. If a patch fails, the others are still attempted."""
        ready = [record for record in todo if not self._refused(record, seen)]
        public = [record for record in ready if record.patch.public]
        files = [record for record in ready if not record.patch.public]
        enable = patches_observe.enable_calls(seen.node.disabled) if ready else ()
        self._restore |= dict.fromkeys(seen.node.disabled, "Disabled")
        folders = tuple(_folder_call(number, record.patch) for number, record in enumerate(files) if _to_push(record))
        if folders or (public and enable):
            self._node.observe((*enable, *folders), step="prepare the installation")
            enable = ()
        pushed: dict[str, int] = {}
        files = [record for record in files if self._pushed(record, seen, pushed)]
        if public or files:
            self._install(public, files, enable, seen, pushed)

    def _refused(self, record: PatchRecord, seen: PatchObservation) -> bool:
        """Return whether a patch is rejected before the node is changed. Record a rejection as a failed attempt."""
        why = patches_files.refusal(record.patch, seen.node, self._options.rules)
        if not why and seen.free is not None and seen.free < _LEAST_FREE:
            why = f"the disk is full: {seen.free / 2**20:.0f} MB are free"
        local = [file for file in record.patch.files if file.local]
        wrong = next((file for file in local if sha256(file.local) != file.sha256), None)
        if not why and wrong is not None:
            why = f"{wrong.local}: expected SHA-256 {wrong.sha256}, got {sha256(wrong.local)}"
        if why:
            self._fail(record, why)
        return bool(why)

    def _pushed(self, record: PatchRecord, seen: PatchObservation, pushed: dict[str, int]) -> bool:
        """Upload a patch's files from the controller, and return whether this succeeded.

        A failure is recorded as a failed attempt.

        Args:
            record: the patch.
            seen: an observation of the node.
            pushed: mapping that receives the number of uploaded pieces of each file, by Windows path.
        """
        have = {str(item.get("path")).lower(): item.get("sha256") for item in seen.files.output}
        for file in record.patch.files:
            target = patches_observe.path(record.patch, file)
            if not file.local or have.get(target.lower()) == file.sha256:
                continue
            self._session.report_progress(f"{record.patch.name}: uploading {file.name}")
            try:
                pushed[target] = push(self._node, file.local, target, seen.pieces, f"upload {file.name}")
            except NodeError as error:
                self._fail(record, f"{file.local} could not be uploaded: {error}")
                return False
        return True

    def _install(
        self,
        public: list[PatchRecord],
        files: t.Sequence[PatchRecord],
        enable: tuple[Call, ...],
        seen: PatchObservation,
        pushed: t.Mapping[str, int],
    ) -> None:
        """Run one Windows Update job, and one batch that waits for the job and then installs the patch files."""
        job, pid = self._start_update(public) if public else ("", 0)
        calls = [*enable, *(patches_update.wait_calls(job, pid, self._options.rules.timeout) if job else ())]
        for number, record in enumerate(files):
            own = patches_files.file_calls(record.patch, seen.node, self._options.rules, seen.files, pushed)
            calls += map(patches_files.file_scope(number).call, own)
        if files:
            calls.append(patches_files.sweep_call())
        if not job and not files:
            return
        self._node.on_progress = lambda progress: self._progress(progress, public, files)
        self._session.report_progress(
            f"installing {', '.join(record.patch.name for record in (*(public if job else ()), *files))}"
        )
        try:
            answer = self._node.run(_batch(calls), step="install patches", system=True)
        except BatchLost as lost:
            # The next observation shows what the batch did, and waits for a Windows Update job that is still running.
            self.warnings.append(f"{lost}; observing the node again")
            for record in (*(public if job else ()), *files):
                record.attempts.append(Attempt(outcome="temporary", why="the node lost the batch", boots=self.reboots))
            return
        waited = answer.calls.get(patches_update.WAITED)
        if job and (waited is None or waited.ok):
            self._node.forget([job])
        update = answer.calls.get(patches_update.ANSWER)
        attempts = patches_update.read(update, [record.patch for record in public], self.reboots) if job else {}
        for record in public if job else ():
            record.attempts.append(attempts[record.patch.name])
        for number, record in enumerate(files):
            results = patches_files.file_scope(number).results(answer.calls)
            record.attempts.append(patches_files.read(record.patch, results, self.reboots))

    def _start_update(self, public: t.Sequence[PatchRecord]) -> tuple[str, int]:
        """Start the Windows Update job.

        Returns:
            The job's key and process ID. The key is empty if the job could not be started. In this case, a failed
            attempt is recorded for each patch.
        """
        job_options = patches_update.arguments([record.patch for record in public], self._options.server)
        step, why = "start Windows Update", f"no job appeared after {_STARTS} attempts"
        for dummy in range(_STARTS):
            key = f"{JOB_KEY}{uuid.uuid4()}"
            job = self._node.start_job(patches_update.ACTION, job_options, key, step=step)
            if job is None:
                line = self._node.observe(patches_update.find_calls(key), step=step)[patches_update.JOB].first
                job = patches_observe.read_job(str((line or {}).get("Line")))
            if job.get("failed"):
                why = str(job.get("msg"))
                break
            if job:
                return key, int(job.get(patches_observe.PID) or 0)
        for record in public:
            self._fail(record, f"Windows Update's job could not be started: {why}")
        return "", 0

    def _fail(self, record: PatchRecord, why: str) -> None:
        record.attempts.append(Attempt(outcome="failed", why=why, boots=self.reboots))

    def _tidy(self, seen: PatchObservation) -> None:
        """Restore the services' start types. Remove all patch files if no patch with a file remains to be installed.

        Like the calls that prepare an installation, these calls may safely run twice, so they need no idempotency key.
        """
        calls = list(patches_observe.restore_calls(seen.node.to_restore))
        files = [record for record in self.records if not record.patch.public]
        if seen.leftovers.cache and all(_status(record) in WELL for record in files):
            calls.append(patches_observe.discard_call())
        # The keys to forget are sent with the next command, so send one even if there are no calls.
        if calls or seen.leftovers.done:
            self._node.observe(calls, step="tidy up")

    # --- Reporting.

    def _progress(self, progress: Progress, public: t.Sequence[PatchRecord], files: t.Sequence[PatchRecord]) -> None:
        """Print the progress of a batch at each poll."""
        if progress.id in patches_update.UPDATE:
            names = ", ".join(record.patch.name for record in public)
            self._session.report_progress(f"Windows Update is installing {names}")
        for number, record in enumerate(files):
            scope = patches_files.file_scope(number)
            if progress.id in scope:
                doing = "installing" if progress.id == scope.id("install") else "downloading and checking"
                self._session.report_progress(f"{number + 1}/{len(files)} {record.patch.name}: {doing}")


def _status(record: PatchRecord) -> str:
    return record.verdict.status if record.verdict else ""


def _to_push(record: PatchRecord) -> bool:
    return any(file.local for file in record.patch.files)


def _batch(calls: t.Sequence[Call]) -> Batch:
    """Return a batch that a later run recognizes as a patch batch, even if this run ends early."""
    return Batch(calls=tuple(calls), key=f"{BATCH_KEY}{uuid.uuid4()}")


def _folder_call(number: int, patch: Patch) -> Call:
    return make_directory(patches_observe.folder(patch), f"folder-{number}")
