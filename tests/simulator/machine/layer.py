# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The list of the cmdlets, programs and services that every Windows installation has."""

from __future__ import annotations

from simulator.machine.families import Layer

LAYER = Layer(
    (
        "simulator.machine.core.items",
        "simulator.machine.core.properties",
        "simulator.machine.core.contents",
        "simulator.machine.core.file_hashes",
        "simulator.machine.core.services",
        "simulator.machine.core.process_cmdlets",
        "simulator.machine.powershell.cmdlets.objects",
        "simulator.machine.powershell.cmdlets.making",
        "simulator.machine.powershell.cmdlets.output",
        "simulator.machine.powershell.cmdlets.session",
        "simulator.machine.powershell.cmdlets.csv_text",
        "simulator.machine.core.json_text",
        "simulator.machine.core.system",
        "simulator.machine.core.sc",
        "simulator.machine.core.reg",
        "simulator.machine.core.shutdown",
        "simulator.machine.core.started_programs",
        "simulator.machine.core.small_cmdlets",
        "simulator.machine.core.small_programs",
        "simulator.machine.core.cmd",
        "simulator.machine.core.powershell",
        "simulator.machine.core.hosts",
        "simulator.machine.modules",
    ),
)
