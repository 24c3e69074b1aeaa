# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The program and the two functions that the recorded cases call, as a family of a simulated server.

README.md describes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from simulator.machine.contract import Contract, Parameter, ParameterPlace, common_parameters
from simulator.machine.machine import Machine
from simulator.machine.objects import (
    Bound,
    Cmdlet,
    CmdletError,
    Enumeration,
    Invocation,
    Program,
    ProgramResult,
    PSObject,
    custom_object,
)
from simulator.machine.text import to_text

PROGRAM = "wire-case"
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def run_program(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Do what the arguments request, in order."""
    out, err, code = "", "", 0
    stdin = invocation.stdin
    words = iter(invocation.argv)
    for word in words:
        if word == "--args":
            out += json.dumps(list(words))
        elif word == "--out":
            out += next(words)
        elif word == "--err":
            err += next(words)
        elif word == "--code":
            code = int(next(words))
        elif word == "--sleep":
            if invocation.stop.wait(float(next(words))):
                break
        elif word == "--cat":
            out += stdin.hex()
            stdin = b""
        elif word == "--env":
            out += invocation.variable(next(words), "unset")
        elif word == "--count":
            code = _count(machine, next(words), int(next(words)))
    return ProgramResult(code, out, err)


def _count(machine: Machine, path: str, expected: int) -> int:
    before = machine.files.read_bytes(path) if machine.files.is_file(path) else b""
    machine.files.write_bytes(path, before + b"x")
    return 0 if len(before) + 1 >= expected else 3


def get_thing(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return objects of a kind."""
    if bound.flag("Warn"):
        bound.warn("careful")
    kind = bound.text("Kind", "object")
    times = bound.number("Times", 1) if "Times" in bound else 1
    for number in range(times):
        yield from _things(kind.casefold(), number, bound.get("Value"))
    if bound.flag("NonTerm"):
        bound.write_error(CmdletError("NotSpecified", "Microsoft.PowerShell.Commands.WriteErrorException", "nt"))
    if bound.flag("Throw"):
        raise CmdletError("OperationStopped", "boom", "boom")


def _things(kind: str, number: int, value: object) -> list[object]:
    if kind == "value":
        return list(value) if isinstance(value, list) else [value]
    if kind == "none":
        return []
    made: dict[str, object] = {
        "string": f"s{number}",
        "int": number,
        "double": number + 0.25,
        "bool": number == 0,
        "date": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(days=number),
        "span": timedelta(days=1, hours=2, minutes=3, seconds=4 + number),
        "enum": _day(number),
        "null": None,
        "list": [1, 2],
        "nested": [[1], [2, 3]],
        "bytes": b"\x01\x02\x03",
        "table": {"key": number},
        "guid": PSObject("System.Guid", {}, "00000000-0000-0000-0000-000000000001"),
        "version": PSObject("System.Version", {"Major": 1, "Minor": 2, "Build": 3, "Revision": -1}, "1.2.3"),
        "object": _object(number),
    }
    return [made.get(kind, made["object"])]


def _day(number: int) -> Enumeration:
    return Enumeration(DAYS[number % len(DAYS)], number, "System.DayOfWeek")


def _object(number: int) -> PSObject:
    properties: dict[str, object] = {
        "Name": f"n{number}",
        "Number": number,
        "Flag": number % 2 == 0,
        "Nothing": None,
        "List": ["a", "b"],
        "One": ["x"],
        "None": [],
        "When": datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC),
        "Span": timedelta(seconds=90),
        "Day": _day(5),
        "Inner": custom_object(Deep=custom_object(Deeper="d", List=[1])),
        "Table": {"k": "v"},
        "Half": 0.5,
        "Big": 9007199254740993,
        "Text": 'aé\n"\\😀\x7f\u2028',
        "Bytes": b"\x01\x02",
    }
    return custom_object(**properties)


def use_thing(machine: Machine, bound: Bound) -> Iterable[object]:
    """Return the number of input objects, and their texts."""
    given = bound.pipeline if bound.piped else [bound.get("InputObject")]
    texts = "|".join(_text(item) for item in given)
    return [custom_object(Count=len(given), Texts=texts, Other=_other(bound.get("Other")))]


def _text(value: object) -> str:
    return "null" if value is None else to_text(value)


def _other(value: object) -> str:
    if isinstance(value, list):
        return f"array{len(value)}:" + "|".join(to_text(item) for item in value)
    return _text(value)


def _function(name: str, *parameters: Parameter) -> Contract:
    named = {parameter.name.casefold(): parameter for parameter in parameters}
    places = ({key: ParameterPlace() for key in named},)
    return Contract(name, name, function=True, parameters={**named, **common_parameters()}, sets=places)


CMDLETS: Mapping[str, Cmdlet] = {"Get-Thing": get_thing, "Use-Thing": use_thing}
PROGRAMS: Mapping[str, Program] = {PROGRAM: run_program}
CONTRACTS = (
    _function(
        "Get-Thing",
        Parameter("Kind", "String"),
        Parameter("Times", "Int32"),
        Parameter("Value", "Object"),
        Parameter("Warn", "SwitchParameter"),
        Parameter("NonTerm", "SwitchParameter"),
        Parameter("Throw", "SwitchParameter"),
    ),
    _function("Use-Thing", Parameter("InputObject", "Object", pipeline=True), Parameter("Other", "Object")),
)
