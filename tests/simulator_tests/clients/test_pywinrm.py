# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""pywinrm in typical use: Session, Protocol with standard input, and the results of cmd.exe for command lines.

The results follow https://learn.microsoft.com/windows-server/administration/windows-commands/cmd and the pages about
`for`, `if`, `set` and `findstr`.
"""

from __future__ import annotations

import pytest
from simulator_tests.clients.server import REFUSAL, Server
from winrm import Session

from simulator.machine import families
from simulator.machine.unmodelled_programs import is_unmodelled

HOME = "C:\\Users\\Administrator"


@pytest.fixture
def session(server: Server) -> Session:
    return Session(f"http://{server.machine.address}:5985/wsman", (server.user, server.password), transport="basic")


def test_a_session_runs_commands_and_scripts(session: Session) -> None:
    found = session.run_cmd("whoami")
    assert (found.status_code, found.std_out, found.std_err) == (0, b"win-a\\administrator\r\n", b"")
    found = session.run_cmd("cmd", ["/c", "exit", "7"])
    assert found.status_code == 7
    found = session.run_ps("$x = 'wörld'; \"hello $x\"; exit 3")
    assert (found.status_code, found.std_out.decode()) == (3, "hello wörld\r\n")


@pytest.mark.parametrize(
    ("line", "stdin", "output"),
    [
        ("findstr b", b"abc\r\nxyz\r\nbb\r\n", "abc\r\nbb\r\n"),
        ('findstr /v /i /c:"B C"', b"ab c\r\nxyz\r\n", "xyz\r\n"),
        ("powershell -NoProfile -Command -", b"1 + 1\r\n'x'\r\n", "2\r\nx\r\n"),
        ("powershell -NoProfile -Command $input", b"a\r\nb\r\n", "a\r\nb\r\n"),
        ("findstr a | findstr b", b"ab\r\na\r\n", "ab\r\n"),
        (
            "cmd",
            b"echo hi\r\nexit\r\n",
            (
                "Microsoft Windows [Version 10.0.20348.2849]\r\n(c) Microsoft Corporation. All rights reserved.\r\n\r\n"
                f"{HOME}>echo hi\r\nhi\r\n\r\n{HOME}>exit\r\n"
            ),
        ),
    ],
)
def test_a_pipe_as_standard_input_reaches_the_program(server: Server, line: str, stdin: bytes, output: str) -> None:
    assert server.run(line, stdin=stdin) == (output, "", 0)


@pytest.mark.parametrize(
    ("line", "pieces", "end", "output"),
    [
        ("findstr b", [b"abc\r\nx", b"yz\r\nbb\r\n"], True, b"abc\r\nbb\r\n"),
        ("findstr b", [b"abc\r\n\x1a\r\n"], False, b"abc\r\n"),
        ("powershell -", [b"1 + 1\r\n", b"exit\r\n"], False, b"2\r\n"),
        ("hostname", [b"ignored"], True, b"win-a\r\n"),
    ],
)
def test_typed_input_reaches_a_waiting_program(
    server: Server, line: str, pieces: list[bytes], end: bool, output: bytes
) -> None:
    client = server.pywinrm()
    shell = client.open_shell()
    command = client.run_command(shell, line)
    for piece in pieces:
        client.send_command_input(shell, command, piece, end=end and piece is pieces[-1])
    assert client.get_command_output(shell, command) == (output, b"", 0)
    client.cleanup_command(shell, command)
    client.close_shell(shell)


def test_a_program_that_waits_for_input_ends_with_its_shell(server: Server) -> None:
    client = server.pywinrm()
    shell = client.open_shell()
    client.run_command(shell, "findstr b")
    client.close_shell(shell)
    assert server.run("hostname") == ("win-a\r\n", "", 0)


@pytest.mark.parametrize(
    ("line", "output", "code"),
    [
        ("for %i in (a, b;c) do @echo %i", "a\r\nb\r\nc\r\n", 0),
        ("for %i in (a) do echo %TEMP% %i", f"\r\n{HOME}>echo {HOME}\\AppData\\Local\\Temp a \r\n{HOME}\\AppData\\Local\\Temp a\r\n", 0),  # noqa: E501
        ("for /l %n in (1,2,5) do @echo %n", "1\r\n3\r\n5\r\n", 0),
        ('for /f "tokens=1,2* delims==" %a in ("k=v=w") do @echo %a-%b-%c', "k-v-w\r\n", 0),
        ("for /f %a in ('hostname') do @echo [%a]", "[win-a]\r\n", 0),
        ("for %f in (C:\\Windows\\System32\\whoa*.exe) do @echo %~nf %~xf %~dpf", "whoami .exe C:\\Windows\\System32\\\r\n", 0),  # noqa: E501
        ("for %i in (1 2) do @(if %i==2 (echo two) else echo other)", "other\r\ntwo\r\n", 0),
        ("if exist C:\\Windows (echo yes) else echo no", "yes\r\n", 0),
        ("if not exist C:\\nowhere echo no", "no\r\n", 0),
        ("if /i A==a (echo same)", "same\r\n", 0),
        ("if 10 gtr 9 echo more", "more\r\n", 0),
        ("if 1==0 echo a & echo b", "", 0),
        ("echo a&& echo b", "a\r\nb\r\n", 0),
        ("hostname & echo b | findstr b", "win-a\r\nb \r\n", 0),
        ("cmd /c exit 3 || echo failed", "failed\r\n", 0),
        ("cmd /c exit 3 && echo not", "", 3),
        ("exit 5 & echo not", "", 5),
        ("set NEW=1&& echo %NEW%", "%NEW%\r\n", 0),
        ('set "NEW=1 2"&& set NEW', "NEW=1 2\r\n", 0),
        ("echo a^&b ^> c", "a&b > c\r\n", 0),
        ('echo "a & b"', '"a & b"\r\n', 0),
        ("(echo a& echo b) | findstr b", "b\r\n", 0),
        ('echo text> "%TEMP%\\two words.txt" & echo more>>"%TEMP%\\two words.txt" & type "%TEMP%\\two words.txt"', "text \r\nmore \r\n", 0),  # noqa: E501
        ("findstr b < C:\\Windows\\Temp\\absent.txt 2>nul || echo absent", "absent\r\n", 0),
        ("(echo a& nonsense) > %TEMP%\\both.txt 2>&1 & type %TEMP%\\both.txt | findstr /v operable", "a\r\n'nonsense' is not recognized as an internal or external command,\r\n", 0),  # noqa: E501
        ("(nonsense) 2>&1 > %TEMP%\\out.txt | findstr nonsense", "'nonsense' is not recognized as an internal or external command,\r\n", 0),  # noqa: E501
        ("echo x > %TEMP%\\out.txt& cmd /c exit 3 > %TEMP%\\out.txt & type %TEMP%\\out.txt", "", 0),
        ("echo x > C:\\nowhere\\x.txt & echo after", "after\r\n", 0),
        ("hostname > nul", "", 0),
        ("echo. & echo(x& echo", " \r\nx\r\nECHO is on.\r\n", 0),
        ("cd C:\\Windows | echo x & cd", f"x \r\n{HOME}\r\n", 0),
    ],
)  # fmt: skip
def test_cmd_understands_its_language(server: Server, line: str, output: str, code: int) -> None:
    found, _, status = server.run(line)
    assert (found, status) == (output, code)


@pytest.mark.parametrize(
    "line",
    [
        "for /r %i in (*) do echo %i",
        "goto x",
        "set /a 1+1",
        "echo %PATH:~0,3%",
        "netstat",
        "net user x",
        "echo %RANDOM%",
    ],
)
def test_unmodelled_features_of_cmd_are_refused_by_name(server: Server, line: str) -> None:
    stdout, stderr, code = server.run(f"echo before & {line}")
    assert (stdout, code) == ("", 255)
    assert REFUSAL in stderr


def test_no_modelled_program_is_listed_as_not_modelled() -> None:
    assert not [name for name in families.load().in_box if is_unmodelled(name)]


def test_a_batch_file_on_path_runs_in_the_same_cmd(server: Server) -> None:
    server.machine.files.write_text("C:\\Windows\\System32\\on path.cmd", "@set Z=%~1\r\n@exit /b 2\r\n")
    assert server.run('"on path.cmd" "a b" & echo %ERRORLEVEL% & set Z') == ("0 \r\nZ=a b\r\n", "", 0)


def test_an_unknown_command_is_not_recognized(server: Server) -> None:
    stdout, stderr, code = server.run("nonsense /x")
    assert (stdout, code) == ("", 1)
    assert (
        stderr
        == "'nonsense' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n"
    )


@pytest.mark.parametrize(
    ("text", "output", "code"),
    [
        ("@echo off\necho %1-%~2-%*\n", 'a-b c-a "b c"\r\n', 0),
        ("@echo off\nset X=1\nif \"%X%\"==\"1\" (\n  echo yes\n) else (\n  echo no\n)\n", "yes\r\n", 0),
        ("@echo off\nfor %%i in (1 2) do (\n  echo %%i\n)\necho [%NOPE%] 100%%\n", "1\r\n2\r\n[] 100%\r\n", 0),
        ("echo hi\n", f"\r\n{HOME}>echo hi \r\nhi\r\n", 0),
        ("@cmd /c exit 4\n@echo after\n", "after\r\n", 4),
        ("@echo off\ncmd /c exit 4\necho %ERRORLEVEL%\nexit /b 6\necho not\n", "4\r\n", 6),
        ("@echo off\nrem a (\n:: b (\ngoto :eof\necho not\n", "", 0),
        ("@echo off\nif \"%~2\"==\"b c\" (echo yes\ngoto:EOF)\necho not\n", "yes\r\n", 0),
        ("@setlocal\n@cd C:\\Windows\n@set Y=1\n", "", 0),
    ],
)  # fmt: skip
def test_batch_files_run(server: Server, text: str, output: str, code: int) -> None:
    server.machine.files.write_text("C:\\Windows\\Temp\\x.bat", text.replace("\n", "\r\n"))
    found, errors, _ = server.run('C:\\Windows\\Temp\\x.bat a "b c" & cd & set Y')
    assert errors == "Environment variable Y not defined\r\n"
    assert found == f"{output}{HOME}\r\n"
    assert server.run('"c:/Windows/Temp/x.bat" a "b c"')[::2] == (output, code)
    assert (
        server.run("powershell", "-Command", "\"& C:\\Windows\\Temp\\x.bat a 'b c' | Out-Null; $LASTEXITCODE\"")[0]
        == f"{code}\r\n"
    )


@pytest.mark.parametrize(
    ("arguments", "output", "code"),
    [
        ('"a b" 1 rest', "1 a b False [rest] C:\\Windows\\Temp\r\n", 4),
        ("-s x -n 5", "5 x True [] C:\\Windows\\Temp\r\n", 4),
        ("-t:y -s:$false -n 2", "2 y False [] C:\\Windows\\Temp\r\n", 4),
        ("-n x", "", 1),
    ],
)
def test_script_files_get_their_arguments(server: Server, arguments: str, output: str, code: int) -> None:
    """With -File (about_PowerShell_exe), arguments bind by name and by position, and are text that is converted."""
    script = 'param([string]$t, [int]$n = 1, [switch]$s)\n"$n $t $s [$args] $PSScriptRoot"\nexit 4\n'
    server.machine.files.write_text("C:\\Windows\\Temp\\file.ps1", script)
    found = server.run(f"powershell -NoProfile -File C:\\Windows\\Temp\\file.ps1 {arguments}")
    assert (found[0], found[2]) == (output, code)
