# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The execution of pipelines. Objects pass through the commands one by one, unless a command needs all its input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from simulator.machine import commands
from simulator.machine.objects import CmdletError, NotModelled, ScriptBlock
from simulator.machine.powershell.parsing.syntax import (
    CommandInvocation,
    Nothing,
    Pipeline,
    PostStep,
    Redirection,
    SyntaxNode,
    Unary,
)
from simulator.machine.powershell.running import steps
from simulator.machine.powershell.running.flow import StopUpstream
from simulator.machine.powershell.running.functions import FunctionCall
from simulator.machine.powershell.running.programs import ModelledScript, ProgramStage, ScriptFile
from simulator.machine.powershell.running.stages import CmdletStage, streaming
from simulator.machine.powershell.running.steps import PipelineStep
from simulator.machine.powershell.running.streams import Emit, Sinks, drop, redirected
from simulator.machine.powershell.types.kinds import EMPTY
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.powershell.running.interpreter import Interpreter


@dataclass
class PipelineProgress:
    """The state of a running pipeline: whether any of its commands has failed."""

    failed: bool = False


class PipelineStage(Protocol):
    """A command in a pipeline."""

    def begin(self) -> None:
        """Start the stage. This is called before the first object."""

    def process(self, item: object) -> None:
        """Process an object."""

    def end(self) -> None:
        """End the stage. This is called after the last object."""


class Redirected:
    """A command with its own streams, some of which may be redirected. Commands that it calls use the same streams."""

    def __init__(self, run: Interpreter, stage: PipelineStage, sinks: Sinks, close: Callable[[], None]) -> None:
        self._run = run
        self._stage = stage
        self._sinks = sinks
        self._close = close

    def begin(self) -> None:
        """Start the command."""
        with self._own():
            self._stage.begin()

    def process(self, item: object) -> None:
        """Pass an object to the command."""
        with self._own():
            self._stage.process(item)

    def end(self) -> None:
        """End the command, and write the output that was redirected to a file."""
        with self._own():
            self._stage.end()
        self._close()

    @contextmanager
    def _own(self) -> Iterator[None]:
        """Run the `with` block with the command's streams."""
        before = self._run.sinks
        try:
            with self._run.within(sinks=self._sinks):
                yield
        except CmdletError as error:
            # It is not known where PowerShell sends this error.
            if before.error is not self._sinks.error and not error.ends_script and not self._run.try_depth:
                raise NotModelled(
                    "a statement-terminating error from a command whose error stream is redirected"
                ) from None
            raise

    @property
    def inner(self) -> PipelineStage:
        """The command's stage, without the redirections."""
        return self._stage


