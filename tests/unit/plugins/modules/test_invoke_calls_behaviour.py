# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The behaviour of the module with PowerShell 7 (skipped without it): stub cmdlets, real files and real programs."""

from __future__ import annotations

import base64
import hashlib
import json
import typing as t
from pathlib import Path

from unit.powershell_runs import MARKS, Run, program

pytestmark = MARKS


def unrolled(value: t.Any) -> t.Any:
    """Return a value as in the recorded cases, which a pipeline wrote that expands lists."""
    if isinstance(value, dict):
        # The recorder used another type of hashtable.
        return {key: unrolled(item) for key, item in value.items() if key != "Map.type"}
    if isinstance(value, list):
        return None if not value else unrolled(value[0]) if len(value) == 1 else [unrolled(item) for item in value]
    return value


def test_cmdlets_behave_as_recorded(run: Run, repository: Path, tmp_path: Path) -> None:
    recorded = json.loads(
        (repository / "tests/simulator/contracts/powershell-behaviour.json").read_text(encoding="utf-8")
    )
    (tmp_path / "d2").mkdir()
    (tmp_path / "d2" / "child").touch()
    cases = json.loads(json.dumps(recorded["cases"]).replace("DIR/", f"{tmp_path}/"))
    # Windows' names that Linux lacks, and messages of a machine without a network.
    cases = [case for case in cases if case["command"] not in ("Invoke-WebRequest",)]
    calls: list[dict[str, t.Any]] = []
    for number, case in enumerate(cases):
        call = {
            "id": f"c{number}",
            "command": case["command"],
            "on_error": "continue",
            "parameters": case["parameters"],
        }
        if "select" in case:
            call["select"] = case["select"]
        if "input" in case:
            calls.append({"id": f"c{number}.in", **case["input"], "select": []})
            call["input"] = {"from": f"c{number}.in"}
        calls.append(call)
    seen = run(*calls)["calls"]
    for number, case in enumerate(cases):
        result = seen[f"c{number}"]
        if "error" in case:
            error = result["error"]
            expected = (case["error"]["category"], case["error"]["fqid"], case["error"]["type"])
            assert (error["category"], error["id"], error["type"]) == expected, case["note"]
        else:
            assert result["ok"], (case["note"], result)
            assert unrolled(result["output"]) == unrolled(case["output"]), case["note"]
    assert seen[next(f"c{n}" for n, case in enumerate(cases) if case["command"] == "Get-Warn")]["warnings"] == [
        "careful"
    ]


def test_values_have_the_form_of_the_wire_specification(run: Run) -> None:
    names = [
        "Enum",
        "When",
        "One",
        "None",
        "Bytes",
        "Span",
        "Nothing",
        "Text",
        "Deep",
        "Big",
        "Half",
        "Missing",
        "Name.Length",
    ]
    (values,) = run({"id": "v", "command": "Get-Sample", "select": names})["calls"]["v"]["output"]
    assert list(values) == names
    assert values["Enum"] == "Friday"
    assert values["When"] == "2026-11-21T01:02:03.0000000Z"
    assert (values["One"], values["None"], values["Bytes"]) == (["x"], [], [1, 2])
    assert (values["Span"], values["Nothing"], values["Missing"]) == ("00:01:30", None, None)
    assert values["Text"] == 'aé\n"\\😀'
    assert values["Deep"]["a"]["b"]["c"] == "System.Collections.Hashtable"
    assert (values["Big"], values["Half"], values["Name.Length"]) == (2**63 - 1, 0.5, 1)


def test_a_cmdlet_with_a_time_limit_never_prompts(run: Run) -> None:
    asked = {"Name": "ConfirmPreference", "ValueOnly": True}
    calls = (
        {"id": f"p{limit}", "command": "Get-Variable", "parameters": asked, **limited}
        for limit, limited in enumerate(({}, {"timeout": 60}))
    )
    seen = run(*calls)["calls"]
    assert seen["p0"]["output"] == seen["p1"]["output"] == ["None"]


def test_programs(run: Run, tmp_path: Path) -> None:
    echo = program(
        tmp_path, "echo.exe", "data = sys.stdin.buffer.read(); sys.stdout.write(data.hex()); sys.exit(len(data))"
    )
    loud = program(
        tmp_path, "loud.exe", "sys.stdout.write('a' * 300000 + 'end'); sys.stderr.write('b' * 300000 + 'END')"
    )
    slow = program(tmp_path, "slow.exe", "print('begun', flush=True); time.sleep(60)")
    seen = run(
        {"id": "bom", "command": echo, "stdin": "é", "success_codes": [2]},
        {"id": "none", "command": echo},
        {"id": "code", "command": echo, "stdin": "abc", "on_error": "continue"},
        {"id": "loud", "command": loud, "output_limit": 10},
        {"id": "slow", "command": slow, "timeout": 2, "on_error": "continue"},
        {"id": "gone", "command": "/nope/nope.exe", "on_error": "continue"},
    )["calls"]
    assert (seen["bom"]["stdout"], seen["bom"]["exit_code"], seen["bom"]["ok"]) == ("c3a9", 2, True)
    assert (seen["none"]["stdout"], seen["none"]["exit_code"]) == ("", 0)
    assert (seen["code"]["ok"], seen["code"]["exit_code"], seen["code"]["error"]["id"]) == (
        False,
        3,
        "NativeCommandError",
    )
    assert (seen["loud"]["stdout"], seen["loud"]["stderr"]) == ("aaaaaaaend", "bbbbbbbEND")
    assert (seen["slow"]["error"]["id"], seen["slow"]["stdout"].strip()) == ("ProgramTimeout", "begun")
    assert seen["gone"]["error"]["id"] == "CommandNotFoundException"


