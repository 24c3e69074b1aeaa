# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Lists of container images as users write them, and container images that are built on the node."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import answer, call, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.container_images import listing as container_images
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

PAUSE = "registry.k8s.io/pause:3.10.2"
DIGEST = "sha256:" + "a" * 64


def test_references_and_mappings_become_resources() -> None:
    bundle = {PAUSE: [{"url": "http://c/p.tar", "sha256": "a" * 64}]}
    given = [PAUSE, {"name": "r.example/a:1", "pinned": False, "windows": ["2022"]}]
    found = container_images.resources(given, {"runtime": "containerd", "parallel": 2}, pinned=True, bundle=bundle)
    assert [(item["name"], item["pinned"], item["parallel"]) for item in found] == [
        (PAUSE, True, 2), ("r.example/a:1", False, 2),
    ]  # fmt: skip
    assert found[0]["archives"] == bundle[PAUSE]
    assert len(load(found)) == 2


def test_duplicate_images_are_merged_and_pinned_if_either_is() -> None:
    (found,) = container_images.resources([{"name": PAUSE, "pinned": True}, PAUSE], {})
    assert found["pinned"]


def test_docker_pins_nothing() -> None:
    (found,) = container_images.resources([PAUSE], {"runtime": "docker"}, pinned=True)
    assert not found["pinned"]


@pytest.mark.parametrize("images", [PAUSE, [1], [{"reference": PAUSE}], [{"name": PAUSE, "tag": "x"}], [None]])
def test_an_invalid_list_of_images_is_refused(images: t.Any) -> None:
    with pytest.raises(ValueError, match=r"images.*expected .*got"):
        container_images.resources(images, {})


def test_base_images_are_for_their_own_windows() -> None:
    found = container_images.base_images(["nanoserver", "servercore"])
    assert {item["name"]: item["windows"] for item in found}["mcr.microsoft.com/windows/servercore:ltsc2025"] == [
        "2025"
    ]
    assert len(found) == 6
    assert len(load(container_images.resources(found, {}))) == 6
    with pytest.raises(ValueError, match="expected one of nanoserver, servercore, server"):
        container_images.base_images(["nano"])


def test_core_dns_by_version() -> None:
    assert container_images.core_dns(["1.12.1", "v1.11.3"], "r.example/dns") == [
        "r.example/dns:v1.12.1", "r.example/dns:v1.11.3",
    ]  # fmt: skip
    assert container_images.core_dns([], "") == []
    with pytest.raises(ValueError, match="core_dns_versions"):
        container_images.core_dns(["latest"], "r.example/dns")
    with pytest.raises(ValueError, match="image_cache_core_dns_repository"):
        container_images.core_dns(["1.12.1"], "")


# -- built on the node

DOCKERFILE = 'ARG BASE\nFROM ${BASE}\nENTRYPOINT ["/pause.exe"]\n'


def built(**more: t.Any) -> t.Any:
    given = {"type": "BuiltContainerImage", "name": PAUSE, "dockerfile": DOCKERFILE, "build_args": {"BASE": "r.io/n:1"}}
    return one(**{**given, **more})


def listing(*lines: str) -> dict[str, t.Any]:
    return {"images": answer(stdout="\n".join(["REF TYPE DIGEST SIZE PLATFORMS LABELS", *lines])), "check": answer()}


def test_buildkit_builds_into_the_kubelets_namespace() -> None:
    image = built()
    change = must(image, **listing())
    assert [done.id for done in change.calls] == ["dockerfile", "build", "mark", "discard"]
    build = call(change, "build")
    assert "build-arg:BASE=r.io/n:1" in build.arguments
    assert build.arguments[-1] == f"type=image,name={PAUSE},unpack=true"
    assert build.long
    assert call(change, "discard").always
    label = call(change, "mark").arguments[-1]
    assert planned(image, **listing(f"{PAUSE} application/x {DIGEST} 1.0 MiB windows/amd64 {label}")) is None
    other = f"{PAUSE} application/x {DIGEST} 1.0 MiB windows/amd64 winkube.node.built-from=else"
    assert must(image, **listing(other)).before == {"built_from": "other sources"}


def test_docker_builds_and_finds_what_it_built_by_its_label() -> None:
    image = built(runtime="docker")
    row = '{"Repository":"registry.k8s.io/pause","Tag":"3.10.2","ID":"sha256:1","Digest":"<none>"}'
    marked = next(asked for asked in image.observe() if asked.id == "marked")
    assert any(word.startswith("label=winkube.node.built-from=") for word in marked.arguments)
    change = must(image, images=answer(stdout=row), marked=answer(stdout=""))
    assert call(change, "build").arguments[:3] == ("build", "--tag", PAUSE)
    assert planned(image, images=answer(stdout=row), marked=answer(stdout=row)) is None


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "pause"},
        {"name": f"registry.k8s.io/pause@{DIGEST}"},
        {"dockerfile": "RUN echo"},
        {"build_args": {"--squash": "x"}},
        {"runtime": "docker", "pinned": True},
        {"buildctl": "buildctl"},
    ],
)
def test_images_that_cannot_be_built_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        built(**properties)


@pytest.mark.parametrize(
    "more", [{"dockerfile": DOCKERFILE + "USER x\n"}, {"build_args": {"BASE": "r.io/n:2"}}, {"context": "C:\\c"}]
)
def test_another_source_is_another_image(more: dict[str, t.Any]) -> None:
    assert built(**more).source != built().source
    assert built(dockerfile=DOCKERFILE.replace("\n", "\r\n")).source == built().source


def test_sizes_of_images_that_every_node_has_are_not_queried() -> None:
    """Otherwise, the first run of each node would measure later, which takes three more remote commands."""
    names = ["registry.k8s.io/pause:3.10.2", "192.0.2.1:5000/k8s/pause:3.9", "quay.io/calico/node-windows:v3.31.5"]
    assert [found["likely_size"] > 10**8 for found in container_images.resources(names, {})] == [True] * 3
    others = ["r.example/app:1", "r.example/unpause:1", "r.example/node-windows:1", "pause.example/app:1"]
    assert not [found for found in container_images.resources(others, {}) if "likely_size" in found]
    (own,) = container_images.resources([{"name": "registry.k8s.io/pause:3.9", "likely_size": 7}], {})
    assert own["likely_size"] == 7