class PipelineRunner:
    """The part of an interpreter that runs pipelines."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter
        self._progress: list[PipelineProgress] = []

    def non_terminating(self, error: CmdletError, action: str = "") -> None:
        """Write a non-terminating error unless it is suppressed. If the error action is Stop, raise it instead."""
        run = self._run
        self.mark_failed()
        action = action or run.preference("ErrorActionPreference")
        if action == "Stop":
            error.ends_script = True
            raise error
        if action == "Ignore":
            return
        run.note(error)
        if action != "SilentlyContinue":
            run.sinks.error(error)

    def mark_failed(self) -> None:
        """Record that a command of the running pipeline has failed, so that `$?` becomes false."""
        if self._progress:
            self._progress[-1].failed = True

    def run(self, node: Pipeline, emit: Emit) -> None:
        """Run a pipeline.

        Raises:
            CmdletError: a terminating error occurred.
        """
        run = self._run
        first = node.elements[0]
        progress = PipelineProgress()
        if isinstance(first, CommandInvocation) or len(node.elements) > 1 or node.redirections:
            self._commands(node, emit, progress)
            run.variables.success = not progress.failed
            return
        if isinstance(first, PostStep) or (isinstance(first, Unary) and first.operator in ("++", "--")):
            run.evaluator.value(first)
        elif not isinstance(first, Nothing):
            run.evaluator.emit(first, emit)
        run.variables.success = True

    def _commands(self, node: Pipeline, emit: Emit, progress: PipelineProgress) -> None:
        elements = list(node.elements)
        source: SyntaxNode | None = None
        if not isinstance(elements[0], CommandInvocation):
            source = elements.pop(0)
        made = [steps.prepare(self._run, element) for element in elements if isinstance(element, CommandInvocation)]
        sink = emit
        close: Callable[[], None] = lambda: None  # noqa: E731
        for redirection in node.redirections:
            sink, close = self._into_file(redirection, sink, close)
        stages: list[PipelineStage] = []
        for position, step in reversed(list(enumerate(made))):
            piped = position > 0 or source is not None
            stages.insert(0, self._stage(step, sink, piped=piped))
            sink = self._handing(stages[0], progress)
        self._feed(source, stages, progress, sink)
        close()

    def _handing(self, stage: PipelineStage, progress: PipelineProgress) -> Emit:
        """Return a function that passes an object to a stage."""

        def hand(item: object) -> None:
            self._run.session.process.check()
            with self._marking(progress):
                stage.process(item)

        return hand

    def _feed(
        self, source: SyntaxNode | None, stages: list[PipelineStage], progress: PipelineProgress, hand: Emit
    ) -> None:
        at = 0
        with self._marking(progress):
            for stage in stages:
                stage.begin()
        try:
            if source is not None:
                value = self._run.evaluator.raw(source)
                if isinstance(value, (list, tuple)) and not value:
                    value = EMPTY
                self._run.evaluator.pass_on(value, hand)
        except StopUpstream as stop:
            at = self._place(stages, stop)
        while at < len(stages):
            try:
                with self._marking(progress):
                    stages[at].end()
            except StopUpstream as stop:
                at = max(at, self._place(stages, stop) - 1)
            at += 1

    @staticmethod
    def _place(stages: list[PipelineStage], stop: StopUpstream) -> int:
        """Return the position of the stage that stopped the pipeline.

        Raises:
            StopUpstream: the stage belongs to another pipeline.
        """
        for at, stage in enumerate(stages):
            if stop.stage in (stage, getattr(stage, "inner", None)):
                return at
        raise stop

    def _marking(self, progress: PipelineProgress) -> _Marking:
        return _Marking(self._progress, progress)

    def _stage(self, step: PipelineStep, emit: Emit, *, piped: bool) -> PipelineStage:
        sinks, target, close = self._redirections(step, emit)
        stage = self._find(step, target, piped=piped)
        return Redirected(self._run, stage, sinks, close)

    def _redirections(self, step: PipelineStep, emit: Emit) -> tuple[Sinks, Emit, Callable[[], None]]:
        sinks = self._run.sinks
        close: Callable[[], None] = lambda: None  # noqa: E731
        target = emit
        for redirection in sorted(step.redirections, key=lambda item: isinstance(item.target, str)):
            if isinstance(redirection.target, str):
                if redirection.target != "1" or redirection.stream in ("1", ""):
                    raise NotModelled(f"the redirection {redirection.stream}>&{redirection.target}")
                sinks = redirected(sinks, redirection.stream, target)
                continue
            taken, close = self._into_file(redirection, target, close)
            if redirection.stream in ("1", "", "*"):
                target = taken
            if redirection.stream not in ("1", ""):
                sinks = redirected(sinks, redirection.stream, taken)
        return sinks, target, close

    def _into_file(
        self, redirection: Redirection, emit: Emit, close: Callable[[], None]
    ) -> tuple[Emit, Callable[[], None]]:
        """Return a function that receives a stream's objects, and a function that ends the redirection.

        If the target is a file, the second function writes the objects to it.
        """
        if isinstance(redirection.target, str):
            return emit, close
        value = self._run.evaluator.value(redirection.target)
        if value is None or to_text(value).casefold() in ("nul", "$null"):
            return drop, close
        moved: list[object] = []

        def write() -> None:
            close()
            steps.write_file(self._run, to_text(value), moved, append=redirection.append)

        return moved.append, write

    def _find(self, step: PipelineStep, emit: Emit, *, piped: bool) -> PipelineStage:
        run = self._run
        name = step.name
        if isinstance(name, ScriptBlock):
            scope = run.calls.scope_of(name, new_scope=not step.dotted)
            tree = steps.tree(name)
            return FunctionCall(run, tree, "", step.arguments(), emit, piped=piped, scope=scope)
        text = to_text(name)
        lower = text.casefold()
        alias = run.runspace.aliases.get(lower) or commands.ALIASES.get(lower)
        text = alias or text
        function = run.variables.function(text)
        if function is not None:
            bare = text.rpartition(":")[2]
            own = run.variables.scope if step.dotted else None
            arguments = step.arguments()
            return FunctionCall(
                run, function.block, function.name or bare, arguments, emit, piped=piped, scope=own,
                is_filter=function.is_filter,
            )  # fmt: skip
        if steps.is_function(text):
            step, text = steps.rewritten(step, text)
        made = streaming(run, text, step, emit, piped=piped)
        if made is not None:
            return made
        if commands.exists(run.session.machine, text):
            return CmdletStage(run, text, step, emit, piped=piped)
        if text.casefold().endswith(".ps1"):
            modelled = run.session.machine.families.scripts.get(text.casefold().rpartition("\\")[2])
            if modelled is not None:
                return ModelledScript(run, text, modelled, emit)
            return ScriptFile(run, text, step, emit, piped=piped)
        return ProgramStage(run, text, step, emit)


class _Marking:
    """A context manager in which `mark_failed` records failures for the given pipeline."""

    def __init__(self, stack: list[PipelineProgress], progress: PipelineProgress) -> None:
        self._stack = stack
        self._progress = progress

    def __enter__(self) -> None:
        self._stack.append(self._progress)

    def __exit__(self, *_: object) -> None:
        self._stack.pop()
