# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which tests run for a line: the line map, how it is recorded, and how it follows changes of the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mutation import imports, mapping
from mutation.jobs import Job, Run
from mutation.linemap import LineMap, moved_lines
from mutation.mutants import Mutant
from mutation.places import Place, place_of
from mutation.running import Server
from mutation.selection import Selection
from mutation.sources import PYTHON, YAML

SOURCE = """\
LIMITS = {
    "a": 1,
}


def limit(name):
    if name in LIMITS:
        return LIMITS[name]
    return 0


class Shape:
    sides = 3

    def area(self):
        return 1
"""


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (2, Place(range(1, 4), frozenset({"LIMITS"}))),
        (6, Place(range(6, 7), frozenset({"limit"}))),
        (7, Place(range(7, 8), frozenset({"limit"}))),
        (8, Place(range(8, 9), frozenset({"limit"}))),
        (13, Place(range(13, 14), frozenset({"Shape", "sides"}))),
        (16, Place(range(16, 17), frozenset({"Shape", "area"}))),
        (5, Place(range(5, 6))),
    ],
)
def test_a_line_belongs_to_a_statement_and_has_names(line: int, place: Place) -> None:
    assert place_of(ast.parse(SOURCE), line) == place


def test_local_variables_are_not_visible_to_other_functions() -> None:
    text = "@cache\ndef f(x=1):\n    y = x\n    try:\n        z = y\n    except E:\n        y = 2\n    return y\n"
    places = [place_of(ast.parse(text), line) for line in range(1, 9)]
    assert {place.names for place in places} == {frozenset({"f"})}
    starts = [(place.lines.start, place.lines.stop) for place in places]
    assert starts == [(1, 3), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9)]


def test_lines_are_found_again_after_a_change() -> None:
    before = "a\nb\nc\nd\n"
    assert moved_lines(before, before) == {1: {1}, 2: {2}, 3: {3}, 4: {4}}
    # A changed line was itself or an adjacent one. A new line has the lines around it.
    assert moved_lines(before, "a\nB\nc\nd\n")[2] == {1, 2, 3}
    assert moved_lines(before, "a\nb\nnew\nc\nd\n") == {1: {1}, 2: {2}, 3: {2, 3}, 4: {3}, 5: {4}}
    assert moved_lines(before, "new\na\nc\n") == {1: {1}, 2: {1}, 3: {3}}


A = "plugins/plugin_utils/shapes/a.py"
B = "plugins/plugin_utils/shapes/b.py"
TEXTS = {A: SOURCE, B: "from .a import LIMITS\n\n\ndef known():\n    return sorted(LIMITS)\n"}
TEST_A = "tests/unit/plugins/plugin_utils/shapes/test_a.py"
TEST_B = "tests/unit/plugins/plugin_utils/other/test_other.py"
ROLE = "roles/cni/tasks/main.yml"


def recorded() -> LineMap:
    """Return a map with two test files. One test in the first fails."""
    line_map = LineMap()
    times = {f"{TEST_A}::slow": 2.0, f"{TEST_A}::limit": 0.1, f"{TEST_A}::red": 0.1, f"{TEST_A}::area": 0.1}
    reached = {A: {"": [1, 6, 12, 13, 15], f"{TEST_A}::slow": [7, 8], f"{TEST_A}::limit": [7, 9]}}
    reached[A] |= {f"{TEST_A}::red": [7, 8, 9], f"{TEST_A}::area": [16]}
    line_map.add(TEST_A, "1", Run(1, failed=(f"{TEST_A}::red",), by_test=times, reached=reached), TEXTS)
    times = {f"{TEST_B}::known": 0.2, f"{TEST_B}::role": 0.2}
    reached = {A: {"": [1, 6, 12, 13, 15]}, B: {"": [1, 4], f"{TEST_B}::known": [5]}, "gone.py": {"": [1]}}
    line_map.add(TEST_B, "2", Run(0, by_test=times, reached=reached, read={f"{TEST_B}::role": [ROLE]}), TEXTS)
    return line_map


@pytest.fixture(params=["new", "saved"])
def line_map(request: pytest.FixtureRequest, tmp_path: Path) -> LineMap:
    if request.param == "new":
        return recorded()
    recorded().save(tmp_path / "build" / "lines.json")
    return LineMap.load(tmp_path / "build" / "lines.json")


