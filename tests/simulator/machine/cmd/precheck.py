# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a whole batch file before its first line runs, to reject syntax that the simulator does not model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from simulator.machine.cmd.built_in import name_and_rest, unmodelled
from simulator.machine.cmd.errors import CmdNotModelledError, SyntaxRefusedError
from simulator.machine.cmd.parsing import CmdIf, CmdStep, For, Group, Simple, parse

_FILES = (".bat", ".cmd", ".exe")


def check(blocks: Iterable[str]) -> None:
    """Check the commands of a batch file, in which variables such as `%NAME%` are not replaced yet.

    Raises:
        CmdNotModelledError: the simulator does not model the syntax.
    """
    for block in blocks:
        try:
            steps = parse(block)
        except SyntaxRefusedError:
            # The values of variables may make the line valid. If not, cmd.exe rejects the line when it reaches it.
            continue
        for text in _commands(steps):
            words = text.split(maxsplit=1)
            if words and words[0].casefold() == "call":
                words = words[1:] and words[1].split(maxsplit=1)
                text = " ".join(words)
            if not words or words[0].casefold().endswith(_FILES):
                continue
            if unknown := unmodelled(*name_and_rest(text)):
                raise CmdNotModelledError(unknown)


def _commands(steps: Sequence[CmdStep]) -> Iterator[str]:
    for step in steps:
        node = step.node
        if isinstance(node, Simple):
            yield node.text.lstrip(" \t,;=")
        elif isinstance(node, Group):
            yield from _commands(node.steps)
        elif isinstance(node, CmdIf):
            yield from _commands([*node.body, *node.other])
        elif isinstance(node, For):
            yield from _commands(node.body)
