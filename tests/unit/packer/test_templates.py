# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Packer templates: valid for Debian's Packer, and with arguments that today's plugins know."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from unit.packer.packer_templates import MISSING, NEWER, PLUGINS, TEMPLATES, Packer, newer_arguments, sources
from unit.packer.packer_variables import AMAZON, AZURE_DEFAULTS, BASE, GALLERY, ISO, VHD, VSPHERE, from_image, from_iso

needs_packer = pytest.mark.skipif(bool(MISSING), reason=MISSING)
DECLARED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("data").joinpath("arguments.json").read_text(encoding="utf-8")
)
"""What today's plugins declare, with the file that declares it."""


def azure(**more: Any) -> dict[str, Any]:
    return {"azure": AZURE_DEFAULTS | more, "azure_client_secret": "s3cret"}


def service_principal(**more: Any) -> dict[str, Any]:
    return azure(tenant_id="11111111-1111-1111-1111-111111111111", client_id="2", **more)


CASES = {
    "managed image": ("azure-arm.windows", from_image(**service_principal(managed_image_resource_group="images"))),
    "VHD": ("azure-arm.windows", from_image(**service_principal(**VHD))),
    "AMI by id": ("amazon-ebs.windows", from_image("ami-0123456789abcdef0", amazon=AMAZON)),
    "AMI by name": (
        "amazon-ebs.windows",
        from_image("amazon:Windows_Server-2022-English-Core-Base-*", amazon=AMAZON),
    ),
    "Hyper-V": ("hyperv-iso.windows", from_iso()),
    "QEMU": ("qemu.windows", from_iso()),
    "vSphere": ("vsphere-iso.windows", from_iso(vsphere=VSPHERE, vsphere_password="s3cret")),
    "existing machine": ("null.existing", from_iso(base=BASE | {"host": "192.0.2.7"}, build_password="s3cret")),
}


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Packer:
    return Packer(tmp_path_factory.mktemp("packer"))


@needs_packer
@pytest.mark.parametrize("case", CASES)
def test_each_source_is_valid(packer: Packer, case: str) -> None:
    source, variables = CASES[case]
    assert packer.validate(source, variables) == ""


@needs_packer
def test_a_gallery_version_needs_no_managed_image(packer: Packer) -> None:
    """Packer 1.6.6 requires a managed image too. Today's plugin does not (v2.6.3 builder/azure/arm/config.go)."""
    output = packer.validate("azure-arm.windows", from_image(**service_principal(**GALLERY, trusted_launch=True)))
    reasons = output.partition(" on packer/")[0].split(" * ")[1:]
    assert reasons
    assert [
        reason for reason in reasons if not re.match("(A|Specify either a) (capture|VHD|storage|resource)", reason)
    ] == []


@needs_packer
def test_only_arguments_that_this_packer_does_not_know_are_removed(tmp_path: Path) -> None:
    unchanged = Packer(tmp_path, remove_newer=False)
    for source, variables in dict(CASES.values()).items():
        builder = source.partition(".")[0]
        output = unchanged.validate(source, variables)
        refused = re.findall(r'(?:argument named|Blocks of type) "(\w+)"', output)
        assert sorted(refused) == sorted(newer_arguments().get(builder, [])), (NEWER.name, builder, output)


@needs_packer
def test_templates_have_packers_format() -> None:
    files = [*TEMPLATES.glob("*.hcl"), *TEMPLATES.glob("examples/*.hcl")]
    for path in files:
        ended = subprocess.run(
            ["packer", "fmt", "-check", "-diff", str(path)], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


@needs_packer
def test_a_source_without_its_base_is_refused(packer: Packer) -> None:
    assert "iso_url" in packer.validate("qemu.windows", from_image())
    assert "image_publisher must be specified" in packer.validate(
        "azure-arm.windows", from_iso(**service_principal(**VHD))
    )
    assert "Host must be specified" in packer.validate("null.existing", from_iso())


@pytest.mark.parametrize("builder", sorted(sources()))
def test_todays_plugins_know_every_argument(builder: str) -> None:
    declared = DECLARED[builder]
    known = {*declared["arguments"], *declared["blocks"]}
    used = re.findall(r'^  (?:dynamic ")?(\w+)"? *(?:=|\{)', sources()[builder], re.MULTILINE)
    assert used
    assert [name for name in used if name not in known] == [], declared["source"]


def test_todays_plugins_know_the_arguments_of_the_provisioner() -> None:
    text = (TEMPLATES / "build.pkr.hcl").read_text(encoding="utf-8")
    for block, name in (("provisioner", "ansible"), ("post-processor", "manifest")):
        body = re.search(rf'^  {block} "{name}" \{{\n(.*?)^  \}}\n', text, re.MULTILINE | re.DOTALL)
        assert body is not None
        used = re.findall(r"^    (\w+) *=", body[1], re.MULTILINE)
        assert used
        assert [argument for argument in used if argument not in DECLARED[name]["arguments"]] == []


def test_vhds_need_a_recent_plugin_and_an_existing_container() -> None:
    text = (TEMPLATES / PLUGINS).read_text(encoding="utf-8")
    required = re.search(r'source  = "github.com/hashicorp/azure"\n *version = ">= (\d+)\.(\d+)\.\d+"', text)
    assert required is not None
    assert tuple(map(int, required.groups())) >= (2, 6)
    page = " ".join((TEMPLATES.parent / "docs" / "images.md").read_text(encoding="utf-8").split())
    assert "The container must exist, and the plugin `azure` must have version 2.6.0 or newer" in page


def test_each_plugin_of_the_templates_is_required() -> None:
    required = set(re.findall(r"^    (\w+) = \{", (TEMPLATES / PLUGINS).read_text(encoding="utf-8"), re.MULTILINE))
    # The builders null and file, and the post-processor manifest, are part of Packer.
    used = {builder.partition("-")[0] for builder in sources()} - {"null", "file"}
    assert required == used | {"ansible"}


def test_no_template_contains_a_secret_or_a_real_iso() -> None:
    for path in TEMPLATES.glob("**/*.hcl"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r'^ *(\w*(?:password|secret|jwt)\w*) *= *"([^"$]+)"', text, re.MULTILINE):
            pytest.fail(f"{path.name}: {name}")
    assert ISO
