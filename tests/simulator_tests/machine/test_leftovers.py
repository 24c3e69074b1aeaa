# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What killed processes left beside the files that they wrote goes with the next write there, or with the sweep."""

from __future__ import annotations

from simulator_tests.batches import observe

from simulator.machine.calls import detached
from simulator.machine.session import Session

LEFT = (r"C:\k\token.yaml~0a1b2c3d.part", "C:\\k\\other." + "0a" * 16 + ".part")
KEPT = (r"C:\k\containerd.zip.part", r"C:\k\x.0a1b2c3d.part", r"C:\elsewhere\token.yaml~0a1b2c3d.part")


def test_the_next_write_into_the_folder_deletes_them(session: Session) -> None:
    files = session.machine.files
    for path in (*LEFT, *KEPT):
        files.make_directory(path.rpartition("\\")[0])
        files.write_text(path, "x")
    observe(session, {"id": "w", "command": "@write-file", "parameters": {"path": r"C:\k\new", "content": "x"}})
    assert [files.exists(path) for path in (*LEFT, *KEPT)] == [False, False, True, True, True]
    assert sorted(entry.name for entry in files.listing(r"C:\k")) == ["containerd.zip.part", "new", "x.0a1b2c3d.part"]


def test_a_claim_deletes_those_that_were_noted(session: Session) -> None:
    files = session.machine.files
    noted, foreign = KEPT[2], r"C:\elsewhere\important"
    for folder in (r"C:\elsewhere", detached.FOLDER):
        files.make_directory(folder)
    for path in (noted, foreign):
        files.write_text(path, "x")
    files.write_text(detached.FOLDER + r"\0a1b2c3d.note", noted)
    files.write_text(detached.FOLDER + r"\11111111.note", foreign)
    observe(session, {"id": "a", "command": "Get-Date"}, key="sweeping-key")
    assert not files.exists(noted)
    assert files.exists(foreign), "only what is named as parts are"
    assert not files.exists(detached.FOLDER + r"\0a1b2c3d.note")
