# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands that Windows Setup runs on a new machine: those of the specialize pass, and SetupComplete.cmd.

Sources:
https://learn.microsoft.com/windows-hardware/customize/desktop/unattend/microsoft-windows-deployment-runsynchronous and
https://learn.microsoft.com/windows-hardware/manufacture/desktop/add-a-custom-script-to-windows-setup
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from simulator.machine.machine import COMPUTER_NAME, TCPIP
from simulator.machine.processes import Process
from simulator.machine.programs import SYSTEM

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

SETUP_COMPLETE = r"C:\Windows\Setup\Scripts\SetupComplete.cmd"
_REBOOT, _REBOOT_AND_REPEAT = 1, 2
_MOST_RUNS = 3


def run_synchronous(machine: Machine, answer_file: str) -> None:
    """Run the commands of an answer file as SYSTEM.

    As with WillReboot=OnRequest, a command's exit code 1 requests a reboot, and 2 requests a reboot and another run of
    the command. Instead of rebooting, the simulator only makes a new computer name take effect.
    """
    blocks = re.findall(r"<RunSynchronousCommand\b.*?</RunSynchronousCommand>", answer_file, re.DOTALL)
    for block in sorted(blocks, key=lambda block: int(_text(block, "Order") or 0)):
        program, _, arguments = html.unescape(_text(block, "Path")).partition(" ")
        for _ in range(_MOST_RUNS):
            result = machine.programs.run(program, arguments, user=SYSTEM)
            machine.services.events.append(f"specialize: {program} ended with {result.exit_code}")
            if result.exit_code in (_REBOOT, _REBOOT_AND_REPEAT):
                _take_name(machine)
            if result.exit_code != _REBOOT_AND_REPEAT:
                break


def _text(block: str, name: str) -> str:
    found = re.search(rf"<{name}>\s*(.*?)\s*</{name}>", block, re.DOTALL)
    return found[1] if found else ""


def _take_name(machine: Machine) -> None:
    registry = machine.registry
    name = registry.data(f"{COMPUTER_NAME}\\ComputerName", "ComputerName", machine.name)
    registry.set(f"{COMPUTER_NAME}\\ActiveComputerName", "ComputerName", name)
    registry.set(TCPIP, "Hostname", registry.data(TCPIP, "NV Hostname", name))


def start_setup_complete(machine: Machine) -> None:
    """Run SetupComplete.cmd as SYSTEM once the machine is up, if there is such a file."""
    if not machine.files.is_file(SETUP_COMPLETE):
        return

    def work(process: Process) -> None:
        while machine.power.state != "on":
            process.sleep(0.05)
        machine.programs.run(SETUP_COMPLETE, [], stop=process.stop, user=SYSTEM)

    machine.processes.detach("cmd.exe", SYSTEM, work)
