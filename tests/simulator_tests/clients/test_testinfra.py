# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""testinfra's winrm backend.

Two of its modules do not work over WinRM on a real Windows, so they must not work here:

- File (testinfra 10, modules/file.py) sends `powershell -command \"Test-Path 'C:\x'\"`, with the backslashes. cmd.exe
  does not interpret `\"`, and passes the line on. The arguments of powershell.exe are then `"Test-Path` and `'C:\x'"`
  (https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments). Together they are a quoted string,
  which PowerShell prints.
- Service sends `Get-Service 'x' | Select …` to cmd.exe, which knows neither.

The commands of these modules work if powershell.exe gets them unchanged (`ask` below).
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable

import pytest
import testinfra
from simulator_tests.clients.server import REFUSAL, Server

TEXT = "hello\r\nworld\r\n"
HASH = hashlib.md5(TEXT.encode(), usedforsecurity=False).hexdigest().upper()


@pytest.fixture
def host(server: Server) -> testinfra.host.Host:
    user = f"{server.user}:{server.password}"
    return testinfra.get_host(f"winrm://{user}@{server.machine.address}:5985?no_ssl=true&no_verify_ssl=true")


@pytest.fixture
def ask(host: testinfra.host.Host, server: Server) -> Callable[[str], str]:
    server.machine.files.make_directory("C:\\facts")
    server.machine.files.write_text("C:\\facts\\a b.txt", TEXT)
    return lambda script: host.check_output(f'powershell -command "{script}"')


def test_commands_run(host: testinfra.host.Host) -> None:
    found = host.run("cmd /c echo %s& exit 3", "a b")
    assert (found.rc, found.stdout, found.stderr) == (3, '"a b"\r\n', "")
    assert host.check_output("hostname") == "win-a"
    assert host.run_test("cmd /c exit 1").failed


def test_system_info_and_packages(host: testinfra.host.Host) -> None:
    info = host.system_info
    assert (info.type, info.distribution) == ("windows", "Microsoft Windows Server 2022 Datacenter")
    assert (info.release, info.arch, info.codename) == ("10.0.20348 N/A Build 20348", "AMD64", None)
    assert not host.package("kubelet").is_installed, "no choco on a plain server"
    assert host.user().name == "Administrator"


def test_users_are_refused_by_name(host: testinfra.host.Host) -> None:
    with pytest.raises(AssertionError, match=REFUSAL):
        _ = host.user("Administrator").exists


@pytest.mark.parametrize("path", ["C:\\Windows\\System32\\cmd.exe", "C:\\Windows", "C:\\nowhere"])
def test_the_file_module_gets_its_own_text_back_as_on_windows(host: testinfra.host.Host, path: str) -> None:
    file = host.file(path)
    assert host.check_output(r"powershell -command \"Test-Path '%s'\"", path) == f"Test-Path '{path}'"
    assert (file.exists, file.is_file, file.is_directory, file.is_symlink) == (False, False, False, False)
    assert file.content_string == f"cat -- '{path}'\r\n"
    assert file.content == f"cat -- '{path}'\r\n".encode()
    assert file.listdir() == [f"Get-ChildItem -Path '{path}' | Select-Object -ExpandProperty Name"]
    for name in ("size", "mtime"):
        with pytest.raises(ValueError, match="Get-"):
            getattr(file, name)


@pytest.mark.parametrize("name", ["exists", "is_running", "is_enabled"])
def test_the_service_module_sends_cmdlets_to_cmd(host: testinfra.host.Host, name: str) -> None:
    with pytest.raises(AssertionError, match="is not recognized as an internal or external command"):
        getattr(host.service("WinRM"), name)


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("Test-Path '{}'", "True"),
        ("Test-Path 'C:\\nowhere'", "False"),
        ("(Get-Item '{}') -is [System.IO.FileInfo]", "True"),
        ("(Get-Item 'C:\\facts') -is [System.IO.FileInfo]", "False"),
        ("(Get-Item 'C:\\facts') -is [System.IO.DirectoryInfo]", "True"),
        ("(Get-Item -Path '{}').Attributes -band [System.IO.FileAttributes]::ReparsePoint", "0"),
        ("cat -- '{}'", "hello\r\nworld"),
        ("Get-Item -Path '{}' | Select-Object -ExpandProperty Length", str(len(TEXT))),
        ("Get-ChildItem -Path 'C:\\facts' | Select-Object -ExpandProperty Name", "a b.txt"),
        (
            "(Get-FileHash -Algorithm MD5 '{}').Hash",
            hashlib.md5(TEXT.encode(), usedforsecurity=False).hexdigest().upper(),
        ),
        ("Get-Service 'WinRM' | Select -ExpandProperty Status", "Running"),
        ("Get-Service 'WinRM' | Select -ExpandProperty StartType", "Automatic"),
        ("(Get-Service -Name WinRM -ErrorAction SilentlyContinue).Name", "WinRM"),
        ("(Get-Service -Name nosuch -ErrorAction SilentlyContinue).Name", ""),
    ],
)
def test_testinfra_modules_get_their_answers(ask: Callable[[str], str], script: str, answer: str) -> None:
    assert ask(script.replace("{}", "C:\\facts\\a b.txt")) == answer


def test_the_time_of_a_file_is_in_the_form_that_testinfra_reads(ask: Callable[[str], str], server: Server) -> None:
    path = "C:\\facts\\a b.txt"
    shown = ask(f"Get-ChildItem -Path '{path}' | Select-Object -ExpandProperty LastWriteTime").strip()
    entry = server.machine.files.entry(path)
    assert entry is not None
    read = datetime.datetime.strptime(shown, "%A, %B %d, %Y %I:%M:%S %p").replace(tzinfo=datetime.UTC)
    assert read == entry.modified.replace(microsecond=0)


def test_lines_that_match_are_found(ask: Callable[[str], str]) -> None:
    assert ask("Select-String -Path 'C:\\facts\\a b.txt' -Pattern 'wor.d' -Quiet") == "True"
