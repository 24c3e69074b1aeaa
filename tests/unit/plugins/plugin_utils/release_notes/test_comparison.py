# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The differences between two releases."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.image_contents import CONTAINERD, CONTENTS, HOSTILE_CONTENTS, PAUSE, artifact

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import comparison
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.comparison import Difference, compare
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import (
    ImageContents,
    NotedDisk,
    NotedFeature,
    NotedFix,
    NotedUpdate,
)
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.page import comparison_page

FILE = "containerd 2.3.7 (containerd-2.3.7-windows-amd64.tar.gz)"
A, B, ONE, TWO = f"sha256:{64 * 'a'}", f"sha256:{64 * 'b'}", f"sha256:{64 * '1'}", f"sha256:{64 * '2'}"


def newer(**changes: t.Any) -> ImageContents:
    """Return the next release, with these changes."""
    return dataclasses.replace(CONTENTS, release="20261210.5e6f7a8b", **changes)


def test_when_and_where_an_image_was_built_is_no_difference() -> None:
    later = newer(host="other", time="2026-12-10T00:00:00Z", disk=NotedDisk(free=1, total=2))
    assert compare(CONTENTS, later) == ()


@pytest.mark.parametrize(
    ("changes", "section", "item", "before", "after"),
    [
        ({"windows": dataclasses.replace(CONTENTS.windows, build="20348.3000")},
         "Windows", "OS build", "20348.2849", "20348.3000"),
        ({"windows": dataclasses.replace(CONTENTS.windows, test_signing=True)},
         "Windows", "test signing", "off", "on"),
        ({"runtime": "docker"}, "Windows", "container runtime", "containerd", "docker"),
        ({"container_images": (dataclasses.replace(PAUSE, digest=B),)},
         "Container images", "registry.k8s.io/pause:3.10.2", f"{A} (300.0 kB)", f"{B} (300.0 kB)"),
        # The same version with other contents.
        ({"artifacts": (dataclasses.replace(CONTAINERD, sha256=64 * "2"),)}, "Cached artifacts", FILE, ONE, TWO),
        ({"services": (dataclasses.replace(CONTENTS.services[0], start_mode="Manual"),)},
         "Services", "containerd", "Automatic, Running", "Manual, Running"),
        ({"registry_fixes": (*CONTENTS.registry_fixes[:1], dataclasses.replace(CONTENTS.registry_fixes[1], actual=2),
                             *CONTENTS.registry_fixes[2:])},
         "Registry fixes", "HKLM:\\SYSTEM\\hns\\State\\B", "2: not set", "2: set"),
    ],
)  # fmt: skip
def test_what_is_changed(changes: dict[str, t.Any], section: str, item: str, before: str, after: str) -> None:
    expected = Difference(section=section, item=item, change="changed", before=before, after=after)
    assert compare(CONTENTS, newer(**changes)) == (expected,)


@pytest.mark.parametrize(
    ("changes", "section", "item", "after"),
    [
        ({"features": (*CONTENTS.features, NotedFeature(name="Hyper-V"))}, "Windows features", "Hyper-V", "Hyper-V"),
        ({"updates": (*CONTENTS.updates, NotedUpdate(id="KB1", description="Update"))},
         "Installed updates", "KB1", "Update"),
        ({"registry_fixes": (*CONTENTS.registry_fixes, NotedFix(path="HKLM:\\Z", value_name="D", expected=1))},
         "Registry fixes", "HKLM:\\Z\\D", "1: not set"),
        ({"artifacts": (CONTAINERD, dataclasses.replace(CONTAINERD, custom=True))},
         "Cached artifacts", f"{FILE[:-1]}, custom)", ONE),
    ],
)  # fmt: skip
def test_what_is_added_and_removed(changes: dict[str, t.Any], section: str, item: str, after: str) -> None:
    expected = Difference(section=section, item=item, change="added", after=after)
    assert compare(CONTENTS, newer(**changes)) == (expected,)
    gone = dataclasses.replace(expected, change="removed", before=after, after="")
    assert compare(newer(**changes), CONTENTS) == (gone,)


def test_a_new_version_is_added_and_the_old_one_removed() -> None:
    later = newer(artifacts=(artifact("containerd", "2.3.8", "containerd-2.3.8-windows-amd64.tar.gz"),))
    assert [(one.change, one.item[:16]) for one in compare(CONTENTS, later)] == [
        ("removed", "containerd 2.3.7"),
        ("added", "containerd 2.3.8"),
    ]


def test_the_table_and_the_total() -> None:
    later = newer(container_images=(dataclasses.replace(PAUSE, digest=B),), features=())
    found = compare(CONTENTS, later)
    assert comparison.table(found) == [
        "SECTION           CHANGE   ITEM                          BEFORE                          AFTER",
        (
            "Container images  changed  registry.k8s.io/pause:3.10.2  sha256:aaaaaaaaaaaa (300.0 kB)  "
            "sha256:bbbbbbbbbbbb (300.0 kB)"
        ),
        "Windows features  removed  Containers                    Containers",
    ]
    assert comparison.counts(found) == {"added": 0, "removed": 1, "changed": 1}
    releases = "20261126.1a2b3c4d (builder) and 20261210.5e6f7a8b (builder)"
    assert comparison.total(CONTENTS, later, found) == f"{releases}: 0 added, 1 removed, 1 changed"


def test_the_page() -> None:
    later = newer(features=())
    page = comparison_page(CONTENTS, later, compare(CONTENTS, later))
    assert "<h1>Changes from 20261126.1a2b3c4d to 20261210.5e6f7a8b</h1>" in page
    assert '<td class="bad">removed</td><td><code>Containers</code></td><td>Containers</td><td>–</td>' in page
    assert "same contents" not in page
    assert "Both releases have the same contents." in comparison_page(CONTENTS, newer(), ())


def test_texts_of_a_release_are_escaped_on_the_page() -> None:
    page = comparison_page(CONTENTS, HOSTILE_CONTENTS, compare(CONTENTS, HOSTILE_CONTENTS))
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
