# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which mutants are tried, which test files run for them, and their results."""

from __future__ import annotations

import dataclasses
import fnmatch
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mutation import __main__ as command
from mutation import choice, coverage, imports, running, sources, workplace
from mutation.coverage import Coverage
from mutation.jobs import Job, Run
from mutation.mutants import Mutant, make
from mutation.report import Report
from mutation.running import Outcome, Runner, Server
from mutation.sources import AREAS, PYTHON, YAML
from mutation.trying import Trial, Worker, judge

UNREACHED = Path(__file__).parents[2] / "mutation/unreached.txt"
"""Files that no test of their area reaches. They have tests in tests/integration."""
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


@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.mnemonicPrefix"])
def test_changed_lines_do_not_depend_on_settings_of_git_and_include_new_files(setting: str, tmp_path: Path) -> None:
    commit(tmp_path, {"a.py": "x = 1\ny = 2\n", ".gitignore": "ignored.py\n"})
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    subprocess.run(["git", *identity, "commit", "--quiet", "-m", "a"], cwd=tmp_path, check=True)
    subprocess.run(["git", "config", setting, "true"], cwd=tmp_path, check=True)
    for name, text in {"a.py": "x = 1\ny = 3\n", "new.py": "a\nb\n", "ignored.py": "c\n", "image": "d\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert choice.changed_since(tmp_path, "HEAD") == {"a.py": {2}, "new.py": {1, 2, 3}}


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
    # Its folder is nearer.
    assert reach.tests_of("plugins/plugin_utils/file.py", PYTHON, 10) == [
        "tests/unit/plugins/plugin_utils/test_b.py",
        "tests/unit/test_b.py",
    ]
    # A file that every test loads is no evidence.
    assert reach.tests_of("plugins/plugin_utils/alone.py", PYTHON, 10) == []


def test_plugins_are_reached_by_their_own_tests_and_those_of_roles() -> None:
    roles = [f"tests/unit/roles/test_{name}.py" for name in ("all", "cni", "join")]
    found = Coverage(CHECKOUT).tests_of("plugins/lookup/variable.py", PYTHON, 10)
    assert found == ["tests/unit/test_variable.py", *roles]


def test_integration_tests_are_selected_by_words_in_their_names() -> None:
    area = dataclasses.replace(PYTHON, tests=("tests/unit", "tests/integration"))
    action = "plugins/action/bundle_push.py"
    assert Coverage(CHECKOUT).tests_of(action, area, 10) == ["tests/integration/test_bundles_served.py"]
    assert Coverage(CHECKOUT).tests_of(action, PYTHON, 10) == []


def test_a_role_is_read_by_tests_that_name_it_or_its_users() -> None:
    tests = [f"tests/unit/roles/test_{name}.py" for name in ("cni", "join", "all")]
    assert Coverage(CHECKOUT).tests_of("roles/cni/vars/main.yml", YAML, 10) == tests


def test_every_pattern_of_an_area_names_files(repository: Path) -> None:
    # Otherwise, a file that is moved would silently leave its area.
    patterns = [pattern for area in AREAS.values() for pattern in area.files]
    files = workplace.files_of(repository)
    assert [pattern for pattern in patterns if not fnmatch.filter(files, pattern)] == []


def test_every_file_that_can_be_changed_has_a_test_that_reaches_it(repository: Path) -> None:
    paths = [path for path in workplace.files_of(repository) if path.endswith((*sources.SUFFIXES, ".py"))]
    texts = {path: (repository / path).read_text(encoding="utf-8") for path in paths}
    reach = Coverage(coverage.texts_of(texts.items()))
    found = set()
    for area in AREAS.values():
        files = [path for path in paths if area.holds(path)]
        assert files, area.name
        lonely = (path for path in files if not reach.tests_of(path, area, 1))
        found |= {path for path in lonely if sources.find(path, texts[path])}
    listed = UNREACHED.read_text(encoding="utf-8").splitlines()
    assert sorted(found - set(listed)) == [], "no test of its area reaches these: a mutant in them always survives"
    assert sorted(set(listed) - found) == [], f"tests reach these now: take them out of {UNREACHED.name}"


def commit(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for arguments in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)


FILES = {
    "a.py": "def f(a):\n    return a + 1\n",
    "test_a.py": "import a\n\n\ndef test_f():\n    assert a.f(1) == 2\n",
    ".gitignore": "ignored\n",
    "ignored": "",
}
PLUS = make("a.py", FILES["a.py"], 23, 24, "-", "arithmetic")
EQUIVALENT = make("a.py", FILES["a.py"], 23, 24, "- -", "equivalent")
LOOP = make("a.py", FILES["a.py"], 14, 14, "while a: __import__('time').sleep(1)\n    ", "loop")
NO_CODE = make("a.py", FILES["a.py"], 0, 0, "(", "syntax")
ENDS = make("a.py", FILES["a.py"], 14, 14, "__import__('os')._exit(4)\n    ", "exit")


def trial(mutant: Mutant, *tests: str) -> Trial:
    return Trial(mutant, PYTHON, tests)


@contextmanager
def working(root: Path, seconds: float = 60) -> Iterator[Worker]:
    """Yield a worker in a copy of a checkout."""
    with workplace.copy_of(root) as place, Server(place.root) as server:
        yield Worker(place, Runner(server, seconds))


def test_mutants_run_in_a_copy_and_leave_the_checkout_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The endless loop runs for five seconds instead of twenty.
    monkeypatch.setattr(running, "START", 0.2)
    commit(tmp_path, FILES)
    report = Report(FILES)
    with working(tmp_path, 5) as worker:
        root = worker.place.root
        there = sorted(path.name for path in root.iterdir() if path.is_file())
        assert there == [".gitignore", "a.py", "test_a.py"]
        worker.runner.baseline(["test_a.py"])
        mutants = (PLUS, EQUIVALENT, LOOP, NO_CODE, ENDS)
        judge([trial(mutant, "test_a.py") for mutant in mutants], [worker], report)
        judge([Trial(PLUS, YAML, ())], [worker], report)
        assert (root / "a.py").read_text(encoding="utf-8") == FILES["a.py"]
    report.close()
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == FILES["a.py"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("[")[2] for line in lines[:6]] == [
        "killed]",
        "survived]",
        "killed by the time limit]",
        "killed]",
        "pytest did not run to its end]",
        "survived, no test reaches it]",
    ]
    assert lines[-3:] == [
        "python: mutants 5, killed 3 (60 %), 1 of them by the time limit, not run 1",
        "yaml: mutants 1, killed 0 (0 %)",
        "mutants 6, killed 3 (50 %), 1 of them by the time limit, not run 1",
    ]


ALONE = """\
import a
import pytest


@pytest.mark.parametrize("text", ["a - b"])
def test_alone(text, request):
    assert a.f(1) == 2
    assert len(request.session.items) > 1
"""


def test_a_test_that_also_fails_without_the_mutant_kills_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(tmp_path, {**FILES, "test_alone.py": ALONE})
    report = Report(FILES)
    with working(tmp_path) as worker:
        with pytest.raises(RuntimeError, match=r"make these pass first:\ntest_alone.py::test_alone\[a - b\]$"):
            worker.runner.baseline(["test_alone.py"])
        judge([trial(PLUS, "test_alone.py")], [worker], report)
    assert report.counted == [("python", PLUS, Outcome.UNTESTED)]
    assert "fails without a mutant, too, and is left out: test_alone.py::test_alone[a - b]" in capsys.readouterr().out


class Scripted(Server):
    """Returns prepared runs, and records the jobs."""

    def __init__(self, *runs: Run) -> None:
        self.runs = list(runs)
        self.jobs: list[Job] = []

    def run(self, job: Job) -> Run:
        self.jobs.append(job)
        return self.runs.pop(0)


def scripted(*runs: Run, seconds: float = 60) -> Runner:
    return Runner(Scripted(*runs), seconds)


PASSED, STOPPED = Run(0), Run(None)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run(2, failed=("test_no.py",)), r"ends with 2; make these pass first:\ntest_no.py$"),
        (Run(4, "ERROR: file or directory not found"), "ends with 4; .*\nERROR: file or directory not found"),
    ],
)
def test_all_test_files_pass_without_a_mutant_before_any_is_tried(run: Run, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        scripted(run).baseline(["test_a.py"])


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (PASSED, Outcome.SURVIVED),
        (Run(1, failed=("test_a.py::test_f",)), Outcome.KILLED),
        (Run(2, failed=("test_a.py",)), Outcome.KILLED),
        *[(Run(status), Outcome.BROKEN) for status in (1, 2, 3, 4, -9)],
        (Run(3, failed=("test_a.py::test_f",)), Outcome.BROKEN),
        (Run(5), Outcome.UNTESTED),
        (STOPPED, Outcome.TIMEOUT),
    ],
)
def test_only_a_failed_test_kills(run: Run, outcome: Outcome) -> None:
    assert scripted(run).judge(["test_a.py"]).outcome is outcome


