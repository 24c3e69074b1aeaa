# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How the Packer templates turn their variables into the roles' variables, proxies and tags."""

from __future__ import annotations

import re
from typing import Any

import pytest
from unit.packer.packer_templates import MISSING, ROOT, TEMPLATES, Packer
from unit.packer.packer_variables import BASE, CHECKSUM, ISO, KUBERNETES, MARKETPLACE, WINDOWS, from_image

PAGE = (ROOT / "docs" / "images.md").read_text(encoding="utf-8")
DOCUMENT = re.findall(
    r"\w+",
    """
    ContainerdVersions MobyVersions DockerVersions SdnPluginVersions AzureVnetVersions ContainerTags CoreDnsVersions
    KubeNodeVersions ContainerRuntime DefaultDockerVersion DefaultContainerdVersion DefaultMobyVersion WindowsPatchList
    WindowsPrivatePatchList WindowsBaseImage WindowsIsoUrl NanoServerName
    """,
)
"""The parameters in AKS Engine's design of Windows images (docs/design/windows-vhd.md of Azure/aks-engine)."""
PROXY = "http://user:pa%20ss@proxy.example:3128"


@pytest.fixture(scope="module")
def packer(tmp_path_factory: pytest.TempPathFactory) -> Packer:
    return Packer(tmp_path_factory.mktemp("packer"))


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_every_parameter_reaches_its_variable(packer: Packer) -> None:
    docker = {"version": "25.0.14", "url": "https://x.example/docker.zip", "sha256": "0" * 64}
    patch = {"url": "https://x.example/a.exe?sig=t0ken", "sha256": "1" * 64}
    variables: dict[str, Any] = {
        "base": BASE | {"iso_url": ISO, "iso_checksum": CHECKSUM, "nano_server_name": "x.example/nanoserver-insider"},
        "windows": WINDOWS | {"version": "insider", "allow_unsupported_windows": True},
        "runtime": {
            "container_runtime": "moby",
            "containerd_versions": ["2.2.1", "2.3.7"],
            "default_containerd_version": "2.2.1",
            "moby_versions": ["29.2.1"],
            "default_moby_version": "29.2.1",
            "docker_versions": [docker],
            "default_docker_version": "25.0.14",
        },
        "kubernetes": KUBERNETES,
        "network": {
            "kube_network_plugin": "flannel",
            "sdn_plugin_versions": ["0.3.1"],
            "azure_vnet_versions": ["1.6.21"],
        },
        "container_tags": ["x.example/app:1"],
        "core_dns": {"versions": ["1.12.0"], "repository": "x.example/coredns"},
        "windows_patches_public": ["KB5087545"],
        "windows_patches_private": [patch],
        "os_disk_gib": 40,
        **dict.fromkeys(("http_proxy", "https_proxy", "ftp_proxy"), PROXY),
        "no_proxy": ".example,192.0.2.0/24",
        "cloudbase_init_platform": "openstack",
    }
    assert packer.value("local.role_variables", variables) == {
        "container_runtime": "moby",
        "containerd_versions": ["2.2.1", "2.3.7"],
        "default_containerd_version": "2.2.1",
        "moby_versions": ["29.2.1"],
        "default_moby_version": "29.2.1",
        "docker_versions": [docker],
        "default_docker_version": "25.0.14",
        "kube_node_versions": KUBERNETES["kube_node_versions"],
        "kube_version": "1.37.1",
        "kube_network_plugin": "flannel",
        "sdn_plugin_versions": ["0.3.1"],
        "azure_vnet_versions": ["1.6.21"],
        "container_tags": ["x.example/app:1"],
        "core_dns_versions": ["1.12.0"],
        "image_cache_core_dns_repository": "x.example/coredns",
        "windows_patches_public": ["KB5087545"],
        "windows_patches_private": [patch],
        "image_disk_gib": 40,
        "allow_unsupported_windows": True,
        "nano_server_name": "x.example/nanoserver-insider",
        "http_proxy": PROXY,
        "https_proxy": PROXY,
        "ftp_proxy": PROXY,
        "no_proxy": ".example,192.0.2.0/24",
        "cloudbase_init_platform": "openstack",
        "cloudbase_init_enabled": True,
    }


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_proxies_reach_ansible_under_both_names(packer: Packer) -> None:
    environment = packer.value("local.proxy_environment", from_image(https_proxy=PROXY, no_proxy=".example"))
    assert sorted(environment) == [
        f"HTTPS_PROXY={PROXY}",
        "NO_PROXY=.example",
        f"https_proxy={PROXY}",
        "no_proxy=.example",
    ]


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_what_is_empty_keeps_the_roles_defaults(packer: Packer) -> None:
    found = packer.value("local.role_variables", from_image())
    assert [name for name, value in found.items() if value == ""] == []
    assert not {"http_proxy", "nano_server_name", "kube_network_plugin", "cloudbase_init_enabled"} & found.keys()


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_an_image_has_its_release_as_a_tag(packer: Packer) -> None:
    tags = packer.value("local.tags", from_image(release="20261126.1a2b3c4"))
    assert tags["release"] == "20261126.1a2b3c4"
    assert tags["base"] == MARKETPLACE
    assert "release" not in packer.value("local.tags", from_image())


def test_the_page_maps_every_parameter_of_the_document() -> None:
    rows = re.findall(r"^\| (`[A-Z].*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    names = {name for first, _ in rows for name in re.findall(r"`(\w+)`", first)}
    assert [name for name in DOCUMENT if name not in names] == []


def test_the_page_maps_to_variables_that_exist() -> None:
    text = (TEMPLATES / "variables.pkr.hcl").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `[A-Z].*? \| (.*?) \|$", PAGE, re.MULTILINE)
    for name, attribute in re.findall(r"`([a-z_]+)(?:\.(\w+))?`", "".join(rows)):
        if name in ("containerd", "moby", "docker", "version", "url", "sha256"):
            continue
        block = re.search(rf'^variable "{name}" \{{\n(.*?)^\}}\n', text, re.MULTILINE | re.DOTALL)
        assert block is not None, name
        assert not attribute or re.search(rf"\b{attribute} *= (string|list|object)", block[1]), f"{name}.{attribute}"
