# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The roles and features of Windows Server (Get-WindowsFeature), by version.

Sources of the names and the hierarchy are the output of Get-WindowsFeature and
https://learn.microsoft.com/windows-server/administration/server-core/server-core-roles-and-services
Users' reports show which features need a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Feature:
    """A role, role service or feature.

    Args:
        parent: the name of the feature that contains this one; empty if there is none.
        kind: `Role`, `Role Service` or `Feature`.
        installed: whether the feature is installed on a new server.
        removed: whether the disk of a new server lacks the payload of the feature.
        restart: whether the feature takes effect only after a restart.
        tools: the features that -IncludeManagementTools adds.
        needs: the features that this one depends on.
        versions: the Windows versions that offer the feature; empty for all versions.
    """

    name: str
    display: str
    parent: str = ""
    kind: str = "Feature"
    installed: bool = False
    removed: bool = False
    restart: bool = False
    tools: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def _role(name: str, display: str, *tools: str, **more: object) -> Feature:
    return replace(Feature(name, display, kind="Role", tools=tools), **more)  # type: ignore[arg-type]


def _service(name: str, display: str, parent: str, **more: object) -> Feature:
    return replace(Feature(name, display, parent, kind="Role Service"), **more)  # type: ignore[arg-type]


def _feature(name: str, display: str, parent: str = "", **more: object) -> Feature:
    return replace(Feature(name, display, parent), **more)  # type: ignore[arg-type]


