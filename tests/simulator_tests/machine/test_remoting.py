# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The output of a pipeline as a PSRP client gets it: objects, not formatted text."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from psrpcore.types import serialize
from pypsrp.serializer import Serializer

from simulator.machine.endpoint import MachineHost
from simulator.machine.machine import Machine
from simulator.transport.host import Execution, PipelineCommand, PipelineRequest, ScriptResult


def run(machine: Machine, script: str) -> ScriptResult:
    """Run a script as a pipeline of PSRP."""
    pipeline = PipelineRequest((PipelineCommand(script, True),))
    return MachineHost(machine).run_script(pipeline, Execution("1", "2", "Administrator"))


def clixml(machine: Machine, script: str) -> list[str]:
    """Return the output of a script in CLIXML, as it is sent."""
    result = run(machine, script)
    assert result.failure is None, result.failure
    cipher: Any = None
    return [ElementTree.tostring(serialize(item, cipher), encoding="unicode") for item in result.output]


def received(machine: Machine, script: str) -> list[Any]:
    """Return the output of a script as pypsrp deserializes it."""
    return [Serializer().deserialize(text) for text in clixml(machine, script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("1", "<I32>1</I32>"),
        ("2147483648", "<I64>2147483648</I64>"),
        ("-3000000000", "<I64>-3000000000</I64>"),
        ("[long]1", "<I64>1</I64>"),
        ("[uint32]7", "<U32>7</U32>"),
        ("[byte]7", "<By>7</By>"),
        ("1.5", "<Db>1.5</Db>"),
        ("[float]1.5", "<Sg>1.5</Sg>"),
        ("[char]'x'", "<C>120</C>"),
        ("$true", "<B>true</B>"),
        ("$null", "<Nil />"),
        ("'a\"b'", '<S>a"b</S>'),
        (",[byte[]](1,2)", "<BA>AQI=</BA>"),
        ("[guid]'0f0f0f0f-0000-0000-0000-000000000001'", "<G>0f0f0f0f-0000-0000-0000-000000000001</G>"),
        ("[version]'1.2.3'", "<Version>1.2.3</Version>"),
        ("{ 1 + 1 }", "<SBK> 1 + 1 </SBK>"),
    ],
)
def test_values_travel_with_their_type(machine: Machine, script: str, expected: str) -> None:
    assert clixml(machine, script) == [expected]


def test_a_date_is_a_date(machine: Machine) -> None:
    (text,) = clixml(machine, "[datetime]'2026-01-02 03:04:05'")
    assert text.startswith("<DT>2026-01-02T03:04:05")


def test_lists_and_hashtables_are_what_they_are(machine: Machine) -> None:
    assert received(machine, "@{a = 1; b = 1, 'x'}") == [{"a": 1, "b": [1, "x"]}]
    assert received(machine, "[collections.arraylist]@(1, 2), 3") == [[1, 2], 3]
    (text,) = clixml(machine, ",[string[]]('a', 'b')")
    types = "<T>System.String[]</T><T>System.Array</T><T>System.Object</T>"
    assert text == f'<Obj RefId="0"><TN RefId="0">{types}</TN><LST><S>a</S><S>b</S></LST></Obj>'


def test_an_object_has_types_properties_and_a_text(machine: Machine) -> None:
    (service,) = received(machine, "Get-Service WinRM")
    assert service.types == [
        "System.ServiceProcess.ServiceController",
        "System.ComponentModel.Component",
        "System.MarshalByRefObject",
        "System.Object",
    ]
    # The depth of remoting is 1: a property that is not a plain value is sent as its text.
    assert service.adapted_properties["Status"] == "Running"
    assert service.adapted_properties["ServiceName"] == service.extended_properties["Name"] == "WinRM"
    assert service.adapted_properties["CanStop"] is True
    assert "Refresh" not in service.adapted_properties
    assert str(service) == "WinRM"


def test_an_item_travels_as_one_was_recorded(machine: Machine) -> None:
    """It has the parts of a real server's DirectoryInfo, from test_parse_real_pipeline_output of ironposh."""
    machine.files.make_directory(r"C:\ADMF")
    (item,) = received(machine, r"Get-Item C:\ADMF")
    assert item.types[:3] == ["System.IO.DirectoryInfo", "System.IO.FileSystemInfo", "System.MarshalByRefObject"]
    kept = {name: item.adapted_properties[name] for name in ("Name", "FullName", "Exists", "Attributes")}
    assert kept == {"Name": "ADMF", "FullName": r"C:\ADMF", "Exists": True, "Attributes": "Directory"}
    assert item.adapted_properties["LastWriteTimeUtc"].endswith("Z")
    added = item.extended_properties
    assert added["PSPath"] == r"Microsoft.PowerShell.Core\FileSystem::C:\ADMF"
    assert (added["PSChildName"], added["PSIsContainer"], added["Mode"]) == ("ADMF", True, "d-----")


def test_a_custom_object_has_no_text_and_no_depth(machine: Machine) -> None:
    (text,) = clixml(machine, "[pscustomobject]@{a = 1; b = [pscustomobject]@{c = 2}}")
    types = "<T>System.Management.Automation.PSCustomObject</T><T>System.Object</T>"
    properties = '<I32 N="a">1</I32><S N="b">@{c=2}</S>'
    assert text == f'<Obj RefId="0"><TN RefId="0">{types}</TN><MS>{properties}</MS></Obj>'


def test_an_enumeration_is_an_object_with_a_number(machine: Machine) -> None:
    first, second = clixml(machine, "[DayOfWeek]::Monday; [DayOfWeek]::Monday")
    assert first == second
    names = ("System.DayOfWeek", "System.Enum", "System.ValueType", "System.Object")
    types = "".join(f"<T>{name}</T>" for name in names)
    assert f'<TN RefId="0">{types}</TN>' in first
    assert "<I32>1</I32>" in first
    assert "<ToString>Monday</ToString>" in first


def test_unserializable_values_are_refused_by_name(machine: Machine) -> None:
    result = run(machine, "$o = [pscustomobject]@{}; $o | Add-Member ScriptProperty x { 1 }; $o")
    assert not result.output
    assert result.failure is not None
    assert result.failure.message.startswith("the simulator does not model ")


def test_verbose_messages_and_warnings_have_streams_of_their_own(machine: Machine) -> None:
    result = run(machine, "Write-Verbose loud -Verbose; Write-Verbose quiet; Write-Warning careful; 1")
    assert (list(result.output), list(result.verbose), list(result.warnings)) == ([1], ["loud"], ["careful"])
