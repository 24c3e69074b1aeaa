# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The versions of Windows Server that can be simulated.

Each released version has the build number of an update from 2024. Source:
https://learn.microsoft.com/windows/release-health/windows-server-release-info.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowsVersion:
    """A version of Windows Server.

    Args:
        key: `2019`, `2022`, `2025` or `insider`.
        contract: the version of Microsoft's reference that applies to this version: `2019`, `2022` or `2025`.
        build: the build number.
        ubr: the update build revision (the fourth part of the version).
        product: the ProductName in the registry.
        display: the DisplayVersion in the registry; empty if the value does not exist.
        powershell: the version of PowerShell that runs modules; by default, the included Windows PowerShell.
        curl: the version of the included curl.exe. Later cumulative updates may contain newer versions.
    """

    key: str
    contract: str
    build: int
    ubr: int
    product: str
    display: str
    powershell: str
    curl: str

    @property
    def full(self) -> str:
        """The full version, such as `10.0.20348.2849`."""
        return f"10.0.{self.build}.{self.ubr}"

    @property
    def is_core(self) -> bool:
        """Whether modules run in PowerShell 7 instead of the included Windows PowerShell (5.1)."""
        return not self.powershell.startswith("5.")


VERSIONS = {
    version.key: version
    for version in (
        WindowsVersion("2019", "2019", 17763, 6532, "Windows Server 2019 Datacenter", "", "5.1.17763.6530", "7.55.1"),
        WindowsVersion(
            "2022", "2022", 20348, 2849, "Windows Server 2022 Datacenter", "21H2", "5.1.20348.2849", "8.9.1"
        ),
        WindowsVersion(
            "2025", "2025", 26100, 2314, "Windows Server 2025 Datacenter", "24H2", "5.1.26100.2161", "8.9.1"
        ),
        WindowsVersion("insider", "2025", 29531, 1000, "Windows Server Datacenter", "25H2", "5.1.29531.1000", "8.16.0"),
    )
}
