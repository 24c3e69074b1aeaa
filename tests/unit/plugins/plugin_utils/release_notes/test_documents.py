# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Release notes as Markdown, as a page, and as a CycloneDX document that scanners can read."""

from __future__ import annotations

import dataclasses
import datetime
import html.parser
import json
import re
import shutil
import subprocess
import typing as t
import uuid
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest
import sbom_schema
from packageurl import PackageURL
from unit.image_contents import CONTENTS, HOSTILE_CONTENTS, PAUSE, artifact

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import components, sbom
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import ImageContents, NotedImage
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.markdown import code, markdown
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.page import notes_page
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.sections import shown_size, summary

WRITTEN = datetime.datetime(2026, 11, 26, 1, 2, 3, tzinfo=datetime.UTC)
SERIAL = uuid.UUID("00000000-0000-4000-8000-000000000000")


def document(contents: ImageContents) -> dict[str, t.Any]:
    """Return the bill of materials, after validating it against CycloneDX' schema."""
    text = sbom.sbom(contents, serial=SERIAL, written=WRITTEN)
    assert sbom_schema.objection(text) is None
    return t.cast("dict[str, t.Any]", json.loads(text))


def by_name(bom: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    return {one["name"]: one for one in bom["components"]}


def test_the_markdown_document() -> None:
    text = markdown(CONTENTS)
    assert text.startswith("# Release notes of the image `20261126.1a2b3c4d`\n\n| what | value |\n| --- | --- |\n")
    for line in (
        "| OS build | `20348.2849 (21H2)` |",
        "| Registry fixes | `1 of 3 set` |",
        "| Free disk space | `14.2 GB of 32.0 GB` |",
        "## Container images (1)",
        f"| `registry.k8s.io/pause:3.10.2` | `sha256:{64 * 'a'}` | `300.0 kB` |",
        (
            f"| `containerd` | `2.3.7` | `containerd-2.3.7-windows-amd64.tar.gz` | `{64 * '1'}` | `34.5 MB` | "
            "`http://mirror.example/c` | `yes` |"
        ),
        "| `KB5046616` | `Security Update` | `2024-11-13` |",
        "| `containerd` | `Automatic` | `Running` |",
        "| `HKLM:\\SYSTEM\\hns\\State\\B` | `2` | `not set` | – |",
        "| `HKLM:\\SYSTEM\\hns\\State\\C` | `3` | `set to 0` | – |",
    ):
        assert line in text.splitlines()
    empty = markdown(dataclasses.replace(CONTENTS, container_images=()))
    assert "## Container images (0)\n\nNone.\n" in empty


def test_texts_of_the_machine_are_code_in_markdown() -> None:
    text = markdown(HOSTILE_CONTENTS)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    for line in (line for line in text.splitlines() if "evil.example" in line):
        # Each cell is one code span, and the text adds no cell.
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        assert all(re.fullmatch(r"`[^`]+`|–|[A-Z][\w ]+", cell) for cell in cells), line
        assert len(cells) in (2, 3, 4, 7)
    assert code(" \n ") == "–"


class Elements(html.parser.HTMLParser):
    """Collects the elements, attributes and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def elements(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    return parser


def test_the_page_shows_everything() -> None:
    texts = elements(notes_page(CONTENTS)).texts
    for text in (
        *("Release notes of the image 20261126.1a2b3c4d", "20348.2849 (21H2)", "14.2 GB of 32.0 GB", "Server Core"),
        *("registry.k8s.io/pause:3.10.2", f"sha256:{64 * 'a'}", "300.0 kB", 64 * "1", "34.5 MB", "KB5046616"),
        *("Automatic", "Running", "HKLM:\\SYSTEM\\hns\\State\\C", "set to 0", "a fix"),
    ):
        assert text in texts


def test_texts_of_the_machine_add_nothing_to_the_page() -> None:
    plain, hostile = elements(notes_page(CONTENTS)), elements(notes_page(HOSTILE_CONTENTS))
    assert (hostile.names - {"span"}, hostile.attributes) == (plain.names - {"span"}, plain.attributes)
    assert "script" not in hostile.names
    assert not re.search(r"[\x1b\x07\u202e]", notes_page(HOSTILE_CONTENTS))


def test_the_line_for_the_terminal() -> None:
    counts = "1 feature, 1 update, 1 artifact, 1 container image, 14.2 GB free"
    assert summary(CONTENTS) == f"Windows Server 2022 Datacenter 20348.2849, {counts}"


@pytest.mark.parametrize(
    ("size", "text"),
    [(None, "unknown"), (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (298_400_000, "298.4 MB"), (10**15, "1000.0 TB")],
)
def test_sizes(size: int | None, text: str) -> None:
    assert shown_size(size) == text


def test_the_bill_of_materials() -> None:
    bom = document(CONTENTS)
    assert (bom["specVersion"], bom["serialNumber"]) == ("1.5", f"urn:uuid:{SERIAL}")
    assert bom["metadata"]["timestamp"] == "2026-11-26T01:02:03+00:00"
    image = bom["metadata"]["component"]
    # Trivy fails if the image is an operating system, too.
    assert (image["name"], image["version"], image["type"]) == ("builder", "20261126.1a2b3c4d", "platform")
    known = by_name(bom)
    windows = known["Windows Server 2022 Datacenter"]
    assert (windows["type"], windows["version"]) == ("operating-system", "10.0.20348.2849")
    assert windows["cpe"] == "cpe:2.3:o:microsoft:windows_server_2022:10.0.20348.2849:*:*:*:*:*:x64:*"
    assert windows["purl"] == "pkg:generic/microsoft/windows_server_2022@10.0.20348.2849"
    assert {"name": "winkube:update", "value": "KB5046616"} in windows["properties"]
    containerd = known["containerd"]
    assert (containerd["type"], containerd["version"]) == ("application", "2.3.7")
    assert containerd["purl"] == "pkg:github/containerd/containerd@v2.3.7"
    assert containerd["hashes"] == [{"alg": "SHA-256", "content": 64 * "1"}]
    released = "https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz"
    assert containerd["externalReferences"] == [{"type": "distribution", "url": released}]
    assert {"name": "winkube:source", "value": "http://mirror.example/c"} in containerd["properties"]
    module = known["github.com/containerd/containerd/v2"]
    assert (module["type"], module["purl"]) == ("library", "pkg:golang/github.com/containerd/containerd/v2@v2.3.7")
    pause = known["registry.k8s.io/pause:3.10.2"]
    assert (pause["type"], pause["version"]) == ("container", PAUSE.digest)
    assert PackageURL.from_string(pause["purl"]) == PackageURL(
        "oci",
        None,
        "pause",
        PAUSE.digest,
        {"repository_url": "registry.k8s.io/pause", "tag": "3.10.2", "arch": "amd64"},
    )


def test_the_image_depends_on_everything() -> None:
    bom = document(CONTENTS)
    references = {one["bom-ref"] for one in bom["components"]}
    assert len(references) == len(bom["components"]) == 4
    depends = {one["ref"]: set(one.get("dependsOn", ())) for one in bom["dependencies"]}
    (module,) = (one["bom-ref"] for one in bom["components"] if one["type"] == "library")
    (containerd,) = (one["bom-ref"] for one in bom["components"] if one["type"] == "application")
    assert depends["image"] == references - {module}
    assert depends[containerd] == {module}


def test_every_component_has_a_package_url_and_one_is_windows() -> None:
    for contents in (CONTENTS, HOSTILE_CONTENTS):
        all_components = document(contents)["components"]
        assert [one["type"] for one in all_components].count("operating-system") == 1
        for one in all_components:
            assert PackageURL.from_string(one["purl"]).name


@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.example(kind="", version="", source="", name="\x1f", kb="")
@hypothesis.example(kind="/ \x1d", version="", source="", name="/ /", kb="")
@hypothesis.given(
    *[st.one_of(st.text(max_size=8), st.sampled_from(["", "/", "%zz", "https://a.example/%zz", "a@b?c#d"]))] * 5
)
def test_any_text_of_the_machine_gives_a_valid_document(
    kind: str, version: str, source: str, name: str, kb: str
) -> None:
    image = NotedImage(names=(name,), digest=version)
    update = dataclasses.replace(CONTENTS.updates[0], id=kb)
    artifacts = (
        artifact(kind, version, "a.zip", source=source, custom=True),
        artifact("containerd", version, "b", source=source),
    )
    for one in document(
        dataclasses.replace(CONTENTS, artifacts=artifacts, container_images=(image,), updates=(update,))
    )["components"]:
        PackageURL.from_string(one["purl"])


@pytest.mark.skipif(shutil.which("syft") is None, reason="syft is not installed")
def test_syft_reads_every_program_and_windows(tmp_path: Path) -> None:
    """Grype reads documents with the same code (anchore/grype grype/pkg/syft_sbom_provider.go)."""
    kinds = [("kubernetes", "1.36.3"), ("containerd", "1.7.30"), ("moby", "28.5.1"), ("nssm", "2.24"), ("mine", "1")]
    contents = dataclasses.replace(CONTENTS, artifacts=tuple(artifact(*kind, "a.zip") for kind in kinds))
    bom = document(contents)
    (tmp_path / "image.cdx.json").write_text(json.dumps(bom), encoding="utf-8")
    command = ["syft", "convert", str(tmp_path / "image.cdx.json"), "-o", "syft-json", "--quiet"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    # Syft lists no containers.
    expected = {one["purl"]: one["type"] for one in bom["components"] if one["type"] in ("application", "library")}
    assert {PackageURL.from_string(one["purl"]) for one in found["artifacts"]} == {
        *map(PackageURL.from_string, expected)
    }
    modules = {one["name"] for one in found["artifacts"] if one["type"] == "go-module"}
    assert modules == {"k8s.io/kubernetes", "github.com/containerd/containerd", "github.com/docker/docker"}
    (windows,) = (one for one in bom["components"] if one["type"] == "operating-system")
    assert found["distro"]["cpeName"] == windows["cpe"]


def test_a_custom_file_is_not_the_official_release() -> None:
    own = artifact("containerd", "2.3.7", "c.zip", custom=True, source="https://a.example/c.zip")
    bom = document(dataclasses.replace(CONTENTS, artifacts=(own,)))
    assert [one["type"] for one in bom["components"]].count("library") == 0
    checksum = f"sha256:{64 * '1'}"
    assert PackageURL.from_string(by_name(bom)["containerd"]["purl"]) == PackageURL(
        "generic", None, "containerd", "2.3.7", {"checksum": checksum, "download_url": "https://a.example/c.zip"}
    )


@pytest.mark.parametrize(
    ("kind", "version", "package", "module"),
    [
        ("kubernetes", "1.36.3", "pkg:generic/kubernetes@1.36.3", "pkg:golang/k8s.io/kubernetes@v1.36.3"),
        ("containerd", "1.7.30", "pkg:github/containerd/containerd@v1.7.30",
         "pkg:golang/github.com/containerd/containerd@v1.7.30"),
        ("moby", "28.5.1", "pkg:generic/moby@28.5.1", "pkg:golang/github.com/docker/docker@v28.5.1+incompatible"),
        ("moby", "29.7.2", "pkg:generic/moby@29.7.2", ""),
        ("cloudbase-init", "1.1.6", "pkg:github/cloudbase/cloudbase-init@1.1.6", ""),
        ("cri-dockerd", "0.3.20", "pkg:github/mirantis/cri-dockerd@v0.3.20",
         "pkg:golang/github.com/mirantis/cri-dockerd@v0.3.20"),
        ("hns-debug-scripts", "abc123", "pkg:github/microsoft/sdn@abc123", ""),
        ("mine", "1", "pkg:generic/mine@1", ""),
        ("containerd", "", "pkg:generic/containerd", ""),
    ],
)  # fmt: skip
def test_package_urls_of_artifacts(kind: str, version: str, package: str, module: str) -> None:
    bom = document(dataclasses.replace(CONTENTS, artifacts=(artifact(kind, version, "a.zip"),), container_images=()))
    dummy, *artifacts = sorted(bom["components"], key=lambda one: one["type"] != "operating-system")
    urls = {one["type"]: one["purl"].partition("?")[0].replace("%2B", "+") for one in artifacts}
    assert urls == {"application": package, **({"library": module} if module else {})}


@pytest.mark.parametrize(
    ("names", "digest", "package"),
    [
        (("docker.io/library/app:1", "registry.example:5000/App:1"), "",
         "pkg:oci/app?arch=amd64&repository_url=docker.io/library/app&tag=1"),
        ((f"mcr.microsoft.com/windows/nanoserver@sha256:{64 * 'b'}",), f"sha256:{64 * 'b'}",
         f"pkg:oci/nanoserver@sha256:{64 * 'b'}?arch=amd64&repository_url=mcr.microsoft.com/windows/nanoserver"),
        ((f"sha256:{64 * 'c'}",), "", f"pkg:oci/sha256:{64 * 'c'}?arch=amd64"),
    ],
)  # fmt: skip
def test_package_urls_of_container_images(names: tuple[str, ...], digest: str, package: str) -> None:
    image = NotedImage(names=names, digest=digest)
    bom = document(dataclasses.replace(CONTENTS, container_images=(image,)))
    (found,) = (one for one in bom["components"] if one["type"] == "container")
    assert PackageURL.from_string(found["purl"]) == PackageURL.from_string(package)


def test_each_module_belongs_to_a_kind() -> None:
    assert components._go_modules().keys() <= components.catalogue().keys()


def test_a_missing_library_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sbom.missing_library() == ""
    monkeypatch.setattr(sbom.importlib.util, "find_spec", lambda _name: None)
    assert f"python3 -m pip install '{sbom.REQUIREMENT}'" in sbom.missing_library()
