# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run users' programs on a machine before and after `kubeadm join`, in the batch of the join.

The node records how many of the post-kubeadm programs have ended. If Ansible finds that a machine has joined but has
not run all of these programs, Ansible runs the remaining programs.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...module_utils.redaction import hidden
from ...module_utils.redaction.texts import Redaction
from ..specification.convert import convert
from ..specification.describe import SECRET
from ..values.errors import ResourceError
from ..values.shown import AsItIs, text_without_secrets
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from ..wire.calls import action
from ..wire.messages import Call, CallResult

Stage = t.Literal["pre", "post"]
"""When a program runs: before or after `kubeadm join`."""
RECORD = node_paths.JOIN_RECORD
"""The file that records the number of post-kubeadm programs that have ended."""
_SHOWN = 2000
"""Maximum number of characters of a program's output in a message."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class JoinCommand:
    """A program to run on a machine before or after `kubeadm join`."""

    program: str
    """Path or name of the program, ending in `.exe`."""
    arguments: tuple[str, ...] = dataclasses.field(default=(), metadata=SECRET)
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=SECRET)
    timeout: int = 600
    """Time limit in seconds."""
    success_codes: tuple[int, ...] = (0,)
    secret: bool = False
    """Whether the program's output may contain secrets. If so, the output is never shown."""

    def __post_init__(self) -> None:
        if not self.program.lower().endswith(".exe"):
            hint = "For a script, set powershell.exe or cmd.exe, and give the script's path in arguments."
            # The string may be a whole command line with a password.
            raise ResourceError(
                "program", AsItIs(hidden("a string")), "expected a program whose name ends in .exe", hint
            )
        if not 0 < self.timeout <= 86400:
            raise ResourceError("timeout", self.timeout, "expected 1 to 86400 seconds")
        if not self.success_codes:
            raise ResourceError("success_codes", None, "expected at least one exit code")


Listed: t.TypeAlias = JoinCommand | tuple[str, ...]
"""An entry of a user's list of programs: a mapping, or a list of the program and its arguments."""


def commands(listed: t.Any, where: str) -> tuple[JoinCommand, ...]:
    """Return the programs that a variable lists.

    Args:
        listed: value of the variable.
        where: name of the variable, for messages.

    Raises:
        ResourceError: an entry is invalid.
    """
    entries = convert(listed, tuple[Listed, ...], where)
    return tuple(of_entry(entry, f"{where}[{index}]") for index, entry in enumerate(entries))


def of_entry(entry: Listed, where: str) -> JoinCommand:
    """Return the program that an entry of a user's list of programs describes.

    Args:
        entry: a mapping, or a list of the program and its arguments.
        where: the entry's place in the list, for messages.

    Raises:
        ResourceError: the entry is invalid.
    """
    if isinstance(entry, JoinCommand):
        return entry
    if not entry:
        raise ResourceError(where, None, "expected a program and its arguments")
    try:
        return JoinCommand(program=entry[0], arguments=tuple(entry[1:]))
    except ResourceError as problem:
        raise ResourceError(f"{where}[0]", problem.value, problem.expected, problem.hint) from None


def calls(stage: Stage, listed: t.Sequence[JoinCommand], first: int = 0) -> tuple[Call, ...]:
    """Return the calls that run programs one after another. The batch stops at the first program that fails.

    Args:
        stage: when the programs run. For `post`, further calls record the number of programs that have ended.
        listed: all programs of the stage.
        first: index of the first program to run.
    """
    calls_in_order: list[Call] = []
    for index in range(first, len(listed)):
        calls_in_order.append(_run(f"{stage}-{index}", listed[index]))
        if stage == "post" and index + 1 < len(listed):
            calls_in_order.append(record(index + 1))
    return tuple(calls_in_order)


def record(ended: int) -> Call:
    """Return the call that records the number of post-kubeadm programs that have ended.

    Args:
        ended: the number to record.
    """
    parameters = {"path": RECORD, "content": f"{ended}\n", "sddl": ADMINISTRATORS_ONLY_FILE}
    return action(f"record-{ended}", "@write-file", parameters)


def end_record() -> Call:
    """Return the call that removes the record of ended programs, after all programs have ended."""
    return action(
        "end-record", "Remove-Item", {"LiteralPath": RECORD, "Force": True, "ErrorAction": "SilentlyContinue"}
    )


def ended(content: object) -> int | None:
    """Return the number of post-kubeadm programs that have ended, or None if none is left to run.

    Args:
        content: content of the record, or None if the record does not exist.
    """
    text = content.strip() if isinstance(content, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None


def secrets(listed: t.Iterable[JoinCommand]) -> tuple[str, ...]:
    """Return the programs' arguments and the values of their environment variables; messages must not contain these.

    Args:
        listed: programs that run before or after kubeadm.
    """
    return tuple(text for one in listed for text in (*one.arguments, *one.environment.values()))


def problem(call_id: str, result: CallResult, known: t.Iterable[str] = ()) -> str | None:
    """Return why a program failed, or None if the failed call does not run one of the user's programs.

    Args:
        call_id: id of the call that failed.
        result: the call's result. It contains no output if the program's output is secret.
        known: the programs' secrets, which the output may repeat.
    """
    stage, dash, index = call_id.partition("-")
    if stage not in ("pre", "post") or not dash:
        return None
    where = f"{stage}_kubeadm_commands[{index}]"
    output = shortened(result.stderr.strip() or result.stdout.strip() or str(result.error or "failed"), known)
    if result.exit_code is None:
        return f"{where}: {output}"
    is_hidden = not result.stderr and not result.stdout
    return f"{where}: exit code {result.exit_code}" + ("" if is_hidden else f": {output}")


def shortened(output: str, known: t.Iterable[str] = ()) -> str:
    """Return the end of a program's output without secrets.

    Args:
        output: the program's whole output, which may contain secrets.
        known: secret strings.
    """
    # The text is cut last, because a part of a secret would not be recognized.
    return text_without_secrets(Redaction(known).text(output))[-_SHOWN:]


def total_timeout(listed: t.Iterable[JoinCommand]) -> int:
    """Return the sum of the programs' time limits in seconds.

    Args:
        listed: programs that run before or after kubeadm.
    """
    return sum(one.timeout for one in listed)


def _run(call_id: str, command: JoinCommand) -> Call:
    return action(
        call_id,
        command.program,
        arguments=command.arguments,
        environment=command.environment,
        timeout=command.timeout,
        success_codes=command.success_codes,
        secret=command.secret,
        private=True,
        long=True,
    )
