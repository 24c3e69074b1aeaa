# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One Windows machine: how it is set up, booted and copied from an image."""

from __future__ import annotations

import dataclasses
import random
import string
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from simulator.machine import accounts, baseline, command_line
from simulator.machine.clock import WallClock
from simulator.machine.families import Families, load
from simulator.machine.files import GIGABYTE, FileSystem
from simulator.machine.language import set_language
from simulator.machine.network import NetworkAdapter
from simulator.machine.power import Power
from simulator.machine.processes import Processes
from simulator.machine.programs import MachinePrograms
from simulator.machine.registry import Registry
from simulator.machine.rights.acting import Acting
from simulator.machine.rights.logons import token
from simulator.machine.services import Services
from simulator.machine.settings import MachineSettings
from simulator.machine.versions import VERSIONS, WindowsVersion

Part = TypeVar("Part")

COMPUTER_NAME = r"HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName"
TCPIP = r"HKLM:\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
SETUP_STATE = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State"
ENVIRONMENT = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
COMPLETE = "IMAGE_STATE_COMPLETE"
GENERALIZED = "IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE"


class Machine:
    """A Windows server.

    Args:
        settings: the node's entry in the fleet file.
        folder: the folder on the host that contains the machine's files.
        families: the families of cmdlets, programs and services that the server has; by default, all families.
        source: the machine to copy, as in an image deployment; by default, Windows is set up on an empty disk.
    """

    def __init__(
        self, settings: MachineSettings, folder: Path, families: Families | None = None, source: Machine | None = None
    ) -> None:
        if settings.windows not in VERSIONS:
            raise ValueError(f"expected one of the versions of Windows {', '.join(VERSIONS)}, got {settings.windows!r}")
        self.settings = settings
        self.windows: WindowsVersion = VERSIONS[settings.windows]
        if settings.powershell:
            self.windows = dataclasses.replace(self.windows, powershell=settings.powershell)
        self.address = settings.address
        self.families = families if families is not None else load()
        drives = settings.option("drives", ["C"])
        letters = tuple(str(letter)[0] for letter in drives) if isinstance(drives, list) else ("C",)
        self.sid = ""
        self.acting = Acting(lambda account: token(self, account))
        self.files = FileSystem(folder, int(settings.disk_gb * GIGABYTE), letters, self.acting)
        self.registry = Registry(self.acting)
        self.network = NetworkAdapter()
        offset = settings.option("clock_offset", 0)
        self.clock = WallClock(float(offset) if isinstance(offset, (int, float)) else 0.0)
        self.processes = Processes(self.acting)
        self.files.on_move.append(self.processes.moved)
        self.programs = MachinePrograms(self)
        self.services = Services(
            self.registry, self.processes, self.programs.resolve_service, self.expand, settings.time_scale
        )
        self.services.machine = self
        self.power = Power(self.registry, self._go_down, self._come_up, settings.reboot_seconds, settings.time_scale)
        self._parts: dict[type, object] = {}
        self._lock = threading.RLock()
        # The registry of a fresh machine. The status shows what differs from it.
        self.fresh_registry = Registry()
        if source is None:
            self._install()
            self.fresh_registry.copy_from(self.registry)
        else:
            self._copy(source)
            self.fresh_registry.copy_from(source.fresh_registry)

    @property
    def name(self) -> str:
        """The active computer name, which is the name at the last boot."""
        return str(self.registry.data(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName", self.settings.name))

    @property
    def host_name(self) -> str:
        """The DNS host name, which is case-preserving and may be longer than the NetBIOS name."""
        return str(self.registry.data(TCPIP, "Hostname", self.name))

    @property
    def generalized(self) -> bool:
        """Whether sysprep has generalized the machine and the machine has not started since then."""
        return self.registry.data(SETUP_STATE, "ImageState") == GENERALIZED

    def part(self, kind: Callable[[], Part]) -> Part:
        """Return the machine's only instance of a state class such as `Shims`. The first call creates the instance."""
        with self._lock:
            found = self._parts.get(kind)  # type: ignore[call-overload]
            if found is None:
                found = kind()
                self._parts[kind] = found  # type: ignore[index]
            return found  # type: ignore[no-any-return]

    def environment(self) -> dict[str, str]:
        """Return the machine's environment variables, expanded."""
        fixed = {
            "SystemRoot": "C:\\Windows",
            "SystemDrive": "C:",
            "ProgramData": "C:\\ProgramData",
            "ProgramFiles": "C:\\Program Files",
            "ProgramFiles(x86)": "C:\\Program Files (x86)",
            "ALLUSERSPROFILE": "C:\\ProgramData",
            "COMPUTERNAME": self.name,
        }
        variables = {name: str(value.data) for name, value in self.registry.values(ENVIRONMENT).items()}
        plain = {**fixed, **{name: value for name, value in variables.items() if "%" not in value}}
        return {**plain, **{name: command_line.expand(value, plain) for name, value in variables.items()}}

    def user_environment(self, user: str) -> dict[str, str]:
        """Return the environment variables of a user's processes."""
        short = user.rsplit("\\", 1)[-1]
        system = short.casefold() == "system"
        profile = "C:\\Windows\\system32\\config\\systemprofile" if system else f"C:\\Users\\{short}"
        temporary = "C:\\Windows\\TEMP" if system else f"{profile}\\AppData\\Local\\Temp"
        return {
            **self.environment(),
            "USERNAME": f"{self.name}$" if system else short,
            "USERDOMAIN": "WORKGROUP" if system else self.name,
            "USERPROFILE": profile,
            "APPDATA": f"{profile}\\AppData\\Roaming",
            "LOCALAPPDATA": f"{profile}\\AppData\\Local",
            "TEMP": temporary,
            "TMP": temporary,
        }

    def expand(self, text: str) -> str:
        """Return a string with the machine's `%NAME%` variables replaced."""
        return command_line.expand(text, self.environment())

    def power_on(self) -> None:
        """Boot the machine if it is off, and wait until it is up. After sysprep, Windows' setup runs first."""
        self.power.power_on()

    def _install(self) -> None:
        """Set up Windows on an empty disk."""
        self.sid = _new_sid()
        baseline.create_baseline(self)
        set_language(self, str(self.settings.option("language", "en-US")))
        for create_baseline in self.families.baseline:
            create_baseline(self)

    def _copy(self, source: Machine) -> None:
        """Copy another machine's SID, disk and registry, and the state objects that its `part` method created."""
        import copy

        self.sid = source.sid
        self.files.copy_from(source.files)
        self.registry.copy_from(source.registry)
        self._parts = {kind: copy.deepcopy(part) for kind, part in source._parts.items()}

    def _go_down(self) -> None:
        self.network.power_off()
        self.processes.kill_all()
        self.services.halt()
        self.registry.drop_volatile()

    def _come_up(self) -> None:
        self.services.events.append(f"booted {datetime.now(UTC).isoformat(timespec='seconds')}")
        if self.generalized:
            self._specialise()
        requested = str(self.registry.data(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", self.settings.name))
        self.registry.set(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName", requested)
        host_name = self.registry.data(TCPIP, "NV Hostname", requested)
        self.registry.set(TCPIP, "Hostname", host_name)
        baseline.at_boot(self)
        for work in self.families.on_boot:
            work(self)
        self.services.boot()
        baseline.at_logon(self)
        self.network.power_on()

    def _specialise(self) -> None:
        """Become a new machine with a new SID and a random name, as Windows' setup does after `sysprep /generalize`."""
        self.sid = _new_sid()
        letters = string.ascii_uppercase + string.digits
        name = "WIN-" + "".join(random.choice(letters) for _ in range(11))
        self.registry.set(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", name)
        self.registry.set(TCPIP, "NV Hostname", name)
        self.registry.set(SETUP_STATE, "ImageState", COMPLETE)
        accounts.provide_own(self)
        baseline.make_users(self)


def _new_sid() -> str:
    parts = [str(random.randrange(10**8, 2**32)) for _ in range(3)]
    return "S-1-5-21-" + "-".join(parts)
