# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Command lines of powershell.exe, as Ansible and other clients write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.transport.powershell_command_line import encode_command, parse_command_line, split_words

ANSIBLE = "PowerShell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_encoded_command_is_read_back(script: str) -> None:
    encoded = encode_command(script) or '""'
    parsed = parse_command_line(f"{ANSIBLE} -EncodedCommand {encoded}")
    assert parsed is not None
    assert (parsed.script, parsed.file, parsed.reads_stdin) == (script, None, False)
    assert parsed.switches == {"noprofile", "noninteractive"}
    assert parsed.options == {"executionpolicy": "Unrestricted"}


def test_ansible_reads_as_ansible_writes() -> None:
    from ansible.plugins.loader import shell_loader

    shell = shell_loader.get("powershell")
    assert parse_command_line(shell._encode_script("-")).reads_stdin  # type: ignore[union-attr]
    line = shell._encode_script("Get-Item 'x'", strict_mode=False, preserve_rc=False)
    assert parse_command_line(line).script == "Get-Item 'x'"  # type: ignore[union-attr]


def test_a_file_takes_the_rest_as_arguments() -> None:
    parsed = parse_command_line(ANSIBLE + r' -File "C:\My Scripts\a.ps1" -Name "b c" d')
    assert parsed is not None
    assert (parsed.file, parsed.arguments) == (r"C:\My Scripts\a.ps1", ("-Name", "b c", "d"))
    assert parsed.script is None


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("powershell Get-Date", "Get-Date"),
        ("powershell.exe -nop -noni -ep bypass -c Get-Date -Format o", "Get-Date -Format o"),
        (r'C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe -Command "& { \"x\" }"', '& { "x" }'),
        ("pwsh /Command Get-Date", "Get-Date"),
        (f"powershell -ec {encode_command('Get-Date')}", "Get-Date"),
        (f"powershell -e {encode_command('Get-Date')}", "Get-Date"),
        (f"powershell -Enc {encode_command('Get-Date')}", "Get-Date"),
        ("powershell -InputFormat None -OutputFormat Text -NoLogo Get-Date", "Get-Date"),
    ],
)
def test_parameters_may_be_short(line: str, script: str) -> None:
    parsed = parse_command_line(line)
    assert parsed is not None
    assert parsed.script == script


def test_a_script_may_come_on_standard_input() -> None:
    for line in ("powershell", "powershell -NoProfile", "powershell -Command -", "powershell -File -"):
        parsed = parse_command_line(line)
        assert parsed is not None
        assert (parsed.script, parsed.file, parsed.reads_stdin) == (None, None, True)


def test_other_programs_are_not_powershell() -> None:
    assert parse_command_line("cmd.exe /c powershell") is None
    assert parse_command_line("") is None


@pytest.mark.parametrize(
    "line",
    [
        "powershell -Wrong x",
        "powershell -ExecutionPolicy",
        "powershell -EncodedCommand !!",
        "powershell -n x",
        "powershell -File",
    ],
)
def test_a_command_line_that_powershell_refuses_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match="-"):
        parse_command_line(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r'a "b c" d', ["a", "b c", "d"]),
        (r'"a\"b" c\\d', ['a"b', r"c\\d"]),
        (r'a\\\"b "c\\" d', [r"a\"b", "c\\", "d"]),
        ('x "" y', ["x", "", "y"]),
        (r'"C:\Program Files\x.exe" \\host\share', [r"C:\Program Files\x.exe", r"\\host\share"]),
    ],
)
def test_arguments_are_split_as_on_windows(line: str, words: list[str]) -> None:
    assert split_words(line) == words
