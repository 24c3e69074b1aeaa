# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the version of an executable on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine import executables

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def version_of(machine: Machine, program: str) -> str:
    """Return an executable's version, or an empty string if the file does not exist or is not a simulated program."""
    path = program if machine.files.is_file(program) else f"{program}.exe"
    if not machine.files.is_file(path):
        return ""
    with machine.files.real(path).open("rb") as file:
        found = executables.identify(file.read(executables.HEAD_SIZE))
    return found[1] if found else ""
