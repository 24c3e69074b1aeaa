# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The testinfra suite in molecule/image/tests with the variables that the action image_tests passes to it.

A stand-in for the machine answers only the commands that a test lists. The molecule scenario `image` runs the suite on
a simulated machine.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import typing as t
from pathlib import Path

import pytest
from unit.action_run import run

from ansible_collections.winkube.node.plugins.action import image_tests

SUITE = Path(__file__).parents[4] / "molecule" / "image" / "tests"
PAUSE = "registry.k8s.io/pause:3.10.2"
NOTES: dict[str, t.Any] = {
    **{key: [] for key in ("features", "updates", "services", "registry_fixes", "artifacts")},
    "runtime": "containerd",
    "container_images": [{"names": [PAUSE], "digest": "sha256:1"}],
    "disk": {"total": 100},
}
HOST = {"inventory_hostname": "verify-1", "ansible_user": "Administrator", "ansible_password": "s3cret-password"}
IMAGES = f"REF TYPE DIGEST\n{PAUSE} application/x sha256:1\n"
MACHINE = """
import json, os, pathlib, pytest
def answer(command):
    answers = json.loads(pathlib.Path(__file__).with_name("answers.json").read_text())
    return next(text for known, text in answers.items() if known in command)
class Host:
    check_output = staticmethod(answer)
@pytest.fixture(scope="module")
def host(): return Host()
@pytest.fixture(scope="module")
def powershell(): return answer
@pytest.fixture(scope="module")
def variables():
    (found,) = json.loads(os.environ["WINKUBE_TEST_VARIABLES"]).values()
    return found
"""


class RunsSuite(t.Protocol):
    """Runs tests of the suite, and returns the result of the action."""

    def __call__(
        self, test: str, answers: t.Mapping[str, str], notes: t.Mapping[str, t.Any] = {}, **variables: t.Any
    ) -> t.Mapping[str, t.Any]: ...


@pytest.fixture
def tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunsSuite:
    """Return a function that runs tests of the suite on the stand-in."""
    folder = tmp_path / "scenarios" / "image" / "tests"
    shutil.copytree(SUITE, folder)
    (tmp_path / "scenarios" / "conftest.py").write_text(MACHINE, encoding="utf-8")

    def execute(
        test: str, answers: t.Mapping[str, str], notes: t.Mapping[str, t.Any] = {}, **variables: t.Any
    ) -> t.Mapping[str, t.Any]:
        monkeypatch.setenv("PYTEST_ADDOPTS", f"-k {test}")
        (tmp_path / "scenarios" / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        (tmp_path / "notes.json").write_text(json.dumps({**NOTES, **notes}), encoding="utf-8")
        options = {"suite": str(folder), "release_notes": str(tmp_path / "notes.json"), "directory": str(tmp_path)}
        result: t.Mapping[str, t.Any] = run(image_tests, options, {**HOST, **variables})
        return result

    return execute


@pytest.mark.parametrize("variables", [{}, {"container_runtime_install_dir": r"D:\containerd"}])
def test_containerd_is_in_the_folder_of_the_role(tested: RunsSuite, variables: dict[str, str]) -> None:
    folder = variables.get("container_runtime_install_dir", r"C:\Program Files\containerd")
    result = tested("test_a_container_image", {rf'"{folder}\bin\ctr.exe" -n k8s.io images list': IMAGES}, **variables)
    assert result["rc"] == 0, result["output"]
    assert "1 passed" in result["output"]


@pytest.mark.parametrize(
    ("free", "variables", "passes"),
    [
        (10, {}, True),
        (9, {}, False),
        (0, {"verify_image_max_fill_percent": "0"}, True),
        (9, {"verify_image_max_fill_percent": 95}, True),
        (4, {"verify_image_max_fill_percent": 95}, False),
    ],
)
def test_the_disk_may_be_as_full_as_the_playbook_allows(
    tested: RunsSuite, free: int, variables: dict[str, t.Any], passes: bool
) -> None:
    result = tested("test_the_disk", {"Win32_LogicalDisk": f"100 {free}", "Get-Partition": "0"}, **variables)
    assert ("1 passed" in result["output"]) is passes, result["output"]


@pytest.mark.parametrize(("total", "passes"), [(None, True), (100, True), (101, False)])
def test_the_disk_is_compared_with_a_known_size(tested: RunsSuite, total: int | None, passes: bool) -> None:
    answers = {"Win32_LogicalDisk": "100 50", "Get-Partition": "0"}
    result = tested("test_the_disk", answers, {"disk": {"total": total}})
    assert ("1 passed" in result["output"]) is passes, result["output"]
    assert "TypeError" not in result["output"]


@pytest.mark.parametrize(
    ("settings", "ending"),
    [
        ({}, ":5986?"),
        ({"ansible_port": 5985}, ":5985?no_ssl=true"),
        ({"ansible_port": "5985", "ansible_winrm_scheme": "https"}, ":5985?"),
        ({"ansible_winrm_scheme": "http"}, ":5985?no_ssl=true"),
    ],
)
def test_the_suite_alone_connects_as_ansible_does(settings: dict[str, t.Any], ending: str) -> None:
    specification = importlib.util.spec_from_file_location("suite_conftest", SUITE.parents[1] / "conftest.py")
    assert specification
    assert specification.loader
    fixtures = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(fixtures)
    found = fixtures.host_specification({**HOST, "ansible_host": "10.0.0.31", **settings})
    assert found == f"winrm://Administrator:s3cret-password@10.0.0.31{ending}"
