# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The pipelines and docs/images.md name playbooks, variables, files, secrets and artifacts that exist."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from unit.packer.packer_templates import ROOT, TEMPLATES
from unit.packer.test_examples import CHECKOUT, EXAMPLES, HOOK, PAGE, commands_of_page

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import new_machine
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.publication import Publication

DOCUMENTED = yaml.safe_load((ROOT / "docs" / "variables.yml").read_text(encoding="utf-8"))
WORKFLOW = EXAMPLES / "github.yml"
STAGES = EXAMPLES / "azure-pipelines-image.yml"
PIPELINES = ("azure-pipelines.yml", "azure-pipelines-private.yml")
OWN_FILES = {"image.pkrvars.hcl": "azure.pkrvars.hcl"}
"""Files of the user that the examples contain under other names."""
OF_THE_SERVICE = re.compile(r"GITHUB_\w+|RUNNER_TEMP|HOME|COLLECTION")


@dataclasses.dataclass(frozen=True)
class Script:
    """A shell script of a pipeline, with the environment variables that it gets."""

    text: str
    environment: frozenset[str]
    where: tuple[str, ...]
    """The names of the jobs and stages that contain it."""

    @property
    def commands(self) -> list[list[str]]:
        """The commands that call ansible-playbook, as words."""
        found = re.findall(r"^\s*(ansible-playbook .*)$", self.text.replace("\\\n", " "), re.MULTILINE)
        return [shlex.split(command) for command in found]


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _scripts(document: Any, environment: frozenset[str] = frozenset(), where: tuple[str, ...] = ()) -> Iterator[Script]:
    if isinstance(document, list):
        for entry in document:
            yield from _scripts(entry, environment, where)
    if not isinstance(document, dict):
        return
    # Azure Pipelines exports variables in upper case.
    own = {*(document.get("env") or {}), *(name.upper() for name in document.get("variables") or {})}
    environment |= own
    label = tuple(str(document[key]) for key in ("stage", "job", "deployment") if key in document)
    for name, value in document.items():
        if name in ("run", "script", "inlineScript"):
            yield Script(value, environment, where)
        elif isinstance(value, (dict, list)):
            yield from _scripts(value, environment, (*where, *label, *([name] if name != "jobs" else [])))


def _filled(parameters: Mapping[str, Any]) -> Any:
    """Return the stages with a pipeline's parameters."""
    declared = {one["name"]: one for one in _load(STAGES)["parameters"]}
    assert [name for name in parameters if name not in declared] == []
    values = {name: parameters.get(name, one.get("default")) for name, one in declared.items()}
    assert [name for name, value in values.items() if value is None] == []
    text = STAGES.read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"\$\{\{ parameters\.(\w+) \}\}", lambda found: str(values[found[1]]), text))


def _documents() -> dict[str, Any]:
    """Return the workflow, and the stages as each pipeline uses them."""
    found = {"github.yml": _load(WORKFLOW)}
    for name in PIPELINES:
        (stages,) = _load(EXAMPLES / name)["stages"]
        assert stages["template"] == STAGES.name
        found[name] = _filled(stages["parameters"])
    return found


DOCUMENTS = _documents()
SCRIPTS = {name: [*_scripts(document)] for name, document in DOCUMENTS.items()}
COMMANDS = [
    *((name, words) for name, scripts in SCRIPTS.items() for script in scripts for words in script.commands),
    *(("page", shlex.split(text)) for text in commands_of_page() if text.startswith("ansible-playbook")),
]


