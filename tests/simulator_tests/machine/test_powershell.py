# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The PowerShell interpreter: simple scripts that clients send, and the errors about what it does not model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.machine.core.cmd import run_line
from simulator.machine.objects import NotModelled
from simulator.machine.powershell.host import RemoteCommand, Runspace, ScriptOutcome, run_script, run_text
from simulator.machine.powershell.types.compare import compare_texts
from simulator.machine.session import Session


def run(session: Session, script: str, *given: object) -> ScriptOutcome:
    return run_script(session, script, given)


def test_the_order_of_texts_that_differ_only_in_letters_of_other_lengths_is_not_modelled() -> None:
    with pytest.raises(NotModelled, match="the order of 'ß' and 'ss'"):
        compare_texts("ß", "ss", sensitive=True)


def output(session: Session, script: str, *given: object) -> list[object]:
    outcome = run(session, script, *given)
    assert outcome.failure is None, outcome.failure.message
    return outcome.output


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("1 + 2 * 3", [7]),
        ("(1 + 2) * 3", [9]),
        ("7 / 2; 6 / 2; 7 % 3; -5 + 2", [3.5, 3, 1, -3]),
        ("1..3", [1, 2, 3]),
        ("'a' + 1; 'ab' * 2", ["a1", "abab"]),
        ("$x = 5; $x += 2; $x++; $x", [8]),
        ("$a, $b = 1, 2, 3; $a; $b.Count", [1, 2]),
        ("@(1).Count; @().Count; (1, 2).Length", [1, 0, 2]),
        ("1KB + 0x10", [1040]),
        ("'abc' -like 'A*'; 'abc' -clike 'A*'; 'abc' -match '^(?<first>a)'; $Matches.first", [True, False, True, "a"]),
        ("'a-b' -replace '(\\w)-(\\w)', '$2-$1'; 'a,b' -split ','; 1, 2 -join '-'", ["b-a", "a", "b", "1-2"]),
        ("1, 2, 3 -gt 1; 2 -in 1, 2; 1, 2 -contains 3", [2, 3, True, False]),
        ("'10' -eq 10; 10 -eq '10'; '9' -gt 10; 9 -gt '10'", [True, True, True, False]),
        ("[version]'10.0.9' -lt [version]'10.0.10'", [True]),
        ("[int]'12' + [int]2.5; [bool]0; [string]$true; [int[]]('1', '2')", [14, False, "True", 1, 2]),
        ("'{0:x2} {1,4}|{2:N1}' -f 10, 'a', 2.53", ["0a    a|2.5"]),
        ("$null -eq $nothing; $null, 1 -ne $null", [True, 1]),
        ("if ($false) { 1 } elseif (1) { 2 } else { 3 }", [2]),
        ("foreach ($i in 1..5) { if ($i -eq 2) { continue }; if ($i -eq 4) { break }; $i }", [1, 3]),
        ("for ($i = 0; $i -lt 3; $i++) { $i }", [0, 1, 2]),
        ("$i = 0; while ($true) { $i++; if ($i -gt 2) { break } }; $i", [3]),
        ("$i = 0; do { $i++ } until ($i -ge 3); $i", [3]),
        ("switch ('b') { 'a' { 1 } 'b' { 2 } default { 3 } }", [2]),
        ("switch -wildcard ('abc') { 'x*' { 1 } default { 3 } }", [3]),
        ("function Add($a, [int]$b = 2) { return $a + $b }; Add 1; Add -b 5 -a 1", [3, 6]),
        ('& { param($a, [switch]$s) "$a $s" } -a x -s', ["x True"]),
        ("1, 2, 3 | ForEach-Object { $_ * 2 } | Where-Object { $_ -gt 2 }", [4, 6]),
        ("3, 1, 2 | Sort-Object -Descending | Select-Object -First 2", [3, 2]),
        ("(1, 2, 3 | Measure-Object -Sum).Sum", [6]),
        ("$h = @{b = 1; 'c d' = 2}; $h.b; $h['c d']; $h.Keys.Count; $h.ContainsKey('B')", [1, 2, 2, True]),
        ("[pscustomobject]@{a = 1; b = 'x'} | Select-Object -ExpandProperty b", ["x"]),
        ('$o = [pscustomobject]@{a = 1}; $o.a = 5; "$($o.a) and $o"', ["5 and @{a=5}"]),
        ("'x', 'y' | Select-Object @{n = 'name'; e = { $_ + '!' }} | ForEach-Object name", ["x!", "y!"]),
        (
            "try { 'a' -replace 1, 2, 3 } catch { \"$_\" }",
            ["The -replace operator allows only two elements to follow it, not 3."],
        ),
        (
            "$a = 'x'; try { $a++ } catch { \"$_\" }",
            ["The '++' operator works only on numbers. The operand is a 'System.String'."],
        ),
        ("try { '{0:d}' -f 1.5 } catch { \"$_\" }", ["Error formatting a string: Format specifier was invalid.."]),
        ("try { throw 'boom' } catch { \"caught $_\" } finally { 'done' }", ["caught boom", "done"]),
        (
            (
                "try { Get-Item C:\\nope -ErrorAction Stop } "
                "catch [System.Management.Automation.ItemNotFoundException] { 'missing' }"
            ),
            ["missing"],
        ),
        ('"a`tb $(1 + 1) ${env:OS} `$x"', ["a\tb 2 Windows_NT $x"]),
        ("'it''s'; @'\nraw $x\n'@; @\"\ncooked $(1)\n\"@", ["it's", "raw $x", "cooked 1"]),
        ("'Hello'.ToUpper().Substring(1, 3).Replace('L', 'x')", ["Exx"]),
        # In a method's arguments, the comma has a lower precedence than all operators, and elsewhere a higher one.
        ("'abc'.Replace('a' + 'b', 'x' + 'y'); 'abc'.Substring(3 - 2, 1 + 1); ('x' + 'y', 'z')", ["xyc", "bc", "xy z"]),
        (
            "[Environment]::OSVersion.Version.Build; [System.Environment]::ExpandEnvironmentVariables('%SystemRoot%')",
            [20348, "C:\\Windows"],
        ),
        ("[Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes('hi'))", ["aGk="]),
        ("[IO.Path]::Combine('C:\\a', 'b'); [string]::IsNullOrEmpty('')", ["C:\\a\\b", True]),
        ("$p = @{LiteralPath = 'C:\\Windows'; PathType = 'Container'}; Test-Path @p", [True]),
        ("# a comment\n<# a\nblock #> 'x' # more", ["x"]),
        ("'a' `\n  + 'b'", ["ab"]),
        ("-not $true -or !$false", [True]),
        ("Invoke-Expression '$x = 2; $x + 1'; $x", [3, 2]),
        ("$x = 'set'; & { $x = 'inner' }; $x; . { $x = 'dotted' }; $x", ["set", "dotted"]),
        ("Get-Service -Name WinRM, W32Time | ForEach-Object Name", ["W32Time", "WinRM"]),
        (
            (
                "Get-Service | Where-Object Status -eq Running | ? Name -eq winrm "
                "| Select-Object -ExpandProperty Status | Out-String -Stream"
            ),
            ["Running"],
        ),
    ],
)
def test_language(session: Session, script: str, expected: list[object]) -> None:
    assert output(session, script) == expected


