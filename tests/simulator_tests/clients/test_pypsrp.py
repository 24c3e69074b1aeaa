# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""pypsrp in typical use: the examples of its README (jborean93/pypsrp, README.md, "Examples") and its streams."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pypsrp.exceptions import WinRMError
from pypsrp.host import PSHost, PSHostUserInterface
from pypsrp.powershell import PowerShell
from pypsrp.shell import Process, SignalCode, WinRS
from simulator_tests.clients.server import Server

HEADER = [
    "Mode                 LastWriteTime         Length Name",
    "----                 -------------         ------ ----",
]


def test_the_readmes_client_runs_commands(server: Server) -> None:
    with server.pypsrp() as client:
        stdout, stderr, code = client.execute_cmd("dir")
        assert ("Directory of C:\\Users\\Administrator" in stdout, stderr, code) == (True, "", 0)

        stdout, stderr, code = client.execute_cmd("powershell.exe gci $pwd")
        assert (client.sanitise_clixml(stderr), code) == ("", 0)
        lines = [line.rstrip() for line in stdout.splitlines()]
        assert lines[:5] == ["", "", "    Directory: C:\\Users\\Administrator", "", ""]
        assert lines[5:7] == HEADER
        assert lines[-3].startswith("d-----       ")
        assert lines[-3].endswith(" Documents")


def test_the_readmes_client_runs_scripts(server: Server) -> None:
    path = "C:\\readme\\folder"
    script = f'''$path = "{path}"
if (Test-Path -Path $path) {{
    Remove-Item -Path $path -Force -Recurse
}}
New-Item -Path $path -ItemType Directory'''
    with server.pypsrp() as client:
        for _ in range(2):
            output, streams, had_errors = client.execute_ps(script)
            assert not had_errors
            assert not streams.error
            lines = [line.rstrip() for line in output.split("\n")]
            assert lines[:4] == ["", "", "    Directory: C:\\readme", ""]
            assert lines[5:7] == HEADER
            assert lines[7].endswith(" folder")
        _, streams, _ = client.execute_ps(f"New-Item -Path {path} -ItemType Directory")
        assert [str(error) for error in streams.error] == [f"An item with the specified name {path} already exists."]
    assert server.machine.files.is_directory(path)


def test_execute_ps_gives_text_and_takes_an_environment(server: Server) -> None:
    with server.pypsrp() as client:
        assert client.execute_ps("1 + 1; 'x'; $true")[0] == "2\nx\nTrue"
        assert client.execute_ps("$env:GREETING", environment={"GREETING": "hello", "OTHER": "x"})[0] == "hello"
        output = client.execute_ps("Get-Service WinRM")[0].split("\n")
    assert output[1:4] == [
        "Status   Name               DisplayName",
        "------   ----               -----------",
        "Running  WinRM              Windows Remote Management (WS-Manag...",
    ]


@pytest.mark.parametrize("size", [0, 1, 300_000], ids=["empty", "one byte", "several fragments"])
def test_files_are_copied_and_fetched_unchanged(server: Server, tmp_path: Path, size: int) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(os.urandom(size))
    remote = f"C:\\Windows\\Temp\\copied {size}.bin"
    with server.pypsrp() as client:
        assert client.copy(str(source), remote) == remote
        assert server.machine.files.read_bytes(remote) == source.read_bytes()
        if size:  # for an empty file, pypsrp's fetch.ps1 fails because $bytes is null, also on Windows
            client.fetch(remote, str(back))
            assert back.read_bytes() == source.read_bytes()
    temporary = server.script("(Get-ChildItem $env:TEMP -Filter tmp*).Count").output
    assert temporary == [0], "the temporary file was moved to its place"


def test_copy_replaces_expands_and_fails(server: Server, tmp_path: Path) -> None:
    source = tmp_path / "source"
    with server.pypsrp() as client:
        for text in ("first", "second"):
            source.write_text(text)
            found = client.copy(str(source), "%SystemRoot%\\Temp\\again.txt", expand_variables=True)
        assert found == "C:\\Windows\\Temp\\again.txt"
        assert server.machine.files.read_text(found) == "second"
        assert client.copy(str(source), "relative.txt") == "C:\\Users\\Administrator\\Documents\\relative.txt"
        with pytest.raises(WinRMError, match="Could not find a part of the path"):
            client.copy(str(source), "C:\\nowhere\\x.txt")
        for path, why in (("C:\\nowhere", "does not exist"), ("C:\\Windows", "is a directory, src must be a file")):
            with pytest.raises(WinRMError, match=why):
                client.fetch(path, str(tmp_path / "none"))


def test_the_readmes_processes(server: Server) -> None:
    with WinRS(server.pypsrp().wsman) as shell:
        process = Process(shell, "dir")
        process.invoke()
        process.signal(SignalCode.CTRL_C)
        assert process.rc == 0
        assert b"Directory of" in process.stdout
        process = Process(shell, "powershell", ["gci", "$pwd"])
        process.begin_invoke()
        process.poll_invoke()
        process.end_invoke()
        process.signal(SignalCode.CTRL_C)
        assert (process.rc, b"Mode " in process.stdout) == (0, True)


