# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""OCI images in containerd's store."""

from __future__ import annotations

import typing as t

import pytest
from unit.resource_answers import NO_COMMAND, answer, call, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.resources._base import ResourceError

PAUSE = "registry.k8s.io/pause:3.10.2"
DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
# As `ctr -n k8s.io images list` prints it.
HEAD = "REF TYPE DIGEST SIZE PLATFORMS LABELS"


def line(reference: str = PAUSE, digest: str = DIGEST, labels: str = "io.cri-containerd.image=managed") -> str:
    kind = "application/vnd.docker.distribution.manifest.list.v2+json"
    return f"{reference} {kind} {digest} 98.3 MiB linux/amd64,windows/amd64 {labels}"


def seen(*lines: str) -> t.Any:
    return answer(stdout="\n".join([HEAD, *lines]) + "\n", exit_code=0)


def image(**more: t.Any) -> t.Any:
    return one(**{"type": "ContainerImage", "name": PAUSE, **more})


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ({}, [line()]),
        ({"digest": DIGEST}, [line()]),
        ({"pinned": True}, [line(labels="io.cri-containerd.image=managed,io.cri-containerd.pinned=pinned")]),
        ({"aliases": ["mirror.local/pause:3"]}, [line("mirror.local/pause:3"), line()]),
        ({"state": "absent"}, [line("registry.k8s.io/pause:3.10")]),
        ({"state": "absent"}, []),
    ],
)
def test_as_wanted(wanted: dict[str, t.Any], lines: list[str]) -> None:
    assert planned(image(**wanted), images=seen(*lines)) is None


@pytest.mark.parametrize("nothing", [seen(), NO_COMMAND, failure("FromStdErr", "NativeCommandError", "no such pipe")])
def test_a_pull(nothing: t.Any) -> None:
    wanted = image(
        hosts_dir="C:\\certs.d", environment={"HTTPS_PROXY": "http://p"}, pinned=True, aliases=["m.local/pause:3"]
    )
    change = must(wanted, images=nothing)
    pull = call(change, "pull")
    assert pull.arguments == ("-n", "k8s.io", "images", "pull", "--hosts-dir", "C:\\certs.d", PAUSE)
    assert pull.environment == {"HTTPS_PROXY": "http://p"}
    assert pull.long
    assert call(change, "aliases").arguments[2:] == ("images", "tag", "--force", PAUSE, "m.local/pause:3")
    assert call(change, "pin").arguments[2:] == ("images", "label", PAUSE, "io.cri-containerd.pinned=pinned")


def test_a_digest_is_pulled_as_such_and_then_gets_its_tag() -> None:
    change = must(image(digest=OTHER), images=seen(line()))
    assert change.why == f"digest is {DIGEST}, wanted {OTHER}"
    assert call(change, "pull").arguments[-1] == f"registry.k8s.io/pause@{OTHER}"
    assert call(change, "tag").arguments[-3:] == ("--force", f"registry.k8s.io/pause@{OTHER}", PAUSE)


def test_only_an_alias_or_the_pin_is_missing() -> None:
    wanted = image(aliases=["mirror.local/pause:3"], pinned=True)
    change = must(wanted, images=seen(line(), line("mirror.local/pause:3", OTHER)))
    assert [call.id for call in change.calls] == ["aliases", "pin"]


def test_removal() -> None:
    change = must(image(state="absent", aliases=["m.local/pause:3"]), images=seen(line()))
    assert change.calls[0].arguments == ("-n", "k8s.io", "images", "remove", PAUSE)


def test_all_images_ask_the_same_question() -> None:
    assert image().observe() == image(name="mcr.microsoft.com/windows/nanoserver:ltsc2022", pinned=True).observe()


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "pause:3.10"},
        {"name": "library/busybox:1"},
        {"name": "registry.k8s.io/pause"},
        {"name": "https://registry.k8s.io/pause:3"},
        {"name": "registry.k8s.io/pause:3 --all"},
        {"digest": "sha256:abc"},
        {"aliases": ["x"]},
        {"ctr": "C:\\ctr"},
    ],
)
def test_what_cannot_be_is_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        image(**properties)


@pytest.mark.parametrize("name", ["localhost:5000/a/b:1", "mcr.microsoft.com/oss/kubernetes/pause@" + DIGEST])
def test_whole_references(name: str) -> None:
    assert call(must(image(name=name), images=seen()), "pull").arguments[-1] == name