def test_the_map_knows_the_tests_that_pass_and_run_a_line(line_map: LineMap) -> None:
    assert line_map.running(TEST_A, A, [8], SOURCE) == ([f"{TEST_A}::slow"], False)
    assert line_map.running(TEST_A, A, [7], SOURCE) == ([f"{TEST_A}::slow", f"{TEST_A}::limit"], False)
    assert line_map.running(TEST_A, A, range(12, 17), SOURCE) == ([f"{TEST_A}::area"], True)
    assert line_map.running(TEST_A, B, [5], TEXTS[B]) == ([], False)
    assert line_map.running(TEST_A, A, [9], f"# new\n{SOURCE}") == ([f"{TEST_A}::slow"], False)


def test_a_map_of_another_version_is_empty(tmp_path: Path) -> None:
    recorded().save(tmp_path / "lines.json")
    text = (tmp_path / "lines.json").read_text(encoding="utf-8")
    (tmp_path / "lines.json").write_text(text.replace('"version": ', '"version": 9'), encoding="utf-8")
    assert LineMap.load(tmp_path / "lines.json").entries == {}
    assert LineMap.load(tmp_path / "missing.json").entries == {}


def mutant(path: str, line: int) -> Mutant:
    return Mutant(path, line, 0, 1, "", "any")


def test_tests_that_run_the_line_come_first_and_fast_ones_before_slow_ones(line_map: LineMap) -> None:
    selection = Selection(line_map, TEXTS, 60)
    # The tests in the file's own test file follow, because they may use results of a cached function.
    assert selection.tests_of(mutant(A, 7), PYTHON) == [f"{TEST_A}::limit", f"{TEST_A}::area", f"{TEST_A}::slow"]
    assert selection.tests_of(mutant(A, 8), PYTHON) == [f"{TEST_A}::limit", f"{TEST_A}::area", f"{TEST_A}::slow"]
    assert selection.tests_of(mutant(B, 5), PYTHON) == [f"{TEST_B}::known"]
    assert selection.tests_of(mutant(A, 8), YAML)[:1] == [f"{TEST_A}::limit"]


def test_module_level_code_is_tested_by_users_of_its_name(line_map: LineMap) -> None:
    found = Selection(line_map, TEXTS, 60).tests_of(mutant(A, 2), PYTHON)
    assert f"{TEST_B}::known" in found
    assert f"{TEST_B}::role" not in found


def test_a_role_is_tested_by_those_that_open_its_files(line_map: LineMap) -> None:
    selection = Selection(line_map, TEXTS, 60)
    assert selection.tests_of(mutant(ROLE, 1), YAML) == [f"{TEST_B}::role", f"{TEST_B}::known"]
    assert selection.tests_of(mutant("roles/other/tasks/main.yml", 1), YAML) == []


def test_the_budget_always_leaves_at_least_one_test(line_map: LineMap) -> None:
    assert Selection(line_map, TEXTS, 0.7).tests_of(mutant(A, 7), PYTHON) == [f"{TEST_A}::limit", f"{TEST_A}::area"]
    assert Selection(line_map, TEXTS, 0).tests_of(mutant(A, 7), PYTHON) == [f"{TEST_A}::limit"]


CHECKOUT = {
    "plugins/a.py": "",
    "plugins/b.py": "from ansible_collections.winkube.node.plugins import a",
    "tests/unit/helper.py": "",
    "tests/unit/test_a.py": "from unit import helper\nfrom ansible_collections.winkube.node.plugins import b",
    "tests/unit/test_b.py": "",
}


def keys(**changes: str) -> dict[str, str]:
    texts = CHECKOUT | {path.replace("__", "/") + ".py": text for path, text in changes.items()}
    modules = {path: imports.read(path, text) for path, text in texts.items()}
    return mapping.keys(["tests/unit/test_a.py", "tests/unit/test_b.py"], texts, modules)


def changed(**changes: str) -> list[str]:
    line_map = LineMap()
    for test, key in keys().items():
        line_map.add(test, key, Run(0), {})
    return mapping.stale(line_map, keys(**changes))


