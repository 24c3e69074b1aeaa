# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How a batch reads a program's output: as UTF-8, or else in the OEM code page (docs/wire.md)."""

from __future__ import annotations

import re

from simulator.machine import language
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult


def read_output(machine: Machine, path: str, result: ProgramResult) -> ProgramResult:
    """Return the result of a program with its output decoded as in a batch."""
    texts = [_decoded(machine, language.printed(machine, path, text)) for text in (result.stdout, result.stderr)]
    return ProgramResult(result.exit_code, *texts)


def _decoded(machine: Machine, data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    # Even with invalid bytes, the output counts as UTF-8 if it contains a valid non-ASCII character.
    if "\ufffd" not in text or re.search(r"[^\x00-\x7f\ufffd]", text):
        return text
    return data.decode(f"cp{language.code_page(machine)}", "replace")
