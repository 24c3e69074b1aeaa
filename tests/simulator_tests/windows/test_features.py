# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Windows features: pending until a restart, what they install, and what is rejected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from simulator_tests.waiting import wait_for

from simulator.machine import commands
from simulator.machine.machine import Machine
from simulator.machine.objects import CmdletError, PSObject
from simulator.machine.power import CBS_PENDING
from simulator.windows.updates import dism_features

pytestmark = pytest.mark.waits

MakeMachine = Callable[..., Machine]


def run(machine: Machine, command: str, **parameters: object) -> commands.CmdletOutput:
    return commands.run(machine, command, parameters)


def one(machine: Machine, command: str, **parameters: object) -> PSObject:
    (found,) = run(machine, command, **parameters).objects
    assert isinstance(found, PSObject)
    return found


def state(machine: Machine, name: str) -> str:
    return str(one(machine, "Get-WindowsFeature", Name=name)["InstallState"])


@pytest.mark.parametrize("windows", ["2019", "2022", "2025"])
def test_containers_take_effect_after_a_restart(make_machine: MakeMachine, windows: str) -> None:
    machine = make_machine(windows)
    assert (state(machine, "Containers"), machine.services.exists("hns")) == ("Available", False)
    output = run(machine, "Install-WindowsFeature", Name="Containers")
    (result,) = output.objects
    assert isinstance(result, PSObject)
    assert [str(result[key]) for key in ("Success", "RestartNeeded", "ExitCode")] == [
        "True",
        "Yes",
        "SuccessRestartRequired",
    ]
    assert output.warnings == ["You must restart this server to finish the installation process."]
    assert (state(machine, "Containers"), machine.services.exists("hns")) == ("InstallPending", False)
    assert machine.power.pending_reasons() == ["features"]
    machine.power.reset()
    assert (state(machine, "Containers"), machine.services.exists("hns")) == ("Installed", True)
    assert not machine.power.pending_reboot
    vmcompute = machine.services.get("vmcompute")
    assert vmcompute is not None
    assert vmcompute.state == "Running"


def test_installed_features_are_not_installed_again(machine: Machine) -> None:
    run(machine, "Install-WindowsFeature", Name="NFS-Client")
    again = one(machine, "Install-WindowsFeature", Name="NFS-Client")
    assert [str(again[key]) for key in ("Success", "RestartNeeded", "ExitCode")] == ["True", "No", "NoChangeNeeded"]
    assert again["FeatureResult"] == []


def test_a_feature_without_restart_takes_effect_at_once(machine: Machine) -> None:
    result = one(machine, "Install-WindowsFeature", Name="NFS-Client")
    assert (str(result["RestartNeeded"]), state(machine, "NFS-Client")) == ("No", "Installed")
    assert machine.services.exists("NfsClnt")
    assert not machine.registry.key_exists(CBS_PENDING)


def test_parents_tools_and_sub_features_are_installed_too(machine: Machine) -> None:
    run(machine, "Install-WindowsFeature", Name="Web-Static-Content")
    assert [state(machine, name) for name in ("Web-Server", "Web-WebServer", "Web-Default-Doc")] == [
        "Installed",
        "Installed",
        "Available",
    ]
    run(machine, "Install-WindowsFeature", Name="Hyper-V", IncludeManagementTools=True)
    assert (state(machine, "Hyper-V"), state(machine, "Hyper-V-PowerShell")) == ("InstallPending", "Installed")


def test_hyper_v_drops_the_link_after_the_boot(make_machine: MakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = make_machine(hyperv_link_drop_seconds=0.3)
    run(machine, "Install-WindowsFeature", Name="Hyper-V")
    assert machine.network.drops == 0
    drops = []
    drop = machine.network.drop_link

    def noted(seconds: float) -> None:
        drops.append(seconds)
        drop(seconds)

    monkeypatch.setattr(machine.network, "drop_link", noted)
    machine.power.reset()
    wait_for(lambda: drops and machine.network.is_up, "the link was dropped, and is back")
    assert (drops, machine.network.drops) == ([0.3], 1)


def test_hyper_v_needs_a_processor_that_can(make_machine: MakeMachine) -> None:
    machine = make_machine(virtualization=False)
    with pytest.raises(CmdletError, match="required virtualization capabilities"):
        run(machine, "Install-WindowsFeature", Name="Hyper-V")
    assert state(machine, "Hyper-V") == "Available"


def test_an_unknown_name(machine: Machine) -> None:
    assert run(machine, "Get-WindowsFeature", Name="Frobnicator").objects == []
    with pytest.raises(CmdletError) as error:
        run(machine, "Install-WindowsFeature", Name="Frobnicator")
    assert error.value.category == "InvalidArgument"
    assert error.value.error_id.startswith("NameDoesNotExist,")


def test_a_removed_payload_needs_a_source(machine: Machine) -> None:
    assert state(machine, "NET-Framework-Core") == "Removed"
    with pytest.raises(CmdletError, match="0x800f081f"):
        run(machine, "Install-WindowsFeature", Name="NET-Framework-Core")
    run(machine, "Install-WindowsFeature", Name="NET-Framework-Core", Source=[r"D:\sources\sxs"])
    assert state(machine, "NET-Framework-Core") == "Installed"


def test_removing_waits_for_the_restart_too(make_machine: MakeMachine) -> None:
    machine = make_machine(features=["Containers"])
    assert machine.services.exists("hns")
    result = one(machine, "Uninstall-WindowsFeature", Name="Containers")
    assert (str(result["RestartNeeded"]), state(machine, "Containers")) == ("Yes", "UninstallPending")
    assert machine.services.exists("hns")
    machine.power.reset()
    assert (state(machine, "Containers"), machine.services.exists("hns")) == ("Available", False)


def test_patterns_and_versions(make_machine: MakeMachine) -> None:
    machine = make_machine("2025")
    names = [
        item["Name"]
        for item in run(machine, "Get-WindowsFeature", Name="RSAT-Cl*").objects
        if isinstance(item, PSObject)
    ]
    assert names == ["RSAT-Clustering", "RSAT-Clustering-PowerShell"]
    assert run(machine, "Get-WindowsFeature", Name="PowerShell-V2").objects == []


def test_dism_enables_the_features_above_only_on_request(machine: Machine) -> None:
    part, above = "Microsoft-Hyper-V-Management-PowerShell", ("RSAT-Hyper-V-Tools", "RSAT-Role-Tools", "RSAT")
    assert dism_features.change(machine, part, enable=True, parents=False) == (dism_features.PARENT_DISABLED, False)
    assert state(machine, "Hyper-V-PowerShell") == "Available"
    assert dism_features.change(machine, part, enable=True, parents=True) == (0, False)
    assert {state(machine, name) for name in ("Hyper-V-PowerShell", *above)} == {"Installed"}


def test_a_whatif_changes_nothing(machine: Machine) -> None:
    run(machine, "Install-WindowsFeature", Name="Containers", WhatIf=True)
    assert state(machine, "Containers") == "Available"
