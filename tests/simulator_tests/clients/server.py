# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A simulated server, and clients that connect to it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from pypsrp.client import Client
from pypsrp.powershell import PowerShell, RunspacePool
from winrm.protocol import Protocol

from simulator.machine.machine import Machine

REFUSAL = "the simulator does not model"


@dataclass(frozen=True)
class Server:
    """A machine with its address and its administrator."""

    machine: Machine

    @property
    def user(self) -> str:
        return self.machine.settings.user

    @property
    def password(self) -> str:
        return self.machine.settings.password

    def pypsrp(self) -> Client:
        return Client(
            self.machine.address, username=self.user, password=self.password, ssl=False, auth="basic",
            encryption="never", no_proxy=True,
        )  # fmt: skip

    def pool(self, **options: Any) -> RunspacePool:
        return RunspacePool(self.pypsrp().wsman, **options)

    def script(self, text: str, given: list[object] | None = None) -> PowerShell:
        """Run a script over PSRP and return the pipeline, with its output and streams."""
        with self.pool() as pool:
            shell = PowerShell(pool)
            shell.add_script(text)
            shell.invoke(given)
            return shell

    def pywinrm(self) -> Protocol:
        return Protocol(
            f"http://{self.machine.address}:5985/wsman",
            transport="basic",
            username=self.user,
            password=self.password,
        )

    def run(self, line: str, *arguments: str, stdin: bytes | None = None) -> tuple[str, str, int]:
        """Run a command line over WinRS.

        Args:
            line: the program.
            arguments: its arguments.
            stdin: the content of a pipe as standard input; None for a console.

        Returns:
            The standard output, the standard error and the exit code.
        """
        client = self.pywinrm()
        shell = client.open_shell()
        try:
            command = client.run_command(shell, line, arguments, console_mode_stdin=stdin is None)
            if stdin is not None:
                client.send_command_input(shell, command, stdin, end=True)
            stdout, stderr, code = client.get_command_output(shell, command)
            client.cleanup_command(shell, command)
        finally:
            client.close_shell(shell)
        return stdout.decode(), stderr.decode(), code


def encoded(script: str) -> str:
    """Return a script in the form that powershell.exe accepts after -EncodedCommand."""
    return base64.b64encode(script.encode("utf-16-le")).decode()
