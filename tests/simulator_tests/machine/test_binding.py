# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parameter binding, compared with the results of a real PowerShell (contracts/powershell-behaviour.json)."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from simulator.machine import contract
from simulator.machine.binding import bind
from simulator.machine.contract import Contract, Parameter, ParameterPlace
from simulator.machine.objects import CmdletError

PS = "Microsoft.PowerShell.Commands"
SM = "Microsoft.Windows.ServerManager.Commands"
RECORDED: dict[str, Any] = json.loads((contract.FOLDER / "powershell-behaviour.json").read_text(encoding="utf-8"))
# The recorded stub checks these by attributes that contracts from Microsoft's reference do not contain.
NOT_IN_CONTRACTS = {"ValidateRange out", "ValidatePattern out"}
STUB_CASES = [
    case for case in RECORDED["cases"] if case["command"] == "Get-Stub" and case["note"] not in NOT_IN_CONTRACTS
]
# Messages of .NET Core in the recorded PowerShell 7.6, and those of Windows PowerShell 5.1.
WORDING = {"The input string 'abc' was not in a correct format.": "Input string was not in a correct format."}


def stub() -> Contract:
    """Return the contract of the stub function with which the results were recorded."""
    types = {
        "Name": "String",
        "Count": "Int32",
        "Mode": "String",
        "Day": "DayOfWeek",
        "List": "String[]",
        "Flag": "SwitchParameter",
        "Yes": "Boolean",
        "Map": "Hashtable",
        "Span": "TimeSpan",
        "When": "DateTime",
        "Id": "Guid",
        "Addr": "IPAddress",
        "Ver": "Version",
        "SetA": "Object",
        "SetB": "Object",
    }
    days = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
    values = {"Mode": ("Auto", "Manual"), "Day": days}
    aliases = {"Name": ("N",)}
    parameters = {
        name.casefold(): Parameter(name, kind, aliases.get(name, ()), values.get(name, ()), enumeration=name == "Day")
        for name, kind in types.items()
    }
    shared = {name: ParameterPlace(mandatory=name == "name") for name in parameters if name not in ("seta", "setb")}
    return Contract(
        "Get-Stub",
        "Get-Stub",
        True,
        parameters,
        ({**shared, "seta": ParameterPlace()}, {**shared, "setb": ParameterPlace()}),
    )


