# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CIM: the classes that roles query, WQL, page files and their registry value."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.machine.registry import Value
from simulator.windows.common import cim
from simulator.windows.wmi import page_file, wql


def test_the_operating_system(shell: Any) -> None:
    system = shell.one("Get-CimInstance", ClassName="Win32_OperatingSystem")
    assert (system["Version"], system["BuildNumber"]) == ("10.0.20348", "20348")
    before = system["LastBootUpTime"]
    shell.machine.power.reset()
    assert shell.one("Get-CimInstance", ClassName="Win32_OperatingSystem")["LastBootUpTime"] > before


def test_filters_and_queries(shell: Any) -> None:
    services = shell.all("Get-CimInstance", ClassName="Win32_Service", Filter="State='Running' AND Name LIKE 'Win%'")
    assert {item["Name"] for item in services} == {"WinDefend", "WinRM", "Winmgmt"}
    found = shell.one("Get-CimInstance", Query="SELECT Name, StartMode FROM Win32_Service WHERE Name = 'w32time'")
    assert (found["Name"], found["StartMode"], found["State"]) == ("W32Time", "Manual", None)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("A = 'x'", True),
        ("A != 'x'", False),
        ("B > 4 AND B <= 5", True),
        ("A='y' OR B = 5", True),
        ("A LIKE '_'", True),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    assert wql.holds(wql.parse_condition(condition), cim("C", {"A": "X", "B": 5})) is holds


def test_errors(shell: Any) -> None:
    assert shell.error("Get-CimInstance", ClassName="Frobnicator").error_id.startswith("HRESULT 0x80041010,")
    assert shell.error("Get-CimInstance", ClassName="Win32_Service", Filter="Name =").error_id.startswith(
        "HRESULT 0x80041017,"
    )
    assert shell.error("Get-CimInstance", ClassName="Win32_Fan").error_id == "SimulatorDoesNotModel"


def test_page_files(shell: Any) -> None:
    machine = shell.machine
    system = shell.one("Get-CimInstance", ClassName="Win32_ComputerSystem")
    assert system["AutomaticManagedPagefile"] is True
    assert shell.all("Get-CimInstance", ClassName="Win32_PageFileSetting") == []
    assert shell.error("New-CimInstance", ClassName="Win32_PageFileSetting", Property={"Name": r"C:\p.sys"}).category
    shell.all("Set-CimInstance", pipeline=[system], Property={"AutomaticManagedPagefile": False})
    (setting,) = shell.all("Get-CimInstance", ClassName="Win32_PageFileSetting")
    assert (setting["Name"], setting["InitialSize"]) == (r"C:\pagefile.sys", 0)
    shell.all("Set-CimInstance", InputObject=setting, Property={"InitialSize": 1024, "MaximumSize": 2048})
    assert machine.registry.get(page_file.KEY, "PagingFiles") == Value([r"C:\pagefile.sys 1024 2048"], "MultiString")
    assert page_file.active(machine) == [page_file.PageFile(r"C:\pagefile.sys")]
    machine.power.reset()
    assert page_file.active(machine) == [page_file.PageFile(r"C:\pagefile.sys", 1024, 2048)]
    (setting,) = shell.all("Get-CimInstance", ClassName="Win32_PageFileSetting")
    shell.all("Remove-CimInstance", pipeline=[setting])
    assert shell.all("Get-CimInstance", ClassName="Win32_PageFileSetting") == []


def test_page_files_on_other_drives(make_machine: Any, shell: Any) -> None:
    shell.machine = make_machine(drives=["C", "D"])
    system = shell.one("Get-CimInstance", ClassName="Win32_ComputerSystem")
    shell.all("Set-CimInstance", InputObject=system, Property={"AutomaticManagedPagefile": False})
    shell.one("New-CimInstance", ClassName="Win32_PageFileSetting", Property={"Name": r"D:\pagefile.sys"})
    assert [file.path for file in page_file.configured(shell.machine)] == [r"C:\pagefile.sys", r"D:\pagefile.sys"]
    again = {"Name": r"d:\pagefile.sys"}
    assert (
        shell.error("New-CimInstance", ClassName="Win32_PageFileSetting", Property=again).category == "ResourceExists"
    )
    sized = {"Name": r"C:\q.sys", "InitialSize": 1, "MaximumSize": 2}
    error = shell.error("New-CimInstance", ClassName="Win32_PageFileSetting", Property=sized)
    assert error.message == 'Type mismatch for property "InitialSize"'
    (found, _) = shell.all("Get-CimInstance", ClassName="Win32_PageFileSetting")
    wrong = {"InitialSize": 2, "MaximumSize": 1}
    assert shell.error("Set-CimInstance", InputObject=found, Property=wrong).category == "InvalidArgument"


def test_methods(shell: Any) -> None:
    (service,) = shell.all("Get-CimInstance", ClassName="Win32_Service", Filter="Name='W32Time'")
    assert shell.one("Invoke-CimMethod", pipeline=[service], MethodName="StartService")["ReturnValue"] == 0
    assert shell.one("Invoke-CimMethod", pipeline=[service], MethodName="StartService")["ReturnValue"] == 10
    made = shell.one(
        "Invoke-CimMethod", ClassName="Win32_Process", MethodName="Create", Arguments={"CommandLine": "none.exe"}
    )
    assert made["ReturnValue"] == 9