def test_the_time_limit_is_five_times_what_the_tests_take_without_a_mutant() -> None:
    server = Scripted(Run(0, by_test={"test_a.py::a": 4.0, "test_a.py::b": 6.0, "test_b.py::a": 30.0}), *[PASSED] * 4)
    runner = Runner(server, 60, {"test_c.py::a": 20.0})
    assert runner.baseline(["test_a.py", "test_b.py"]) == {"test_a.py": 10.0, "test_b.py": 30.0}
    runner.judge(["test_a.py"])
    runner.judge(["test_a.py", "test_b.py"])
    runner.red(["test_b.py"])
    runner.judge(["test_c.py::a"])
    # Two seconds for pytest, and two for each test file.
    assert [job.limit for job in server.jobs] == [None, 70, 230, 170, 120]
    assert scripted(seconds=7).limit([]) == 10


def test_the_nearest_test_files_run_first_and_the_others_only_if_these_pass() -> None:
    tests = [f"test_{number}.py::test" for number in range(30)]
    server = Scripted(PASSED, PASSED, Run(1, failed=("test_29.py::test",)))
    assert Runner(server, 60).judge(tests, ["test_0.py::test"]).test == "test_29.py::test"
    assert [job.only for job in server.jobs] == [tuple(tests[1:5]), tuple(tests[5:25]), tuple(tests[25:])]
    assert all(job.exitfirst for job in server.jobs)
    server = Scripted(Run(1, failed=("test_1.py::test",)))
    assert Runner(server, 60).judge(tests).outcome is Outcome.KILLED