def test_the_readmes_pipelines(server: Server) -> None:
    with server.pool() as pool, PowerShell(pool) as shell:
        shell.add_cmdlet("Get-Process").add_cmdlet("Select-Object").add_argument("Name")
        assert len(shell.invoke()) > 1
        shell.close()
        shell.clear_commands()
        shell.clear_streams()

        shell.add_cmdlet("Get-Process").add_cmdlet("Select-Object").add_parameter("Property", "Name")
        shell.begin_invoke()
        shell.poll_invoke()
        processes = len(shell.end_invoke())
        assert processes > 1
        shell.close()
        shell.clear_commands()
        shell.clear_streams()

        shell.add_cmdlet("Get-Process").add_cmdlet("Select-Object").add_parameter("Property", "Name")
        shell.add_statement()
        shell.add_cmdlet("Get-Service").add_argument("audiosrc")
        assert len(shell.invoke()) == processes
        (error,) = shell.streams.error
        assert "Cannot find any service with service name 'audiosrc'." in str(error)


def test_statements_are_pipelines_of_their_own(server: Server) -> None:
    with server.pool() as pool:
        shell = PowerShell(pool)
        shell.add_script("1, 2").add_cmdlet("Measure-Object").add_cmdlet("ForEach-Object").add_argument("Count")
        shell.add_statement()
        shell.add_cmdlet("Get-Item").add_parameter("LiteralPath", "C:\\nowhere").add_statement()
        shell.add_script("'last'")
        shell.invoke()
    assert shell.output == [2, "last"]
    assert [str(error) for error in shell.streams.error] == [
        "Cannot find path 'C:\\nowhere' because it does not exist."
    ]


def test_the_readmes_script_with_input(server: Server) -> None:
    script = """begin {
    $DebugPreference = "Continue"
    Write-Debug -Message "begin"
} process {
    Write-Output -InputObject $input
} end {
    Write-Debug -Message "end"
}
"""
    shell = server.script(script, ["string", 1])
    assert shell.output == ["string", 1]
    assert [str(record) for record in shell.streams.debug] == ["begin", "end"]


def test_every_stream_arrives(server: Server) -> None:
    shell = server.script(
        """
        Write-Verbose 'hidden'; Write-Debug 'hidden'
        $VerbosePreference = $DebugPreference = 'Continue'
        Write-Verbose 'v'; Write-Debug 'd'; Write-Warning 'w'; Write-Error 'e'
        Write-Information 'not shown, but sent'; Write-Host 'h'; New-Item C:/never -ItemType Directory -WhatIf
        'out'
        """
    )
    streams = shell.streams
    assert shell.output == ["out"]
    kept = {name: [str(item) for item in getattr(streams, name)] for name in ("verbose", "debug", "warning", "error")}
    assert kept == {"verbose": ["v"], "debug": ["d"], "warning": ["w"], "error": ["e"]}
    records = {str(record.message_data): list(record.tags or []) for record in streams.information}
    assert records == {"h": ["PSHOST"], "not shown, but sent": []}
    assert {(record.user, record.computer) for record in streams.information} == {("Administrator", "WIN-A")}


def test_write_host_reaches_the_clients_host(server: Server) -> None:
    interface = PSHostUserInterface()
    with server.pool(host=PSHost(None, None, False, "test", None, interface, "1.0")) as pool:
        shell = PowerShell(pool)
        shell.add_script("Write-Host 'a'; Write-Host 'b' -NoNewline; Write-Information 'c'; exit 3")
        shell.invoke()
    assert "".join(interface.stdout).split() == ["a", "b"]
    assert pool.host.rc == 3


def test_a_pool_keeps_its_variables_folder_and_environment(server: Server) -> None:
    with server.pool() as pool:
        outputs = []
        for script, arguments in (
            ('$x = $args[1]; "$($args.Count) $args"; $MyInvocation.UnboundArguments[0]', ["a", 5]),
            ("$x; $args.Count; $pwd.Path; Set-Location C:\\Windows; $env:POOL = 'kept'", []),
            ("$pwd.Path; $env:POOL", []),
        ):
            shell = PowerShell(pool)
            shell.add_script(script)
            for argument in arguments:
                shell.add_argument(argument)
            outputs.append(shell.invoke())
    assert outputs == [["2 a 5", "a"], [5, 0, "C:\\Users\\Administrator\\Documents"], ["C:\\Windows", "kept"]]
    assert server.script('$pwd.Path; "[$env:POOL]"').output == ["C:\\Users\\Administrator\\Documents", "[]"]


@pytest.mark.parametrize("value", [None, True], ids=["null", "true"])
def test_a_switch_without_a_value_is_on(server: Server, value: object) -> None:
    with server.pool() as pool:
        shell = PowerShell(pool)
        shell.add_script("1, 2").add_cmdlet("Out-String").add_parameter("Stream", value)
        assert shell.invoke() == ["1", "2"]
