# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Exceptions that end the execution of a command line of cmd.exe."""

from __future__ import annotations


class CmdNotModelledError(Exception):
    """Raised if a command line uses a part of cmd.exe's language that is not modelled. The message names this part."""


class SyntaxRefusedError(Exception):
    """Raised if a command line has invalid syntax. The exception's message is cmd.exe's."""


class ExitSignal(Exception):
    """Raised when `exit` or `goto :eof` ends a batch file or cmd.exe.

    Args:
        code: the exit code, or None to keep the current one.
        batch: whether only the batch file ends, as with `exit /b` and `goto :eof`, and not cmd.exe.
    """

    def __init__(self, code: int | None, *, batch: bool) -> None:
        super().__init__(code)
        self.code = code
        self.batch = batch
