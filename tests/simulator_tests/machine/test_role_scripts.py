# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scripts like those in roles of other projects: what they print and change."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from simulator.artifacts import windows_software
from simulator.machine import accounts
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.powershell.host import run_text
from simulator.machine.powershell.statics import assemblies
from simulator.machine.session import Session
from simulator.windows.networking import port_ranges
from simulator.windows.networking.firewall_rules import Firewall
from simulator.windows.software import native_images
from simulator.windows.software.features import is_installed

Script = Callable[..., ProgramResult]


@pytest.fixture
def script(session: Session) -> Script:
    """Return a function that runs a script as powershell.exe does."""

    def run(text: str, code: int = 0) -> ProgramResult:
        result = run_text(session, text, [])
        assert result.exit_code == code, result
        return result

    return run


def test_native_images_of_powershells_assemblies(script: Script, machine: Machine, session: Session) -> None:
    before = session.variable("PATH")
    text = """
        $old = $env:path
        try {
            $env:path = [Runtime.InteropServices.RuntimeEnvironment]::GetRuntimeDirectory()
            [AppDomain]::CurrentDomain.GetAssemblies() | % {
                $name = Split-Path $_.location -leaf
                if ($name.startswith("Microsoft.PowerShell.")) { ngen install $_.location | % {"`t$_"} }
            }
        } finally { $env:path = $old }
    """
    assert "Compiling assembly" in script(text).stdout
    assert assemblies.location("Microsoft.PowerShell.ConsoleHost").casefold() in (
        machine.part(native_images.NativeImages).paths
    )
    assert session.variable("PATH") == before
    assert "up to date" in script(text).stdout
    assert "not recognized" in script("ngen install C:\\a.dll", 1).stderr, "its folder is not on PATH"


def test_the_range_of_dynamic_ports(script: Script, machine: Machine) -> None:
    assert script("netsh int ipv4 set dynamicportrange tcp 34000 31536").stdout == "Ok.\r\n\r\n"
    assert port_ranges.dynamic(machine, "tcp") == (34000, 31536)
    assert port_ranges.dynamic(machine, "udp") == (49152, 16384)
    shown = script("netsh interface ipv4 show dynamicport protocol=tcp").stdout
    assert "Start Port      : 34000\r\nNumber of Ports : 31536\r\n" in shown
    for words in ("tcp 1024 300", "tcp 34000 254", "tcp 34000 31537", "icmp 34000 300", "tcp 34000", "tcp a b"):
        script(f"netsh int ipv4 set dynamicport {words}", 1)
    assert port_ranges.dynamic(machine, "tcp") == (34000, 31536)


def test_dism_enables_features_for_the_next_boot(script: Script, machine: Machine) -> None:
    enable = "dism /online /enable-feature /featurename:Microsoft-Hyper-V /all /NoRestart; $LASTEXITCODE"
    assert script(enable).stdout.endswith("The operation completed successfully.\r\n3010\r\n")
    assert machine.power.pending_reboot
    assert script(enable).stdout.endswith("successfully.\r\n0\r\n"), "it waits for the restart already"
    disable = "dism /online /disable-feature /featurename:Microsoft-Hyper-V-Online /NoRestart; $LASTEXITCODE"
    assert [script(disable).stdout.splitlines()[-1] for _ in range(2)] == ["3010", "0"]
    assert "is unknown" in script("dism /online /enable-feature /featurename:Nothing /norestart", 1).stdout
    assert not is_installed(machine, "Hyper-V")
    machine.power.reset()
    assert is_installed(machine, "Hyper-V")


def test_a_rule_that_holds_for_some_users(script: Script, machine: Machine) -> None:
    group = accounts.add(machine, "Readers", "Group")
    script("""
        $group = Get-LocalGroup -n "Readers"
        $rule = New-NetFirewallRule -DisplayName block -Direction Outbound -RemotePort 80 -Protocol TCP -Action Block
        $rule | Get-NetFirewallSecurityFilter |
            Set-NetFirewallSecurityFilter -LocalUser "O:LSD:(D;;CC;;;S-1-5-18)(D;;CC;;;$($group.SID.Value))"
    """)
    rule = next(rule for rule in machine.part(Firewall).rules.values() if rule.display_name == "block")
    assert rule.local_user == f"O:LSD:(D;;CC;;;S-1-5-18)(D;;CC;;;{accounts.sid(machine, group)})"
    shown = script("(Get-NetFirewallRule -DisplayName block | Get-NetFirewallSecurityFilter).LocalUser").stdout
    assert shown == f"{rule.local_user}\r\n"
    wrong = "Get-NetFirewallRule -DisplayName block | Get-NetFirewallSecurityFilter | "
    assert "0x80070057" in script(f"{wrong}Set-NetFirewallSecurityFilter -LocalUser everybody", 1).stderr
    assert "Group Writers was not found." in script("Get-LocalGroup Writers", 1).stderr
    assert script("Get-LocalGroupMember Administrators").stdout == "WIN-A\\Administrator\r\n"
    assert "Guest\r\n" in script("Get-LocalUser G*").stdout


def test_defenders_signatures(script: Script) -> None:
    version = "(Get-MpComputerStatus).AntivirusSignatureVersion"
    before = script(version).stdout
    script('$service = Get-Service WinDefend; $service.WaitForStatus("Running", "00:5:00"); Update-MpSignature')
    assert script(version).stdout != before


