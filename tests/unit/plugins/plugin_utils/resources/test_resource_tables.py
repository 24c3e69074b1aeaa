# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Invalid properties of resources, with their complete messages; and plans that other tests do not cover."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from unit import outcomes
from unit.resource_answers import MISSING, answer, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.resources import TYPES
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

PAUSE = "registry.k8s.io/pause:3.10.2"
A, B = (f"sha256:{64 * letter}" for letter in "ab")


def test_properties_that_cannot_be() -> None:
    listed = yaml.safe_load(Path(__file__).with_name("refused.yml").read_text(encoding="utf-8"))
    assert set(listed) <= set(TYPES)
    found: dict[str, list[str]] = {}
    for type_, each in listed.items():
        for properties in each:
            with pytest.raises(ResourceError) as refused:
                load([{"type": type_, **properties}])
            found.setdefault(type_, []).append(str(refused.value))
    outcomes.check("resources/refused", found)


def files(*names: str) -> t.Any:
    return answer(*({"FullName": name} for name in names))


def test_unlisted_versions() -> None:
    cache = one(
        type="ArtifactCache", name="C:\\cache\\", keep=["c:\\CACHE\\a\\1\\x.zip", "C:\\cache\\b\\custom\\k\\x.zip"]
    )
    assert planned(cache, files=MISSING) is None
    assert (
        planned(cache, files=files("C:\\cache\\A\\1\\x.zip", "C:\\cache\\a\\1\\x.zip.checksum", "C:\\cache\\note.txt"))
        is None
    )
    unlisted = ("a\\2\\x.zip", "a\\2\\y\\z", "b\\custom\\l\\x")
    others = ("b\\Custom\\k\\x", "b\\custom\\loose", "loose\\x")
    must(cache, files=files(*(f"C:\\cache\\{name}" for name in (*unlisted, *others)), "C:\\other\\a\\3\\x"))
    with pytest.raises(ResourceError):
        planned(cache, files=failure("PermissionDenied", "x"))
    joined = cache.joined(one(type="ArtifactCache", name="C:\\cache\\", keep=["C:\\cache\\c\\1\\x", cache.keep[0]]))
    assert joined.keep == (*cache.keep, "C:\\cache\\c\\1\\x")


def ctr(*lines: str) -> t.Any:
    return answer(stdout="\n".join(["REF TYPE DIGEST SIZE PLATFORMS LABELS", *lines]))


def test_unused_images() -> None:
    unused = one(type="UnusedContainerImages", name="containerd", keep=[PAUSE])
    listed = ctr(
        f"{PAUSE} x {A} 1 MiB - -",
        f"r.example/same:1 x {A} 1 MiB - -",
        f"r.example/old:1 x {B} 1 MiB - -",
        f"r.example/old:2 x {B} 1 MiB - -",
        f"r.example/pinned:1 x sha256:{64 * 'c'} 1 MiB - io.cri-containerd.pinned=pinned",
        f"r.example/used:1 x sha256:{64 * 'd'} 1 MiB - -",
    )
    used = {"containers": ctr("x r.example/used:1 y"), "ps": answer(stdout="{}")}
    must(unused, images=listed, check=answer(), **used)
    assert planned(unused, images=answer(), check=answer(), **used) is None
    assert planned(unused, images=ctr(f"{PAUSE} x {A} 1 MiB - -"), check=answer(), **used) is None
    with pytest.raises(ResourceError, match="the images that containers use are unknown"):
        planned(unused, images=listed, check=answer(), containers=failure("x", "y"), ps=answer(stdout="{}"))


def clock(**values: t.Any) -> t.Any:
    return answer(*({"name": name, "value": value} for name, value in values.items()))


@pytest.mark.parametrize("kind", ["NTP", "NT5DS", "AllSync", "NoSync", ""])
@pytest.mark.parametrize("requested", ["manual", "domain", "all"])
def test_the_source_of_time_is_compared(kind: str, requested: str) -> None:
    peers = [] if requested == "domain" else [" B.example,0x1 ", "a.example"]
    time = one(type="W32Time", name="clock", peers=peers, sync_type=requested)
    planned(time, parameters=clock(Type=kind or None, NtpServer="a.example,0x8 b.example,0x1"))
    planned(time, parameters=clock(NtpServer=None))


OWN = "10.0.0.9 files\r\n"
BLOCK = "# winkube.node: begin\r\n10.0.0.1 a\r\n# winkube.node: end\r\n"


@pytest.mark.parametrize(
    "content",
    [None, "", OWN, BLOCK + OWN, OWN + BLOCK, OWN + BLOCK.replace("10.0.0.1", "10.0.0.2") + OWN, BLOCK.rstrip()],
    ids=["none", "empty", "own lines", "block first", "block last", "another address", "no line end"],
)
@pytest.mark.parametrize(
    "entries", [{"a": "10.0.0.1"}, {"b": "fd00::1", "a": "10.0.0.1"}, {}], ids=["one", "two", "none"]
)
def test_lines_of_the_hosts_file(content: str | None, entries: dict[str, str]) -> None:
    planned(one(type="HostsFile", entries=entries), hosts=answer({"content": content, "size": len(content or "")}))


def test_a_hosts_file_that_cannot_be_kept() -> None:
    requested = one(type="HostsFile", entries={"a": "10.0.0.1"})
    assert must(requested, hosts=answer({"content": OWN, "size": 65536})).calls
    for content, size in ((OWN, 65537), ("\N{REPLACEMENT CHARACTER}", 1)):
        with pytest.raises(ResourceError):
            planned(requested, hosts=answer({"content": content, "size": size}))