def test_text_arguments_are_never_run_as_code(session: Session) -> None:
    hostile = "$(throw 1); `n '\" ;&| Remove-Item C:\\"
    outcome = run_script(session, 'param($x) Write-Output "<$x>"', [], variables={"x": hostile})
    assert outcome.output == [f"<{hostile}>"]


@pytest.mark.parametrize(
    ("script", "error_id", "category"),
    [
        (
            "Get-Item -LiteralPath C:\\nope -ErrorAction Stop",
            "PathNotFound,Microsoft.PowerShell.Commands.GetItemCommand",
            "ObjectNotFound",
        ),
        ("throw 'boom'", "boom", "OperationStopped"),
        ("if (", "ParserError", "ParserError"),
        ("'a' && 'b'", "ParserError", "ParserError"),
    ],
)
def test_errors_that_end_the_script(session: Session, script: str, error_id: str, category: str) -> None:
    failure = run(session, f"'before'; {script}; 'after'" if "(" not in script else script).failure
    assert failure is not None
    assert (failure.error_id, failure.category) == (error_id, category)


@pytest.mark.parametrize(
    ("script", "error_id", "category"),
    [
        ("Nope-Command", "CommandNotFoundException", "ObjectNotFound"),
        ("$null.Trim()", "InvokeMethodOnNull", "InvalidOperation"),
        ("1 / 0", "RuntimeException", "NotSpecified"),
        ("'x'.Nope()", "MethodNotFound", "InvalidOperation"),
        ("Get-Item -Nope x", "NamedParameterNotFound,Microsoft.PowerShell.Commands.GetItemCommand", "InvalidArgument"),
    ],
)
def test_errors_that_end_their_statement(session: Session, script: str, error_id: str, category: str) -> None:
    outcome = run(session, f"'before'; {script}; 'after'")
    assert outcome.output == ["before", "after"]
    [error] = outcome.errors
    assert (error.error_id, error.category) == (error_id, category)
    stopped = run(session, f"$ErrorActionPreference = 'Stop'; 'before'; {script}; 'after'")
    assert (stopped.output, stopped.failure is not None) == (["before"], True)
    assert output(session, f"try {{ {script} }} catch {{ 'caught' }}; 'after'") == ["caught", "after"]


