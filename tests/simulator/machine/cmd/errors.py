# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What ends a line of cmd.exe."""

from __future__ import annotations


class CmdNotModelledError(Exception):
    """Something of cmd.exe that the simulator does not model; the text names it."""


class SyntaxRefusedError(Exception):
    """A line that cmd.exe does not understand; the text is what it says."""


class ExitSignal(Exception):
    """The command `exit`.

    Args:
        code: None: whatever the code was before.
        batch: whether it only ends the batch file (/b).
    """

    def __init__(self, code: int | None, *, batch: bool) -> None:
        super().__init__(code)
        self.code = code
        self.batch = batch
