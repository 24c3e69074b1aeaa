# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands in docs/images.md and in the examples of pipelines are valid, and so are the examples of parameters."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.packer.packer_templates import MISSING, ROOT, TEMPLATES, Packer
from unit.packer.test_fetch_iso import FETCH

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import new_machine
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.publication import Publication

needs_packer = pytest.mark.skipif(bool(MISSING), reason=MISSING)
PAGE = ROOT / "docs" / "images.md"
EXAMPLES = TEMPLATES / "examples"
PIPELINES = sorted(EXAMPLES.glob("*.yml"))
HOOK = EXAMPLES / "azure_vm.sh"
CHECKOUT = "winkube-node"
"""The folder of the checkout in the commands."""
AZ = {
    "login": "",
    "group create": "--name --location --output",
    "vm image list": "--publisher --offer --sku --all --output",
    "vm create": "--resource-group --name --image --admin-username --admin-password --public-ip-address --output "
    "--subnet --os-disk-delete-option --nic-delete-option",
    "vm show": "--resource-group --name --show-details --query --output",
    "vm delete": "--resource-group --name --yes",
}
"""Commands of the Azure CLI and options that they have (https://learn.microsoft.com/cli/azure/reference-index)."""


def commands_of_page() -> list[str]:
    """Return the commands of the page, in order."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    joined = "".join(blocks).replace("\\\n", " ")
    return [line.strip()[2:] for line in joined.splitlines() if line.strip().startswith("$ ")]


def scripts(document: Any) -> Iterator[str]:
    """Yield the shell scripts in a workflow or pipeline."""
    if isinstance(document, list):
        for entry in document:
            yield from scripts(entry)
    elif isinstance(document, dict):
        for name, value in document.items():
            if name in ("run", "script", "inlineScript"):
                yield str(value)
            else:
                yield from scripts(value)


def commands_of_az(script: str) -> list[tuple[str, list[str]]]:
    """Return the commands of the Azure CLI in a shell script, each with its options."""
    found = re.findall(r"(?:^\s*|\$\(|'|\|\| )az ([^\n|]*)", script.replace("\\\n", " "), re.MULTILINE)
    # Strings may contain anything.
    return [(text, re.findall(r"--[a-z-]+", re.sub(r'"[^"]*"', "", text))) for text in found]


def all_scripts() -> list[str]:
    return [
        *commands_of_page(),
        HOOK.read_text(encoding="utf-8"),
        *(script for path in PIPELINES for script in scripts(yaml.safe_load(path.read_text()))),
    ]


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Packer:
    """Return Packer in a folder as the page describes it, with the examples of parameters copied."""
    folder = tmp_path_factory.mktemp("page")
    packer = Packer(folder / CHECKOUT)
    for name, copy in (("azure", "image"), ("iso", "iso"), ("existing", "existing")):
        shutil.copyfile(EXAMPLES / f"{name}.pkrvars.hcl", folder / f"{copy}.pkrvars.hcl")
    for driver in ("vioscsi", "viostor", "NetKVM", "Balloon"):
        (folder / "virtio-win" / driver).mkdir(parents=True)
    (folder / "iso").mkdir()
    base = FETCH.packer_variables(folder / "iso" / "2025.iso", f"sha256:{'0' * 64}", "")
    (folder / "iso" / "base.pkrvars.json").write_text(base, encoding="utf-8")
    return packer


@needs_packer
@pytest.mark.parametrize("command", [command for command in commands_of_page() if command.startswith("packer ")])
def test_packers_commands_of_the_page_are_valid(packer: Packer, command: str) -> None:
    words = shlex.split(command)
    if words[1] == "init":
        assert (TEMPLATES / "plugins.pkr.hcl").is_file()
        assert words[2:] == [f"{CHECKOUT}/packer"]
        return
    # Building an image needs Azure or a hypervisor.
    if words[1] == "build" and "answer-file.*" not in command:
        words[1] = "validate"
    environment = {"PKR_VAR_build_password": "s3cret"}
    code, output = packer.start(words, packer.folder.parent, environment=environment)
    assert code == 0, output


WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
VALIDATED = re.findall(
    r"- run: (packer validate -only=image\.\S+ .*) packer$", WORKFLOW.read_text(encoding="utf-8"), re.MULTILINE
)
"""The commands with which the workflow of this repository validates the unchanged templates."""


def test_the_workflow_validates_every_source_and_every_example() -> None:
    text = (TEMPLATES / "build.pkr.hcl").read_text(encoding="utf-8")
    sources = {*re.findall(r'"source\.([\w-]+\.\w+)"', text)} - {"file.answer_file", "file.first_logon"}
    assert {command.split()[2].removeprefix("-only=image.") for command in VALIDATED} == sources
    files = {file for command in VALIDATED for file in re.findall(r"packer/examples/(\S+)", command)}
    assert files == {path.name for path in EXAMPLES.glob("*.pkrvars.hcl")}


@needs_packer
@pytest.mark.parametrize("command", VALIDATED)
def test_packers_commands_of_the_workflow_are_valid(packer: Packer, command: str) -> None:
    environment = {"PKR_VAR_build_password": "s3cret", "PKR_VAR_vsphere_password": "s3cret"}
    words = [*shlex.split(command.replace("packer/examples", str(EXAMPLES))), f"{CHECKOUT}/packer"]
    code, output = packer.start(words, packer.folder.parent, environment=environment)
    assert code == 0, output


def test_the_page_uses_what_the_repository_has() -> None:
    others = [shlex.split(command) for command in commands_of_page() if not re.match(r"packer |az ", command)]
    first = ["git", "python3", ".", "pip", "ansible-galaxy", "cp", "cp", "export", "ansible-playbook"]
    programs = [*first, "ls", "python3", "export", "ansible-galaxy", "pip", *["ansible-playbook"] * 2]
    assert [words[0] for words in others] == programs
    used = [word for words in others for word in words if word.startswith((f"{CHECKOUT}/", f"./{CHECKOUT}"))]
    paths = [word.removeprefix("./").removeprefix(CHECKOUT).lstrip("/") for word in used]
    assert len(paths) == 6
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_program_that_downloads_an_iso_knows_the_options_of_the_page() -> None:
    (command,) = [command for command in commands_of_page() if "fetch_iso.py" in command]
    words = shlex.split(command)
    given = FETCH.arguments(words[2:])
    assert FETCH.check_checksum(given.checksum)
    assert FETCH.is_storage_account(FETCH.check_url(given.url))
    assert (given.login, str(given.packer_variables)) == (True, "iso/base.pkrvars.json")


def test_the_variables_of_publish_image_on_the_page_are_valid() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n# publish\.yml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    given = {name.removeprefix("publish_image_"): value for name, value in yaml.safe_load(block).items()}
    others = {"number": 0, "managed_image": {}, "endpoint_suffix": "core.windows.net"}
    assert len(Publication.of(others | given).steps()) == 2
    commands = [command for command in commands_of_page() if "publish_image" in command]
    assert all(shlex.split(command)[2:4] == ["-e", "@publish.yml"] for command in commands)


def test_commands_of_the_azure_cli_exist() -> None:
    found = [command for script in all_scripts() for command in commands_of_az(script)]
    assert {next((name for name in AZ if text.startswith(name)), "") for text, _options in found} == {*AZ}
    for text, options in found:
        command = next((name for name in AZ if re.match(rf"{name}( |$)", text)), None)
        assert command is not None, text
        assert [option for option in options if option not in AZ[command].split()] == [], text


def test_packers_commands_of_pipelines_name_what_the_templates_have() -> None:
    declared = {
        name
        for path in TEMPLATES.glob("*.pkr.hcl")
        for name in re.findall(r'^variable "(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    builds = 0
    for path in PIPELINES:
        text = path.read_text(encoding="utf-8")
        assert {*re.findall(r"-only=([\w.-]+)", text)} <= {"image.azure-arm.windows"}
        assert {*re.findall(r'-var "?(\w+)=', text), *re.findall(r"PKR_VAR_(\w+)", text)} <= declared
        builds += text.count("packer build")
    assert builds == 2


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.name)
def test_scripts_of_pipelines_are_valid_shell(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    for script in scripts(document):
        # Values that the service inserts.
        text = re.sub(r"\$\{\{.*?\}\}|\$\([A-Z]\w*(\.\w+)+\)", "value", script)
        ended = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr


def test_actions_of_the_workflow_are_pinned() -> None:
    text = (EXAMPLES / "github.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert len(used) > 5
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []


def test_private_images_stay_in_places_of_their_own() -> None:
    public, private = (
        yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
        for name in ("azure-pipelines.yml", "azure-pipelines-private.yml")
    )
    ours, theirs = (
        {"publishVariables": "publish.yml", **document["stages"][0]["parameters"]} for document in (public, private)
    )
    assert private["pr"] == "none"
    assert "main" not in private["trigger"]["branches"]["include"]
    places = (
        "serviceConnection",
        "environment",
        "imageGroup",
        "publishVariables",
        "verifyPool",
        "subnet",
        "kubeconfig",
    )
    for name in places:
        assert ours[name] != theirs[name]
    galleries = [
        yaml.safe_load((EXAMPLES / given["publishVariables"]).read_text(encoding="utf-8"))["publish_image_gallery"]
        for given in (ours, theirs)
    ]
    for name in ("resource_group", "gallery"):
        assert galleries[0][name] != galleries[1][name]
    assert theirs["privatePatches"]
    assert "privatePatches" not in ours


AZ_CLI = """#!/bin/sh
echo "$@" >>"$CALLS"
case "$1 $2 $*" in
"vm show "*--show-details*) echo 10.0.0.31 ;;
"vm show "*) test -e "$CALLS.exists" ;;
"vm create "*) cat >"$CALLS.stdin"; touch "$CALLS.exists" ;;
"vm delete "*) rm "$CALLS.exists" ;;
esac
"""


def test_the_hook_creates_one_machine_and_deletes_it(tmp_path: Path) -> None:
    (tmp_path / "az").write_text(AZ_CLI, encoding="utf-8")
    (tmp_path / "az").chmod(0o755)
    calls = tmp_path / "calls"
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "CALLS": str(calls),
        "RESOURCE_GROUP": "images",
        "IMAGE": "image",
        "SUBNET": "/subnets/a",
        "ADMIN_PASSWORD": "s3cret",
    }

    def hook(*words: str) -> str:
        done = subprocess.run([HOOK, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    # The first call of each kind works, and the second one finds the work done.
    for _ in range(2):
        machine = json.loads(hook("create", "verify-1"))
        assert machine["variables"]["ansible_password"] == "s3cret"
        read = new_machine.connection_variables(machine, "verify-1", {})
        assert (read["ansible_host"], read["ansible_connection"]) == ("10.0.0.31", "psrp")
    for _ in range(2):
        assert hook("delete", "verify-1") == ""
    work = [line for line in calls.read_text(encoding="utf-8").splitlines() if not line.startswith("vm show")]
    assert len(work) == 2
    assert work[0].startswith("vm create --resource-group images --name verify-1 --image image --subnet /subnets/a")
    # The password is on no command line.
    assert "--admin-password @-" in work[0]
    assert (tmp_path / "calls.stdin").read_text(encoding="utf-8") == "s3cret"
    assert work[1] == "vm delete --resource-group images --name verify-1 --yes"


def test_the_commands_of_the_page_fit_together() -> None:
    commands = commands_of_page()[: 1 + next(i for i, text in enumerate(commands_of_page()) if "verify_image" in text)]
    words = [shlex.split(command) for command in commands]
    image = (EXAMPLES / "azure.pkrvars.hcl").read_text(encoding="utf-8")
    names = dict(re.findall(r'^ *(image_name|managed_image_resource_group|location) += "(.+)"$', image, re.MULTILINE))
    (exported,) = [one for one in words if one[0] == "export"]
    given = dict(word.split("=") for word in exported if "=" in word)
    assert given == {"RESOURCE_GROUP": names["managed_image_resource_group"], "IMAGE": names["image_name"]}
    # The hook and the role node_join read these.
    needed = {*re.findall(r'"\$([A-Z_]+)"', HOOK.read_text(encoding="utf-8")), "KUBECONFIG"}
    assert {word.partition("=")[0] for word in exported[1:]} == needed
    (group,) = [one for one in words if one[:3] == ["az", "group", "create"]]
    (machine,) = [one for one in words if one[:3] == ["az", "vm", "create"]]
    options = [dict(zip(one[3::2], one[4::2], strict=True)) for one in (group, machine)]
    assert [options[0][name] for name in ("--name", "--location")] == [given["RESOURCE_GROUP"], names["location"]]
    assert [options[1][name] for name in ("--resource-group", "--image")] == [given["RESOURCE_GROUP"], given["IMAGE"]]
    # What a command reads has been copied by an earlier one, or is in the checkout.
    copied: set[str] = set()
    for one in words:
        if one[0] == "cp":
            *sources, target = one[1:]
            assert [source for source in sources if not (ROOT / source.removeprefix(f"{CHECKOUT}/")).is_file()] == []
            copied |= {Path(source).name for source in sources} if target == "." else {target}
        read = {word.removeprefix("-var-file=").removeprefix("@") for word in one if re.search(r"\.(yml|hcl)$", word)}
        assert one[0] == "cp" or read <= copied, one
    assert copied == {"image.pkrvars.hcl", "inventory.yml", "verify.yml"}


def test_the_collection_can_be_installed_as_the_page_says() -> None:
    words = [shlex.split(command) for command in commands_of_page()]
    (source,) = [one[-1] for one in words if one[:3] == ["ansible-galaxy", "collection", "install"] and "./" in one[-1]]
    assert (ROOT / source.removeprefix(f"./{CHECKOUT}") / "galaxy.yml").is_file()
    (cloned,) = [one for one in words if one[:2] == ["git", "clone"]]
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    assert cloned[2:] == [f"{galaxy['repository']}.git", CHECKOUT]
    (needed,) = [one[-1] for one in words if one[:3] == ["pip", "install", "-r"] and CHECKOUT in one[-1]]
    assert "ansible" in (ROOT / needed.removeprefix(f"{CHECKOUT}/")).read_text(encoding="utf-8")
    (venv,) = [one[-1] for one in words if one[:3] == ["python3", "-m", "venv"]]
    assert [".", f"{venv}/bin/activate"] in words
