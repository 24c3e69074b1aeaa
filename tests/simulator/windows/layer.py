# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The families of Windows, which the machine finds by the entry point `windows`."""

from __future__ import annotations

from simulator.machine.families import Layer

LAYER = Layer(
    (
        "simulator.windows.account_cmdlets",
        "simulator.windows.features",
        "simulator.windows.firewall",
        "simulator.windows.defender",
        "simulator.windows.antivirus",
        "simulator.windows.tasks",
        "simulator.windows.time",
        "simulator.windows.cim",
        "simulator.windows.network",
        "simulator.windows.network_changes",
        "simulator.windows.tcp",
        "simulator.windows.network_programs",
        "simulator.windows.sysprep",
        "simulator.windows.curl",
        "simulator.windows.tar",
        "simulator.windows.computer",
        "simulator.windows.proxy",
        "simulator.windows.netsh",
        "simulator.windows.appx",
        "simulator.windows.storage",
        "simulator.windows.certificates",
        "simulator.windows.event_logs",
        "simulator.windows.tools",
        "simulator.windows.boot_configuration",
        "simulator.windows.update_boot",
        "simulator.windows.hot_fixes",
        "simulator.windows.packages",
        "simulator.windows.wusa",
        "simulator.windows.dism",
        "simulator.windows.installer",
        "simulator.windows.openssh",
        "simulator.windows.native_images",
        "simulator.windows.authenticode",
        "simulator.windows.winrm",
        "simulator.windows.modules",
    ),
    needs=("core",),
)
