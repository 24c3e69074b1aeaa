# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The resources of the role image_cache."""

from __future__ import annotations

import typing as t

import pytest
from unit.plugins.plugin_utils.node_resources import samples
from unit.plugins.plugin_utils.node_resources.samples import kinds, named

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import image_cache
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.image_cache import (
    ArtifactCacheSettings,
    ImageSettings,
    StoreSettings,
)

LISTS = ("kube_node", "containerd", "moby", "docker", "sdn_plugin", "azure_vnet")


def cached(installed: t.Sequence[str] = (), **given: t.Any) -> list[dict[str, t.Any]]:
    versions: dict[str, t.Any] = {f"{name}_versions": () for name in LISTS}
    settings = ArtifactCacheSettings(
        **versions | {"artifacts": {}, "urls": {}, "prune_artifacts": False, "downloads": samples.downloads()} | given
    )
    return image_cache.artifacts(settings, installed)


def images(runtime: str = "containerd", **given: t.Any) -> list[dict[str, t.Any]]:
    store = StoreSettings(
        runtime=runtime,
        ctr="ctr.exe",
        crictl="crictl.exe",
        docker="docker.exe",
        registry_config_dir="C:\\certs.d",
        docker_config="",
        store_dir="C:\\data",
        environment=given.pop("environment", {}),
        parallel_pulls=4,
    )
    values: dict[str, t.Any] = {
        "base_images": ("pause:1", "hpc:1"),
        "images": (),
        "container_tags": (),
        "core_dns_versions": (),
        "core_dns_repository": "",
        "windows_base_images": (),
        "nano_server_name": "",
        "pause_source": "upstream/pause:1",
        "test_images": (),
        "bundle": {},
        "pin": True,
        "prune_images": False,
        "buildkit_version": "0.30.0",
        "buildkit_url": "",
        "buildkit_sha256": "",
        "buildkit_dir": "C:\\buildkit",
        "store": store,
        "pause": "pause:1",
        "registries": {},
    }
    return image_cache.images(ImageSettings(**values | given), samples.downloads())


class TestArtifacts:
    def test_lists_of_kinds_are_joined(self) -> None:
        found = cached(kube_node_versions=("1.36.2",), artifacts={"kubernetes": ["1.37.1"], "nssm": ["2.24"]})
        assert [one["name"] for one in found] == ["kubernetes 1.36.2", "kubernetes 1.37.1", "nssm 2.24"]

    def test_all_unlisted_artifacts_are_removed_if_requested_except_installed_ones(self) -> None:
        found = cached(["C:\\cache\\a.zip"], containerd_versions=("2.3.7",), prune_artifacts=True)
        assert found[-1]["type"] == "ArtifactCache"
        assert found[-1]["keep"] == [found[0]["path"], "C:\\cache\\a.zip"]
        assert [one["type"] for one in cached(["x"], containerd_versions=("2.3.7",))] == ["Artifact"]


class TestImages:
    def test_base_images_are_pinned_and_the_sites_own_are_not(self) -> None:
        found = images(container_tags=("a:1",), images=({"name": "b:1", "pinned": True},))
        assert {one["name"]: one.get("pinned", False) for one in found} == {
            "pause:1": True,
            "hpc:1": True,
            "a:1": False,
            "b:1": True,
        }
        assert {one["ctr"] for one in found} == {"ctr.exe"}

    def test_pause_is_built_for_an_insider_build(self) -> None:
        found = images(nano_server_name="nanoserver:insider")
        assert kinds(found)[-3:] == [
            ("Archive", "C:\\buildkit"),
            ("Service", "buildkitd"),
            ("BuiltContainerImage", "pause:1"),
        ]
        assert ("ContainerImage", "pause:1") not in kinds(found)
        built = found[-1]
        assert built["build_args"] == {"BASE": "nanoserver:insider", "PAUSE": "upstream/pause:1"}
        assert (built["pinned"], built["buildctl"]) == (True, "C:\\buildkit\\buildctl.exe")

    def test_docker_builds_by_itself_and_pins_nothing(self) -> None:
        found = images("docker", nano_server_name="nanoserver:insider", test_images=({"name": "t:1"},))
        assert [kind for kind in kinds(found) if kind[0] in ("Service", "Archive")] == []
        assert [one["pinned"] for one in found if one["name"] == "pause:1"] == [False]
        assert ("BuiltContainerImage", "t:1") in kinds(found)

    @pytest.mark.parametrize(
        ("environment", "hidden"), [({"HTTP_PROXY": "http://u:p@p"}, True), ({"HTTP_PROXY": "http://p"}, False)]
    )
    def test_a_proxys_password_is_hidden(self, environment: dict[str, str], hidden: bool) -> None:
        service = named(images(environment=environment, test_images=({"name": "t:1"},)), "buildkitd")
        assert (service["no_log"], service["environment"]) == (hidden, environment)

    def test_unused_images_are_removed_if_requested(self) -> None:
        listed = ({"name": "a:1", "aliases": ["b:1"]},)
        first = images(prune_images=True, images=listed, test_images=({"name": "t:1"},))[0]
        assert first["type"] == "UnusedContainerImages"
        assert first["keep"] == ["pause:1", "hpc:1", "a:1", "t:1", "b:1", "pause:1"]
        assert "UnusedContainerImages" not in dict(kinds(images()))