def test_files(run: Run, tmp_path: Path) -> None:
    new, part = tmp_path / "deep" / "new.txt", tmp_path / "x.part"
    part.write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    (tmp_path / "sums").write_text(f"{'0' * 64}  other\n{digest.upper()} *x\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "in").touch()
    seen = run(
        {"id": "w1", "command": "@write-file", "parameters": {"path": str(new), "content": "old"}},
        {"id": "w2", "command": "@write-file", "parameters": {
            "path": str(new), "content": "AP/+", "encoding": "base64"}},
        {"id": "wrong", "command": "@commit-file", "on_error": "continue", "parameters": {
            "path": str(new), "destination": str(tmp_path / "z"), "sha256": "0" * 64}},
        {"id": "right", "command": "@commit-file", "parameters": {
            "path": str(part), "destination": str(tmp_path / "x"), "checksum_path": str(tmp_path / "sums"),
            "checksum_name": "x"}},
        {"id": "move", "command": "@move-path", "parameters": {
            "path": str(tmp_path / "newer"), "destination": str(tmp_path / "old")}},
        {"id": "read", "command": "@read-file", "parameters": {
            "paths": [str(tmp_path / "x"), str(tmp_path), "/nope"], "hash": True, "content": True, "limit": 2}},
        {"id": "space", "command": "@free-space", "parameters": {"path": str(tmp_path)}},
    )["calls"]  # fmt: skip
    assert seen["w2"]["output"][0]["sha256"] == hashlib.sha256(b"\0\xff\xfe").hexdigest()
    assert seen["wrong"]["error"]["id"] == "ChecksumMismatch"
    assert "0" * 64 in seen["wrong"]["error"]["message"]
    assert not new.exists()
    assert seen["right"]["output"][0]["expected"] == digest
    file, folder, nothing = seen["read"]["output"]
    assert (file["type"], file["size"], file["sha256"], file["content"]) == ("file", 3, digest, "ab")
    assert (folder["type"], folder["exists"], nothing["exists"], nothing["type"]) == ("directory", True, False, None)
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["in"]
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".part", ".old")] == []
    assert 0 < seen["space"]["output"][0]["free"] <= seen["space"]["output"][0]["total"]


def test_pieces_and_copies(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(bytes(range(256)) * 5000)
    copies = [
        {"path": str(log), "destination": str(tmp_path / "copies" / "1")},
        {"path": str(tmp_path / "none"), "destination": str(tmp_path / "copies" / "2")},
        {"path": str(log), "destination": str(tmp_path / "copies" / "3"), "tail": 1000},
    ]
    read = {"paths": [str(log)], "content": True, "encoding": "base64", "limit": 1000}
    with log.open("ab"):
        seen = run(
            {"id": "copy", "command": "@copy-file", "parameters": {"files": copies}},
            {"id": "first", "command": "@read-file", "parameters": read},
            {"id": "last", "command": "@read-file", "parameters": read | {"offset": log.stat().st_size - 10}},
            {"id": "beyond", "command": "@read-file", "parameters": read | {"offset": 1 << 40}},
        )["calls"]
    whole = log.read_bytes()
    assert [item["copied"] for item in seen["copy"]["output"]] == [len(whole), 0, 1000]
    assert [bool(item["error"]) for item in seen["copy"]["output"]] == [False, True, False]
    assert (tmp_path / "copies" / "1").read_bytes() == whole
    assert (tmp_path / "copies" / "3").read_bytes() == whole[-1000:]
    pieces = {name: base64.b64decode(seen[name]["output"][0]["content"]) for name in ("first", "last", "beyond")}
    assert pieces == {"first": whole[:1000], "last": whole[-10:], "beyond": b""}


def test_a_cmdlet_that_takes_too_long_is_abandoned_and_the_batch_goes_on(run: Run, tmp_path: Path) -> None:
    seen = run(
        {"id": "late", "command": "Start-Sleep", "parameters": {"Seconds": 60}, "timeout": 1, "on_error": "continue"},
        {
            "id": "quick",
            "command": "Get-Item",
            "parameters": {"LiteralPath": str(tmp_path)},
            "timeout": 60,
            "select": ["Name"],
        },
        {
            "id": "missing",
            "command": "Get-Item",
            "parameters": {"LiteralPath": str(tmp_path / "missing")},
            "timeout": 60,
            "on_error": "continue",
        },
        {"id": "unless", "command": "Start-Sleep", "parameters": {"Seconds": 60}, "unless": ["missing", "quick"]},
        {"id": "piped", "command": "Get-Item", "input": {"from": "quick"}, "timeout": 60, "select": ["Name"]},
    )["calls"]
    late = seen["late"]["error"]
    assert (late["category"], late["id"]) == ("OperationTimeout", "CommandTimeout")
    assert seen["quick"]["output"] == seen["piped"]["output"] == [{"Name": tmp_path.name}]
    # The cmdlet's own error, the same as without a limit.
    assert (seen["missing"]["error"]["category"], seen["missing"]["error"]["id"]) == (
        "ObjectNotFound",
        "PathNotFound,Microsoft.PowerShell.Commands.GetItemCommand",
    )
    assert (seen["unless"]["ok"], seen["unless"]["skipped"]) == (True, "unless quick")
