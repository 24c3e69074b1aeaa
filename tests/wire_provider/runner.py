# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Running the calls of a batch in order: input, attempts, barriers, results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.machine import commands, module_imports, net_files
from simulator.machine.machine import Machine
from simulator.machine.module_imports import Imported
from simulator.machine.objects import CmdletError, NotModelled, OrderedOutput, ProgramResult
from simulator.machine.processes import Process
from simulator.machine.programs import NotExecutableError, ProgramNotFoundError, ProgramTimeoutError
from simulator.machine.registry import RegistryDeniedError
from simulator.machine.rights import cmdlet_errors
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.text import to_text, utf16_length, utf16_slice
from wire_provider import groups, net_failures, properties
from wire_provider.batch import Call
from wire_provider.file_verbs import Warned
from wire_provider.held_files import require_length
from wire_provider.program_output import read_output
from wire_provider.runspaces import LateError, Runspaces
from wire_provider.verbs import VERB_HANDLERS

Progress = Callable[[Sequence[Call], int, int], None]


@dataclass
class Attempt:
    """The result of one attempt: raw objects, warnings, and the error if it failed."""

    objects: list[object] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: dict[str, object] | None = None
    program: ProgramResult | None = None
    ended: bool = True


@dataclass
class Runner:
    """One run of the calls of a batch.

    Args:
        machine, process, user: the machine, the process and the user that run the calls.
        environment: the variables of the process.
        progress: called at the start of each call, and at the end of parallel calls, with the running calls, the number
            of finished calls and the total.
        quotes: whether the function exists that quotes the arguments of programs, which is in a module of Ansible.
    """

    machine: Machine
    process: Process
    user: str
    environment: Mapping[str, str]
    progress: Progress = lambda _running, _done, _total: None
    quotes: bool = True
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, list[object]] = field(default_factory=dict)
    stopped: dict[str, str] | None = None

    def __post_init__(self) -> None:
        """Prepare the runspaces for cmdlets."""
        self.runspaces = Runspaces(self.process)
        self._imported = Imported(self.machine)
        self._imported_with_limit = Imported(self.machine)

    def run(self, calls: list[Call]) -> None:
        """Run the calls. Sets `results`, and `stopped` to the reason for an early stop.

        Raises:
            ProcessEndedError: the process must end.
        """
        done = 0
        try:
            for group in groups.split(calls):
                self.process.check()
                requested = [call for call in group if not self.stopped or call.always]
                if requested:
                    self._group(requested, done, len(calls))
                done += len(group)
        finally:
            self.runspaces.close()

    def _group(self, group: list[Call], done: int, total: int) -> None:
        """Run one call, or several in parallel."""
        skipped = {call.id: result for call in group if (result := self._skipped(call)) is not None}
        places, lock = groups.places(group), threading.Lock()
        working: list[Call] = []
        ended = len(skipped)

        def work(call: Call) -> dict[str, Any]:
            nonlocal ended

            def attempt(given: list[object]) -> Attempt:
                with places:
                    update(working.append)
                    try:
                        return self._attempt(call, given)
                    finally:
                        update(working.remove)

            def update(change: Callable[[Call], None]) -> None:
                with lock:
                    change(call)
                    if working:
                        # Threads finish in any order.
                        self.progress(sorted(working, key=group.index), done + ended, total)

            result = self._run(call, attempt)
            with lock:
                ended += 1
            return result

        results = groups.side_by_side(work, [call for call in group if call.id not in skipped])
        for call in group:
            self.results[call.id] = skipped[call.id] if call.id in skipped else results[call.id]
            self._stop_after(call)

    def _skipped(self, call: Call) -> dict[str, Any] | None:
        if unmet := [need for need in call.needs if not self._succeeded(need)]:
            return {"ok": False, "seconds": 0.0, "attempts": 0, "skipped": f"needs {', '.join(unmet)}"}
        done = next((other for other in call.unless if self._succeeded(other)), None)
        if done is not None:
            return {"ok": True, "seconds": 0.0, "attempts": 0, "skipped": f"unless {done}", "output": []}
        if call.input and not self._input(call) and not call.is_verb and not call.is_program:
            return {"ok": True, "seconds": 0.0, "attempts": 0, "skipped": "no input", "output": []}
        return None

    def _run(self, call: Call, attempt_once: Callable[[list[object]], Attempt]) -> dict[str, Any]:
        started = time.monotonic()
        given = self._input(call)
        attempts = 0
        while True:
            attempts += 1
            self.process.check()
            attempt = attempt_once(given)
            if attempt.error is None and call.until is not None:
                attempt.error = self._unmet(call, attempt)
            final = attempt.program is not None and attempt.ended and attempt.program.exit_code in call.final_codes
            if attempt.error is None or final or attempts > call.retries:
                break
            settings = self.machine.settings
            # `first_delay` does not shorten the last delay: kubeadm, for example, may need the clock's next second.
            part = 1.0 if attempts == call.retries else min(1.0, attempts * settings.first_delay)
            self.process.sleep(call.delay * settings.pause_scale * part)
        self.objects[call.id] = attempt.objects
        result = self._result(call, attempt)
        head = {"ok": attempt.error is None, "seconds": round(time.monotonic() - started, 3), "attempts": attempts}
        return head | result

    def _stop_after(self, call: Call) -> None:
        """Stop the batch if a call that has ended requests this."""
        if self.stopped:
            return
        if "error" in self.results[call.id] and call.on_error == "stop":
            self.stopped = {"id": call.id, "reason": "error"}
        counted = self.objects.get(call.id)
        if call.command == "@stop-if" and counted and counted[0]:
            self.stopped = {"id": call.id, "reason": "barrier"}

    def _succeeded(self, call_id: str) -> bool:
        return bool(self.results.get(call_id, {}).get("ok"))

    def _input(self, call: Call) -> list[object]:
        if not call.input:
            return []
        objects = [item for source in call.input.sources for item in self.objects.get(source, [])]
        conditions = properties.conditions(call.input.where)
        left = [item for item in objects if properties.matches(item, conditions)]
        name = call.input.property
        return [properties.read(item, name) for item in left] if name else left

    def _attempt(self, call: Call, given: list[object]) -> Attempt:
        parameters = dict(call.parameters)
        pipeline: list[object] | None = None
        if call.input and call.input.parameter:
            parameters[call.input.parameter] = given[0] if len(given) == 1 else list(given)
        elif call.input:
            pipeline = given
        try:
            if call.is_verb:
                handler = VERB_HANDLERS[call.command]
                parameters = {name.casefold(): value for name, value in parameters.items()}
                require_length(self.machine, parameters)
                found = handler(self.machine, parameters, given, self.process, call.limit)
                if call.command == "@set-environment":
                    self._take_over(to_text(parameters["name"]))
                return Attempt(found, found.warnings if isinstance(found, Warned) else [])
            if call.is_program:
                return self._program(call)
            if not commands.exists(self.machine, call.command):
                # Aliases and scripts are not allowed as commands.
                raise commands.not_found(call.command)
            output = self._cmdlet(call, parameters, pipeline)
        except AccessDeniedError as error:
            denied = net_failures.categorised(net_files.denied(error.path), call.command)
            return Attempt(error=describe(denied))
        except RegistryDeniedError as error:
            return Attempt(error=describe(cmdlet_errors.key_denied(error)))
        except CmdletError as error:
            return Attempt(error=describe(net_failures.categorised(error, call.command) if call.is_verb else error))
        except LateError:
            message = f"{call.command} did not end within {call.limit:g} s"
            return Attempt(error=_late("CommandTimeout", message))
        except Exception as error:
            # On a node every failure is an error record, so one that the simulator did not foresee is reported like
            # this.
            message = f"that {call.command} fails with {type(error).__name__}: {error}"
            return Attempt(error=describe(NotModelled(message)))
        # Non-terminating errors are returned after the warnings.
        return Attempt(output.objects, [*output.warnings, *(error.message for error in output.errors)])

    def _take_over(self, name: str) -> None:
        """Make a change of one of the machine's environment variables visible to later calls of the batch."""
        others = {key: value for key, value in self.environment.items() if key.casefold() != name.casefold()}
        machine = {key: value for key, value in self.machine.environment().items() if key.casefold() == name.casefold()}
        self.environment = {**others, **machine}

    def _cmdlet(
        self, call: Call, parameters: Mapping[str, object], pipeline: list[object] | None
    ) -> commands.CmdletOutput:
        """Run a cmdlet. With a time limit, it gets its own runspace.

        Raises:
            CmdletError: the cmdlet's error.
            LateError: the time limit was exceeded.
        """

        def run(stop: threading.Event) -> commands.CmdletOutput:
            module_imports.wait(self.machine, cost, stop)
            imported.add(call.command)
            return commands.run(
                self.machine,
                call.command,
                parameters,
                pipeline=pipeline,
                stop=stop,
                session=self,
                error_action="Stop",
            )

        imported = self._imported if call.timeout is None else self._imported_with_limit
        cost = imported.cost(call.command)
        if call.timeout is None:
            return run(self.process.stop)
        try:
            return self._limited(run, call.timeout, cost)
        except LateError:
            self._imported_with_limit = Imported(self.machine)  # the abandoned runspace is replaced by a new one
            raise

    def _limited(
        self, run: Callable[[threading.Event], commands.CmdletOutput], limit: float, cost: float
    ) -> commands.CmdletOutput:
        """Run a cmdlet with a time limit in seconds of Windows' time. The limit includes the import of the module."""
        scale = self.machine.settings.time_scale
        if cost < limit:
            return self.runspaces.run(self.machine.acting.carried(run), limit - cost + cost * scale)
        module_imports.wait(self.machine, limit, self.process.stop)
        raise LateError

    def _program(self, call: Call) -> Attempt:
        if call.arguments and not self.quotes:
            return Attempt(error=describe(commands.not_found("Argv-ToString")))
        try:
            result = self.machine.programs.run(
                call.command,
                call.arguments,
                stdin=(call.stdin or "").encode(),
                environment={**self.environment, **call.environment},
                stop=self.process.stop,
                user=self.user,
                timeout=call.limit,
            )
        except ProgramNotFoundError:
            return Attempt(error=describe(commands.not_found(call.command)))
        except NotExecutableError:
            return Attempt(error=describe(_not_executable(call.command)))
        except AccessDeniedError:
            return Attempt(error=describe(_not_started(call.command, "Access is denied")))
        except ProgramTimeoutError as error:
            late = _late("ProgramTimeout", f"{call.command} did not end within {call.limit:g} s")
            # The program has no exit code.
            result = read_output(self.machine, call.command, error.result)
            return Attempt([_program_result(result, None)], error=late, program=result, ended=False)
        result = read_output(self.machine, call.command, result)
        failed = None
        if result.exit_code not in call.success_codes:
            failed = _unexpected(f"{call.command} ended with exit code {result.exit_code}")
        return Attempt([_program_result(result, result.exit_code)], error=failed, program=result)

    def _unmet(self, call: Call, attempt: Attempt) -> dict[str, object] | None:
        assert call.until is not None
        conditions = properties.conditions(call.until)
        if any(properties.matches(item, conditions) for item in attempt.objects):
            return None
        requested = ", ".join(f"{path} = {to_text(value)}" for path, value in call.until.items())
        return _late("UntilNotMet", f"no output object of {call.command} met {requested}")

    def _result(self, call: Call, attempt: Attempt) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if attempt.program is not None:
            result["exit_code"] = attempt.program.exit_code if attempt.ended else None
        if call.secret:
            if attempt.error:
                result["error"] = {key: attempt.error[key] for key in ("category", "id")}
            return result
        if attempt.program is not None:
            # Keep the tail, because the last lines of a program explain why it failed.
            result["stdout"] = _tail(attempt.program.stdout, call.output_limit)
            result["stderr"] = _tail(attempt.program.stderr, call.output_limit)
        elif not call.is_program:
            result["output"] = self._output(call, attempt.objects)
        if attempt.warnings:
            result["warnings"] = list(attempt.warnings)
        if attempt.error:
            result["error"] = attempt.error
        return result

    @staticmethod
    def _output(call: Call, objects: list[object]) -> list[object]:
        if call.select == []:
            return []
        return [properties.select(item, call.select) for item in objects]


