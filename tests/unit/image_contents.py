# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Release notes for tests: an image with one of everything, and hostile texts."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import (
    ImageContents,
    NotedArtifact,
    NotedDisk,
    NotedFeature,
    NotedFix,
    NotedImage,
    NotedService,
    NotedUpdate,
    NotedWindows,
)

CACHE = "C:\\ProgramData\\winkube\\cache"
PAUSE = NotedImage(names=("registry.k8s.io/pause:3.10.2",), digest=f"sha256:{64 * 'a'}", size=300_000)
HOSTILE = "<script>alert(1)</script> | ` **bold** [x](http://evil.example) \x1b]0;owned\x07\nnext \u202e line"
"""A text that tries to be HTML, Markdown, a command for the terminal, and two lines."""


def artifact(kind: str, version: str, file: str, **more: t.Any) -> NotedArtifact:
    """Return an artifact that was verified.

    Args:
        kind: its kind.
        version: its version.
        file: the name of its file.
        more: other fields.
    """
    usual = {"path": f"{CACHE}\\{kind}\\{version}\\{file}", "sha256": 64 * "1", "size": 34_500_000, "verified": True}
    return NotedArtifact(**{"kind": kind, "version": version, **usual, **more})


CONTAINERD = artifact("containerd", "2.3.7", "containerd-2.3.7-windows-amd64.tar.gz", source="http://mirror.example/c")
CONTENTS = ImageContents(
    release="20261126.1a2b3c4d",
    host="builder",
    time="2026-11-26T01:02:03Z",
    windows=NotedWindows(
        product="Windows Server 2022 Datacenter",
        version="2022",
        build="20348.2849",
        edition="ServerDatacenter",
        installation="Server Core",
        display_version="21H2",
        secure_boot=True,
    ),
    features=(NotedFeature(name="Containers", display_name="Containers"),),
    updates=(NotedUpdate(id="KB5046616", description="Security Update", installed_on="2024-11-13"),),
    services=(NotedService(name="containerd", state="Running", start_mode="Automatic"),),
    registry_fixes=(
        NotedFix(path="HKLM:\\SYSTEM\\hns\\State", value_name="A", expected=1, actual=1, why="a fix"),
        NotedFix(path="HKLM:\\SYSTEM\\hns\\State", value_name="B", expected=2),
        NotedFix(path="HKLM:\\SYSTEM\\hns\\State", value_name="C", expected=3, actual=0),
    ),
    runtime="containerd",
    artifacts=(CONTAINERD,),
    container_images=(PAUSE,),
    disk=NotedDisk(free=14_200_000_000, total=32_000_000_000),
)
"""The contents of an image."""
HOSTILE_CONTENTS = dataclasses.replace(
    CONTENTS,
    windows=dataclasses.replace(CONTENTS.windows, product=HOSTILE, build=HOSTILE, edition=HOSTILE),
    features=(NotedFeature(name=HOSTILE, display_name=HOSTILE),),
    updates=(NotedUpdate(id=HOSTILE, description=HOSTILE, installed_on=HOSTILE),),
    services=(NotedService(name=HOSTILE, state=HOSTILE, start_mode=HOSTILE),),
    registry_fixes=(NotedFix(path="HKLM:\\A", value_name="B", expected=1, actual=HOSTILE),),
    artifacts=(
        artifact(HOSTILE, HOSTILE, "a.zip", sha256=HOSTILE, source=HOSTILE),
        artifact("kubernetes", HOSTILE, HOSTILE, source='https://a.example/?q="><b>', custom=True),
    ),
    container_images=(NotedImage(names=(HOSTILE,), digest="", size=None),),
)
"""The contents that a compromised machine may report."""
