# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registry values as properties of items."""

from __future__ import annotations

import pytest

from simulator.machine.registry import Value

KEY = r"HKLM:\SOFTWARE\winkube-test"


@pytest.fixture
def values(shell):
    """Create a registry key, and return a function that reads its values: `values(NAME)`."""
    shell.machine.registry.create_key(KEY)

    def read(name):
        return shell.machine.registry.get(KEY, name)

    return read


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("DWord", "17", 17),
        ("DWord", -1, 0xFFFFFFFF),
        ("DWord", 0xFFFFFFFF, 0xFFFFFFFF),
        ("QWord", 1 << 40, 1 << 40),
        ("String", 5, "5"),
        ("ExpandString", r"%SystemRoot%\x", r"%SystemRoot%\x"),
        ("MultiString", "one", ["one"]),
        ("MultiString", ["one", "two"], ["one", "two"]),
        ("Binary", [1, 255], b"\x01\xff"),
    ],
)
def test_values_are_kept_as_their_kind_wants(shell, values, kind, given, kept):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=given, PropertyType=kind, Force=True)
    assert values("a") == Value(kept, kind)


def test_a_value_that_does_not_fit_leaves_the_old_one(shell, values):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=1, PropertyType="DWord")
    error = shell.error("New-ItemProperty", LiteralPath=[KEY], Name="a", Value="x", PropertyType="DWord", Force=True)
    assert "System.Int32" in error.message
    assert shell.error("New-ItemProperty", LiteralPath=[KEY], Name="a", Value="x", PropertyType="Big").category == (
        "InvalidArgument"
    )
    assert values("a") == Value(1, "DWord")


def test_a_second_one_needs_force_which_may_change_the_kind(shell, values):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value="1")
    error = shell.error("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=2)
    assert error.error_id == "System.IO.IOException,Microsoft.PowerShell.Commands.NewItemPropertyCommand"
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=2, PropertyType="QWord", Force=True)
    assert values("a") == Value(2, "QWord")


def test_a_missing_key_is_not_made(shell):
    error = shell.error("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=1, Force=True)
    assert error.error_id == "PathNotFound,Microsoft.PowerShell.Commands.NewItemPropertyCommand"
    assert not shell.machine.registry.key_exists(KEY)


def test_setting_keeps_the_kind(shell, values):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value="%TEMP%", PropertyType="ExpandString")
    shell("Set-ItemProperty", Path=[KEY], Name="a", Value="%TMP%")
    shell("Set-ItemProperty", Path=[KEY], Name="b", Value=7)
    assert values("a") == Value("%TMP%", "ExpandString")
    assert values("b") == Value(7, "DWord")


def test_reading_expands_variables(shell, values):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value=r"%SystemRoot%\x", PropertyType="ExpandString")
    assert shell.one("Get-ItemProperty", Path=[KEY])["a"] == r"C:\Windows\x"
    assert shell("Get-ItemPropertyValue", Path=[KEY], Name=["a"]) == [r"C:\Windows\x"]
    error = shell.error("Get-ItemProperty", Path=[KEY], Name=["b"])
    assert error.message == r"Property b does not exist at path HKEY_LOCAL_MACHINE\SOFTWARE\winkube-test."


def test_removing(shell, values):
    shell("New-ItemProperty", LiteralPath=[KEY], Name="a", Value="1")
    shell("Remove-ItemProperty", LiteralPath=[KEY], Name=["A"])
    assert values("a") is None
    error = shell.error("Remove-ItemProperty", LiteralPath=[KEY], Name=["a"])
    assert error.exception_type == "System.Management.Automation.PSArgumentException"
