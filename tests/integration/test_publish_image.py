# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""publish_image.yml with stand-ins for the modules of azure.azcollection.

A stand-in accepts the options of the real module, whose documentation it is made from, records its arguments, and
behaves like an account in a folder. Nothing contacts Azure.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.publication import OLDEST

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.find_spec("ansible_collections.azure.azcollection")
REAL = Path(next(iter(SPEC.submodule_search_locations))) if SPEC and SPEC.submodule_search_locations else None
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(REAL is None, reason="the collection azure.azcollection is not installed"),
]
MODULES = ("storageblob", "storageblob_info", "galleryimageversion", "galleryimageversion_info")
STAND_IN = """
import json, os
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({specification}, supports_check_mode=True)
given = {{name: value for name, value in module.params.items() if value is not None}}
with open(os.environ["AZURE_RECORD"], "a") as record:
    record.write(json.dumps([{name!r}, given, module.check_mode]) + "\\n")
state_file = os.environ["AZURE_STATE"]
with open(state_file) as file:
    state = json.load(file)
key = "/".join(str(given.get(part)) for part in {key})
answer = {{"changed": False}}
if {name!r} == "storageblob_info":
    answer["blob"] = state.get(key)
elif {name!r} == "galleryimageversion_info":
    answer["versions"] = state.get(key)
    if state.get(key, {{}}).get("later"):
        state[key] = dict(state[key], provisioning_state=state[key]["later"][0], later=state[key]["later"][1:])
elif {name!r} == "galleryimageversion":
    # The module changes no content, and waits only while the state is Creating.
    answer["changed"] = key not in state
    made = {{"from": given["storage_profile"], "provisioning_state": os.environ.get("AZURE_BREAKS") or "Succeeded"}}
    state[key] = dict(state.get(key) or made, tags=given["tags"])
elif given.get("dest"):
    open(given["dest"], "w").write(state[key]["content"])
    answer["changed"] = True
elif given.get("src"):
    if os.environ.get("AZURE_BREAKS") == "upload":
        state[key] = {{"content": "half", "metadata": None}}
        json.dump(state, open(state_file, "w"))
        module.fail_json(msg="the connection was reset")
    state[key] = {{"content": open(given["src"]).read(), "metadata": None}}
    answer["changed"] = True
else:
    state[key]["metadata"] = given["tags"]
    answer["changed"] = True
json.dump(state, open(state_file, "w"))
module.exit_json(**answer)
"""
RELEASE = "20261126.1a2b3c4d"
VHD = {"resource_group": "images", "storage_account": "built1", "container": "vhds", "blob": "node-1.vhd"}
VARIABLES = {
    "publish_image_release": RELEASE,
    "publish_image_number": 3,
    "publish_image_vhd": VHD,
    "publish_image_copy": {"resource_group": "public", "storage_account": "public1", "container": "vhds"},
    "publish_image_gallery": {
        "resource_group": "public",
        "gallery": "nodes",
        "definition": "windows-2022",
        "location": "westeurope",
        "regions": ["northeurope"],
    },
    "publish_image_subscription": "00000000-0000-0000-0000-000000000001",
}
IMAGE = {"resource_group": "images", "name": "winkube-2022"}
OF_IMAGE: dict[str, Any] = {
    "publish_image_vhd": {},
    "publish_image_copy": {},
    "publish_image_managed_image": IMAGE,
    "publish_image_azure": {
        "subscription": VARIABLES["publish_image_subscription"],
        "auth_mode": "login",
        "folder": "",
        "timeout": 5,
        "pause": 0,
    },
}
"""A managed image, without the pauses that only Azure needs."""
VERSION = "public/nodes/windows-2022/2026.1126.3"


