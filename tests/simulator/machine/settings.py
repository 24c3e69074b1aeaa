# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The settings of a simulated machine, as in the fleet file, which lists the machines to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MachineSettings:
    """The settings of a simulated machine, as in the fleet file, which lists the machines to simulate.

    Args:
        name: the initial computer name.
        address: the IP address (in 127.0.0.0/8).
        windows: a key of `versions.VERSIONS`.
        user, password: the administrator's account.
        disk_gb: the size of drive C:.
        memory_mb, processors: the size of the memory and the number of processors.
        reboot_seconds: the duration of a reboot (real seconds).
        feature_seconds: the duration of a feature installation (real seconds).
        time_scale: the number of real seconds per simulated second of Windows' delays, such as those of service
            recovery and of a scheduled shutdown.
        pause_scale: the number of real seconds per simulated second of pauses in scripts (Start-Sleep, WaitForExit).
        first_delay: the delay after the first failed attempt of a command that the collection retries, as a fraction
            of the full delay. The delay after the second attempt is twice as long, and so on, up to the full delay.
            The delay before the last attempt is always the full one. The first delays are shorter because a simulated
            server is faster than a real one.
        powershell: the version of PowerShell that runs modules; by default, the included Windows PowerShell.
        options: all other keys of the machine's entry. The models of programs and cmdlets read them.
    """

    name: str
    address: str
    windows: str = "2022"
    user: str = "Administrator"
    password: str = "Passw0rd!"
    disk_gb: float = 80.0
    memory_mb: int = 8192
    processors: int = 4
    reboot_seconds: float = 1.0
    feature_seconds: float = 0.2
    time_scale: float = 0.05
    pause_scale: float = 1.0
    first_delay: float = 0.1
    powershell: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def read(cls, entry: Mapping[str, object]) -> MachineSettings:
        """Read an entry of a fleet file. Unknown keys become options.

        Raises:
            ValueError: a setting that must be a number is not one, or the name or address is missing.
        """
        known: dict[str, object] = {}
        options: dict[str, object] = {}
        kinds = {name: kind for name, kind in cls.__annotations__.items() if name != "options"}
        for name, value in entry.items():
            kind = kinds.get(name)
            if kind is None:
                options[name] = value
            elif kind == "str":
                known[name] = str(value)
            elif isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"expected a number for the node setting {name}, got {value!r}")
            else:
                known[name] = int(value) if kind == "int" else float(value)
        if missing := {"name", "address"} - known.keys():
            raise ValueError(
                f"a node needs a name and an address, got {dict(entry)!r} (missing: {', '.join(sorted(missing))})"
            )
        return cls(options=options, **known)  # type: ignore[arg-type]

    def option(self, name: str, default: object = None) -> object:
        """Return a setting from `options`, or `default` if the setting is missing."""
        return self.options.get(name, default)
