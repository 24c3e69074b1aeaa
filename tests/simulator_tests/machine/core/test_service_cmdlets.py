# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Get-, Start-, Stop-, Restart-, Set- and New-Service."""

from __future__ import annotations

import pytest

HOST = r"C:\Windows\System32\svchost.exe -k test"


@pytest.fixture
def pair(shell):
    """Create the services `lower` and `upper`, which depends on `lower`. Neither runs."""
    shell.machine.services.create("lower", HOST, DisplayName="The lower one", Start=3)
    shell.machine.services.create("upper", HOST, DependOnService=["lower"])
    return shell


def state(shell, name):
    return str(shell.one("Get-Service", Name=[name])["Status"])


def test_a_service_is_found_whatever_the_case_and_shows_its_definition(pair):
    found = pair.one("Get-Service", Name=["UPPER"])
    assert (found["Name"], str(found["Status"]), str(found["StartType"])) == ("upper", "Stopped", "Manual")
    assert [str(each["Name"]) for each in found["ServicesDependedOn"]] == ["lower"]
    lower = pair.one("Get-Service", DisplayName=["*lower one"])
    assert [each["Name"] for each in lower["DependentServices"]] == ["upper"]


def test_a_missing_service_is_an_error_and_the_others_are_returned(pair):
    from simulator.machine import commands

    error = pair.error("Get-Service", Name=["nope"])
    assert error.error_id == "NoServiceFoundForGivenName,Microsoft.PowerShell.Commands.GetServiceCommand"
    assert error.category == "ObjectNotFound"
    output = commands.run(pair.machine, "Get-Service", {"Name": ["nope", "lower"]}, error_action="Continue")
    assert len(output.objects) == len(output.errors) == 1
    assert pair("Get-Service", Name=["no*such"]) == []


def test_starting_a_service_starts_its_dependencies_and_is_idempotent(pair):
    pair("Start-Service", Name=["upper"])
    assert (state(pair, "lower"), state(pair, "upper")) == ("Running", "Running")
    pair("Start-Service", Name=["upper"])


def test_stopping_what_others_need_takes_force(pair):
    pair("Start-Service", Name=["upper"])
    error = pair.error("Stop-Service", Name=["lower"])
    assert error.error_id == "ServiceHasDependentServices,Microsoft.PowerShell.Commands.StopServiceCommand"
    assert state(pair, "lower") == "Running"
    pair("Stop-Service", Name=["lower"], Force=True)
    assert (state(pair, "lower"), state(pair, "upper")) == ("Stopped", "Stopped")
    pair("Stop-Service", Name=["lower"])


def test_a_forced_restart_starts_dependent_services_again(pair):
    pair("Start-Service", Name=["upper"])
    before = [pair.machine.services.get(name).process_id for name in ("lower", "upper")]
    pair("Restart-Service", Name=["lower"], Force=True)
    after = [pair.machine.services.get(name).process_id for name in ("lower", "upper")]
    assert all(after)
    assert not set(before) & set(after)


@pytest.mark.parametrize("entries", [{"ImagePath": r"C:\nowhere.exe"}, {"Start": 4}, {"DependOnService": ["gone"]}])
def test_a_service_that_cannot_start_is_an_open_error(pair, entries):
    pair.machine.services.configure("lower", **entries)
    error = pair.error("Start-Service", Name=["lower"])
    assert error.error_id == "CouldNotStartService,Microsoft.PowerShell.Commands.StartServiceCommand"
    assert error.category == "OpenError"
    assert "The lower one (lower)" in error.message


def test_new_and_changed_definitions_are_in_the_registry(shell):
    made = shell.one("New-Service", Name="mine", BinaryPathName=HOST, DependsOn=["RpcSs"], Description="what it does")
    assert str(made["StartType"]) == "Automatic"
    assert shell.error("New-Service", Name="mine", BinaryPathName=HOST).error_id.startswith("CouldNotNewService,")
    shell("Set-Service", Name="mine", StartupType="Disabled", DisplayName="Mine")
    key = r"HKLM:\SYSTEM\CurrentControlSet\Services\mine"
    values = {name: value.data for name, value in shell.machine.registry.values(key).items()}
    assert (values["Start"], values["DisplayName"], values["DependOnService"]) == (4, "Mine", ["RpcSs"])
    assert values["Description"] == "what it does"
    shell("Set-Service", Name="mine", StartupType="Manual", Status="Running")
    assert state(shell, "mine") == "Running"


def test_services_can_be_piped(pair):
    assert [each["Name"] for each in pair("Get-Service", ["lower", "upper"])] == ["lower", "upper"]
    pair("Start-Service", pair("Get-Service", Name=["lower"]))
    assert state(pair, "lower") == "Running"
