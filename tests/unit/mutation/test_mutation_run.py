# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which mutants are tried, which test files run for them, and what their outcome is."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from mutation import __main__ as command
from mutation import choice, imports, workplace
from mutation.coverage import Coverage
from mutation.mutants import make
from mutation.report import Report
from mutation.running import RED, Outcome, Runner
from mutation.sources import AREAS, PYTHON, YAML

DIFF = """\
diff --git a/plugins/a.py b/plugins/a.py
--- a/plugins/a.py
+++ b/plugins/a.py
@@ -1,0 +2,3 @@ def f():
+x
@@ -9 +12 @@
-a
+b
@@ -20,2 +22,0 @@
-gone
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""


def test_lines_of_a_change_are_read_from_a_diff() -> None:
    assert choice.changed_lines(DIFF) == {"plugins/a.py": {2, 3, 4, 12}}


TEXTS = {"plugins/a.py": "x = 1\ny = 2 + 3\n", "plugins/b.py": "".join(f"z{n} = {n}\n" for n in range(50))}


def test_a_sample_depends_on_the_seed_only_and_takes_one_mutant_of_a_line() -> None:
    first = choice.choose(TEXTS, 7, 20)
    assert first == choice.choose(dict(reversed(TEXTS.items())), 7, 20)
    assert first != choice.choose(TEXTS, 8, 20)
    places = [(mutant.path, mutant.line) for mutant in first]
    assert len(places) == len(set(places)) == 20
    assert len(choice.choose(TEXTS, 7, 1000)) == 52


def test_all_mutants_of_changed_lines_are_tried() -> None:
    found = choice.choose(TEXTS, 1, None, {"plugins/a.py": {2}, "unknown.py": {1}})
    assert {mutant.apply(TEXTS["plugins/a.py"]) for mutant in found} == {
        "x = 1\ny = 3 + 3\n",
        "x = 1\ny = 2 + 4\n",
        "x = 1\ny = 2 - 3\n",
    }


def test_imports_are_followed_by_the_names_of_the_collection() -> None:
    text = "from .answers import typed\nfrom ..module_utils.pods import x\nimport json\n"
    found = imports.read("plugins/plugin_utils/calls.py", text).imports
    root = "ansible_collections.winkube.node.plugins"
    assert {f"{root}.plugin_utils.answers.typed", f"{root}.module_utils.pods", "json"} <= found
    inside = imports.read("plugins/plugin_utils/resources/__init__.py", "from . import file").imports
    assert f"{root}.plugin_utils.resources.file" in inside


CHECKOUT = {
    "plugins/plugin_utils/resources/_base.py": "",
    "plugins/plugin_utils/resources/service.py": "from . import _base",
    "plugins/plugin_utils/alone.py": "",
    "plugins/plugin_utils/file.py": "",
    "plugins/lookup/variable.py": "",
    "plugins/action/bundle_push.py": "",
    "tests/unit/test_b.py": "import ansible_collections.winkube.node.plugins.plugin_utils.file",
    "tests/unit/plugins/plugin_utils/test_b.py": "import unit.test_b",
    "tests/unit/test_variable.py": "",
    "tests/integration/test_bundles_served.py": "",
    "tests/conftest.py": "from ansible_collections.winkube.node.plugins.plugin_utils import alone",
    "tests/unit/helper.py": "from ansible_collections.winkube.node.plugins.plugin_utils.resources import service",
    "tests/unit/test_a.py": "from unit import helper",
    "tests/unit/resources/test_service.py": "from unit import helper",
    "tests/unit/resources/test_z.py": "import ansible_collections.winkube.node.plugins.plugin_utils.resources.service",
    "tests/integration/test_service.py": "from unit import helper",
    "tests/unit/roles/templates.py": "ROLES = ROOT / 'roles'",
    "tests/unit/roles/test_cni.py": "from unit.roles import templates\ntemplar(['cni'])",
    "tests/unit/roles/test_join.py": "from unit.roles import templates\ntemplar(['node_join'])",
    "tests/unit/roles/test_all.py": "from unit.roles import templates",
    "tests/unit/test_words.py": "x = 'cni'",
    "roles/cni/tasks/main.yml": "- x:",
    "roles/node_join/tasks/main.yml": "- include_role: {name: winkube.node.cni}",
}


def test_the_nearest_test_files_come_first() -> None:
    reach = Coverage(CHECKOUT)
    service = "plugins/plugin_utils/resources/service.py"
    tests = ["tests/unit/resources/test_service.py", "tests/unit/resources/test_z.py", "tests/unit/test_a.py"]
    assert reach.tests_of(service, PYTHON, 10) == tests
    assert reach.tests_of(service, PYTHON, 2) == tests[:2]
    assert reach.tests_of("plugins/plugin_utils/resources/_base.py", PYTHON, 1) == [tests[1]]
    # It is nearer by its folder.
    assert reach.tests_of("plugins/plugin_utils/file.py", PYTHON, 10) == [
        "tests/unit/plugins/plugin_utils/test_b.py",
        "tests/unit/test_b.py",
    ]
    # What every test loads tells nothing.
    assert reach.tests_of("plugins/plugin_utils/alone.py", PYTHON, 10) == []


def test_what_ansible_loads_is_reached_by_its_own_test_and_those_of_roles() -> None:
    roles = [f"tests/unit/roles/test_{name}.py" for name in ("all", "cni", "join")]
    found = Coverage(CHECKOUT).tests_of("plugins/lookup/variable.py", PYTHON, 10)
    assert found == ["tests/unit/test_variable.py", *roles]


def test_integration_tests_are_chosen_by_the_words_in_their_names() -> None:
    area = dataclasses.replace(PYTHON, tests=("tests/unit", "tests/integration"))
    action = "plugins/action/bundle_push.py"
    assert Coverage(CHECKOUT).tests_of(action, area, 10) == ["tests/integration/test_bundles_served.py"]
    assert Coverage(CHECKOUT).tests_of(action, PYTHON, 10) == []


def test_a_role_is_read_by_tests_that_name_it_or_its_users() -> None:
    tests = [f"tests/unit/roles/test_{name}.py" for name in ("cni", "join", "all")]
    assert Coverage(CHECKOUT).tests_of("roles/cni/vars/main.yml", YAML, 10) == tests


def test_every_area_has_files_and_every_file_a_reader(repository: Path) -> None:
    files = workplace.files_of(repository)
    for area in AREAS.values():
        assert [path for path in files if area.holds(path)], area.name
        for folder in area.tests:
            assert (repository / folder).is_dir()


def commit(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for arguments in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)


def test_mutants_run_in_a_copy_and_leave_the_checkout_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(tmp_path, {"a.py": "def f(a):\n    return a + 1\n", ".gitignore": "ignored\n", "ignored": ""})
    (tmp_path / "test_a.py").write_text("import a\n\n\ndef test_f():\n    assert a.f(1) == 2\n", encoding="utf-8")
    (tmp_path / "test_red.py").write_text("def test_red():\n    assert False\n", encoding="utf-8")
    text = (tmp_path / "a.py").read_text(encoding="utf-8")
    with workplace.copy_of(tmp_path) as place:
        assert sorted(path.name for path in place.root.iterdir() if path.is_file()) == [
            ".gitignore",
            "a.py",
            "test_a.py",
            "test_red.py",
        ]
        plus, loop = text.index("+"), text.index("return")
        mutants = {
            Outcome.KILLED: make("a.py", text, plus, plus + 1, "-", "arithmetic"),
            Outcome.SURVIVED: make("a.py", text, plus, plus + 1, "--", "equivalent"),
            Outcome.TIMEOUT: make("a.py", text, loop, loop, "while a: pass\n    ", "loop"),
        }
        report = Report({"a.py": text})
        # A test that fails anyway kills nothing.
        chosen = [command.Trial(mutant, PYTHON, ("test_red.py", "test_a.py")) for mutant in mutants.values()]
        command.judge(chosen[:2], place, Runner(place.root, 60), report)
        command.judge([command.Trial(chosen[2].mutant, PYTHON, ("test_a.py",))], place, Runner(place.root, 5), report)
        command.judge([command.Trial(chosen[0].mutant, YAML, ())], place, Runner(place.root, 60), report)
        assert (place.root / "a.py").read_text(encoding="utf-8") == text
    report.close()
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == text
    lines = capsys.readouterr().out.splitlines()
    found = {mutant.operator: outcome.value for outcome, mutant in mutants.items()}
    told = lines[: lines.index("Survivors:")]
    for operator, outcome in found.items():
        assert [line for line in told if f": {operator}: " in line and line.endswith(f"[{outcome}]")], (operator, told)
    assert "fails without a mutant, too, and is left out: test_red.py::test_red" in told
    assert lines[-3:] == [
        "python: mutants 3, killed 2 (67 %)",
        "yaml: mutants 1, killed 0 (0 %)",
        "mutants 4, killed 2 (50 %)",
    ]


def test_red_tests_are_read_from_pytests_summary() -> None:
    output = "FAILED tests/unit/test_a.py::test_x[a - b] - assert 1\nERROR tests/unit/test_b.py\nother\n"
    assert RED.findall(output)[1] == "tests/unit/test_b.py"
    assert RED.findall("FAILED tests/unit/test_a.py::test_x - assert 1") == ["tests/unit/test_a.py::test_x"]


def test_the_report_counts_and_lists_survivors(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x = 1\n"
    mutant = make("plugins/a.py", text, 4, 5, "2", "number")
    report = Report({"plugins/a.py": text})
    for area, outcome in (("python", Outcome.KILLED), ("python", Outcome.SURVIVED), ("yaml", Outcome.TIMEOUT)):
        report.count(area, mutant, outcome)
    report.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Survivors:") + 1] == "plugins/a.py:1: number: 1 -> 2 [survived]"
    assert lines[-3:] == [
        "python: mutants 2, killed 1 (50 %)",
        "yaml: mutants 1, killed 1 (100 %)",
        "mutants 3, killed 2 (67 %)",
    ]


def test_without_options_a_sample_is_tried() -> None:
    assert command.options([]).sample == 20
    assert command.options(["--since", "main"]).sample is None