def documented(path: Path) -> dict[str, Any]:
    """Return the options that a module or a fragment documents."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") == "DOCUMENTATION"
        and isinstance(node.value, ast.Constant)
    ]
    found: dict[str, Any] = yaml.safe_load(texts[0])["options"]
    return found


def stand_in(name: str) -> str:
    """Return the text of a module with the options of the real one."""
    assert REAL is not None
    options = documented(REAL / "plugins" / "modules" / f"azure_rm_{name}.py")
    for fragment in ("azure", *([] if name.endswith("_info") else ["azure_tags"])):
        options |= documented(REAL / "plugins" / "doc_fragments" / f"{fragment}.py")
    known = ("type", "elements", "choices", "aliases", "required", "options")

    def specification(entries: dict[str, Any]) -> dict[str, Any]:
        return {
            option: {
                key: specification(value) if key == "options" else value
                for key, value in (entry | {"options": entry.get("suboptions")}).items()
                if key in known and value
            }
            for option, entry in entries.items()
        }

    key = (
        ("resource_group", "gallery_name", "gallery_image_name", "name")
        if name.startswith("gallery")
        else ("storage_account_name", "container" if name == "storageblob" else "container_name",
              "blob" if name == "storageblob" else "blob_name")
    )  # fmt: skip
    return STAND_IN.format(specification=specification(options), name=name, key=key)


class Azure:
    """A collections path with the stand-ins, and the accounts behind them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        collection = folder / "collections" / "ansible_collections" / "azure" / "azcollection"
        (collection / "plugins" / "modules").mkdir(parents=True)
        for name in MODULES:
            path = collection / "plugins" / "modules" / f"azure_rm_{name}.py"
            path.write_text(stand_in(name), encoding="utf-8")
        self.record, self.state = folder / "record.jsonl", folder / "state.json"
        self.set({"built1/vhds/node-1.vhd": {"content": "the disk", "metadata": None}})

    def set(self, state: dict[str, Any]) -> None:
        self.state.write_text(json.dumps(state), encoding="utf-8")
        self.record.write_text("", encoding="utf-8")

    def stored(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.state.read_text(encoding="utf-8"))
        return found

    def calls(self) -> list[list[Any]]:
        found = [json.loads(line) for line in self.record.read_text(encoding="utf-8").splitlines()]
        self.record.write_text("", encoding="utf-8")
        return found

    def publish(self, *options: str, breaks: str = "", **more: Any) -> tuple[int, str]:
        """Run the playbook, and return its exit code and output."""
        (self.folder / "vars.json").write_text(json.dumps(VARIABLES | more), encoding="utf-8")
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "winkube.node.publish_image"]
        paths = [str(self.folder / "collections"), os.environ["ANSIBLE_COLLECTIONS_PATH"]]
        ended = subprocess.run(
            [*command, "-e", "@vars.json", "-e", f"publish_image_folder={temporary}", *options],
            cwd=self.folder,
            env=os.environ
            | {
                "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join(paths),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "AZURE_RECORD": str(self.record),
                "AZURE_STATE": str(self.state),
                "AZURE_BREAKS": breaks,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        # A VHD has the size of a disk.
        assert list(temporary.iterdir()) == []
        return ended.returncode, ended.stdout + ended.stderr


def test_the_oldest_version_of_the_collection_has_the_option_timeout() -> None:
    assert REAL is not None
    changes = (REAL / "CHANGELOG.md").read_text(encoding="utf-8")
    before = changes[: changes.index("azure_rm_galleryimageversion: Set the timeout for creating an image version")]
    assert re.findall(r"^## v(\S+)", before, re.MULTILINE)[-1] == OLDEST
    assert f"azure.azcollection:>={OLDEST}" in (ROOT / "docs" / "images.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Azure:
    return Azure(tmp_path_factory.mktemp("azure"))


def test_an_image_is_shown_copied_and_published(azure: Azure) -> None:
    code, output = azure.publish("--check")
    assert code == 0, output
    assert "- copy https://built1.blob.core.windows.net/vhds/node-1.vhd to https://public1.blob." in output
    assert "as version 2026.1126.3 of nodes/windows-2022 in westeurope, northeurope" in output
    # The dry run does not contact Azure.
    assert azure.calls() == []

    code, output = azure.publish()
    assert code == 0, output
    calls = azure.calls()
    assert [name for name, *_ in calls] == [
        "storageblob_info",
        *["storageblob"] * 3,
        "galleryimageversion_info",
        "galleryimageversion",
        "galleryimageversion_info",
    ]
    assert all(given["subscription_id"].endswith("1") for _, given, _ in calls)
    assert all(given["auth_mode"] == "login" for name, given, _ in calls if name.startswith("storageblob"))
    upload = calls[2][1]
    assert (upload["blob_type"], upload["force"], upload.get("tags")) == ("page", True, None)
    stored = azure.stored()
    assert stored["public1/vhds/node-1.vhd"] == {"content": "the disk", "metadata": {"release": RELEASE}}
    uri = "https://public1.blob.core.windows.net/vhds/node-1.vhd"
    source = {"resource_group": "public", "storage_account": "public1", "uri": uri}
    assert stored[VERSION]["tags"] == {"release": RELEASE}
    assert stored[VERSION]["from"]["os_disk"]["source"] == source
    assert calls[-2][1]["timeout"] == 120
    assert [region["name"] for region in calls[-2][1]["publishing_profile"]["target_regions"]] == [
        "westeurope",
        "northeurope",
    ]


@pytest.mark.variant  # of the test above
def test_an_interrupted_copy_is_made_again_and_a_complete_one_is_not(azure: Azure) -> None:
    azure.set({"built1/vhds/node-1.vhd": {"content": "the disk", "metadata": None}})
    code, output = azure.publish(breaks="upload")
    assert code == 2, output
    assert [name for name, *_ in azure.calls()] == ["storageblob_info", "storageblob", "storageblob"]
    # The half of the VHD that was uploaded has no tag, so it is replaced.
    code, output = azure.publish()
    assert code == 0, output
    assert azure.stored()["public1/vhds/node-1.vhd"] == {"content": "the disk", "metadata": {"release": RELEASE}}
    azure.calls()
    code, output = azure.publish()
    assert code == 0, output
    assert "changed=0" in output
    assert [name for name, *_ in azure.calls()] == [
        "storageblob_info",
        "galleryimageversion_info",
        "galleryimageversion",
        "galleryimageversion_info",
    ]


def test_a_version_is_published_only_when_azure_has_finished_it(azure: Azure) -> None:
    entry = {"tags": {"release": RELEASE}, "provisioning_state": "Creating"}
    azure.set({VERSION: entry | {"later": ["Updating", "Succeeded"]}})
    code, output = azure.publish(**OF_IMAGE)
    assert code == 0, output
    assert [name for name, *_ in azure.calls()] == [
        *["galleryimageversion_info"] * 3,
        "galleryimageversion",
        "galleryimageversion_info",
    ]
    azure.set({VERSION: entry | {"later": ["Failed"]}})
    code, output = azure.publish(**OF_IMAGE)
    assert code == 2
    assert "expected the provisioning state Succeeded, got Failed. Delete the version" in " ".join(output.split())
    assert [name for name, *_ in azure.calls()] == ["galleryimageversion_info"] * 2


@pytest.mark.variant  # of the test above
def test_a_version_that_fails_is_not_published(azure: Azure) -> None:
    azure.set({})
    code, output = azure.publish(breaks="Failed", **OF_IMAGE)
    assert code == 2
    assert "expected the provisioning state Succeeded, got Failed. Delete the version" in " ".join(output.split())
    assert azure.stored()[VERSION]["provisioning_state"] == "Failed"


@pytest.mark.variant  # of the first test
def test_a_version_with_another_release_stays(azure: Azure) -> None:
    azure.set({VERSION: {"tags": {"release": "20261126.9999999"}, "provisioning_state": "Failed"}})
    code, output = azure.publish(**OF_IMAGE)
    assert code == 2
    assert "version 2026.1126.3 already contains release 20261126.9999999" in " ".join(output.split())
    assert [name for name, *_ in azure.calls()] == ["galleryimageversion_info"]
    code, output = azure.publish(**OF_IMAGE, publish_image_number=4)
    assert code == 0, output
    assert azure.stored()[VERSION.replace(".3", ".4")]["from"]["source_image"] == IMAGE