def _program_result(result: ProgramResult, exit_code: int | None) -> OrderedOutput:
    return OrderedOutput(exit_code=exit_code, stdout=result.stdout, stderr=result.stderr)


def _tail(text: str, limit: int) -> str:
    return utf16_slice(text, max(0, utf16_length(text) - limit), None)


def describe(error: CmdletError) -> dict[str, object]:
    """Return an error in the form for the observation."""
    return {
        "category": error.category,
        "id": error.error_id,
        "type": error.exception_type,
        "message": error.message,
    }


def _not_executable(program: str) -> CmdletError:
    return _not_started(program, "The specified executable is not a valid application for this OS platform.")


def _not_started(program: str, reason: str) -> CmdletError:
    return CmdletError(
        "ResourceUnavailable",
        "NativeCommandFailed",
        f"Program '{program}' failed to run: {reason}",
        "System.Management.Automation.ApplicationFailedException",
    )


def _late(error_id: str, message: str) -> dict[str, object]:
    return {
        "category": "OperationTimeout",
        "id": error_id,
        "type": "System.TimeoutException",
        "message": message,
    }


def _unexpected(message: str) -> dict[str, object]:
    return {
        "category": "FromStdErr",
        "id": "NativeCommandError",
        "type": "System.Management.Automation.RemoteException",
        "message": message,
    }
