# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Variables: scopes, automatic variables, `$env:`."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.machine.objects import PSObject
from simulator.machine.powershell import values
from simulator.machine.powershell.syntax import Block
from simulator.machine.session import Session
from simulator.machine.text import to_text


@dataclass
class Runspace:
    """What lives as long as a runspace (a pool's, or a process): global variables and functions."""

    variables: dict[str, object] = field(default_factory=dict)
    functions: dict[str, Block] = field(default_factory=dict)


@dataclass
class Variables:
    """The variables of a running script, innermost scope last."""

    session: Session
    runspace: Runspace
    scopes: list[dict[str, object]] = field(default_factory=list)
    success: bool = True
    errors: list[object] = field(default_factory=list)

    def get(self, name: str) -> object:
        """Return a variable, or None."""
        lower = name.casefold()
        drive, colon, rest = lower.partition(":")
        if colon:
            if drive == "env":
                return self.session.variable(name.partition(":")[2]) or None
            return self.get(rest)
        for scope in (*reversed(self.scopes), self.runspace.variables):
            if lower in scope:
                return scope[lower]
        return self._automatic(lower)

    def exists(self, name: str) -> bool:
        """Return whether a variable was set."""
        lower = name.casefold()
        return (
            any(lower in scope for scope in (*self.scopes, self.runspace.variables))
            or self._automatic(lower) is not None
        )

    def set(self, name: str, value: object) -> None:
        """Set a variable in the scope that is named, or the current one."""
        drive, colon, rest = name.partition(":")
        if colon and drive.casefold() == "env":
            self.session.environment = {
                key: item for key, item in self.session.environment.items() if key.casefold() != rest.casefold()
            }
            if value is not None and value != "":
                self.session.environment[rest] = to_text(value)
            return
        if name.casefold() == "null":
            return
        scopes = {"global": self.runspace.variables, "script": (self.scopes or [self.runspace.variables])[0]}
        target = scopes.get(drive.casefold()) if colon else None
        if target is None:
            target = self.scopes[-1] if self.scopes else self.runspace.variables
        target[(rest if colon else name).casefold()] = value

    def _automatic(self, name: str) -> object:
        machine = self.session.machine
        if name in ("true", "false"):
            return name == "true"
        if name == "?":
            return self.success
        if name == "error":
            return list(reversed(self.errors))
        if name == "psversiontable":
            return {
                "PSVersion": values.version(machine.windows.powershell),
                "PSEdition": "Desktop",
                "BuildVersion": values.version(f"10.0.{machine.windows.build}.{machine.windows.ubr}"),
                "CLRVersion": values.version("4.0.30319.42000"),
            }
        return {
            "erroractionpreference": "Continue",
            "warningpreference": "Continue",
            "progresspreference": "Continue",
            "verbosepreference": "SilentlyContinue",
            "debugpreference": "SilentlyContinue",
            "confirmpreference": "High",
            "home": self.session.variable("USERPROFILE"),
            "pwd": PSObject(
                "System.Management.Automation.PathInfo", {"Path": self.session.directory}, self.session.directory
            ),
            "pid": self.session.process.id,
            "pshome": "C:\\Windows\\System32\\WindowsPowerShell\\v1.0",
            "host": PSObject("System.Management.Automation.Internal.Host.InternalHost", {"Name": "ConsoleHost"}),
            "ofs": " ",
        }.get(name)
