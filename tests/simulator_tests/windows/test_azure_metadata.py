# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A virtual machine of Azure has an asset tag and the Instance Metadata Service. Other machines have neither."""

from __future__ import annotations

import json

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult

from .conftest import MakeMachine, Shell

AZURE = {"subnet": "10.240.0.0/16", "primary": "10.240.0.4", "secondary": ["10.240.0.5", "10.240.0.6"]}
URL = "http://169.254.169.254/metadata/instance/network/interface?api-version=2021-02-01"
HEADER = ("-H", "Metadata: true")


def curl(machine: Machine, *arguments: str) -> ProgramResult:
    return machine.programs.run("curl.exe", ["-sS", *arguments], environment=machine.environment())


def tag(machine: Machine) -> object:
    return Shell(machine).one("Get-CimInstance", ClassName="Win32_SystemEnclosure")["SMBIOSAssetTag"]


def test_the_asset_tag(make_machine: MakeMachine) -> None:
    assert tag(make_machine(azure=AZURE)) == "7783-7084-3265-9085-8269-3286-77"
    assert tag(make_machine()) != "7783-7084-3265-9085-8269-3286-77"


def test_the_addresses_of_the_network_interface(make_machine: MakeMachine) -> None:
    (interface,) = json.loads(curl(make_machine(azure=AZURE), *HEADER, URL).stdout)
    addresses = [one["privateIpAddress"] for one in interface["ipv4"]["ipAddress"]]
    assert addresses == [AZURE["primary"], *AZURE["secondary"]]
    assert interface["ipv4"]["subnet"] == [{"address": "10.240.0.0", "prefix": "16"}]


def test_requests_that_the_service_refuses(make_machine: MakeMachine) -> None:
    machine = make_machine(azure=AZURE)
    assert curl(machine, "--fail", URL).exit_code == 22
    assert json.loads(curl(machine, URL).stdout) == {"error": "Bad request"}
    assert "api-version" in curl(machine, *HEADER, URL.partition("?")[0]).stdout
    assert curl(machine, "--fail", *HEADER, URL.replace("network", "x")).exit_code == 22


def test_nothing_answers_outside_azure(machine: Machine) -> None:
    result = curl(machine, *HEADER, URL)
    assert (result.exit_code, result.stdout) == (28, "")
