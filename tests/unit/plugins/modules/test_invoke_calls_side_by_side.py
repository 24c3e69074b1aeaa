# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that run in parallel, with PowerShell 7 (skipped without it)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.powershell_runs import MARKS, Run, program

pytestmark = [pytest.mark.waits, *MARKS]

MEET = """
mine, folder, expected = sys.argv[1], sys.argv[2], int(sys.argv[3])
open(os.path.join(folder, mine), 'w').close()
end = time.monotonic() + 60
while len(os.listdir(folder)) < expected:
    if time.monotonic() > end:
        sys.exit(9)
    time.sleep(0.05)
"""
LIMITED = """
folder = sys.argv[1]
mine = os.path.join(folder, sys.argv[2])
open(mine, 'w').close()
time.sleep(0.3)
print(len(os.listdir(folder)))
os.remove(mine)
"""


def test_programs_run_side_by_side_each_with_its_attempts(run: Run, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    meet = program(tmp_path, "meet.exe", MEET)
    flaky = program(
        tmp_path,
        "flaky.exe",
        f"path = {str(tmp_path / 'flaky')!r}\nseen = os.path.exists(path)\nopen(path, 'w').close()\n"
        "sys.stdout.write(sys.stdin.read())\nsys.exit(0 if seen else 3)",
    )
    late = program(tmp_path, "late.exe", "time.sleep(60)")
    beside = {"parallel": 5}
    observation = run(
        *({"id": f"m{n}", "command": meet, "arguments": [str(n), str(meeting), "3"], **beside} for n in range(3)),
        {"id": "flaky", "command": flaky, "stdin": "fed", "retries": 2, "delay": 0.1, **beside},
        {"id": "gone", "command": "/nope/nope.exe", "on_error": "continue", "retries": 1, "delay": 0.1, **beside},
        {"id": "late", "command": late, "timeout": 1, **beside},
        {"id": "needs", "command": meet, "needs": ["gone"], **beside},
        {"id": "after", "command": "@read-file", "parameters": {"paths": [str(meeting)]}},
        {"id": "cleaning", "command": meet, "arguments": ["c", str(meeting), "1"], "always": True, **beside},
    )
    seen = observation["calls"]
    assert list(seen) == ["m0", "m1", "m2", "flaky", "gone", "late", "cleaning"]
    assert all(seen[name]["ok"] for name in ("m0", "m1", "m2", "flaky", "cleaning"))
    assert (seen["flaky"]["attempts"], seen["flaky"]["stdout"]) == (2, "fed")
    assert (seen["gone"]["attempts"], seen["gone"]["error"]["id"]) == (2, "CommandNotFoundException")
    assert seen["late"]["error"]["id"] == "ProgramTimeout"
    assert observation["stopped"] == {"id": "late", "reason": "error"}


def test_never_more_than_allowed_run_at_once(run: Run, tmp_path: Path) -> None:
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    limited = program(tmp_path, "limited.exe", LIMITED)
    calls = [
        {"id": f"l{n}", "command": limited, "arguments": [str(rooms), str(n)], "parallel": 2 + n % 2} for n in range(6)
    ]
    seen = run(*calls)["calls"]
    assert list(seen) == [f"l{n}" for n in range(6)]
    assert max(int(result["stdout"]) for result in seen.values()) <= 2


def test_progress_reports_the_sizes_of_growing_files(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "data/winkube/batches"
    folder.mkdir(parents=True)
    grown = tmp_path / "grown"
    grown.write_bytes(b"12345")
    watched = [{"id": "a", "watch": str(grown)}, {"id": "b", "watch": str(tmp_path / "none")}, {"id": "c"}]
    (folder / "watched-key.claim").write_text(json.dumps({"process": 4_000_000, "started": "1", "boot": None}))
    (folder / "watched-key.progress").write_text(json.dumps({"id": "a", "done": 1, "total": 9, "running": watched}))
    progress = run(mode="collect", key="watched-key", wait=0)["progress"]
    sizes = [{"id": "a", "size": 5}, {"id": "b", "size": None}, {"id": "c", "size": None}]
    assert progress == {"id": "a", "done": 1, "total": 9, "running": sizes}