@pytest.mark.parametrize(("again", "outcome"), [(PASSED, Outcome.TIMEOUT), (STOPPED, Outcome.BROKEN)])
def test_a_timeout_counts_only_where_the_tests_end_without_the_mutant(
    again: Run, outcome: Outcome, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(FILES["a.py"], encoding="utf-8")
    report = Report(FILES)
    worker = Worker(workplace.Workplace(tmp_path), scripted(STOPPED, again))
    judge([trial(LOOP, "test_a.py")], [worker], report)
    assert report.counted == [("python", LOOP, outcome)]


def test_tests_are_checked_without_a_mutant_under_a_time_limit() -> None:
    with pytest.raises(RuntimeError, match="pytest ended with None"):
        scripted(STOPPED).red(["test_a.py::test_f"])


def test_the_report_counts_and_lists_survivors(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x = 1\n"
    mutant = make("plugins/a.py", text, 4, 5, "2", "number")
    report = Report({"plugins/a.py": text})
    for area, outcome in (("python", Outcome.KILLED), ("python", Outcome.SURVIVED), ("yaml", Outcome.TIMEOUT)):
        report.count(area, mutant, outcome)
    report.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("Survived:") + 1] == "plugins/a.py:1: number: 1 -> 2 [survived]"
    assert lines[-3:] == [
        "python: mutants 2, killed 1 (50 %)",
        "yaml: mutants 1, killed 1 (100 %), 1 of them by the time limit",
        "mutants 3, killed 2 (67 %), 1 of them by the time limit",
    ]


def test_without_options_a_sample_is_tried() -> None:
    assert command.options([]).sample == 20
    assert command.options(["--since", "main"]).sample is None
    assert command.options(["--all"]).sample is None
