# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run a command line or a batch file as cmd.exe does.

See https://learn.microsoft.com/windows-server/administration/windows-commands/cmd.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from simulator.machine import command_line
from simulator.machine.cmd import built_in, loops, precheck
from simulator.machine.cmd.errors import CmdNotModelledError, ExitSignal, SyntaxRefusedError
from simulator.machine.cmd.expansion import expand, substitute
from simulator.machine.cmd.parsing import CmdIf, CmdRedirection, CmdStep, For, Group, Node, Simple, parse
from simulator.machine.objects import NotModelled, ProgramResult
from simulator.machine.programs import BATCH_ENDINGS, NotExecutableError, ProgramNotFoundError
from simulator.machine.rights.guard import AccessDeniedError
from simulator.machine.session import Session
from simulator.transport.host import ConsoleInput

Input = bytes | ConsoleInput
Work = Callable[["CmdOutput", Input], int]
# Commands that do not change the error level.
_KEEPING = ("echo", "rem", "if", "for", "set", "cd", "chdir", "setlocal", "endlocal", "type", "title", "exit")


@dataclass
class CmdOutput:
    """The output that commands have written."""

    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)


class CmdShell:
    """One instance of cmd.exe.

    Args:
        arguments: the path and the arguments of the batch file that runs, or None for a command line.
    """

    def __init__(self, session: Session, stdin: Input = b"", arguments: Sequence[str] | None = None) -> None:
        self.session = session
        self.arguments = arguments
        self.stdin = stdin
        self.level = 0
        self.echo = True
        self._letters: dict[str, str] = {}
        self._kept: list[tuple[str, dict[str, str]]] = []

    def line(self, text: str, output: CmdOutput) -> int:
        """Run a line or a block of lines, and return the exit code.

        Raises:
            ExitSignal: `exit` or `goto :eof` was run.
            SyntaxRefusedError: the syntax is invalid.
            CmdNotModelledError: the simulator does not model a part of the line.
        """
        variables = {"CD": self.session.directory, "ERRORLEVEL": str(self.level), **self.session.environment}
        steps = parse(expand(text, variables, self.arguments))
        if self.arguments is not None and self.echo and steps and not steps[0].node.quiet:
            self._show(steps, output)
        return self.steps(steps, output, self.stdin)

    def _show(self, steps: Sequence[CmdStep], output: CmdOutput) -> None:
        """Write the prompt and the commands that are about to run, as cmd.exe does while echo is on.

        Raises:
            CmdNotModelledError: one of the commands is a block, `if` or `for`.
        """
        shown = ""
        for step in steps:
            if not isinstance(step.node, Simple):
                raise CmdNotModelledError("the echo of a block, if or for (begin the file with @echo off)")
            redirected = "".join(f" {item.stream}{item.mode}{item.target}" for item in step.node.redirections)
            # As in cmd/cmd.c (EchoCommand) of https://github.com/reactos/reactos: each command, a space, the operator.
            shown += f" {step.operator} " * bool(shown) + f"{step.node.text}{redirected} "
        output.stdout.append(f"\r\n{self.session.directory}>{shown}\r\n")

    def steps(self, steps: Sequence[CmdStep], output: CmdOutput, stdin: Input) -> int:
        """Run commands as the operators between them require, and return the exit code of the last one that ran."""
        code = 0
        position = 0
        while position < len(steps):
            self.session.process.check()
            last = position
            while last + 1 < len(steps) and steps[last + 1].operator == "|":
                last += 1
            operator = steps[position].operator
            if not ((operator == "&&" and code) or (operator == "||" and not code)):
                code = self._piped(steps[position : last + 1], output, stdin)
            position = last + 1
        return code

    def _piped(self, steps: Sequence[CmdStep], output: CmdOutput, stdin: Input) -> int:
        for step in steps[:-1]:
            inner = CmdOutput(stderr=output.stderr)
            # Each side of a pipe is a separate process, so the effects of `cd` and `set` are lost.
            self._apart(step.node, inner, stdin)
            stdin = "".join(inner.stdout).encode()
        if len(steps) > 1:
            return self._apart(steps[-1].node, output, stdin)
        return self.run(steps[-1].node, output, stdin)

    def _apart(self, node: Node, output: CmdOutput, stdin: Input) -> int:
        kept = self.session.directory, dict(self.session.environment)
        try:
            return self.run(node, output, stdin)
        finally:
            self.session.directory, self.session.environment = kept

    def run(self, node: Node, output: CmdOutput, stdin: Input) -> int:
        """Run one command, and return its exit code."""
        try:
            return self._run(node, output, stdin)
        except AccessDeniedError:
            output.stderr.append("Access is denied.\r\n")
            return 1

    def _run(self, node: Node, output: CmdOutput, stdin: Input) -> int:
        if isinstance(node, Simple):
            return self._redirected(node.redirections, output, stdin, lambda out, given: self._simple(node, out, given))
        if isinstance(node, Group):
            return self._redirected(
                node.redirections, output, stdin, lambda out, given: self.steps(node.steps, out, given)
            )
        if isinstance(node, CmdIf):
            holds = self._holds(node) != node.negated
            return self.steps(node.body if holds else node.other, output, stdin) if holds or node.other else 0
        return self._loop(node, output, stdin)

    def _redirected(self, redirections: Sequence[CmdRedirection], output: CmdOutput, stdin: Input, work: Work) -> int:
        """Run a command with redirected streams. Redirections are applied from left to right."""
        own = CmdOutput(output.stdout, output.stderr)
        opened: list[tuple[str, list[str]]] = []
        for item in redirections:
            if item.stream not in "012":
                raise CmdNotModelledError(f"the redirection of stream {item.stream}")
            target = substitute(item.target, self._letters)
            sink: list[str] = []
            if target.startswith("&"):
                sink = own.stdout if target == "&1" else own.stderr
            elif item.stream != "0" and target.casefold() != "nul":
                opened.append((self.session.absolute(target), sink))
            refusal = self._opened(item, target)
            if refusal:
                output.stderr.append(refusal)
                return 1
            if item.stream == "0":
                stdin = b"" if target.casefold() == "nul" else self._read(target)
            elif item.stream == "1":
                own.stdout = sink
            else:
                own.stderr = sink
        try:
            return work(own, stdin)
        finally:
            files = self.session.machine.files
            for path, texts in opened:
                files.write_bytes(path, files.read_bytes(path) + "".join(texts).encode())

    def _read(self, target: str) -> bytes:
        return self.session.machine.files.read_bytes(self.session.absolute(target))

    def _opened(self, item: CmdRedirection, target: str) -> str:
        """Check that a redirection's file can be used, and create or empty it for output as cmd.exe does.

        Return an error message, or an empty string if the file can be used.
        """
        if target.startswith("&") or target.casefold() == "nul":
            return ""
        path, files = self.session.absolute(target), self.session.machine.files
        if item.stream == "0":
            return "" if files.is_file(path) else "The system cannot find the file specified.\r\n"
        if not files.is_directory(path.rpartition("\\")[0] + "\\"):
            return "The system cannot find the path specified.\r\n"
        if files.is_directory(path):
            return "Access is denied.\r\n"
        if item.mode == ">" or not files.is_file(path):
            files.write_bytes(path, b"")
        return ""

    def _simple(self, node: Simple, output: CmdOutput, stdin: Input) -> int:
        text = substitute(node.text, self._letters).lstrip(" \t,;=")
        name, rest = built_in.name_and_rest(text)
        lower = name.casefold()
        if lower == "call":
            return self._simple(Simple(rest), output, stdin)
        if lower == "echo" and rest.strip().casefold() in ("on", "off"):
            self.echo = rest.strip().casefold() == "on"
            return 0
        program, words = command_line.program_and_rest(text, lambda _: False) if text else ("", "")
        if batch := batch_file(self.session, program):
            arguments = re.findall(r'(?:"[^"]*"|[^\s,;="])+', words)
            self.level = run_batch(self.session, batch, arguments, stdin, output)
            return self.level
        if unknown := built_in.unmodelled(name, rest):
            raise CmdNotModelledError(unknown)
        if lower in ("setlocal", "endlocal"):
            self._local(lower)
            return 0
        command = built_in.COMMANDS.get(lower)
        result = command(self.session, rest) if command else self._program(text, stdin)
        output.stdout.append(result.stdout)
        output.stderr.append(result.stderr)
        if result.exit_code or lower not in _KEEPING:
            self.level = result.exit_code
        return result.exit_code

    def _local(self, name: str) -> None:
        """Save (setlocal) or restore (endlocal) the environment variables and the current folder."""
        session = self.session
        if name == "setlocal" and self.arguments is not None:
            self._kept.append((session.directory, dict(session.environment)))
        elif self._kept:
            session.directory, session.environment = self._kept.pop()

    def end_batch(self) -> None:
        """If the batch file ends without endlocal, restore the variables and folder that the first setlocal saved."""
        if self._kept:
            self.session.directory, self.session.environment = self._kept[0]

    def _program(self, text: str, stdin: Input) -> ProgramResult:
        text = text.strip()
        if not text:
            return ProgramResult()
        session, files = self.session, self.session.machine.files
        program, rest = command_line.program_and_rest(text, lambda path: ":" in path and files.is_file(path))
        try:
            return session.run_program(program, rest, stdin)
        except ProgramNotFoundError:
            why = "is not recognized as an internal or external command,\r\noperable program or batch file."
            return ProgramResult(1, "", f"'{program}' {why}\r\n")
        except NotExecutableError:
            why = "is not compatible with the version of Windows you're running."
            advice = "Check your computer's system information and then contact the software publisher."
            return ProgramResult(216, "", f"This version of {program} {why} {advice}\r\n")

    def _holds(self, node: CmdIf) -> bool:
        kind, *words = [substitute(word, self._letters) for word in node.condition]
        if kind == "exist":
            path = words[0].strip('"')
            if "*" in path or "?" in path:
                raise CmdNotModelledError(f"if exist {path}")
            return self.session.machine.files.exists(self.session.absolute(path).rstrip("\\") or "\\")
        if kind == "defined":
            return bool(self.session.variable(words[0]))
        if kind == "errorlevel":
            return self.level >= int(words[0])
        return _compared(kind, *words, ignore_case=node.ignore_case)

    def _loop(self, node: For, output: CmdOutput, stdin: Input) -> int:
        code = 0
        for letters in self._rounds(node, output):
            kept = self._letters
            self._letters = {**kept, **letters}
            try:
                if self.echo and not all(step.node.quiet for step in node.body):
                    shown = [CmdStep("", Simple(substitute(step.node.text, self._letters), step.node.redirections))
                             if isinstance(step.node, Simple) else step for step in node.body]  # fmt: skip
                    self._show(shown, output)
                code = self.steps(node.body, output, stdin)
            finally:
                self._letters = kept
        return code

    def _rounds(self, node: For, output: CmdOutput) -> list[dict[str, str]]:
        """Return the variables of a `for` loop for each iteration."""
        items = substitute(node.items, self._letters)
        if node.kind == "/l":
            return [{node.letter: text} for text in loops.numbers(items)]
        if node.kind != "/f":
            return [{node.letter: text} for text in loops.set_members(self.session, items)]
        options = loops.fields(node.options)
        text = self._text(items.strip(), output)
        found = [options.of(line, node.letter) for line in text.splitlines()[options.skip :]]
        return [letters for letters in found if letters is not None]

    def _text(self, source: str, output: CmdOutput) -> str:
        """Return the input of `for /f`: a string, the output of a command, or the contents of a file."""
        if source.startswith('"') and source.endswith('"'):
            return source[1:-1]
        if source.startswith("'") and source.endswith("'"):
            result = run_line(self.session, source[1:-1])
            output.stderr.append(result.stderr)
            return result.stdout
        path = self.session.absolute(source)
        if not self.session.machine.files.is_file(path):
            output.stderr.append(f"The system cannot find the file {source}.\r\n")
            return ""
        return self.session.machine.files.read_text(path)


