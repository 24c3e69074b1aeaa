# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create release files of Windows software other than Kubernetes, such as Windows Installer packages and OpenSSH.

The scripts in this module were written for the simulator. They change the same services and files as the publishers'
scripts. Source for the folders and the service of Cloudbase-Init:
https://cloudbase-init.readthedocs.io/en/latest/tutorial.html.
Source for the archive of OpenSSH: https://github.com/PowerShell/Win32-OpenSSH/wiki/Install-Win32-OpenSSH.
"""

from __future__ import annotations

import random

from simulator.artifacts.archives import zip_archive
from simulator.machine.executables import make
from simulator.windows.software import installer_package
from simulator.windows.software.installer_package import InstallerPackage, PackageService

_SIZE = 256 * 1024
_CLOUDBASE = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init"
_AZURE_CLI = r"C:\Program Files\Microsoft SDKs\Azure\CLI2"
# The service must not start before Windows' setup is complete. SetupComplete.cmd starts it.
_SET_SETUP_COMPLETE = r"""@echo off
if not exist "%SystemRoot%\Setup\Scripts" mkdir "%SystemRoot%\Setup\Scripts"
set target=%SystemRoot%\Setup\Scripts\SetupComplete.cmd
sc.exe config cloudbase-init start= demand
echo sc.exe config cloudbase-init start= auto ^&^& net start cloudbase-init > %target%
"""
# The same pass, command and options as in the publisher's file (cloudbase/cloudbase-init-installer, Unattend.xml).
_UNATTEND = rf"""<unattend xmlns="urn:schemas-microsoft-com:unattend"><settings pass="specialize">
<component name="Microsoft-Windows-Deployment"><RunSynchronous>
<RunSynchronousCommand><Order>1</Order>
<Path>cmd.exe /c ""{_CLOUDBASE}\Python\Scripts\cloudbase-init.exe" --config-file "{_CLOUDBASE}\conf\cloudbase-init-unattend.conf" &amp;&amp; exit 1 || exit 2"</Path>
<WillReboot>OnRequest</WillReboot></RunSynchronousCommand>
</RunSynchronous></component></settings></unattend>
"""  # noqa: E501
_INSTALL_SSHD = r"""# Registers the services of OpenSSH in the folder of this script.
foreach ($name in "sshd", "ssh-agent") {
    if (Get-Service -Name $name -ErrorAction SilentlyContinue) {
        Stop-Service -Name $name
        sc.exe delete $name | Out-Null
    }
}
New-Service -Name ssh-agent -DisplayName "OpenSSH Authentication Agent" -BinaryPathName "$PSScriptRoot\ssh-agent.exe" -StartupType Manual | Out-Null
New-Service -Name sshd -DisplayName "OpenSSH SSH Server" -BinaryPathName "$PSScriptRoot\sshd.exe" -StartupType Manual | Out-Null
Write-Output "sshd and ssh-agent services successfully installed"
"""  # noqa: E501


def _msi(package: InstallerPackage) -> bytes:
    """Return a package as an .msi file, padded with incompressible bytes."""
    head = installer_package.make(package)
    return head + random.Random(f"{package.name} {package.version}").randbytes(_SIZE - len(head))


def cloudbase_init(version: str = "1.1.8") -> bytes:
    """Return the installer (.msi) of a version of Cloudbase-Init."""
    init, conf = rf"{_CLOUDBASE}\Python\Scripts\cloudbase-init.exe", rf"{_CLOUDBASE}\conf\cloudbase-init.conf"
    service = PackageService(
        rf'"{_CLOUDBASE}\bin\OpenStackService.exe" cloudbase-init "{init}" --config-file "{conf}"',
        "Cloudbase-Init",
        r".\cloudbase-init",
    )
    return _msi(
        InstallerPackage(
            f"Cloudbase-Init {version}",
            version,
            "Cloudbase Solutions Srl",
            programs={rf"{_CLOUDBASE}\bin\OpenStackService.exe": "openstack-service", init: "cloudbase-init"},
            generated={
                conf: "[DEFAULT]\r\nusername=Admin\r\n",
                rf"{_CLOUDBASE}\conf\cloudbase-init-unattend.conf": "[DEFAULT]\r\nusername=Admin\r\n",
            },
            texts={
                rf"{_CLOUDBASE}\conf\Unattend.xml": _UNATTEND.replace("\n", "\r\n"),
                rf"{_CLOUDBASE}\bin\SetSetupComplete.cmd": _SET_SETUP_COMPLETE.replace("\n", "\r\n"),
            },
            services={"cloudbase-init": service},
            users=("cloudbase-init",),
            system_property="RUN_SERVICE_AS_LOCAL_SYSTEM",
            code="{ED85F19F-057A-4EE6-BC8D-F576DEACE78D}",
        )
    )


def azure_cli() -> bytes:
    """Return azure-cli-VERSION-x64.msi, to which https://aka.ms/installazurecliwindowsx64 redirects."""
    texts = {rf"{_AZURE_CLI}\wbin\az.cmd": "@echo azure-cli 2.80.0\r\n"}
    return _msi(InstallerPackage("Microsoft Azure CLI (64-bit)", "2.80.0", "Microsoft Corporation", texts=texts))


def openssh(version: str) -> bytes:
    """Return OpenSSH-Win64.zip."""
    programs = ("scp", "sftp", "sftp-server", "ssh", "ssh-add", "ssh-agent", "ssh-keygen", "sshd")
    members = {f"OpenSSH-Win64/{name}.exe": make(name, version) for name in programs}
    members["OpenSSH-Win64/install-sshd.ps1"] = _INSTALL_SSHD.encode()
    members["OpenSSH-Win64/sshd_config_default"] = b"# This is the sshd server system-wide configuration file.\n"
    return zip_archive(members)


def nssm_program() -> bytes:
    """Return nssm.exe itself, not in an archive, because kubernetes-sigs/image-builder downloads it that way."""
    return make("nssm", "2.24")


def credential_provider() -> bytes:
    """Return azure-acr-credential-provider-windows-amd64.exe of kubernetes-sigs/cloud-provider-azure."""
    return make("acr-credential-provider", "1.34.0")


def credential_provider_config() -> bytes:
    """Return examples/out-of-tree/credential-provider-config-win.yaml from kubernetes-sigs/cloud-provider-azure."""
    return (
        b"apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"
        b"  - name: acr-credential-provider.exe\n    apiVersion: credentialprovider.kubelet.k8s.io/v1\n"
        b"    defaultCacheDuration: 10m\n    matchImages:\n      - '*.azurecr.io'\n"
    )


def debug_script(name: str) -> bytes:
    """Return a script from the hack folder of kubernetes-sigs/sig-windows-tools."""
    return f"# {name}\r\n".encode()
