# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What `change_texts.check` compares, and that every section of a golden file has a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from golden import comparison
from unit import change_texts
from unit.change_texts import Plan
from unit.resource_answers import SERVER_2022, answer, one


def test_every_section_has_a_test(repository: Path) -> None:
    recorded = comparison.recorded(change_texts.FOLDER)
    assert recorded
    for name in recorded:
        module = repository / "tests/unit/plugins/plugin_utils" / f"{name.partition('/')[2].removesuffix('.txt')}.py"
        tree = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        tests = {node.name for node in tree if isinstance(node, ast.FunctionDef)}
        sections = change_texts.sections(comparison.path(name).read_text(encoding="utf-8"))
        assert {section.partition("[")[0] for section in sections} - tests == set(), name


def test_a_section_has_the_whole_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparison, "FOLDER", tmp_path)
    monkeypatch.delenv("CI", raising=False)
    zone = one(type="TimeZone", name="UTC")
    plans = [
        Plan(zone, zone.plan({"zone": answer({"Id": "GMT"})}, SERVER_2022)),
        Plan(zone, zone.plan({"zone": answer({"Id": "UTC"})}, SERVER_2022)),
        Plan(zone, ValueError("no")),
        Plan(zone, ValueError("no")),
    ]
    monkeypatch.setenv(comparison.UPDATE, "update")
    change_texts.check("b", "test_2", plans[:1])
    change_texts.check("b", "test_1[a]", plans)
    monkeypatch.delenv(comparison.UPDATE)
    text = (tmp_path / "changes" / "b.txt").read_text(encoding="utf-8")
    assert text == (
        "## test_1[a]\n"
        "TimeZone UTC\n"
        '  ask zone: Get-TimeZone {"select": ["Id"], "on_error": "continue"}\n'
        "  time zone is GMT, expected UTC\n"
        '    - {"time_zone": "GMT"}\n'
        '    + {"time_zone": "UTC"}\n'
        '    set: Set-TimeZone {"Id": "UTC"} {"select": []}\n'
        "TimeZone UTC\n"
        "  nothing to do\n"
        "TimeZone UTC\n"
        "  no\n"
        "## test_2\n"
        "TimeZone UTC\n"
        '  ask zone: Get-TimeZone {"select": ["Id"], "on_error": "continue"}\n'
        "  time zone is GMT, expected UTC\n"
        '    - {"time_zone": "GMT"}\n'
        '    + {"time_zone": "UTC"}\n'
        '    set: Set-TimeZone {"Id": "UTC"} {"select": []}\n'
    )
    change_texts.check("b", "test_2", plans[:1])
    with pytest.raises(AssertionError, match=r"\+  nothing to do"):
        change_texts.check("b", "test_2", plans[:2])
