# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate windows_exporter.exe, with its command line and its port. The metrics are not modelled.

Sources: prometheus-community/windows_exporter v0.31.8, README.md (flags and collectors), internal/log,
cmd/windows_exporter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.listeners import Listeners, Port
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_COLLECTORS = frozenset(
    [
        "ad",
        "adcs",
        "adfs",
        "cache",
        "container",
        "cpu",
        "cpu_info",
        "dfsr",
        "dhcp",
        "diskdrive",
        "dns",
        "exchange",
        "filetime",
        "fsrmquota",
        "gpu",
        "hyperv",
        "iis",
        "license",
        "logical_disk",
        "memory",
        "mscluster",
        "msmq",
        "mssql",
        "net",
        "netframework",
        "nps",
        "os",
        "pagefile",
        "performancecounter",
        "physical_disk",
        "printer",
        "process",
        "remote_fx",
        "scheduled_task",
        "service",
        "smb",
        "smbclient",
        "smtp",
        "system",
        "tcp",
        "terminal_services",
        "textfile",
        "thermalzone",
        "time",
        "udp",
        "update",
        "vmware",
    ]
)
_FLAGS = ("web.listen-address", "collectors.enabled", "config.file", "telemetry.path", "log.level", "log.file")


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate windows_exporter.exe, which listens on its port until it is stopped."""
    flags = {}
    for word in invocation.argv:
        name, _given, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in _FLAGS:
            return ProgramResult(1, "", f"windows_exporter: error: unknown long flag '{word.partition('=')[0]}'\n")
        flags[name] = value
    enabled = flags.get("collectors.enabled", "[defaults]").split(",")
    unknown = [name for name in enabled if name not in _COLLECTORS and name != "[defaults]"]
    if unknown:
        return ProgramResult(1, "", f"unknown collector {unknown[0]}\n")
    host, _colon, port = flags.get("web.listen-address", ":9182").rpartition(":")
    ports = machine.part(Listeners).ports
    if int(port) in ports:
        text = f"listen tcp :{port}: bind: Only one usage of each socket address is normally permitted.\n"
        return ProgramResult(1, "", text)
    mine = ports[int(port)] = Port(host or "::", "windows_exporter")
    invocation.stop.wait()
    if ports.get(int(port)) is mine:
        del ports[int(port)]
    return ProgramResult(0, "", "")


PROGRAMS: Mapping[str, Program] = {"windows_exporter": run}