def _variables(playbook: str) -> set[str]:
    """Return the documented variables that a playbook reads."""
    text = (ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8")
    return {name for name in DOCUMENTED["playbooks"] if re.search(rf"\b{name}\b", text)}


def _file(name: str) -> Path:
    return EXAMPLES / OWN_FILES.get(name, name)


def _wrong(words: list[str]) -> list[str]:
    """Return what does not exist in a command that calls ansible-playbook."""
    assert words.pop(0) == "ansible-playbook"
    playbooks, given, wrong = [], list[str](), []
    while words:
        word = words.pop(0)
        if word == "-i":
            wrong += [name for name in [words.pop(0)] if not _file(name).is_file()]
        elif word == "-e":
            given.append(words.pop(0))
        elif word != "--check":
            playbooks.append(word)
    (playbook,) = playbooks
    name = playbook.removeprefix("winkube.node.")
    if name == playbook or not (ROOT / "playbooks" / f"{name}.yml").is_file():
        return [*wrong, playbook]
    for text in given:
        if text.startswith("@") and not _file(text[1:]).is_file():
            wrong.append(text)
            continue
        names = [*_load(_file(text[1:]))] if text.startswith("@") else [text.partition("=")[0]]
        wrong += [one for one in names if one not in _variables(name)]
    return wrong


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=lambda value: value if isinstance(value, str) else "")
def test_playbooks_and_their_variables_and_files_exist(where: str, words: list[str]) -> None:
    assert _wrong([*words]) == [], where


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("-i inventory.yml winkube.node.verify_image -e @verify.yml", []),
        ("winkube.node.verify_images", ["winkube.node.verify_images"]),
        ("verify_image", ["verify_image"]),
        ("winkube.node.publish_image -e verify_image_keep=true", ["verify_image_keep"]),
        ("winkube.node.publish_image -e publish_image_releas=1", ["publish_image_releas"]),
        ("winkube.node.publish_image -e @publsh.yml", ["@publsh.yml"]),
        ("-i inventory winkube.node.verify_image", ["inventory"]),
    ],
)
def test_a_wrong_name_is_found(command: str, wrong: list[str]) -> None:
    assert _wrong(["ansible-playbook", *shlex.split(command)]) == wrong


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_pipeline_verifies_and_publishes_with_the_playbooks(name: str) -> None:
    found = [
        (script.where[0] if script.where[0] != "stages" else script.where[1], words[-1] == "--check", playbook)
        for script in SCRIPTS[name]
        for words in script.commands
        for playbook in words
        if playbook.startswith("winkube.node.")
    ]
    assert found == [
        ("validate", True, "winkube.node.publish_image"),
        ("verify", False, "winkube.node.verify_image"),
        ("publish", False, "winkube.node.publish_image"),
    ]
    # Nothing else does this work.
    assert not re.search(r"\baz (vm|sig|image) ", "\n".join(script.text for script in SCRIPTS[name]))


def _read(text: str) -> set[str]:
    """Return the environment variables that a script reads."""
    return {name for name in re.findall(r"\$\{?([A-Z][A-Z0-9_]*)", text) if not OF_THE_SERVICE.fullmatch(name)}


def _needed(script: Script) -> set[str]:
    """Return the environment variables that a script and the programs that it calls read."""
    needed = _read(script.text)
    if "azure_vm.sh delete" in script.text or 'azure_vm.sh" delete' in script.text:
        needed.add("RESOURCE_GROUP")
    for words in script.commands:
        files = [_file(word[1:]) for word in words if word.startswith("@")]
        needed |= {name for file in files for name in re.findall(r"'ansible.builtin.env', '(\w+)'", file.read_text())}
        if "winkube.node.verify_image" in words:
            needed |= _read(HOOK.read_text(encoding="utf-8")) | {"KUBECONFIG"}
    return needed


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_of_the_checkout_exist(name: str) -> None:
    text = "\n".join(script.text for script in SCRIPTS[name]).replace("$COLLECTION", CHECKOUT).replace('"', "")
    paths = re.findall(rf"(?<=[\s./]){CHECKOUT}(?=/)(\S+)", text)
    assert {"/packer", "/requirements.txt", "/packer/examples/azure_vm.sh"} <= {*paths}
    assert [path for path in paths if not (ROOT / path[1:]).exists()] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_get_the_environment_variables_that_they_need(name: str) -> None:
    # Steps of GitHub's jobs pass variables on.
    texts = [script.text for script in SCRIPTS[name]]
    passed_on = {found for text in texts for found in re.findall(r'echo "(\w+)=.*" >>"\$GITHUB_ENV"', text)}
    missing = {
        (script.where, variable)
        for script in SCRIPTS[name]
        for variable in _needed(script) - script.environment - passed_on
        if not re.search(rf"^\s*{variable}=", script.text, re.MULTILINE)
    }
    assert missing == set()
    # The hooks need these, and nothing else.
    assert _read(HOOK.read_text(encoding="utf-8")) == {"RESOURCE_GROUP", "IMAGE", "SUBNET", "ADMIN_PASSWORD"}


