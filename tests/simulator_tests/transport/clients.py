# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The clients that Ansible's connection plugins use, connected to a node under test."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from pypsrp.powershell import PowerShell, RunspacePool
from pypsrp.wsman import WSMan
from simulator_tests.transport.echo_host import EchoHost
from winrm.protocol import Protocol

from simulator.transport.server import NodeServer

USER = "Administrator"
PASSWORD = "P@ss:w0rd"


@dataclass(frozen=True)
class Node:
    """A node under test, and clients for it."""

    server: NodeServer
    host: EchoHost

    def port(self, scheme: str) -> int:
        return self.server.https_port if scheme == "https" else self.server.http_port

    def winrm(
        self, scheme: str = "http", auth: Any = "basic", *, operation_timeout: int = 20, **options: Any
    ) -> Protocol:
        return Protocol(
            f"{scheme}://{self.server.address}:{self.port(scheme)}/wsman",
            transport=auth,
            username=options.pop("user", USER),
            password=options.pop("password", PASSWORD),
            server_cert_validation=options.pop("validation", "ignore"),
            operation_timeout_sec=operation_timeout,
            read_timeout_sec=options.pop("read_timeout", operation_timeout + 5),
            **options,
        )

    def psrp(
        self, scheme: str = "http", auth: str = "basic", *, operation_timeout: int = 20, **options: Any
    ) -> RunspacePool:
        wsman = WSMan(
            self.server.address,
            port=self.port(scheme),
            ssl=scheme == "https",
            username=options.pop("user", USER),
            password=options.pop("password", PASSWORD),
            auth=auth,
            encryption="never" if auth == "basic" else "auto",
            cert_validation=options.pop("validation", False),
            operation_timeout=operation_timeout,
            read_timeout=options.pop("read_timeout", operation_timeout + 5),
            no_proxy=True,
            **options,
        )
        return RunspacePool(wsman)

    def get(self, path: str) -> dict[str, Any]:
        return self._control(path, None)

    def post(self, path: str, body: object) -> dict[str, Any]:
        return self._control(path, json.dumps(body).encode())

    def _control(self, path: str, body: bytes | None) -> dict[str, Any]:
        url = f"http://{self.server.address}:{self.server.http_port}/simulator/{path}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(urllib.request.Request(url, data=body), timeout=60) as answer:
                result: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            result = {"http_status": error.code, **json.load(error)}
        return result


def run_winrm(
    client: Protocol, shell: str, command: str, *arguments: str, stdin: bytes | None = None
) -> tuple[bytes, bytes, int]:
    """Run a command as Ansible's winrm plugin does: command, input, output, clean up."""
    command_id = client.run_command(shell, command, arguments, console_mode_stdin=stdin is None)
    if stdin is not None:
        client.send_command_input(shell, command_id, stdin, end=True)
    result: tuple[bytes, bytes, int] = client.get_command_output(shell, command_id)
    client.cleanup_command(shell, command_id)
    return result


def run_psrp(pool: RunspacePool, script: str, input_data: Any = None, *arguments: str) -> PowerShell:
    """Run a script as Ansible's psrp plugin does."""
    shell = PowerShell(pool)
    shell.add_script(script)
    for argument in arguments:
        shell.add_argument(argument)
    shell.invoke(input_data)
    return shell
