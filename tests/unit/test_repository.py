# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Rules for the repository as a whole, its metadata, and building it."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import re
import subprocess
import sys
import tarfile
import typing as t
from pathlib import Path

import pytest
import yaml
from wire_cases import recorded

ROOT = Path(__file__).resolve().parents[2]
HEADER = (
    "# Copyright: (c) 2026, winkube.node contributors",
    "# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
)
SUPPORTED_CORES = ("2.19", "2.20", "2.21")
LONGEST_FILE = 400
# Copies of other projects' data, unmodified.
COPIES = re.compile(r"(^|/)(contracts|data)/")
ROLES = sorted(path.parent.parent for path in (ROOT / "roles").glob("*/tasks/main.yml"))


def tracked(*suffixes: str) -> list[Path]:
    """Return the files in the checkout that git does not ignore and that have these suffixes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = (name for name in listed.split("\0") if name.endswith(suffixes))
    return [ROOT / name for name in sorted(set(names)) if (ROOT / name).is_file()]


def own(*suffixes: str) -> list[Path]:
    return [path for path in tracked(*suffixes) if not COPIES.search(path.relative_to(ROOT).as_posix())]


def relative(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def load(name: str) -> dict[str, object]:
    document = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_collection_is_importable_by_its_ansible_name() -> None:
    package = importlib.import_module("ansible_collections.winkube.node")
    assert [Path(path).resolve() for path in package.__path__] == [ROOT]


def test_python_files_carry_the_licence_header() -> None:
    def carries(path: Path) -> bool:
        lines = path.read_text(encoding="utf-8").splitlines()
        first = 1 if lines and lines[0].startswith("#!") else 0
        return tuple(lines[first : first + len(HEADER)]) == HEADER

    assert relative([path for path in own(".py") if not carries(path)]) == []


def test_files_stay_small() -> None:
    # Tests write the golden files, with one entry for each case.
    files = [path for path in own(".py", ".ps1", ".yml", ".yaml") if not path.is_relative_to(ROOT / "tests/golden")]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {path.relative_to(ROOT).as_posix(): size for path, size in sizes.items() if size > LONGEST_FILE} == {}


def test_only_ci_and_the_test_configuration_name_files_outside_the_repository() -> None:
    allowed = {".ci/run", "tests/conftest.py"}
    # In two pieces, so that this file does not name them.
    folders = [r"(?<![\w.])/work" + r"/", r"\.\./" + r"(shared|\.library|\.mirror)\b", r"/tmp" + r"/w/"]
    machine = re.compile("|".join(folders))
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in own("")}
    naming = [
        path
        for path, text in texts.items()
        if path.relative_to(ROOT).as_posix() not in allowed and machine.search(text)
    ]
    assert relative(naming) == []


def test_galaxy_and_requirements_name_the_same_collections() -> None:
    required = {entry["name"]: entry["version"] for entry in load("requirements.yml")["collections"]}  # type: ignore[attr-defined]
    assert required == load("galaxy.yml")["dependencies"]


def test_every_supported_core_has_its_sanity_ignores() -> None:
    oldest = str(load("meta/runtime.yml")["requires_ansible"])
    assert oldest == f">={SUPPORTED_CORES[0]}.0"
    assert sorted(path.name for path in (ROOT / "tests" / "sanity").glob("ignore-*.txt")) == [
        f"ignore-{core}.txt" for core in SUPPORTED_CORES
    ]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_role_has_what_every_role_has(role: Path) -> None:
    for part in ("README.md", "defaults/main.yml", "meta/argument_specs.yml"):
        assert (role / part).is_file(), f"{role.name} lacks {part}"
    specification = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    options = specification["argument_specs"]["main"].get("options", {})
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8")) or {}
    assert set(defaults) <= set(options), "a default without a specification is not validated"
    untyped = [name for name, option in options.items() if not ("type" in option and "description" in option)]
    assert untyped == []


def test_readme_names_every_role_module_and_playbook() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    modules = {path.stem for folder in ("modules", "action") for path in (ROOT / "plugins" / folder).glob("[!_]*.*")}
    playbooks = {f"winkube.node.{path.stem}" for path in (ROOT / "playbooks").glob("*.yml")}
    missing = [name for name in sorted(modules | playbooks) if f"`{name}`" not in readme]
    missing += [role.name for role in ROLES if f"[{role.name}](roles/{role.name}/README.md)" not in readme]
    assert missing == []


def test_collection_builds_without_what_tests_left_behind(tmp_path: Path) -> None:
    galaxy = Path(sys.executable).parent / "ansible-galaxy"
    subprocess.run([galaxy, "collection", "build", "--output-path", tmp_path, ROOT], check=True, capture_output=True)
    (built,) = tmp_path.glob("winkube-node-*.tar.gz")
    with tarfile.open(built) as archive:
        names = {Path(name) for name in archive.getnames()}
    assert {Path("MANIFEST.json"), Path("LICENSE"), Path("meta/runtime.yml")} <= names
    expected = {path.relative_to(ROOT) for path in tracked(".py") if path.is_relative_to(ROOT / "plugins")}
    assert expected <= names
    left_behind = {".ansible", ".cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__", "build"}
    assert [name for name in names if left_behind & set(name.parts)] == []


def workflow_steps() -> list[tuple[str, dict[str, object]]]:
    """Return the steps of all workflows and actions, each with the file that contains it."""
    found = []
    for path in sorted((ROOT / ".github").rglob("*.yml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        jobs = [*document.get("jobs", {}).values(), document.get("runs", {})]
        found += [(path.name, step) for job in jobs for step in job.get("steps", ())]
    return found


def test_actions_are_pinned_by_commit_and_leave_no_token_behind() -> None:
    """A tag can be moved to other code, and every later step can read what checkout leaves in .git/config."""
    used = [(name, str(step["uses"]), step) for name, step in workflow_steps() if "uses" in step]
    assert used
    loose = [f"{name}: {uses}" for name, uses, _ in used if not re.fullmatch(r"\./.+|[\w./-]+@[0-9a-f]{40}", uses)]
    assert loose == []
    for name, uses, step in used:
        if uses.startswith("actions/checkout@"):
            assert (step.get("with") or {})["persist-credentials"] is False, name  # type: ignore[index, attr-defined]


def test_the_recorded_cases_run_by_the_powershell_that_they_were_recorded_with() -> None:
    workflow: t.Any = load(".github/workflows/windows.yml")
    assert workflow["jobs"]["module"]["env"]["PWSH_VERSION"] == recorded.POWERSHELL


def test_the_windows_workflow_is_triggered_by_all_files_that_it_runs() -> None:
    workflow: t.Any = load(".github/workflows/windows.yml")
    # YAML 1.1 parses the key `on` as a boolean.
    paths = workflow[True]["pull_request"]["paths"]
    used = [
        "pyproject.toml",
        "Makefile",
        "docs/wire.md",
        "tests/wire_cases/data/own.json",
        "tests/unit/powershell_runs.py",
    ]
    used += ["tests/simulator/contracts/cmdlets.json", "tests/unit/plugins/modules/test_invoke_calls_cases.py"]
    assert [file for file in used if not any(fnmatch.fnmatchcase(file, path) for path in paths)] == []
    assert [path for path in paths if not path.endswith("**") and not (ROOT / path).is_file()] == []


def test_tools_of_a_release_are_pinned_by_hash() -> None:
    locked = (ROOT / "requirements-release.txt").read_text(encoding="utf-8")
    packages = re.split(r"(?m)^(?=[a-zA-Z0-9])", locked)[1:]
    names = {re.split(r"[=\[]", package)[0].lower().replace("_", "-") for package in packages}
    assert len(packages) > 50
    assert [package for package in packages if "==" not in package or "--hash=sha256:" not in package] == []
    for file in ("requirements.txt", "requirements-test.txt"):
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        expected = {re.split(r"[<>=\[]", line)[0].lower() for line in lines if re.match(r"[A-Za-z]", line)}
        assert expected <= names


def test_tests_that_wait_are_repeated_by_make_soak() -> None:
    """Tests with helpers that wait for a state can exceed their limit on a busy machine, and are marked `waits`."""
    waiting = {"wait_for", "wait_until", "eventually", "sleep"}
    unmarked = []
    for folder in ("unit", "simulator_tests"):
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
            text = path.read_text(encoding="utf-8")
            called = {
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Call)
            }
            if called & waiting and "mark.waits" not in text and "mark.integration" not in text:
                unmarked.append(path)
    assert relative(unmarked) == []


def test_plugins_read_yaml_with_libyaml() -> None:
    """PyYAML's own parser takes ten times as long: two seconds for each host in preflight."""
    slow = [
        path
        for path in own(".py")
        if path.is_relative_to(ROOT / "plugins") and "yaml.safe_load" in path.read_text("utf-8")
    ]
    assert relative(slow) == []