def _compared(kind: str, left: str, right: str, *, ignore_case: bool) -> bool:
    if ignore_case:
        left, right = left.casefold(), right.casefold()
    if kind == "==":
        return left == right
    both = [left, right]
    numbers = all(re.fullmatch(r"-?\d+", text) for text in both)
    first, second = (int(left), int(right)) if numbers else (left, right)
    order = (first > second) - (first < second)  # type: ignore[operator]
    holds: dict[str, bool] = {
        "equ": order == 0,
        "neq": order != 0,
        "lss": order < 0,
        "leq": order <= 0,
        "gtr": order > 0,
        "geq": order >= 0,
    }
    return holds[kind]


def run_line(session: Session, line: str, stdin: Input = b"") -> ProgramResult:
    """Run a command line of cmd.exe, and return its output and exit code."""
    shell, output = CmdShell(session, stdin), CmdOutput()
    try:
        code = shell.line(line, output)
    except ExitSignal as signal:
        code = shell.level if signal.code is None else signal.code
    except SyntaxRefusedError as error:
        output.stderr.append(str(error))
        code = 255
    except CmdNotModelledError as error:
        return ProgramResult(255, "", f"the simulator does not model this part of cmd.exe: {error}\r\n")
    except NotModelled as error:
        return ProgramResult(255, "", f"{error.message}\r\n")
    return ProgramResult(code, "".join(output.stdout), "".join(output.stderr))