def plain(value: object) -> object:
    """Return a bound value in the format of the recorded results."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"
    if isinstance(value, timedelta):
        return f"{value.seconds // 3600:02d}:{value.seconds // 60 % 60:02d}:{value.seconds % 60:02d}"
    if isinstance(value, list):
        # The recorder wrote a list of one item as this item, and an empty list as null.
        return value[0] if len(value) == 1 else (value or None)
    return value


@pytest.mark.parametrize("case", STUB_CASES, ids=[case["note"] for case in STUB_CASES])
def test_recorded_stub(case: dict[str, Any]) -> None:
    requested = case.get("error")
    if requested is None:
        bound = bind(stub(), case["parameters"])
        output = {key: value for key, value in case["output"][0].items() if not key.endswith(".type")}
        assert {name: plain(value) for name, value in bound.items()} == output
        return
    with pytest.raises(CmdletError) as caught:
        bind(stub(), case["parameters"])
    message = requested["message"]
    for core, desktop in WORDING.items():
        message = message.replace(core, desktop)
    found = caught.value
    assert (found.category, found.error_id, found.exception_type) == (
        requested["category"],
        requested["fqid"],
        requested["type"],
    )
    assert found.message == message


@pytest.mark.parametrize(
    ("command", "parameters", "category", "error_id"),
    [
        ("Get-Item", {"Foo": 1}, "InvalidArgument", f"NamedParameterNotFound,{PS}.GetItemCommand"),
        ("Get-ChildItem", {"F": True}, "InvalidArgument", f"AmbiguousParameter,{PS}.GetChildItemCommand"),
        ("Get-Item", {}, "InvalidArgument", f"MissingMandatoryParameter,{PS}.GetItemCommand"),
        (
            "Start-Sleep",
            {"Seconds": "abc"},
            "InvalidArgument",
            f"CannotConvertArgumentNoMessage,{PS}.StartSleepCommand",
        ),
        ("New-NetFirewallRule", {"Nope": 1}, "InvalidArgument", "NamedParameterNotFound,New-NetFirewallRule"),
        (
            "New-NetFirewallRule",
            {"DisplayName": "x", "Direction": "Sideways"},
            "InvalidData",
            "ParameterArgumentTransformationError,New-NetFirewallRule",
        ),
        ("New-NetFirewallRule", {"Name": "x"}, "InvalidArgument", "MissingMandatoryParameter,New-NetFirewallRule"),
        # Get-FileHash is a function in 5.1, unlike in the recorded PowerShell 7.
        ("Get-FileHash", {"Path": "a", "LiteralPath": "b"}, "InvalidArgument", "AmbiguousParameterSet,Get-FileHash"),
        (
            "Get-FileHash",
            {"Path": "a", "Algorithm": "FOO"},
            "InvalidData",
            "ParameterArgumentValidationError,Get-FileHash",
        ),
        (
            "Install-WindowsFeature",
            {"Name": "Containers", "Bad": 1},
            "InvalidArgument",
            f"NamedParameterNotFound,{SM}.AddWindowsFeatureCommand",
        ),
        (
            "Get-Item",
            {"LiteralPath": ""},
            "InvalidData",
            f"ParameterArgumentValidationErrorEmptyStringNotAllowed,{PS}.GetItemCommand",
        ),
        (
            "Get-Item",
            {"LiteralPath": []},
            "InvalidData",
            f"ParameterArgumentValidationErrorEmptyArrayNotAllowed,{PS}.GetItemCommand",
        ),
    ],
)
def test_refused_by_contract(command: str, parameters: dict[str, object], category: str, error_id: str) -> None:
    description = contract.find(command, "2022")
    assert description is not None
    with pytest.raises(CmdletError) as caught:
        bind(description, parameters)
    assert (caught.value.category, caught.value.error_id) == (category, error_id)


def test_missing_mandatory_parameter_is_named() -> None:
    description = contract.find("Get-Item", "2022")
    assert description is not None
    with pytest.raises(CmdletError, match="missing mandatory parameters: Path"):
        bind(description, {})


def test_parameters_differ_by_version() -> None:
    name = {"DisplayName": "x", "RemoteDynamicKeywordAddresses": ["{1}"]}
    newer, older = contract.find("New-NetFirewallRule", "2022"), contract.find("New-NetFirewallRule", "2019")
    assert newer is not None
    assert older is not None
    assert bind(newer, name)["RemoteDynamicKeywordAddresses"] == ["{1}"]
    with pytest.raises(CmdletError, match="RemoteDynamicKeywordAddresses"):
        bind(older, name)


def test_commands_that_a_version_lacks_do_not_exist() -> None:
    assert contract.find("Get-WinHttpProxy", "2019") is None
    assert contract.find("Get-WindowsFeature", "2019") is not None, "ServerManager is older than its documentation"


def test_pipeline_satisfies_a_mandatory_parameter() -> None:
    description = contract.find("Start-Service", "2022")
    assert description is not None
    assert bind(description, {}, has_pipeline=True) == {}
    with pytest.raises(CmdletError):
        bind(description, {})


def test_positional_arguments() -> None:
    description = contract.find("New-ItemProperty", "2022")
    assert description is not None
    assert bind(description, {"Value": 1}, ["HKLM:\\x", "a"]) == {"Path": ["HKLM:\\x"], "Name": "a", "Value": 1}
    with pytest.raises(CmdletError) as caught:
        bind(description, {}, ["a", "b", "c", "d"])
    assert caught.value.error_id.startswith("PositionalParameterNotFound")
    assert caught.value.message.endswith("accepts argument 'c'.")


def test_enumerations_take_flags_and_prefixes() -> None:
    description = contract.find("New-NetFirewallRule", "2022")
    assert description is not None
    bound = bind(
        description, {"DisplayName": "x", "Direction": "in", "Profile": ["Domain", "Private"], "Enabled": "true"}
    )
    assert (bound["Direction"], bound["Profile"], bound["Enabled"]) == ("Inbound", "Domain, Private", "True")
