# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What `outcomes.check` compares, and that every golden file has a test."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from pathlib import Path

import pytest
from golden import comparison
from unit import outcomes

CHECKED = re.compile(r"""outcomes\.check\(\s*f?"([^"]+)\"""")
_VARIABLE = re.compile(r"\{[^}]*\}")


@dataclasses.dataclass
class Shape:
    name: str = ""
    sides: int = 0
    parts: tuple[str, ...] = ()
    inner: Shape | None = None


def test_every_golden_file_has_a_test(repository: Path) -> None:
    files = (repository / "tests/unit").rglob("*.py")
    named = {name for file in files for name in CHECKED.findall(file.read_text(encoding="utf-8"))}
    patterns = {_VARIABLE.sub("*", name) for name in named}
    folder = comparison.path(outcomes.FOLDER)
    golden = {str(file.relative_to(folder).with_suffix("")) for file in folder.rglob("*.yaml")}
    assert {name for name in golden if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)} == set()
    assert {pattern for pattern in patterns if not fnmatch.filter(golden, pattern)} == set()


def test_fields_that_are_empty_are_left_out() -> None:
    found = outcomes.plain({1: Shape("a", 3, ("x",), Shape()), 2: [{"b", "a"}, ValueError("no")], 3: {"zero": 0}})
    assert found == {
        "1": {"name": "a", "sides": 3, "parts": ["x"], "inner": {}},
        "2": [["a", "b"], "ValueError: no"],
        "3": {"zero": 0},
    }


def test_a_difference_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparison, "FOLDER", tmp_path)
    monkeypatch.delenv(comparison.UPDATE, raising=False)
    (tmp_path / "outcomes").mkdir()
    (tmp_path / "outcomes" / "shapes.yaml").write_text("a: 1\n", encoding="utf-8")
    name = "shapes"
    outcomes.check(name, {"a": 1})
    with pytest.raises(AssertionError, match=r"-a: 1\n\+a: 2\n"):
        outcomes.check(name, {"a": 2})