def batch_file(session: Session, program: str) -> str | None:
    """Return the path of the batch file that a command refers to, or None if it does not refer to one."""
    if not program.casefold().endswith(BATCH_ENDINGS):
        return None
    path = session.absolute(program)
    if session.machine.files.is_file(path):
        return path
    found = session.machine.programs.locate(program, session.environment, session.directory)
    return found if found and found.casefold().endswith(BATCH_ENDINGS) else None


def run_batch(session: Session, path: str, arguments: Sequence[str], stdin: Input, output: CmdOutput) -> int:
    """Run a batch file, and return its exit code.

    Raises:
        ExitSignal: the batch file ran `exit` without /b, which also ends the cmd.exe that runs the file.
        CmdNotModelledError: the simulator does not model a part of the file.
    """
    shell = CmdShell(session, stdin, [path, *arguments])
    try:
        blocks = _blocks(session.machine.files.read_text(path))
        precheck.check(blocks)
        for block in blocks:
            shell.line(block, output)
    except ExitSignal as signal:
        shell.level = shell.level if signal.code is None else signal.code
        if not signal.batch:
            raise ExitSignal(shell.level, batch=False) from None
    except SyntaxRefusedError as error:
        output.stderr.append(str(error))
        shell.level = 255
    shell.end_batch()
    return shell.level


def _blocks(text: str) -> list[str]:
    """Return the lines of a batch file without empty lines and `::` comments. A block in parentheses is one item."""
    found: list[str] = []
    block, depth = "", 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if not depth and (not line.strip() or line.lstrip().startswith("::")):
            continue
        outside = re.sub(r'"[^"]*"?|\^.', "", line)
        is_remark = re.match(r"\s*@?\s*(rem|echo)\b", line, re.IGNORECASE) is not None and not depth
        depth += 0 if is_remark else outside.count("(") - outside.count(")")
        block += line + "\n"
        if depth <= 0:
            found.append(block.rstrip("\n"))
            block, depth = "", 0
    return [*found, block] if block else found