@pytest.mark.parametrize(
    "script",
    ["[Net.WebRequest]::Create('http://x')", "New-Object -ComObject WScript.Shell", "Get-NetQosPolicy", "class A { }"],
)
def test_unmodelled_features_are_refused(session: Session, script: str) -> None:
    failure = run(session, script).failure
    assert failure is not None
    assert "the simulator does not model" in failure.message or failure.error_id == "CommandNotFoundException"


def test_errors_that_do_not_end_the_script(session: Session) -> None:
    outcome = run(session, "Get-Item C:\\nope; $?; 'after'; $Error[0].Exception.Message")
    assert outcome.output == [False, "after", "Cannot find path 'C:\\nope' because it does not exist."]
    assert [error.category for error in outcome.errors] == ["ObjectNotFound"]
    quiet = run(session, "Get-Item C:\\nope -ErrorAction SilentlyContinue; Get-Service nope 2>$null; 'x'")
    assert (quiet.output, quiet.errors) == (["x"], [])
    stopped = run(session, "$ErrorActionPreference = 'Stop'; Get-Item C:\\nope; 'after'")
    assert stopped.output == []
    assert stopped.failure is not None


def test_programs_in_a_script(session: Session) -> None:
    assert output(session, "hostname; $LASTEXITCODE") == ["win-a", 0]
    assert output(session, "$x = sc.exe query nope; $LASTEXITCODE; $?")[0] == 1060
    assert output(session, "& 'C:\\Windows\\System32\\cmd.exe' /c echo a b") == ["a b"]
    assert output(session, "'b1', 'c', 'b2' | findstr.exe b") == ["b1", "b2"]
    assert output(session, "cmd /c 'echo out& nope' 2>&1 | ForEach-Object ToString | Select-Object -First 1") == ["out"]


def test_exit_codes_of_powershell_exe(session: Session) -> None:
    for script, code in (
        ("exit 3", 3),
        ("'x'", 0),
        ("Get-Item C:\\nope", 1),
        ("throw 'x'", 1),
        ("cmd /c exit 5; exit $LASTEXITCODE", 5),
    ):
        assert run_text(session, script, []).exit_code == code, script


def test_variables_live_as_long_as_their_runspace(session: Session) -> None:
    runspace = Runspace()
    run_script(session, "$x = 1; function Get-X { $x }", [], runspace=runspace)
    assert run_script(session, "Get-X", [], runspace=runspace).output == [1]
    assert run_script(session, "$x", [], runspace=Runspace()).output == [None]


def test_input(session: Session) -> None:
    assert output(session, "$input | ForEach-Object { $_ + '!' }", "a", "b") == ["a!", "b!"]
    assert output(session, "begin { $n = 0 } process { $n += $_ } end { $n }", 1, 2) == [3]


def test_the_commands_of_win_reboot(session: Session) -> None:
    """These are the scripts in plugin_utils/_reboot.py of ansible.windows."""
    boot = "(Get-CimInstance -ClassName Win32_OperatingSystem -Property LastBootUpTime).LastBootUpTime.ToFileTime()"
    known = "Get-Variable LASTEXITCODE -ErrorAction SilentlyContinue"
    tail = f"; If (-not $?) {{ If ({known}) {{ exit $LASTEXITCODE }} Else {{ exit 1 }} }}"
    first = run(session, boot + tail)
    assert first.exit_code is None
    [ticks] = first.output
    assert isinstance(ticks, int)
    key = r"HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon\AutoLogonChecked"
    assert "success-1" in output(session, f"Get-Item -LiteralPath '{key}' -ErrorAction Stop; 'success-1'")
    shutdown = r"C:\Windows\System32\shutdown.exe /r /t 2000 /c 'it''s time'"
    script = rf"""$ErrorActionPreference = 'Continue'

if ($True) {{
    Remove-Item -LiteralPath '{key}' -Force -ErrorAction SilentlyContinue
}}

$stdout = $null
$stderr = . {{ {shutdown} | Set-Variable stdout }} 2>&1 | ForEach-Object ToString

ConvertTo-Json -Compress -InputObject @{{
    stdout = (@($stdout) -join "`n")
    stderr = (@($stderr) -join "`n")
    rc = $LASTEXITCODE
}}
"""
    assert document(output(session, script)) == {"stdout": "", "stderr": "", "rc": 0}
    assert session.machine.power.last_reason == "it's time"
    again = document(output(session, script))
    assert again["rc"] == 1190
    assert "(1190)" in again["stderr"]
    assert run(session, "Get-Item -LiteralPath '" + key + "' -ErrorAction Stop; 'x'").failure is not None
    assert session.machine.power.abort()


def document(lines: list[object]) -> dict[str, Any]:
    [text] = lines
    found: dict[str, Any] = json.loads(str(text))
    return found