def test_secrets_variables_and_parameters_are_documented() -> None:
    text, page = WORKFLOW.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    head = text[: text.index("\nname:")]
    needed = {*re.findall(r"\b(?:secrets|vars)\.(\w+)", text)}
    assert needed == {*re.findall(r"\b((?:AZURE|VERIFY)_\w+)", head)}
    assert [name for name in needed if f"`{name}`" not in page] == []
    required = {one["name"] for one in _load(STAGES)["parameters"] if "default" not in one}
    assert [name for name in required if f"`{name}`" not in page] == []
    for secret in ("serviceConnection", "environment", "kubeconfig", "verifyPool"):
        value = _load(EXAMPLES / PIPELINES[0])["stages"][0]["parameters"][secret]
        assert f"`{value}`" in (EXAMPLES / PIPELINES[0]).read_text(encoding="utf-8")


def test_parameters_of_the_stages_are_declared_and_used() -> None:
    used = {*re.findall(r"parameters\.(\w+)", STAGES.read_text(encoding="utf-8"))}
    assert used == {one["name"] for one in _load(STAGES)["parameters"]}


def test_jobs_of_the_workflow_use_results_and_artifacts_of_the_jobs_that_they_need() -> None:
    jobs = _load(WORKFLOW)["jobs"]
    uploaded: dict[str, str] = {}
    for name, job in jobs.items():
        needs = [job.get("needs", [])] if isinstance(job.get("needs"), str) else job.get("needs", [])
        for other, output in re.findall(r"needs\.(\w+)\.outputs\.(\w+)", yaml.safe_dump(job)):
            assert other in needs
            step, written = re.findall(r"steps\.(\w+)\.outputs\.(\w+)", jobs[other]["outputs"][output])[0]
            (script,) = [one["run"] for one in jobs[other]["steps"] if one.get("id") == step]
            assert f'echo "{written}=$' in script
        for step in job["steps"]:
            if "download-artifact" in step.get("uses", ""):
                assert uploaded[step["with"]["name"]] in needs
            if "upload-artifact" in step.get("uses", ""):
                uploaded[step["with"]["name"]] = name
    assert "JUnit" in PAGE.read_text(encoding="utf-8")
    (kept,) = [one["with"]["path"] for one in jobs["verify"]["steps"] if "upload-artifact" in one.get("uses", "")]
    assert kept.split() == ["build/image-verification.*", "build/image-tests/"]


def test_stages_use_artifacts_of_earlier_stages_and_publish_the_junit_files() -> None:
    text = STAGES.read_text(encoding="utf-8")
    build, verify = text.index("- stage: build"), text.index("- stage: verify")
    for artifact in re.findall(r"download: current\n\s+artifact: (\S+)", text[verify:]):
        assert re.search(rf"publish: build/release-notes\n\s+artifact: {artifact}\n", text[build:verify])
    assert "testResultsFiles: build/image-tests/**/*.xml" in text[verify:]
    defaults = DOCUMENTED["playbooks"]
    assert "`build/image-tests`" in defaults["verify_image_tests_dir"]
    assert "`build/release-notes`" in defaults["image_notes_dir"]