_ROLES = (
    _role("AD-Certificate", "Active Directory Certificate Services", "RSAT-ADCS"),
    _role("AD-Domain-Services", "Active Directory Domain Services", "RSAT-AD-Tools", "RSAT-ADDS", "RSAT-AD-PowerShell"),
    _role("ADFS-Federation", "Active Directory Federation Services"),
    _role("ADLDS", "Active Directory Lightweight Directory Services", "RSAT-ADLDS"),
    _role("ADRMS", "Active Directory Rights Management Services"),
    _role("DHCP", "DHCP Server", "RSAT-DHCP"),
    _role("DNS", "DNS Server", "RSAT-DNS-Server"),
    _role("FileAndStorage-Services", "File and Storage Services", installed=True),
    _service("File-Services", "File and iSCSI Services", "FileAndStorage-Services"),
    _service("FS-FileServer", "File Server", "File-Services"),
    _service("FS-BranchCache", "BranchCache for Network Files", "File-Services"),
    _service("FS-Data-Deduplication", "Data Deduplication", "File-Services", needs=("FS-FileServer",)),
    _service("FS-DFS-Namespace", "DFS Namespaces", "File-Services", needs=("FS-FileServer",)),
    _service("FS-DFS-Replication", "DFS Replication", "File-Services", needs=("FS-FileServer",)),
    _service("FS-Resource-Manager", "File Server Resource Manager", "File-Services", needs=("FS-FileServer",)),
    _service("FS-iSCSITarget-Server", "iSCSI Target Server", "File-Services", needs=("FS-FileServer",)),
    _service("FS-NFS-Service", "Server for NFS", "File-Services", needs=("FS-FileServer",)),
    _service("Storage-Services", "Storage Services", "FileAndStorage-Services", installed=True),
    _role("Hyper-V", "Hyper-V", "RSAT-Hyper-V-Tools", "Hyper-V-Tools", "Hyper-V-PowerShell", restart=True),
    _role("NPAS", "Network Policy and Access Services"),
    _role("Print-Services", "Print and Document Services"),
    _role("RemoteAccess", "Remote Access", "RSAT-RemoteAccess", "RSAT-RemoteAccess-PowerShell"),
    _service("DirectAccess-VPN", "DirectAccess and VPN (RAS)", "RemoteAccess"),
    _service("Routing", "Routing", "RemoteAccess", needs=("DirectAccess-VPN",)),
    _service("Web-Application-Proxy", "Web Application Proxy", "RemoteAccess"),
    _role("Remote-Desktop-Services", "Remote Desktop Services"),
    _role("VolumeActivation", "Volume Activation Services"),
    _role("Web-Server", "Web Server (IIS)", "Web-Mgmt-Tools", "Web-Mgmt-Console"),
    _service("Web-WebServer", "Web Server", "Web-Server"),
    _service("Web-Common-Http", "Common HTTP Features", "Web-WebServer"),
    _service("Web-Default-Doc", "Default Document", "Web-Common-Http"),
    _service("Web-Static-Content", "Static Content", "Web-Common-Http"),
    _service("Web-Mgmt-Tools", "Management Tools", "Web-Server"),
    _service("Web-Mgmt-Console", "IIS Management Console", "Web-Mgmt-Tools"),
    _role("WDS", "Windows Deployment Services"),
    _role("UpdateServices", "Windows Server Update Services"),
)
_FEATURES = (
    _feature("NET-Framework-Features", ".NET Framework 3.5 Features"),
    _feature(
        "NET-Framework-Core", ".NET Framework 3.5 (includes .NET 2.0 and 3.0)", "NET-Framework-Features", removed=True
    ),
    _feature("NET-Framework-45-Features", ".NET Framework 4.8 Features", installed=True),
    _feature("NET-Framework-45-Core", ".NET Framework 4.8", "NET-Framework-45-Features", installed=True),
    _feature("NET-Framework-45-ASPNET", "ASP.NET 4.8", "NET-Framework-45-Features"),
    _feature("NET-WCF-Services45", "WCF Services", "NET-Framework-45-Features", installed=True),
    _feature("NET-WCF-TCP-PortSharing45", "TCP Port Sharing", "NET-WCF-Services45", installed=True),
    _feature("BITS", "Background Intelligent Transfer Service (BITS)"),
    _feature("BitLocker", "BitLocker Drive Encryption", needs=("EnhancedStorage",), restart=True),
    _feature("BranchCache", "BranchCache"),
    _feature("NFS-Client", "Client for NFS"),
    _feature("Containers", "Containers", restart=True),
    _feature("Data-Center-Bridging", "Data Center Bridging"),
    _feature("EnhancedStorage", "Enhanced Storage", restart=True),
    _feature("Failover-Clustering", "Failover Clustering", tools=("RSAT-Clustering-PowerShell",), restart=True),
    _feature("GPMC", "Group Policy Management"),
    _feature("DiskIo-QoS", "I/O Quality of Service"),
    _feature("Server-Media-Foundation", "Media Foundation"),
    _feature("MSMQ", "Message Queuing"),
    _feature("Windows-Defender", "Microsoft Defender Antivirus", installed=True, restart=True),
    _feature("Multipath-IO", "Multipath I/O", restart=True),
    _feature("NLB", "Network Load Balancing"),
    _feature("qWave", "Quality Windows Audio Video Experience"),
    _feature("RSAT", "Remote Server Administration Tools"),
    _feature("RSAT-Feature-Tools", "Feature Administration Tools", "RSAT"),
    _feature("RSAT-Clustering", "Failover Clustering Tools", "RSAT-Feature-Tools"),
    _feature("RSAT-Clustering-PowerShell", "Failover Cluster Module for Windows PowerShell", "RSAT-Clustering"),
    _feature("RSAT-Role-Tools", "Role Administration Tools", "RSAT"),
    _feature("RSAT-AD-Tools", "AD DS and AD LDS Tools", "RSAT-Role-Tools"),
    _feature("RSAT-AD-PowerShell", "Active Directory module for Windows PowerShell", "RSAT-AD-Tools"),
    _feature("RSAT-ADDS", "AD DS Tools", "RSAT-AD-Tools"),
    _feature("RSAT-ADLDS", "AD LDS Snap-Ins and Command-Line Tools", "RSAT-AD-Tools"),
    _feature("RSAT-Hyper-V-Tools", "Hyper-V Management Tools", "RSAT-Role-Tools"),
    _feature("Hyper-V-Tools", "Hyper-V GUI Management Tools", "RSAT-Hyper-V-Tools"),
    _feature("Hyper-V-PowerShell", "Hyper-V Module for Windows PowerShell", "RSAT-Hyper-V-Tools"),
    _feature("RSAT-RemoteAccess", "Remote Access Management Tools", "RSAT-Role-Tools"),
    _feature("RSAT-RemoteAccess-Mgmt", "Remote Access GUI and Command-Line Tools", "RSAT-RemoteAccess"),
    _feature("RSAT-RemoteAccess-PowerShell", "Remote Access module for Windows PowerShell", "RSAT-RemoteAccess"),
    _feature("RSAT-ADCS", "Active Directory Certificate Services Tools", "RSAT-Role-Tools"),
    _feature("RSAT-DHCP", "DHCP Server Tools", "RSAT-Role-Tools"),
    _feature("RSAT-DNS-Server", "DNS Server Tools", "RSAT-Role-Tools"),
    _feature("Setup-and-Boot-Event-Collection", "Setup and Boot Event Collection"),
    _feature("FS-SMB1", "SMB 1.0/CIFS File Sharing Support", restart=True),
    _feature("SNMP-Service", "SNMP Service"),
    _feature("Storage-Replica", "Storage Replica", restart=True),
    _feature("System-DataArchiver", "System Data Archiver", installed=True),
    _feature("System-Insights", "System Insights"),
    _feature("Telnet-Client", "Telnet Client"),
    _feature("TFTP-Client", "TFTP Client"),
    _feature("WAS", "Windows Process Activation Service"),
    _feature("WINS", "WINS Server"),
    _feature("Windows-Internal-Database", "Windows Internal Database"),
    _feature("PowerShellRoot", "Windows PowerShell", installed=True),
    _feature("PowerShell", "Windows PowerShell 5.1", "PowerShellRoot", installed=True),
    _feature(
        "PowerShell-V2", "Windows PowerShell 2.0 Engine", "PowerShellRoot", removed=True, versions=("2019", "2022")
    ),
    _feature("DSC-Service", "Windows PowerShell Desired State Configuration Service", "PowerShellRoot"),
    _feature("Windows-Server-Backup", "Windows Server Backup"),
    _feature("Migration", "Windows Server Migration Tools"),
    _feature("Wireless-Networking", "Wireless LAN Service"),
    _feature("WoW64-Support", "WoW64 Support", installed=True),
    _feature("XPS-Viewer", "XPS Viewer"),
)


def offered(version: str) -> dict[str, Feature]:
    """Return the features of a Windows version (`2019`, `2022`, `2025`), keyed by lower-case name."""
    return {
        feature.name.casefold(): feature
        for feature in (*_ROLES, *_FEATURES)
        if not feature.versions or version in feature.versions
    }