def test_the_commands_of_the_shell_plugin(session: Session) -> None:
    """See plugins/shell/powershell.py of ansible-core."""
    session.machine.files.write_text(r"C:\it's", "x")
    script = "Set-StrictMode -Version Latest\nRemove-Item 'C:\\it''s' -Force;"
    assert run(session, script).failure is None
    assert not session.machine.files.exists(r"C:\it's")
    session.machine.files.write_text(r"C:\f", "hello")
    checksum = """
If (Test-Path -PathType Leaf 'C:\\f')
{
$sp = new-object -TypeName System.Security.Cryptography.SHA1CryptoServiceProvider;
$fp = [System.IO.File]::Open('C:\\f', [System.IO.Filemode]::Open, [System.IO.FileAccess]::Read);
[System.BitConverter]::ToString($sp.ComputeHash($fp)).Replace("-", "").ToLower();
$fp.Dispose();
}
ElseIf (Test-Path -PathType Container 'C:\\f')
{
Write-Output "3";
}
Else
{
Write-Output "1";
}"""
    assert output(session, checksum) == ["aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"]


def test_json(session: Session) -> None:
    assert output(session, "ConvertTo-Json -Compress @{a = @(1); b = $null; c = @{d = @{e = @{f = 1}}}}") == [
        '{"a":[1],"b":null,"c":{"d":{"e":"System.Collections.Hashtable"}}}'
    ]
    assert output(session, "(Get-Service WinRM).Status | ConvertTo-Json") == ["4"], "an enumeration is a number in 5.1"
    assert output(session, "@(1) | ConvertTo-Json -Compress") == ["1"], "a pipeline of one is unrolled"
    assert output(session, '(\'{"a": {"b": [1, 2]}}\' | ConvertFrom-Json).a.b[1]') == [2]


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("echo hi && echo there", 0, "hi \r\nthere\r\n"),
        ("nope || echo other", 0, "other\r\n"),
        ("nope && echo never", 1, ""),
        ("echo %SystemRoot%", 0, "C:\\Windows\r\n"),
        # The blanks before the redirection and before the operator are echoed as well.
        ("echo a > C:\\x.txt & type C:\\x.txt", 0, "a  \r\n"),
        ("echo abc| findstr b", 0, "abc\r\n"),
        ("powershell -NoProfile -Command \"Write-Output 'a|b'\"", 0, "a|b\r\n"),
        ("PowerShell -NonInteractive exit 4", 4, ""),
        ("if exist C:\\Windows echo yes", 0, "yes\r\n"),
        ("type C:\\nope", 1, ""),
        ("exit /b 7", 7, ""),
        # The line is expanded before any of it runs.
        ("cmd /c exit 3 & echo %ERRORLEVEL%", 0, "0\r\n"),
    ],
)
def test_cmd(session: Session, line: str, code: int, text: str) -> None:
    result = run_line(session, line)
    assert (result.exit_code, result.stdout) == (code, text)


def test_testinfra_asks_what_kind_of_system_it_is(session: Session) -> None:
    """See testinfra/modules/systeminfo.py, with the winrm backend."""
    assert run_line(session, "uname -s").exit_code == 1
    result = run_line(session, 'systeminfo | findstr /B /C:"OS"')
    assert result.stdout.splitlines()[0].startswith("OS Name:                   Microsoft Windows Server 2022")
    assert run_line(session, "echo %PROCESSOR_ARCHITECTURE%").stdout == "AMD64\r\n"


def test_pipelines_of_commands_as_psrp_sends_them(session: Session) -> None:
    commands = [
        RemoteCommand("Get-Service", False, [("Name", "WinRM")]),
        RemoteCommand("Select-Object", False, [("ExpandProperty", "Status")]),
    ]
    outcome = run_script(session, "Get-Service", [], commands=commands)
    assert [str(item) for item in outcome.output] == ["Running"]
    # As in pypsrp's execute_ps: Out-String gets the output of a script from before its `exit`.
    commands = [
        RemoteCommand("'before'; exit 3; 'after'", True),
        RemoteCommand("Out-String", False, [("Stream", True)]),
    ]
    outcome = run_script(session, "", [], commands=commands)
    assert (outcome.output, outcome.exit_code) == (["before"], 3)
    outcome = run_script(session, "", [], commands=[RemoteCommand('param($a) "a=$a"', True, [("a", "z")])])
    assert outcome.output == ["a=z"]


def test_cmd_lists_a_folder(session: Session) -> None:
    session.machine.files.make_directory(r"C:\d\sub")
    session.machine.files.write_text(r"C:\d\f.txt", "abc")
    assert run_line(session, r"dir /b C:\d").stdout == "f.txt\r\nsub\r\n"
    assert "<DIR>          sub" in run_line(session, r"dir C:\d").stdout
    assert run_line(session, r"dir C:\nope").exit_code == 1