def test_a_test_file_is_recorded_again_when_it_or_its_helpers_change_or_import_another_source() -> None:
    assert changed() == []
    assert changed(tests__unit__helper="x = 1") == ["tests/unit/test_a.py"]
    assert changed(tests__unit__test_b="x = 1") == ["tests/unit/test_b.py"]
    # The map still finds the lines after a change of the source.
    assert changed(plugins__a="x = 1") == []
    assert changed(plugins__b="") == ["tests/unit/test_a.py"]
    assert mapping.stale(LineMap(), keys()) == ["tests/unit/test_a.py", "tests/unit/test_b.py"]


def test_only_test_files_that_concern_the_mutants_are_recorded() -> None:
    line_map = recorded()
    modules = {path: imports.read(path, text) for path, text in CHECKOUT.items()}
    modules |= {TEST_A: imports.read(TEST_A, ""), TEST_B: imports.read(TEST_B, "")}
    line_map.add("tests/unit/test_a.py", "", Run(0), {})
    line_map.add("tests/unit/test_b.py", "", Run(0), {})

    def concerned(path: str) -> set[str]:
        return {test for test in modules if "test_" in test and mapping.concerns(test, [path], line_map, modules)}

    assert concerned(A) == {TEST_A, TEST_B}
    assert concerned(B) == concerned(ROLE) == {TEST_B}
    assert concerned("plugins/a.py") == {"tests/unit/test_a.py"}
    del line_map.entries["tests/unit/test_b.py"]
    assert concerned("plugins/a.py") == {"tests/unit/test_a.py", "tests/unit/test_b.py"}
    assert concerned(A) == {TEST_A, TEST_B}


RECORDED = {
    "plugins/part/a.py": "X = 1\n\n\ndef f():\n    return X\n",
    "roles/main.yml": "",
    "test_a.py": """\
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "plugins/part"))
import a


def test_thread():
    thread = threading.Thread(target=a.f)
    thread.start()
    thread.join()


def test_role():
    Path("roles/main.yml").read_text()


def test_red():
    assert a.f() == 2
""",
}


def test_lines_and_files_are_recorded_for_each_test(tmp_path: Path) -> None:
    for name, text in RECORDED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with Server(tmp_path) as server:
        run = mapping.record("test_a.py", server)
        assert run.reached == {
            "plugins/part/a.py": {"": [1, 4], "test_a.py::test_thread": [5], "test_a.py::test_red": [5]}
        }
        assert run.read == {"test_a.py::test_role": ["roles/main.yml"]}
        assert run.failed == ("test_a.py::test_red",)
        assert "left out, because they fail without a mutant: test_a.py::test_red" in mapping.remark(run)
        assert run.by_test.keys() == {f"test_a.py::test_{name}" for name in ("thread", "role", "red")}
        chosen = server.run(Job(("test_a.py",), only=("test_a.py::test_role", "test_a.py::test_thread")))
        assert list(chosen.by_test) == ["test_a.py::test_role", "test_a.py::test_thread"]
        # A mutant may change the parameters of tests, and so their names.
        gone = server.run(Job(("test_a.py",), only=("test_a.py::test_role[1]",)))
        assert list(gone.by_test) == [f"test_a.py::test_{name}" for name in ("thread", "role", "red")]


def test_the_server_starts_each_run_afresh_and_ends_what_takes_too_long(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("X = 1\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nimport a\ndef test_a():\n    assert a.X == 1\n", encoding="utf-8"
    )
    with Server(tmp_path) as server:
        assert server.run(Job(("test_a.py",))).passed
        (tmp_path / "a.py").write_text("X = 1 + 1\n", encoding="utf-8")
        assert server.run(Job(("test_a.py",))).failed == ("test_a.py::test_a",)
        (tmp_path / "a.py").write_text("while True:\n    pass\n", encoding="utf-8")
        assert server.run(Job(("test_a.py",), limit=1)).status is None
        (tmp_path / "a.py").write_text("X = bytes(2**40)\n", encoding="utf-8")
        assert server.run(Job(("test_a.py",))).failed == ("test_a.py",)


def test_the_server_ends_when_its_client_ends(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import time\ndef test_a():\n    time.sleep(100)\n", encoding="utf-8")
    with Server(tmp_path) as server:
        process = server._process
        assert process.stdin is not None
        process.stdin.write(Job(("test_a.py",)).line() + "\n")
        process.stdin.close()
        assert process.wait(60) == 0
