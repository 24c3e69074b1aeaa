# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The list of the Python modules that implement the cmdlets and programs of Windows.

The simulator finds the list through the entry point `windows`.
"""

from __future__ import annotations

from simulator.machine.families import Layer

LAYER = Layer(
    (
        "simulator.windows.security.account_cmdlets",
        "simulator.windows.software.features",
        "simulator.windows.networking.firewall",
        "simulator.windows.security.defender",
        "simulator.windows.security.antivirus",
        "simulator.windows.system.tasks",
        "simulator.windows.system.schtasks",
        "simulator.windows.system.time",
        "simulator.windows.wmi.cim",
        "simulator.windows.networking.network",
        "simulator.windows.networking.network_changes",
        "simulator.windows.networking.tcp",
        "simulator.windows.networking.network_programs",
        "simulator.windows.system.sysprep",
        "simulator.windows.system.machine_identity",
        "simulator.windows.curl",
        "simulator.windows.tar",
        "simulator.windows.system.computer",
        "simulator.windows.networking.proxy",
        "simulator.windows.networking.remote_access",
        "simulator.windows.networking.netsh",
        "simulator.windows.software.appx",
        "simulator.windows.system.storage",
        "simulator.windows.security.certificates",
        "simulator.windows.system.event_logs",
        "simulator.windows.system.tools",
        "simulator.windows.system.boot_configuration",
        "simulator.windows.updates.update_boot",
        "simulator.windows.updates.hot_fixes",
        "simulator.windows.updates.packages",
        "simulator.windows.updates.wusa",
        "simulator.windows.updates.dism",
        "simulator.windows.software.installer",
        "simulator.windows.cloudbase.program",
        "simulator.windows.software.openssh",
        "simulator.windows.software.native_images",
        "simulator.windows.security.authenticode",
        "simulator.windows.system.winrm",
        "simulator.windows.directory.membership",
        "simulator.windows.modules",
    ),
    needs=("core",),
)
