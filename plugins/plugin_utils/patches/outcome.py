# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Attempts to install a patch, and the final status that follows from the attempts and the node's state (no I/O)."""

from __future__ import annotations

import dataclasses
import typing as t

from .patch import NodePatches, Patch, PatchState

Outcome = t.Literal["done", "reboot", "already", "not_applicable", "not_offered", "temporary", "failed"]
"""The possible outcomes of an attempt to install a patch. `temporary` means that a retry may succeed."""

TRIES = 3
"""Maximum number of attempts per patch in one run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt to install a patch."""

    outcome: Outcome
    why: str
    """The installer's result as text for messages."""
    boots: int = 0
    """Number of reboots in this run before the attempt."""
    seconds: float = 0.0
    test_signing: bool = False
    """Whether the attempt turned test signing on."""


@dataclasses.dataclass(kw_only=True)
class PatchRecord:
    """The history of a patch in a run."""

    patch: Patch
    first: PatchState | None = None
    """State of the patch before the run changed anything."""
    verdict: PatchState | None = None
    """Latest observed state of the patch."""
    attempts: list[Attempt] = dataclasses.field(default_factory=list)
    _observed_after: tuple[int, int] = (0, 0)
    """The number of attempts and the number of reboots before the latest observation."""

    def record_state(self, verdict: PatchState, boots: int = 0) -> None:
        """Record the observed state of the patch, and how many reboots this run made before the observation."""
        self.first = self.first or verdict
        self.verdict = verdict
        self._observed_after = (len(self.attempts), boots)

    def is_fresh(self, boots: int) -> bool:
        """Return whether the node was observed after the last attempt and the last reboot."""
        return self._observed_after == (len(self.attempts), boots)

    @property
    def last(self) -> Attempt | None:
        """The latest attempt, or None before the first attempt."""
        return self.attempts[-1] if self.attempts else None

    def wants_reboot(self, boots: int) -> bool:
        """Return whether an attempt since the last reboot requires another reboot.

        Args:
            boots: number of reboots in this run so far.
        """
        return any(attempt.boots == boots and attempt.outcome == "reboot" for attempt in self.attempts)

    def wants_attempt(self, boots: int) -> bool:
        """Return whether the run should try, or try again, to install the patch.

        Args:
            boots: number of reboots in this run so far.
        """
        if self.verdict is None or self.verdict.status != "to_install" or len(self.attempts) >= TRIES:
            return False
        last = self.last
        if last is None or last.outcome == "temporary":
            return True
        if last.outcome in ("not_applicable", "not_offered"):
            # The result may depend on the updates that were staged when the attempt was made.
            return last.boots < boots and len(self.attempts) == 1
        if last.outcome in ("done", "reboot"):
            # The patch is not listed: Windows rolled it back, or does not list this kind of patch. A second run of the
            # installer shows which of the two is true, unless the installer is an .exe.
            is_program = self.patch.file is not None and self.patch.file.extension == ".exe"
            return not is_program and len(self.attempts) == 1 and (last.outcome == "done" or last.boots < boots)
        return False

    @property
    def changed(self) -> bool:
        """Whether the run's attempts to install this patch changed the node."""
        return any(attempt.outcome in ("done", "reboot") for attempt in self.attempts)


def conclude(record: PatchRecord, node: NodePatches, *, boots: int, blocked: str = "") -> PatchState:
    """Return the final status of a patch.

    Args:
        record: the history of the patch in this run.
        node: the latest observed state of the node.
        boots: number of reboots in this run.
        blocked: why patches that were not attempted count as failed. If this reason is empty, as in check mode, such a
            patch keeps its observed state.
    """
    verdict = record.verdict or PatchState(status="failed", why="the node was not observed")
    if verdict.status != "to_install":
        return verdict
    last = record.last
    if last is None:
        return PatchState(status="failed", why=blocked) if blocked else verdict
    if last.outcome == "already":
        return PatchState(status="installed", why=last.why)
    if last.outcome == "not_offered":
        return _not_offered(record, node, last)
    if last.outcome == "reboot" and last.boots == boots:
        return PatchState(status="needs_reboot", why=last.why)
    if last.outcome in ("done", "reboot") and not record.is_fresh(boots):
        return PatchState(
            status="failed", why=f"{last.why}; the run ended before it could check whether Windows lists the patch"
        )
    if last.outcome in ("done", "reboot"):
        why = f"{last.why}; but Windows does not list the patch: {_why_unlisted(record)}"
        return PatchState(status="failed", why=why)
    if last.outcome == "not_applicable":
        return PatchState(status="not_applicable", why=last.why)
    return PatchState(status="failed", why=last.why)


def _not_offered(record: PatchRecord, node: NodePatches, last: Attempt) -> PatchState:
    if record.changed:
        return PatchState(status="installed", why="Windows Update installed it and no longer offers it")
    title = node.logged.get(record.patch.kb)
    if title:
        why = f"Windows Update logged it as installed ({title}); it is no longer listed or offered"
        return PatchState(status="superseded", why=why)
    return PatchState(status="not_offered", why=last.why)


def _why_unlisted(record: PatchRecord) -> str:
    if record.patch.file is not None and record.patch.file.extension == ".exe":
        return "it was rolled back, or the entry's kb, build or package does not match what the file installs"
    return "it was rolled back"
