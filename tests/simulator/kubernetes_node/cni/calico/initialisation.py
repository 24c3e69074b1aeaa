# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Wait until the registry shows that node-service.ps1 has prepared the node since the last boot.

Source: calico.psm1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kubernetes_node.cni.calico.environment import Output, pause
from simulator.machine.objects import Invocation

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KEY = r"HKLM:\Software\Tigera\Calico"
VALUE = "LastBootTime"


def boot_time(machine: Machine) -> str:
    """Return the time of the last boot in .NET's general format, as Get-LastBootTime does."""
    moment = machine.power.boot_time
    hour, half = moment.hour % 12 or 12, "AM" if moment.hour < 12 else "PM"
    date = f"{moment.month}/{moment.day}/{moment.year}"
    return f"{date} {hour}:{moment.minute:02}:{moment.second:02} {half}"


def wait_for_calico(machine: Machine, run: Invocation, output: Output) -> None:
    """Wait until node-service.ps1 has recorded the time of the last boot, as Wait-ForCalicoInit does.

    Raises:
        StoppedError: the program has to end before the time is recorded.
    """
    while machine.registry.data(KEY, VALUE, "") != boot_time(machine):
        output.write("Waiting for Calico initialisation to finish...")
        pause(machine, run, 1.0)
    output.write("Calico initialisation finished.")
