# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module itself: from the text of a batch to an observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.machine.files import DiskFullError
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError
from simulator.machine.processes import Process
from simulator.machine.rights.guard import RightsError
from simulator.machine.text import iso_utc
from wire_provider import detached
from wire_provider.batch import Batch, BatchError, Call, parse
from wire_provider.runner import Runner


def run(
    machine: Machine,
    text: object,
    process: Process,
    user: str,
    environment: Mapping[str, str],
    *,
    quotes: bool = True,
) -> dict[str, Any]:
    """Return the module's result for a batch.

    Args:
        text: the module's argument `batch`.
        process, user, environment: the context in which the module runs.
        quotes: whether the module's function that quotes the arguments of programs exists.

    Raises:
        ProcessEndedError: the process ends before the module does.
    """
    try:
        if not isinstance(text, str):
            raise BatchError("the argument batch has to be a string of JSON")
        batch = parse(text)
    except BatchError as error:
        return {"failed": True, "changed": False, "msg": str(error)}
    try:
        with machine.acting.as_account(user):
            detached.forget(machine, batch.forget)
            observation = (
                _collect(machine, batch, process)
                if batch.mode == "collect"
                else _run(Runner(machine, process, user, environment, quotes=quotes), batch)
            )
    except (DiskFullError, RightsError) as error:
        return {"failed": True, "changed": False, "msg": str(error.strerror)}
    except CmdletError as error:
        # Another process has the file for the result open.
        return {"failed": True, "changed": False, "msg": error.message}
    return {"changed": False, "observation": observation}


def fetches(text: str) -> bool:
    """Return whether a batch only fetches a result, or violates docs/wire.md so that `run` reports the violation."""
    try:
        return parse(text).mode == "collect"
    except BatchError:
        return True


def _run(runner: Runner, batch: Batch) -> dict[str, Any]:
    machine, process, key = runner.machine, runner.process, batch.key
    if key and not detached.claim(machine, key, process):
        return _envelope(machine, "known")
    if key:

        def note(running: Sequence[Call], done: int, total: int) -> None:
            # After a power-off nothing is written, even if the thread still runs.
            process.check()
            detached.note_progress(machine, key, running, done, total)

        runner.progress = note
    runner.run(batch.calls)
    process.check()
    observation = _envelope(machine, "finished") | {"calls": runner.results, "stopped": runner.stopped}
    if key:
        detached.keep(machine, key, observation, process)
    return observation


def _collect(machine: Machine, batch: Batch, process: Process) -> dict[str, Any]:
    assert batch.key is not None
    state, document = detached.collect(machine, batch.key, batch.wait, process)
    if state == "finished":
        return document
    observation = _envelope(machine, state)
    return observation | {"progress": document} if document and state in ("running", "lost") else observation


def _envelope(machine: Machine, state: str) -> dict[str, Any]:
    return {
        "state": state,
        "calls": {},
        "stopped": None,
        "boot": iso_utc(machine.power.boot_time),
        "time": iso_utc(machine.clock.now()),
        "version": machine.windows.powershell,
    }