def test_files_on_the_console(script: Script, machine: Machine) -> None:
    shown = script('If (-Not (Test-Path "$env:ProgramData\\ssh")) { mkdir "$env:ProgramData\\ssh" }').stdout
    lines = shown.split("\r\n")
    head = "Mode                 LastWriteTime         Length Name"
    assert lines[:7] == ["", "", r"    Directory: C:\ProgramData", "", "", head.ljust(119), lines[6]]
    assert re.fullmatch(r"d-----        [ \d/]{10}   ?\d{1,2}:\d\d [AP]M                ssh {66}", lines[7]), lines[7]
    machine.files.write_text(r"C:\ProgramData\ssh\config", "12345")
    assert "              5 config" in script(r"dir C:\ProgramData\ssh").stdout
    machine.files.make_directory(r"C:\f\g")
    machine.files.write_text(r"C:\f\g\h.txt", "1")
    shown = [line.rstrip() for line in script("dir C:\\f -Recurse").stdout.split("\r\n")]
    assert [line for line in shown if "Directory" in line] == [r"    Directory: C:\f", r"    Directory: C:\f\g"]
    assert shown[7].endswith(" g")
    assert shown[8:11] == ["", "", r"    Directory: C:\f\g"]
    assert shown[15].endswith(" 1 h.txt")


def test_mkdir_and_unblock_file(script: Script, machine: Machine) -> None:
    script('If (-Not (Test-Path "$env:ProgramData\\ssh")) { $null = mkdir "$env:ProgramData\\ssh" }')
    assert machine.files.is_directory(r"C:\ProgramData\ssh")
    script("$null = md C:\\a\\b -Force; $null = mkdir -Path C:\\a -Name c")
    assert machine.files.is_directory(r"C:\a\b")
    assert machine.files.is_directory(r"C:\a\c")
    assert "DirectoryExist,Microsoft.PowerShell.Commands.NewItemCommand" in script("mkdir C:\\a", 1).stderr
    machine.files.write_text(r"C:\a\x.ps1", "")
    script("Get-ChildItem C:\\a | Unblock-File")
    assert "Cannot find path 'C:\\none'" in script("Unblock-File C:\\none", 1).stderr
    assert "Cannot find path 'C:\\no*'" in script("Unblock-File -LiteralPath C:\\no*", 1).stderr
    script("Unblock-File C:\\no*")


def test_batch_files(script: Script, machine: Machine) -> None:
    lines = (
        "@echo off",
        "rem the folder of this file, and an argument",
        "set target=%~dp0out.txt",
        'echo one "%~1"> "%target%"',
        "echo two>> %target%",
        "exit /b 3",
        "echo never",
    )
    machine.files.make_directory(r"C:\b c")
    machine.files.write_text(r"C:\b c\x.cmd", "\r\n".join(lines))
    assert script('& "C:\\b c\\x.cmd" first; $LASTEXITCODE').stdout == "3\r\n"
    machine.files.write_text(r"C:\y.bat", "@echo off\r\nfor %%i in (1 2) do echo %%i%1")
    assert script("C:\\y.bat x").stdout == "1x\r\n2x\r\n"
    lines = ("@echo off", "echo done> C:\\made.txt", "if exist C:\\none.txt (", "  goto last", ")", "rem pause")
    machine.files.write_text(r"C:\y.bat", "\r\n".join(lines))
    refused = script("C:\\y.bat", 1)
    assert (refused.stdout, "does not model this part of cmd.exe: goto last" in refused.stderr) == ("", True)
    assert not machine.files.exists(r"C:\made.txt"), "it is refused before its first line"


def test_windows_installer(script: Script, machine: Machine) -> None:
    package = windows_software.cloudbase_init("1.1.6")
    machine.files.write_bytes(r"C:\a.msi", package)
    script("msiexec.exe /i C:\\a.msi /qn /norestart /L*V C:\\a.log")
    assert (
        "Cloudbase-Init 1.1.6"
        in script(
            "(Get-ItemProperty HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Uninstall\\*).DisplayName"
        ).stdout
    )
    script('& "C:\\Program Files\\Cloudbase Solutions\\Cloudbase-Init\\bin\\SetSetupComplete.cmd"')
    service = machine.services.get("cloudbase-init")
    assert service is not None
    assert service.start_mode == "Manual"
    complete = machine.files.read_text(r"C:\Windows\Setup\Scripts\SetupComplete.cmd")
    assert "start= auto && net start cloudbase-init" in complete
    for line, code in ((r"/i C:\none.msi /qn", 1619), (r"/x {00000000-0000-0000-0000-000000000000} /qn", 1605)):
        assert script(f"msiexec.exe {line}; $LASTEXITCODE").stdout == f"{code}\r\n"
    script("msiexec.exe /x C:\\a.msi /quiet")
    assert machine.services.get("cloudbase-init") is None


def test_openssh_by_its_capability(script: Script, machine: Machine) -> None:
    assert "NotPresent" in script("(Get-WindowsCapability -Online -Name OpenSSH.Server*).State").stdout
    assert "RestartNeeded : False" in script("Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0").stdout
    script("Start-Service sshd")
    assert machine.files.is_file(r"C:\ProgramData\ssh\sshd_config")
    assert machine.part(Firewall).rules["openssh-server-in-tcp"].local_port == ("22",)
    assert machine.files.read_bytes(r"C:\Windows\System32\OpenSSH\sshd.exe") == make("sshd", machine.windows.full)
