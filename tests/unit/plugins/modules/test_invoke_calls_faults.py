# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bugs of the module that a real PowerShell revealed, with PowerShell 7 (skipped without it)."""

from __future__ import annotations

import hashlib
import json
import typing as t
import uuid
from pathlib import Path

from unit.powershell_runs import MARKS, Answer, Run
from wire_cases.on_powershell import REPOSITORY

pytestmark = MARKS


def test_forbidden_batches_are_refused_with_the_specified_messages(answer: Answer) -> None:
    cases = json.loads((REPOSITORY / "tests/wire_cases/refused.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        text = case["batch"] if isinstance(case["batch"], str) else json.dumps(case["batch"])
        assert answer(text) == {"changed": False, "failed": True, "msg": case["message"]}


def test_verbs_fail_as_specified(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder" / "full").mkdir(parents=True)
    file, folder, gone = str(tmp_path / "file"), str(tmp_path / "folder"), str(tmp_path / "gone")
    Path(file).write_text("x", encoding="utf-8")
    calls: dict[str, tuple[str, dict[str, t.Any], str, str]] = {
        "base64": (
            "@write-file",
            {"path": gone, "content": "!", "encoding": "base64"},
            "InvalidArgument",
            "FormatException",
        ),
        "no-path": ("@write-file", {"content": "x"}, "InvalidArgument", "ArgumentException"),
        "folder": (
            "@commit-file",
            {"path": folder, "destination": gone},
            "PermissionDenied",
            "UnauthorizedAccessException",
        ),
        "no-file": ("@commit-file", {"path": gone, "destination": file}, "ObjectNotFound", "PathNotFound"),
        "same": ("@commit-file", {"path": file, "destination": f"{folder}/../file"}, "InvalidArgument", "SameFile"),
        "same-move": ("@move-path", {"path": folder, "destination": f"{folder}/"}, "InvalidArgument", "SameFile"),
    }
    seen = run(
        *(
            {"id": name, "command": command, "parameters": parameters, "on_error": "continue"}
            for name, (command, parameters, _, _) in calls.items()
        )
    )["calls"]
    found = {name: (seen[name]["error"]["category"], seen[name]["error"]["id"]) for name in calls}
    assert found == {name: (category, error) for name, (_, _, category, error) in calls.items()}
    assert Path(file).read_text(encoding="utf-8") == "x"
    copy = {"files": [{"path": file, "destination": file}]}
    (done,) = run({"id": "c", "command": "@copy-file", "parameters": copy})["calls"]["c"]["output"]
    assert done["error"].endswith("are the same file")
    assert Path(file).read_text(encoding="utf-8") == "x"


def test_a_file_is_hashed_while_others_write(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log"
    call = {"id": "r", "command": "@read-file", "parameters": {"paths": [str(file)], "hash": True}}
    with file.open("wb") as writer:
        writer.write(b"begun")
        writer.flush()
        (seen,) = run(call)["calls"]["r"]["output"]
    assert seen["sha256"] == hashlib.sha256(b"begun").hexdigest()


def test_leftovers_of_killed_processes_are_removed(run: Run, tmp_path: Path) -> None:
    folder, elsewhere, batches = tmp_path / "folder", tmp_path / "elsewhere", tmp_path / "data/winkube/batches"
    for path in (folder, elsewhere, batches):
        path.mkdir(parents=True)
    left = [folder / "token.yaml~0a1b2c3d.part", folder / f"other.{uuid.uuid4().hex}.part"]
    kept = [folder / "containerd.zip.part", folder / "x~0a1b2c3d.parts", folder / "x.0a1b2c3d.part"]
    noted, foreign = elsewhere / "token.yaml~11111111.part", elsewhere / "important"
    for path in (*left, *kept, noted, foreign):
        path.write_text("x", encoding="utf-8")
    (batches / "11111111.note").write_text(str(noted), encoding="utf-8")
    (batches / "22222222.note").write_text(str(foreign), encoding="utf-8")
    write = {"id": "w", "command": "@write-file", "parameters": {"path": str(folder / "new"), "content": "x"}}
    assert run(write)["calls"]["w"]["ok"]
    assert [path.exists() for path in (*left, *kept, noted)] == [False, False, True, True, True, True]
    run(write, key="sweeping-key")
    assert not noted.exists()
    assert foreign.exists(), "only what is named as parts are"
    assert not (batches / "11111111.note").exists()
    assert sorted(path.name for path in folder.iterdir()) == sorted([*(path.name for path in kept), "new"])
