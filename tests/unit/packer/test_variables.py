# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Wrong variables of the Packer templates: each is refused with a message of its own, before anything is started."""

from __future__ import annotations

import re
from typing import Any

import pytest
from unit.packer.packer_templates import MISSING, TEMPLATES, Packer
from unit.packer.packer_variables import (
    AMAZON,
    AZURE_DEFAULTS,
    BASE,
    CHECKSUM,
    GALLERY,
    ISO,
    MARKETPLACE,
    QEMU,
    VHD,
    VSPHERE,
    WINDOWS,
    from_image,
    from_iso,
)

RUNTIME: dict[str, Any] = {
    "container_runtime": "containerd",
    "containerd_versions": ["2.3.7"],
    "default_containerd_version": "2.3.7",
    "moby_versions": [],
    "default_moby_version": "",
    "docker_versions": [],
    "default_docker_version": "",
}
KEY = "AAAAA-BBBBB-CCCCC-DDDDD-EEEE1"
HYPERV = {"switch_name": "x", "memory": 1024, "cpus": 4, "secure_boot": True, "tpm": False, "output_directory": "x"}


def base(**more: str) -> dict[str, Any]:
    return from_image(base=BASE | more)


def windows(**more: Any) -> dict[str, Any]:
    return from_iso(windows=WINDOWS | more)


def runtime(**more: Any) -> dict[str, Any]:
    return from_image(runtime=RUNTIME | more)


def azure(**more: Any) -> dict[str, Any]:
    return from_image(azure=AZURE_DEFAULTS | more)


