# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""bcdedit.exe and Secure Boot. Boot options take effect at the next boot.

`SystemStartOptions` in the registry contains the options of the running system.

Sources: https://learn.microsoft.com/windows-hardware/drivers/devtest/bcdedit--set and, for the listing of entries,
https://learn.microsoft.com/windows-hardware/drivers/devtest/boot-options-identifiers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.machine.baseline import CONTROL
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Options that cannot be changed while Secure Boot is on.
_PROTECTED = ("testsigning", "nointegritychecks", "debug", "bootdebug", "flightsigning")
_DONE = "The operation completed successfully.\r\n"
_BOOLEANS = {"on": "Yes", "true": "Yes", "yes": "Yes", "1": "Yes", "off": "No", "false": "No", "no": "No", "0": "No"}
_BOOLEAN_OPTIONS = (*_PROTECTED, "recoveryenabled", "quietboot")
_WELL_KNOWN = ("{current}", "{default}", "{bootmgr}")


@dataclass
class BootOptions:
    """The configured boot options, and the boot options of the running system."""

    options: dict[str, str] = field(default_factory=dict)
    active: dict[str, str] = field(default_factory=dict)


def secure_boot(machine: Machine) -> bool | None:
    """Return whether the `secure_boot` setting turns on Secure Boot, or None for a machine with legacy BIOS."""
    state = machine.settings.option("secure_boot", True)
    return state if isinstance(state, bool) else None


def is_set(machine: Machine, option: str) -> bool:
    """Return whether a boolean boot option is on in the configuration."""
    return machine.part(BootOptions).options.get(option) == "Yes"


def is_active(machine: Machine, option: str) -> bool:
    """Return whether a boolean boot option has been in effect since the last boot."""
    return machine.part(BootOptions).active.get(option) == "Yes"


def bcdedit(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate bcdedit.exe with /enum, /set [ID] NAME VALUE or /deletevalue [ID] NAME."""
    words = list(run.argv)
    verb = words.pop(0).casefold().replace("-", "/", 1) if words else "/enum"
    if words and words[0].startswith("{"):
        identifier = words.pop(0)
        if identifier.casefold() not in _WELL_KNOWN:
            return _failed(f"The boot configuration data store has no entry {identifier}.\r\n")
    if verb == "/set" and len(words) == 2:
        return _set(machine, words[0].casefold(), words[1])
    if verb == "/deletevalue" and len(words) == 1:
        return _delete(machine, words[0].casefold())
    if verb == "/enum":
        return _enumerate(machine)
    return ProgramResult(1, "", f"the simulator does not model bcdedit {' '.join(run.argv)}\r\n")


def _failed(text: str) -> ProgramResult:
    return ProgramResult(1, "", text)


def _protected(machine: Machine, name: str) -> ProgramResult | None:
    if name not in _PROTECTED or secure_boot(machine) is not True:
        return None
    return _failed(
        "An error has occurred setting the element data.\r\n"
        "The value is protected by Secure Boot policy and cannot be modified or deleted.\r\n"
    )


def _set(machine: Machine, name: str, value: str) -> ProgramResult:
    refusal = _protected(machine, name)
    if refusal:
        return refusal
    if name in _BOOLEAN_OPTIONS and value.casefold() not in _BOOLEANS:
        return _failed("An error has occurred setting the element data.\r\nThe parameter is incorrect.\r\n")
    machine.part(BootOptions).options[name] = _BOOLEANS.get(value.casefold(), value)
    return ProgramResult(0, _DONE)


def _delete(machine: Machine, name: str) -> ProgramResult:
    refusal = _protected(machine, name)
    if refusal:
        return refusal
    if machine.part(BootOptions).options.pop(name, None) is None:
        return _failed(
            "An error occurred while attempting to delete the specified data element.\r\nElement not found.\r\n"
        )
    return ProgramResult(0, _DONE)


def _enumerate(machine: Machine) -> ProgramResult:
    manager = {
        "identifier": "{bootmgr}",
        "device": r"partition=\Device\HarddiskVolume1",
        "description": "Windows Boot Manager",
        "locale": "en-US",
        "default": "{current}",
        "displayorder": "{current}",
        "timeout": "30",
    }
    loader = {
        "identifier": "{current}",
        "device": "partition=C:",
        "path": r"\Windows\system32\winload.efi",
        "description": "Windows Server",
        "locale": "en-US",
        **machine.part(BootOptions).options,
        "osdevice": "partition=C:",
        "systemroot": r"\Windows",
        "nx": "OptOut",
    }
    lines: list[str] = []
    for title, entry in (("Windows Boot Manager", manager), ("Windows Boot Loader", loader)):
        lines += ["", title, "-" * len(title), *(f"{name:<24}{value}" for name, value in entry.items())]
    return ProgramResult(0, "".join(f"{line}\r\n" for line in lines))


def on_boot(machine: Machine) -> None:
    """Apply the configured boot options, and record them in the registry."""
    boot, state = machine.part(BootOptions), secure_boot(machine)
    # With Secure Boot, the firmware ignores test signing, which a disk from another machine may enable.
    refused = _PROTECTED if state is True else ()
    boot.active = {name: value for name, value in boot.options.items() if name not in refused}
    flags = [name.upper() for name in _PROTECTED if boot.active.get(name) == "Yes"]
    machine.registry.write(CONTROL, {"SystemStartOptions": " " + "  ".join(["NOEXECUTE=OPTOUT", *flags])})
    if state is None:
        machine.registry.delete_key(f"{CONTROL}\\SecureBoot\\State")
    else:
        machine.registry.write(f"{CONTROL}\\SecureBoot\\State", {"UEFISecureBootEnabled": int(state)})


PROGRAMS: Mapping[str, Program] = {"bcdedit.exe": bcdedit}
BASELINE = on_boot
ON_BOOT = on_boot
