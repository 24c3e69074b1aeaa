# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Publishing a release in Azure: which options are accepted, and what follows from them."""

from __future__ import annotations

import dataclasses
import types
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.action import image_publication
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.publication import Publication
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

RELEASE = "20261126.1a2b3c4d"
VHD = {"resource_group": "images", "storage_account": "built1", "container": "vhds", "blob": "a/node-1.vhd"}
COPY = {"resource_group": "public", "storage_account": "public1", "container": "vhds"}
IMAGE = {"resource_group": "images", "name": "winkube-2022"}
GALLERY = {"resource_group": "public", "gallery": "nodes", "definition": "windows-2022", "location": "westeurope"}


def options(**more: t.Any) -> dict[str, t.Any]:
    empty: dict[str, t.Any] = {"vhd": {}, "managed_image": {}, "copy": {}, "gallery": {}}
    return {"release": RELEASE, "number": 2, **empty, "endpoint_suffix": "core.windows.net", **more}


def test_a_copy_of_a_vhd_is_published() -> None:
    publication = Publication.of(
        options(vhd=VHD, copy=COPY, gallery=GALLERY | {"regions": ["northeurope", "westeurope"]})
    )
    copied = "https://public1.blob.core.windows.net/vhds/node-1.vhd"
    assert publication.steps() == [
        f"copy https://built1.blob.core.windows.net/vhds/a/node-1.vhd to {copied}",
        f"publish {copied} as version 2026.1126.2 of nodes/windows-2022 in westeurope, northeurope",
    ]
    result = publication.to_result()
    assert result["target"] == COPY | {"blob": "node-1.vhd"}
    assert (result["gallery_version"], result["tags"]) == ("2026.1126.2", {"release": RELEASE})
    source = {"resource_group": "public", "storage_account": "public1", "uri": copied}
    assert result["storage_profile"] == {"os_disk": {"source": source}}
    regions = result["publishing_profile"]["target_regions"]
    assert [region["name"] for region in regions] == ["westeurope", "northeurope"]
    assert {region["regional_replica_count"] for region in regions} == {1}


@pytest.mark.parametrize(
    ("given", "profile", "steps"),
    [
        ({"managed_image": IMAGE, "gallery": GALLERY}, {"source_image": IMAGE}, 1),
        (
            {"vhd": VHD, "gallery": GALLERY, "endpoint_suffix": "core.chinacloudapi.cn"},
            {
                "os_disk": {
                    "source": {
                        "resource_group": "images",
                        "storage_account": "built1",
                        "uri": "https://built1.blob.core.chinacloudapi.cn/vhds/a/node-1.vhd",
                    }
                }
            },
            1,
        ),
    ],
)
def test_other_sources_of_a_version(given: dict[str, t.Any], profile: dict[str, t.Any], steps: int) -> None:
    publication = Publication.of(options(**given))
    assert publication.to_result()["storage_profile"] == profile
    assert publication.to_result()["target"] is None
    assert len(publication.steps()) == steps


def test_a_copy_alone_publishes_no_version() -> None:
    publication = Publication.of(options(vhd=VHD, copy=COPY))
    assert publication.to_result()["gallery"] is None
    assert publication.to_result()["publishing_profile"] is None
    assert len(publication.steps()) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"release": "20261126", "vhd": VHD, "copy": COPY}, r"publish_image_release: expected YYYYMMDD\.commithash"),
        ({"vhd": VHD, "gallery": GALLERY, "number": -1}, "number: expected 0 to"),
        ({"gallery": GALLERY}, "expected either publish_image_vhd or publish_image_managed_image, got neither"),
        ({"vhd": VHD, "managed_image": IMAGE, "gallery": GALLERY}, "publish_image_managed_image, got both"),
        ({"vhd": VHD}, "publish_image_gallery: expected publish_image_gallery, publish_image_copy, or both"),
        ({"managed_image": IMAGE, "copy": COPY, "gallery": GALLERY}, "because only a VHD can be copied"),
        ({"vhd": VHD, "copy": {**VHD}}, "publish_image_copy: expected a blob that differs from publish_image_vhd"),
        ({"vhd": {**VHD, "blob": ""}, "copy": COPY}, r"publish_image_vhd\.blob: expected the name of a blob that ends"),
        ({"vhd": {**VHD, "blob": "a.vhd?sig=x"}, "copy": COPY}, r"publish_image_vhd\.blob"),
        (
            {"vhd": {**VHD, "storage_account": "Built-1"}, "copy": COPY},
            r"publish_image_vhd\.storage_account: expected 3",
        ),
        ({"vhd": VHD, "copy": {**COPY, "container": "a--b"}}, r"publish_image_copy\.container: expected 3 to 63"),
        (
            {"vhd": VHD, "copy": {**COPY, "container": f"{'a-' * 32}a"}},
            r"publish_image_copy\.container: expected 3 to 63",
        ),
        ({"vhd": {**VHD, "account": "x"}, "copy": COPY}, r"publish_image_vhd"),
        (
            {"managed_image": IMAGE, "gallery": {**GALLERY, "location": "West Europe"}},
            r"publish_image_gallery\.location",
        ),
        ({"managed_image": IMAGE, "gallery": {**GALLERY, "replicas": 0}}, r"publish_image_gallery\.replicas"),
        ({"managed_image": {"name": "x"}, "gallery": GALLERY}, r"publish_image_managed_image\.?.*resource_group"),
        ({"vhd": VHD, "copy": COPY, "endpoint_suffix": "x/y"}, "publish_image_endpoint_suffix: expected a domain"),
    ],
)
def test_a_mistake_is_refused_by_the_name_of_its_variable(given: dict[str, t.Any], message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        Publication.of(options(**given))


@pytest.mark.parametrize(
    "names",
    [
        {"container": "a-b"},
        {"container": f"{'a-' * 31}a"},
        {"resource_group": "a"},
        {"resource_group": "a" * 90},
        {"storage_account": "abc"},
    ],
)
def test_the_shortest_and_the_longest_names(names: dict[str, str]) -> None:
    publication = Publication.of(options(vhd=VHD, copy={**COPY, **names}))
    assert publication.copy is not None
    assert names.items() <= dataclasses.asdict(publication.copy).items()


class Planned(image_publication.ActionModule):  # type: ignore[misc]  # ansible ships no type information
    """The action without a task."""

    def __init__(self, *, check_mode: bool) -> None:
        self._task = types.SimpleNamespace(check_mode=check_mode)


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_missing_collection_is_named_unless_only_the_steps_are_shown(
    monkeypatch: pytest.MonkeyPatch, check_mode: bool
) -> None:
    loader = types.SimpleNamespace(find_plugin_with_context=lambda _name: types.SimpleNamespace(resolved=False))
    monkeypatch.setattr(image_publication, "module_loader", loader)
    shown: list[str] = []
    monkeypatch.setattr(image_publication, "show", shown.append)
    result = Planned(check_mode=check_mode).perform(options(vhd=VHD, copy=COPY), {})
    assert result.get("failed", False) == (not check_mode)
    if check_mode:
        assert shown == [f"release {RELEASE}:", f"- {result['steps'][0]}"]
    else:
        assert "Install the collection azure.azcollection" in result["msg"]
