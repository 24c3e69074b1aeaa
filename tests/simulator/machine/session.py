# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The context of a running command: its machine, process, user, environment and current folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.processes import Process
from simulator.transport.host import ConsoleInput

_SYSNATIVE = re.compile(r"^C:\\Windows\\Sysnative\\", re.IGNORECASE)


@dataclass
class Session:
    """The context of a command.

    Args:
        user: an account name, or `SYSTEM`.
        environment: the environment variables of the process. Changes affect only this process.
        directory: the current folder.
        logon: `batch` for a logon on the machine itself (become); empty for a logon over WinRM.
        standard_error: a function that receives what a script writes to its process's standard error.
    """

    machine: Machine
    process: Process
    user: str
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = ""
    logon: str = ""
    standard_error: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        """Add the environment variables that Windows sets for the user. `directory` defaults to the profile folder."""
        self.environment = {**self.machine.user_environment(self.user), **self.environment}
        self.directory = self.directory or self.variable("USERPROFILE", "C:\\")

    def variable(self, name: str, default: str = "") -> str:
        """Return an environment variable. The name is case-insensitive."""
        requested = name.casefold()
        return next((value for key, value in self.environment.items() if key.casefold() == requested), default)

    def expand(self, text: str) -> str:
        """Return a string with each `%NAME%` replaced with the value of the environment variable."""
        from simulator.machine.command_line import expand

        return expand(text, self.environment)

    def absolute(self, path: str) -> str:
        """Return the absolute path for a file path that may be relative to the current folder."""
        text = path.replace("/", "\\")
        if text[1:2] == ":" or text.startswith("\\"):
            return text
        return f"{self.directory.rstrip(chr(92))}\\{text}" if text not in (".", "") else self.directory

    @property
    def is_64_bit(self) -> bool:
        r"""Whether the process is a 64-bit process. Windows' 32-bit programs are in C:\Windows\SysWOW64.

        A 32-bit process finds the 64-bit programs in C:\Windows\Sysnative, which exists for no other process:
        https://learn.microsoft.com/windows/win32/winprog64/file-system-redirector
        """
        return not self.process.image.casefold().startswith("c:\\windows\\syswow64\\")

    def run_program(self, name: str, arguments: list[str] | str, stdin: bytes | ConsoleInput = b"") -> ProgramResult:
        """Run a program in this context, and return its result. The errors are those of `MachinePrograms.run`."""
        return self.machine.programs.run(
            name if self.is_64_bit else _SYSNATIVE.sub(r"C:\\Windows\\System32\\", name),
            arguments,
            stdin=stdin,
            environment=self.environment,
            directory=self.directory,
            stop=self.process.stop,
            user=self.user,
            logon=self.logon,
        )