ISO_BASE = {"iso_url": ISO, "iso_checksum": CHECKSUM}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "both image and ISO": (base(image=MARKETPLACE, **ISO_BASE), "base to have exactly one of image, iso_url and host"),
    "neither": (base(), "base to have exactly one of image, iso_url and host"),
    "image without version": (base(image="a:b:c"), "base.image to be publisher:offer:sku:version"),
    "ISO without checksum": (base(iso_url=ISO), "base.iso_url and base.iso_checksum to be set together"),
    "checksum none": (base(iso_url=ISO, iso_checksum="none"), "base.iso_checksum to be sha256:"),
    "Nano Server without ISO": (base(image=MARKETPLACE, nano_server_name="x"), "base.nano_server_name to be empty"),
    "unknown Windows": (windows(version="2016"), "windows.version to be 2019, 2022, 2025 or insider"),
    "Insider": (windows(version="insider"), "windows.allow_unsupported_windows to be true"),
    "unknown edition": (windows(edition="essentials"), "windows.edition to be standard_core"),
    "firmware": (windows(firmware="efi"), "windows.firmware to be bios or uefi"),
    "product key": (from_iso(windows_product_key="AAAAA-BBBBB"), "windows_product_key to be five groups"),
    "language": (windows(language="english"), "windows.language to be the language of the ISO"),
    "time zone": (windows(time_zone=""), "windows.time_zone to be a name"),
    "unknown runtime": (runtime(container_runtime="podman"), "container_runtime to be containerd, moby or docker"),
    "containerd not cached": (
        runtime(default_containerd_version="2.2.1"),
        "runtime.default_containerd_version to be one of runtime.containerd_versions",
    ),
    "no containerd": (
        runtime(default_containerd_version=""),
        "runtime.default_containerd_version to be one of runtime.containerd_versions",
    ),
    "moby not cached": (runtime(container_runtime="moby"), "default_moby_version to be one of runtime.moby_versions"),
    "docker not cached": (
        runtime(container_runtime="docker", default_docker_version="25.0.14"),
        "default_docker_version to be the version of one of runtime.docker_versions",
    ),
    "Kubernetes not cached": (
        from_image(kubernetes={"kube_node_versions": ["1.36.3"], "kube_version": "1.37.1"}),
        "kubernetes.kube_version to be one of kubernetes.kube_node_versions",
    ),
    "CoreDNS": (from_image(core_dns={"versions": ["1.12.0"], "repository": ""}), "core_dns.repository to name"),
    "patch": (from_image(windows_patches_public=["5087545"]), "windows_patches_public to be KB and a number"),
    "private patch": (
        from_image(windows_patches_private=[{"url": "https://x.example/y?sig=t0ken", "sha256": "abc"}]),
        "the sha256 of each of windows_patches_private",
    ),
    "disk": (from_image(os_disk_gib=20), "os_disk_gib to be at least 30"),
    "cloudbase-init": (from_image(cloudbase_init_platform="gce"), "cloudbase_init_platform to be azure, ec2"),
    "release": (from_image(release="2026-11-26"), "release to be YYYYMMDD.commithash"),
    "image name": (from_image(image_name="a b"), "image_name to have 2 to 80 letters"),
    "template in a password": (from_iso(build_password="a{{b"), "build_password without {{"),
    "WinRM clients": (from_iso(winrm_clients=["example.org'; calc"]), "winrm_clients to be addresses"),
    "Azure agent": (from_iso(azure_agent_msi="agent.msi"), "azure_agent_msi to be the path of a file with the name"),
    "two outputs": (azure(**GALLERY, **VHD), "azure to have exactly one of managed_image_resource_group, gallery"),
    "two places": (azure(build_resource_group="x"), "azure to have either location"),
    "gallery without image": (azure(**GALLERY | {"gallery_image": ""}), "azure.gallery, azure.gallery_image and"),
    "gallery version": (azure(**GALLERY | {"gallery_image_version": "1.0"}), "gallery_image_version to be YYYY.MMDD.N"),
    "VHD without account": (
        azure(**VHD | {"vhd_storage_account": ""}),
        "azure.vhd_container, azure.vhd_storage_account",
    ),
    "VHD container": (azure(**VHD | {"vhd_container": "a--b"}), "azure.vhd_container to have 3 to 63"),
    "trusted launch": (azure(trusted_launch=True), "azure.trusted_launch to be false"),
    "inbound addresses": (azure(virtual_network="x"), "azure.allowed_inbound_ip_addresses to be empty"),
    "security groups": (from_image(amazon=AMAZON | {"security_group_ids": ["sg-1"]}), "amazon to have either"),
    "Hyper-V memory": (from_iso(hyperv=HYPERV), "hyperv.memory to be at least 2048"),
    "QEMU accelerator": (from_iso(qemu=QEMU | {"accelerator": "xen"}), "qemu.accelerator to be kvm"),
    "QEMU format": (from_iso(qemu=QEMU | {"format": "vhdx"}), "qemu.format to be qcow2 or raw"),
    "vSphere memory": (from_iso(vsphere=VSPHERE | {"memory": 512}), "vsphere.memory to be at least 2048"),
    "port": (from_image(existing={"user": "x", "port": 0}), "existing.port to be a port"),
}
needs_packer = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Packer:
    return Packer(tmp_path_factory.mktemp("packer"))


@needs_packer
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_variable_is_refused(packer: Packer, case: str) -> None:
    variables, message = WRONG[case]
    code, output = packer.run("validate", "-only=answer-file.*", variables=variables)
    assert code == 1
    assert message in " ".join(output.split())
    # One mistake, one message.
    assert output.count("Error: ") == 1


def test_each_validation_has_a_case() -> None:
    messages = [
        message
        for path in TEMPLATES.glob("*.pkr.hcl")
        for message in re.findall(r'error_message = "Expected (.*)"', path.read_text(encoding="utf-8"))
    ]
    missing = [message for message in messages if not any(expected in message for _, expected in WRONG.values())]
    assert missing == []
    assert len(messages) > 30


@needs_packer
def test_packer_hides_the_product_key_and_nothing_else(packer: Packer) -> None:
    variables = windows(version="2022", language="de-DE") | {"windows_product_key": KEY}
    code, output = packer.run("inspect", variables=variables)
    assert code == 0
    assert KEY not in output
    # The answer file is in this output, too.
    assert "<Key><sensitive></Key>" in output
    assert "<UILanguage>de-DE</UILanguage>" in output
    assert re.search(r"version\W+2022", output)


@needs_packer
def test_a_secret_is_not_in_the_message(packer: Packer) -> None:
    variables, _ = WRONG["private patch"]
    _, output = packer.run("validate", "-only=answer-file.*", variables=variables)
    assert "t0ken" not in output