def test_the_release_notes_are_those_of_packers_host() -> None:
    (alias,) = re.findall(r'host_alias\s*= "(\w+)"', (TEMPLATES / "build.pkr.hcl").read_text(encoding="utf-8"))
    texts = [WORKFLOW.read_text(encoding="utf-8"), STAGES.read_text(encoding="utf-8")]
    paths = [path for text in texts for path in re.findall(r'verify_image_release_notes=([^"]+)"', text)]
    assert len(paths) == 2
    example = _load(EXAMPLES / "verify.yml")["verify_image_release_notes"]
    assert [path for path in [*paths, example] if not path.endswith(f"/{alias}.json")] == []
    assert f'release    = "{example.split("/")[2]}"' in (EXAMPLES / "azure.pkrvars.hcl").read_text(encoding="utf-8")


def _rendered(name: str) -> dict[str, Any]:
    loader = DataLoader()
    given = loader.load_from_file(str(EXAMPLES / name), trusted_as_template=True)
    templar = Templar(loader, variables={"inventory_hostname": "verify-1a2b3c4"})
    return {key: templar.template(value) for key, value in given.items()}


def test_the_hooks_of_the_verification_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / CHECKOUT).symlink_to(ROOT)
    monkeypatch.chdir(tmp_path)
    given = _rendered("verify.yml")
    tasks = {"verify_image_create_tasks": "", "verify_image_delete_tasks": ""}
    assert new_machine.hooks_problem(given | tasks, "verify_image", must_delete=True) == ""
    for action in ("create", "delete"):
        path, *rest = given[f"verify_image_{action}_command"]
        # Ansible runs commands in the folder of the playbook.
        assert Path(path).is_absolute()
        assert Path(path).resolve() == HOOK
        assert HOOK.stat().st_mode & 0o100
        assert rest == [action, "verify-1a2b3c4"]
        assert f"\n{action})" in HOOK.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["publish.yml", "publish-private.yml"])
def test_the_variables_of_the_publication_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOURCE_GROUP", "node-images")
    monkeypatch.setenv("IMAGE", "node-12345")
    given = {key.removeprefix("publish_image_"): value for key, value in _rendered(name).items()}
    others = {"number": 12, "vhd": {}, "copy": {}, "endpoint_suffix": "core.windows.net"}
    found = Publication.of({"release": "20261126.1a2b3c4d5e6f", **others, **given})
    assert (found.version, found.image and found.image.name) == ("2026.1126.12", "node-12345")


def test_the_variables_of_nodes_are_those_of_the_image() -> None:
    (group,) = _load(EXAMPLES / "inventory.yml").items()
    assert group[0] in ("node_windows", "node-windows")
    shared = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "variables.md").read_text(encoding="utf-8"), re.MULTILINE)
    image = (EXAMPLES / "azure.pkrvars.hcl").read_text(encoding="utf-8")
    for name, value in group[1]["vars"].items():
        assert name in shared
        assert re.search(rf'^  {name} += "{value}"$', image, re.MULTILINE), name


@pytest.mark.parametrize("name", ["github.yml", PIPELINES[0]])
def test_files_that_the_pipelines_need_are_listed(name: str) -> None:
    words = {word.lstrip("@") for script in SCRIPTS[name] for command in script.commands for word in command}
    files = {*OWN_FILES, *(word for word in words if word.endswith(".yml"))}
    assert files == {"image.pkrvars.hcl", "inventory.yml", "verify.yml", "publish.yml"}
    text, page = (EXAMPLES / name).read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    head = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert [file for file in files if file not in head or f"`{file}`" not in page] == []
    # A pull request that changes one of them is validated. YAML reads the key `on` as true.
    document = _load(EXAMPLES / name)
    paths = document["pr"]["paths"]["include"] if "pr" in document else document[True]["pull_request"]["paths"]
    assert {*paths} == files
