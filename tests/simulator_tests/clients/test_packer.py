# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The requests of Packer's WinRM communicator and its provisioners, sent by pywinrm.

Packer itself is not one of the test tools. The requests follow its source code. The scripts in them are written for
these tests, and make the same calls in the same order as Packer's:

- files: packer-community/winrmcp at 6e900dd, winrmcp/cp.go (appendContent, restoreContent, cleanupContent);
- download: hashicorp/packer-plugin-sdk at 24d43aa, sdk-internals/communicator/winrm/communicator.go;
- provisioners: hashicorp/packer at 856572e, provisioner/powershell, provisioner/windows-shell,
  provisioner/windows-restart; elevated: packer-plugin-sdk, guestexec/elevated.go;
- `winrm.Powershell`: masterzen/winrm, powershell.go.
"""

from __future__ import annotations

import base64
import contextlib
import os

import pytest
import requests
from simulator_tests.clients.server import REFUSAL, Server, encoded
from simulator_tests.waiting import wait_for
from winrm.exceptions import WinRMTransportError

RESTORE = """
$source = [System.IO.Path]::GetFullPath("%s")
$target = [System.IO.Path]::GetFullPath("%s".Trim("'"))
if (-not (Test-Path $target)) {
    $folder = [System.IO.Path]::GetDirectoryName($target)
    New-Item -Path $folder -ItemType directory -Force -ErrorAction SilentlyContinue | Out-Null
}
elseif (Test-Path -Path $target -PathType container) { Exit 1 }
else { rm $target }
if (-not (Test-Path $source)) { echo $null > $target }
else {
    $lines = [System.IO.File]::OpenText($source)
    $file = [System.IO.File]::OpenWrite($target)
    try {
        for (;;) {
            if (($line = $lines.ReadLine()) -eq $null) { break }
            $part = [System.Convert]::FromBase64String($line)
            $file.write($part, 0, $part.Length)
        }
    }
    finally { $lines.Close(); $file.Close() }
}
"""
CLEAN = """
$source = [System.IO.Path]::GetFullPath("%s")
if (Test-Path $source) { Remove-Item $source -ErrorAction SilentlyContinue }
"""
INLINE = """
if (Test-Path variable:global:ProgressPreference) {
    set-variable -name variable:global:ProgressPreference -value 'SilentlyContinue'
}
$code = 0
try {
    $env:PACKER_BUILDER_TYPE="azure-arm"; $env:PACKER_BUILD_NAME="windows";
    %s
}
catch {
    Write-Error "An error occurred: $_"
    $code = 1
}
if ((Test-Path variable:global:LASTEXITCODE) -and $LASTEXITCODE -ne $null -and $LASTEXITCODE -ne 0) {
    $code = $LASTEXITCODE
}
exit $code
"""
SCRIPT = (
    'powershell -executionpolicy bypass "& { if (Test-Path variable:global:ProgressPreference)'
    "{set-variable -name variable:global:ProgressPreference -value 'SilentlyContinue'};"
    ". %s; &'%s'; exit $LastExitCode }\""
)
FOLDER = "c:/Windows/Temp"


def powershell(script: str) -> str:
    """Return the command line of winrm.Powershell()."""
    return "powershell.exe -EncodedCommand " + encoded(f"$ProgressPreference = 'SilentlyContinue';{script}")


def upload(server: Server, path: str, data: bytes) -> int:
    """Upload a file as winrmcp does; return the exit code of the script that decodes the uploaded text."""
    name = "winrmcp-7a0b.tmp"
    for start in range(0, len(data), 5900):
        chunk = base64.b64encode(data[start : start + 5900]).decode()
        assert server.run(f'echo {chunk} >> "%TEMP%\\{name}"') == ("", "", 0)
    quoted = f"'{path}'" if " " in path else path
    restored = server.run(powershell(RESTORE % (f"$env:TEMP\\{name}", quoted.replace("/", "\\"))))
    assert server.run(powershell(CLEAN % f"$env:TEMP\\{name}")) == ("", "", 0)
    assert not server.machine.files.exists(f"C:\\Users\\Administrator\\AppData\\Local\\Temp\\{name}")
    return restored[2]


@pytest.mark.parametrize("path", ["c:/Windows/Temp/up.bin", "C:\\new folder\\below\\up.bin"])
def test_files_are_uploaded_and_downloaded(server: Server, path: str) -> None:
    for size in (20_000, 3):
        data = os.urandom(size)
        assert upload(server, path, data) == 0
        assert server.machine.files.read_bytes(path.replace("/", "\\")) == data
    script = f'$file=[System.IO.File]::ReadAllBytes("{path}"); Write-Output $([System.Convert]::ToBase64String($file))'
    assert base64.b64decode(server.run(powershell(script))[0]) == data


def test_an_empty_file_and_a_folder_as_target(server: Server) -> None:
    assert upload(server, "C:\\Windows\\Temp\\empty.txt", b"") == 0
    assert server.machine.files.is_file("C:\\Windows\\Temp\\empty.txt")
    assert upload(server, "C:\\Windows\\Temp", b"x") == 1


@pytest.mark.parametrize(
    ("payload", "output", "code"),
    [
        ('Write-Host "building $env:PACKER_BUILD_NAME"', "building windows\r\n", 0),
        ("cmd /c exit 3", "", 3),
        ("New-Item -Path C:\\packer -ItemType Directory -Force | Out-Null\n    Set-Content C:\\packer\\x.txt 1", "", 0),
    ],
)
def test_an_inline_script_of_the_powershell_provisioner(server: Server, payload: str, output: str, code: int) -> None:
    path = f"{FOLDER}/script-6a1.ps1"
    assert upload(server, path, (INLINE % payload).encode()) == 0
    assert server.run(f"powershell -executionpolicy bypass -file {path}") == (output, "", code)
    if "packer" in payload:
        assert server.machine.files.read_text("C:\\packer\\x.txt") == "1\r\n"


def test_an_inline_script_that_throws(server: Server) -> None:
    path = f"{FOLDER}/script-6a2.ps1"
    assert upload(server, path, (INLINE % "throw 'no way'").encode()) == 0
    _, stderr, code = server.run(f"powershell -executionpolicy bypass -file {path}")
    assert code == 1
    assert "An error occurred: no way" in stderr


def test_a_script_of_the_powershell_provisioner_and_its_cleanup(server: Server) -> None:
    variables, script, cleanup = (f"{FOLDER}/{name}-6b.ps1" for name in ("packer-ps-env-vars", "script", "cleanup"))
    assert upload(server, variables, b'$env:PACKER_BUILD_NAME="win"; $env:MONEY="a `$5 `"bill`""; ') == 0
    assert upload(server, script, b'"name: $env:PACKER_BUILD_NAME, $env:MONEY"\r\ncmd /c exit 7\r\n') == 0
    assert server.run(SCRIPT % (variables, script)) == ('name: win, a $5 "bill"\r\n', "", 7)

    removal = "".join(f"if (Test-Path {path}) {{Remove-Item {path}}}\n" for path in (variables, script, cleanup))
    assert upload(server, cleanup, removal.encode()) == 0
    server.run(SCRIPT % (variables, cleanup))
    left = [entry.name for entry in server.machine.files.listing("C:\\Windows\\Temp") if "-6b" in entry.name]
    assert left == []


def test_the_elevated_runner_is_refused_by_name(server: Server) -> None:
    path = "C:/Windows/Temp/packer-elevated-shell-6c.ps1"
    script = (
        '\n$name = "packer-6c"\n$s = New-Object -ComObject "Schedule.Service"\n$s.Connect()\n$t = $s.NewTask($null)\n'
    )
    assert upload(server, path, script.encode()) == 0
    stdout, stderr, code = server.run(f'powershell -executionpolicy bypass -file "{path}"')
    assert (stdout, code) == ("", 1)
    assert f"{REFUSAL} New-Object -ComObject Schedule.Service" in stderr


def test_the_windows_shell_provisioner(server: Server) -> None:
    path = f"{FOLDER}/script.bat"
    text = '@echo off\necho %PACKER_BUILD_NAME% in %~dp0\nif "%MODE%"=="a b" (\n  mkdir C:\\shell\n)\nexit /b 4\n'
    assert upload(server, path, text.encode()) == 0
    line = f'set "MODE=a b" && set "PACKER_BUILD_NAME=win" && "{path}"'
    assert server.run(line) == ("win in c:\\Windows\\Temp\\\r\n", "", 4)
    assert server.machine.files.is_directory("C:\\shell")

    assert upload(server, path, b"hostname\nmkdir C:\\shell\\below\n") == 0
    home = "C:\\Users\\Administrator"
    shown = f"\r\n{home}>hostname \r\nwin-a\r\n\r\n{home}>mkdir C:\\shell\\below \r\n"
    assert server.run(line) == (shown, "", 0)
    assert server.machine.files.is_directory("C:\\shell\\below")


@pytest.mark.waits
def test_the_windows_restart_provisioner(server: Server) -> None:
    boots = server.machine.power.boots
    check = powershell('echo ("{0} restarted." -f [System.Net.Dns]::GetHostName())')
    # If the connection breaks during the command, Packer assumes that the machine restarts.
    with contextlib.suppress(requests.ConnectionError, WinRMTransportError):
        assert server.run('shutdown /r /f /t 0 /c "packer restart"')[2] in (0, 1115, 1190)
    wait_for(lambda: server.machine.power.boots != boots and _answers(server, check), "the machine has restarted")
    assert server.run('shutdown /r /f /t 60 /c "packer restart test"')[2] == 0
    assert server.run('shutdown /r /f /t 60 /c "packer restart test"')[2] == 1190
    assert server.run("shutdown /a")[2] == 0
    for key in ("RebootPending", "PackagesPending", "RebootInProgress"):
        path = f"HKLM:SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\{key}"
        assert server.run(powershell(f'Test-Path "{path}"')) == ("False\r\n", "", 0)


def _answers(server: Server, check: str) -> bool:
    try:
        return server.run(check)[0] == "win-a restarted.\r\n"
    except (requests.RequestException, WinRMTransportError):
        return False
