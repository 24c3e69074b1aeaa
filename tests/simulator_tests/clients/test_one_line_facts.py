# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""One-line scripts over PSRP whose results were once wrong: now as in Windows PowerShell 5.1, or refused by name.

The expected results are from about_Arrays, about_Automatic_Variables, about_Break, about_Functions,
about_Numeric_Literals, about_Pipelines, about_Preference_Variables and about_Scopes in
https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/, and from the pages of Set-StrictMode
and Write-Output.
"""

from __future__ import annotations

import pytest
from simulator_tests.clients.server import REFUSAL, Server

HOME = "C:\\Users\\Administrator"
FACTS: list[tuple[str, list[object]]] = [
    ("@($null).Count", [1]),
    ("(@($null) -eq $null).Count", [1]),
    ("$null -eq ([ordered]@{})[0]", [True]),
    ("(2147483647 + 1).GetType().Name", ["Double"]),
    ("$script:y = 5; $script:y", [5]),
    ("Get-Item C:\\nope -EA SilentlyContinue; $?", [False]),
    ("$null | ForEach-Object { 'ran' }", ["ran"]),
    ("[int][char]'A'", [65]),
    ('"$([char]65)"', ["A"]),
    ("$a = New-Object System.Collections.ArrayList; $a.Add('x'); $a.Add('y')", [0, 1]),
    ("Set-StrictMode -Version 2; 'ok'", ["ok"]),
    (
        ':outer foreach ($i in 1..3) { foreach ($j in 1..3) { if ($j -eq 2) { continue outer }; "$i$j" } }',
        ["11", "21", "31"],
    ),
    ("(Write-Output -NoEnumerate 1, 2 | Measure-Object).Count", [1]),
    ("function f([switch]$s) { $s.IsPresent }; f -s; f; f -s:$false", [True, False, False]),
    ("filter double { $_ * 2 }; 1..3 | double", [2, 4, 6]),
    ('"$pwd"', [f"{HOME}\\Documents"]),
    ("$Host.Name", ["ServerRemoteHost"]),
    ("$OutputEncoding.GetType().Name", ["ASCIIEncoding"]),
]


@pytest.mark.parametrize(("script", "expected"), FACTS)
def test_every_fact_is_true(server: Server, script: str, expected: list[object]) -> None:
    shell = server.script(script)
    errors = [str(error) for error in shell.streams.error]
    assert (shell.output, errors) == (expected, [])


@pytest.mark.parametrize(
    ("script", "output", "error"),
    [
        ("Set-StrictMode -Version Latest; $undefined; 'after'", ["after"], "because it has not been set"),
        ("'before'; [ordered]@{}[0]; 'after'", [], "can be specified only on a hash literal node"),
        ("'before'; $Host.UI.RawUI; 'after'", [], REFUSAL),
        ("'before'; $ExecutionContext.SessionState.LanguageMode", [], REFUSAL),
        ("'before'; $OutputEncoding.EncodingName", [], REFUSAL),
    ],
)
def test_an_error_or_a_refusal(server: Server, script: str, output: list[object], error: str) -> None:
    shell = server.script(script)
    assert shell.output == output
    assert [error in str(found) for found in shell.streams.error] == [True]


def test_the_consoles_host_is_another(server: Server) -> None:
    assert server.run('powershell -Command "$Host.Name; $pwd.Path"')[0] == f"ConsoleHost\r\n{HOME}\r\n"
