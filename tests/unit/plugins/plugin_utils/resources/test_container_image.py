# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""OCI images in containerd's and in Docker's store."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import NO_COMMAND, SERVER_2022, answer, call, failure, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.archives import ImageArchive, supported_archive
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult

PAUSE = "registry.k8s.io/pause:3.10.2"
DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
PIN = "io.cri-containerd.pinned=pinned"
ENDPOINT = "npipe:////./pipe/containerd-containerd"
# The output of `ctr -n k8s.io images list` and `images check`.
HEAD = "REF TYPE DIGEST SIZE PLATFORMS LABELS"
CHECK_HEAD = "REF TYPE DIGEST STATUS SIZE UNPACKED"
KIND = "application/vnd.docker.distribution.manifest.list.v2+json"


def line(reference: str = PAUSE, digest: str = DIGEST, labels: str = "io.cri-containerd.image=managed") -> str:
    return f"{reference} {KIND} {digest} 98.3 MiB linux/amd64,windows/amd64 {labels}"


def seen(*lines: str, cut: tuple[str, ...] = ()) -> dict[str, CallResult]:
    """Return containerd's results: its names, and which of them are not unpacked."""
    names = [text.split()[0] for text in lines]
    checked = [
        f"{name} {KIND} {DIGEST} complete (5/5) 98.3 MiB/98.3 MiB {'false' if name in cut else 'true'}"
        for name in names
    ]
    return {
        "images": answer(stdout="\n".join([HEAD, *lines]) + "\n", exit_code=0),
        "check": answer(stdout="\n".join([CHECK_HEAD, *checked]) + "\n", exit_code=0),
    }


def silent(result: t.Any) -> dict[str, CallResult]:
    return {"images": result, "check": result}


def row(name: str = PAUSE, identity: str = DIGEST, digest: str = "<none>", size: str = "292MB") -> str:
    """Return one line of `docker image ls --format {{json .}}`."""
    repository, dummy, tag = name.rpartition(":")
    return json.dumps({"Repository": repository, "Tag": tag, "ID": identity, "Digest": digest, "Size": size})


def docker_seen(*rows: str) -> dict[str, CallResult]:
    return {"images": answer(stdout="".join(f"{text}\n" for text in rows), exit_code=0)}


def image(**more: t.Any) -> t.Any:
    return one(**{"type": "ContainerImage", "name": PAUSE, **more})


def docker(**more: t.Any) -> t.Any:
    return image(runtime="docker", **more)


@pytest.mark.parametrize(
    ("requested", "lines"),
    [
        ({}, [line()]),
        ({"digest": DIGEST}, [line()]),
        ({"pinned": True}, [line(labels=f"io.cri-containerd.image=managed,{PIN}")]),
        ({"aliases": ["mirror.local/pause:3"]}, [line("mirror.local/pause:3"), line()]),
        ({"archive": "C:\\pause.tar"}, [line()]),
        ({"state": "absent"}, [line("registry.k8s.io/pause:3.10")]),
        ({"state": "absent"}, []),
    ],
)
def test_an_image_without_a_difference_needs_no_change(requested: dict[str, t.Any], lines: list[str]) -> None:
    assert planned(image(**requested), **seen(*lines)) is None


@pytest.mark.parametrize("nothing", [answer(), NO_COMMAND, failure("FromStdErr", "NativeCommandError", "no such pipe")])
def test_images_are_pulled_through_cri(nothing: t.Any) -> None:
    change = must(image(pinned=True, aliases=["m.local/pause:3"], parallel=3, retries=5, delay=2), **silent(nothing))
    pull = call(change, "pull")
    assert pull.command.endswith("\\crictl.exe")
    assert pull.arguments == ("--runtime-endpoint", ENDPOINT, "--image-endpoint", ENDPOINT, "pull", PAUSE)
    assert (pull.long, pull.parallel, pull.retries, pull.delay) == (True, 3, 5, 2)
    assert call(change, "aliases").arguments[2:] == ("images", "tag", "--force", PAUSE, "m.local/pause:3")
    assert call(change, "pin").arguments[2:] == ("images", "label", PAUSE, PIN)


def test_an_incomplete_image_is_pulled_again() -> None:
    change = must(image(), **seen(line(), cut=(PAUSE,)))
    assert change.why == "is incomplete in the store"
    assert [done.id for done in change.calls] == ["pull"]


def test_a_listing_without_a_check_is_believed() -> None:
    answers = {**seen(line()), "check": failure("FromStdErr", "NativeCommandError", "unable to check unpack")}
    assert planned(image(), **answers) is None


def test_an_image_is_pulled_by_digest_and_then_tagged() -> None:
    change = must(image(digest=OTHER), **seen(line()))
    assert change.why == f"digest is {DIGEST}, expected {OTHER}"
    assert call(change, "pull").arguments[-1] == f"registry.k8s.io/pause@{OTHER}"
    assert call(change, "tag").arguments[-3:] == ("--force", f"registry.k8s.io/pause@{OTHER}", PAUSE)


def test_only_an_alias_or_the_pin_is_missing() -> None:
    requested = image(aliases=["mirror.local/pause:3"], pinned=True)
    change = must(requested, **seen(line(), line("mirror.local/pause:3", OTHER)))
    assert [call.id for call in change.calls] == ["aliases", "pin"]


def test_names_created_by_cri_are_removed_with_the_last_tag() -> None:
    by_digest, by_id = f"registry.k8s.io/pause@{DIGEST}", "sha256:" + "c" * 64
    change = must(image(state="absent"), **seen(line(), line(by_digest), line(by_id)))
    assert change.calls[0].arguments == ("-n", "k8s.io", "images", "remove", "--sync", PAUSE, by_digest, by_id)
    change = must(image(state="absent"), **seen(line(), line(by_digest), line("registry.k8s.io/pause:latest")))
    assert change.calls[0].arguments[5:] == (PAUSE,)


def test_all_images_ask_the_same_question() -> None:
    assert image().observe() == image(name="mcr.microsoft.com/windows/nanoserver:ltsc2022", pinned=True).observe()


def test_an_imported_archive_must_contain_the_named_image() -> None:
    change = must(image(archive="C:\\pause.tar", pinned=True), **seen())
    assert [done.id for done in change.calls] == ["load-lean", "load", "check", "pin"]
    assert call(change, "load-lean").arguments[2:] == (
        "images", "import", "--local", "--discard-unpacked-layers", "C:\\pause.tar",
    )  # fmt: skip
    # containerd 1.6 has neither of the flags.
    assert call(change, "load").arguments[2:] == ("images", "import", "C:\\pause.tar")
    assert call(change, "load").unless == ("load-lean",)


def test_the_archive_that_fits_this_windows_is_fetched_verified_imported_and_removed() -> None:
    offers = [
        {"url": f"http://c/{name}.tar?sig=x", "sha256": name[-1] * 64, "size": 10, "windows": [name]}
        for name in ("2019", "2022")
    ]
    requested = image(archives=offers)
    change = must(requested, **seen())
    assert [done.id for done in change.calls] == ["download", "verify", "load-lean", "load", "discard", "check"]
    assert "http://c/2022.tar?sig=x" in (call(change, "download").stdin or "")
    assert call(change, "download").private
    assert call(change, "verify").parameters["sha256"] == "2" * 64
    assert call(change, "discard").always
    assert planned(requested, **seen(line())) is None
    # None of them fits, so the registry is queried.
    assert call(must(requested, dataclasses.replace(SERVER_2022, build=26100), **seen()), "pull")


def test_a_downloaded_archive_needs_disk_space_until_it_is_imported() -> None:
    def space(**more: t.Any) -> list[tuple[str, int | None]]:
        change = must(image(store_dir="D:\\containerd", **more), **seen())
        return [(required.path[:2], required.size) for required in change.space]

    offer = {"url": "file:///C:/bundle/a.tar", "sha256": "a" * 64}
    assert space(archives=[{**offer, "size": 100}]) == [("C:", 100), ("D:", 350)]
    assert space(archives=[offer], size=10) == [("C:", 10), ("D:", 35)]
    assert space(archives=[offer]) == [("C:", None), ("D:", None)]
    # It is already on the node, or does not exist.
    assert space(archive="C:\\pause.tar", archives=[offer], size=10) == [("D:", 35)]
    assert space(size=10) == [("D:", 35)]


TREE = f"""registry.example/app:1
│    Created: 2026-11-21 00:00:00 +0000 UTC
└── application/vnd.oci.image.index.v1+json @sha256:{"0" * 64} (500 bytes)
    ├── application/vnd.docker.distribution.manifest.v2+json @sha256:{"1" * 64} (400 bytes)
    │   │    Platform: windows(10.0.17763.1)/amd64
    │   ├── application/vnd.docker.container.image.v1+json @sha256:{"2" * 64} (300 bytes)
    │   └── application/vnd.docker.image.rootfs.foreign.diff.tar.gzip @sha256:{"3" * 64} (900000 bytes)
    ├── application/vnd.oci.image.manifest.v1+json @sha256:{"4" * 64} (400 bytes)
    │   │    Platform: windows(10.0.20348.1)/amd64
    │   ├── application/vnd.oci.image.config.v1+json @sha256:{"5" * 64} (300 bytes)
    │   ├── application/vnd.oci.image.layer.v1.tar+gzip @sha256:{"6" * 64} (1000000 bytes)
    │   └── application/vnd.oci.image.layer.v1.tar+gzip @sha256:{"7" * 64} (500000 bytes)
    └── application/vnd.oci.image.manifest.v1+json @sha256:{"8" * 64} (400 bytes)
        └──  Content does not exist locally, skipping
"""


def test_shared_layers_count_once() -> None:
    """Of the manifests that ctr lists, it is the one with the size that ctr reports."""
    change = must(image(), **seen())
    (required,) = change.space
    probe = required.probe
    assert probe is not None
    listed = f"{PAUSE} application/vnd.oci.image.index.v1+json {DIGEST} 1.4 MiB windows/amd64 -"
    answers = {"size": answer(stdout=listed), "layers": answer(stdout=TREE)}
    layers = {f"sha256:{'6' * 64}": 3_500_000, f"sha256:{'7' * 64}": 1_750_000}
    assert probe.size(answers) == layers
    # ctr before 2.0 does not have this command.
    old = {**answers, "layers": failure("FromStdErr", "NativeCommandError", "No help topic for 'inspect'")}
    assert probe.size(old) == int(1.4 * 2**20) * 3.5 // 1
    assert probe.size({}) is None
    (likely,) = must(image(likely_size=10), **seen()).space
    assert likely.probe is not None
    assert (likely.probe.size({}), likely.probe.size(answers)) == (35, layers)
    platform = {"os": "windows", "os.version": "10.0.20348.1"}
    parts = [{"digest": DIGEST, "size": 100}, {"digest": OTHER, "size": 2}]
    verbose = [{"Descriptor": {"platform": platform}, "OCIManifest": {"layers": parts}}]
    (docked,) = must(docker(), **docker_seen()).space
    assert docked.probe is not None
    assert docked.probe.size({"size": answer(stdout=json.dumps(verbose))}) == {DIGEST: 350, OTHER: 7}


def test_docker_pulls_tags_and_loads() -> None:
    change = must(docker(docker_config="C:\\d", aliases=["m.local/a/b:1", "m.local/a/b:2"]), **docker_seen())
    assert call(change, "pull").arguments == ("--config", "C:\\d", "pull", PAUSE)
    assert [done.arguments for done in change.calls[1:]] == [
        ("tag", PAUSE, "m.local/a/b:1"), ("tag", PAUSE, "m.local/a/b:2"),
    ]  # fmt: skip
    change = must(docker(archive="C:\\pause.tar"), **docker_seen())
    assert call(change, "load").arguments == ("load", "--input", "C:\\pause.tar")
    assert call(change, "check").arguments == ("image", "inspect", "--format", "{{.Id}}", PAUSE)
    change = must(docker(digest=OTHER), **docker_seen(row(digest=DIGEST)))
    assert call(change, "pull").arguments == ("pull", f"registry.k8s.io/pause@{OTHER}")
    change = must(docker(state="absent"), **docker_seen(row()))
    assert change.calls[0].arguments == ("rmi", PAUSE)


@pytest.mark.parametrize(
    ("requested", "rows"),
    [
        ({}, [row()]),
        ({"digest": DIGEST}, [row(digest=DIGEST)]),
        # An image from an archive has no digest.
        ({"digest": DIGEST}, [row()]),
        ({"name": "docker.io/library/busybox:1"}, [row("busybox:1")]),
        ({"name": "docker.io/team/app:1"}, [row("team/app:1")]),
        ({"name": f"registry.k8s.io/pause@{DIGEST}"}, [row(digest=DIGEST)]),
        ({"aliases": ["m.local/a:1"]}, [row(), row("m.local/a:1")]),
    ],
)
def test_docker_without_a_difference_needs_no_change(requested: dict[str, t.Any], rows: list[str]) -> None:
    assert planned(docker(**requested), **docker_seen(*rows)) is None


@pytest.mark.parametrize(
    "properties",
    [
        {"name": "pause:3.10"},
        {"name": "library/busybox:1"},
        {"name": "registry.k8s.io/pause"},
        {"name": "https://registry.k8s.io/pause:3"},
        {"name": "registry.k8s.io/pause:3 --all"},
        {"name": "registry.k8s.io/pause:3\n"},
        {"name": "--all/x.y:1"},
        {"name": "-.x/y:1"},
        {"digest": "sha256:abc"},
        {"name": f"registry.k8s.io/pause@{DIGEST}", "digest": OTHER},
        {"aliases": ["x"]},
        {"aliases": [f"registry.k8s.io/pause@{DIGEST}"]},
        {"ctr": "C:\\ctr"},
        {"docker": "docker"},
        {"runtime": "docker", "pinned": True},
        {"runtime": "podman"},
        {"parallel": 0},
        {"retries": -1},
        {"archives": [{"url": "pause.tar", "sha256": "a" * 64}]},
        {"archives": [{"url": "http://c/pause.tar", "sha256": "a"}]},
    ],
)
def test_invalid_images_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        image(**properties)


@pytest.mark.parametrize("name", ["localhost:5000/a/b:1", "mcr.microsoft.com/oss/kubernetes/pause@" + DIGEST])
def test_whole_references(name: str) -> None:
    assert call(must(image(name=name), **seen()), "pull").arguments[-1] == name


def test_two_lists_may_want_the_same_image() -> None:
    joined = image().joined(image(pinned=True, aliases=["m.local/p:1"]))
    assert (joined.pinned, joined.aliases) == (True, ("m.local/p:1",))
    assert image().joined(image(digest=DIGEST)) is None


@given(st.text(max_size=2000), st.booleans())
def test_no_answer_of_a_runtime_breaks_the_plan(text: str, ok: bool) -> None:
    answers = CallResult(ok=ok, stdout=text, exit_code=0 if ok else 1)
    for requested in (image(), docker()):
        assert requested.plan({"images": answers, "check": answers}, SERVER_2022) is not None or PAUSE in text


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("no match for platform in manifest sha256:aa: not found", "no image for this version of Windows"),
        ("no matching manifest for windows(10.0.17763)/amd64 in the manifest list entries", "no image"),
        ("unexpected status from GET request: 401 Unauthorized", "credentials"),
        ("toomanyrequests: You have reached your pull rate limit", "limits requests"),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", "private CA"),
        ("There is not enough space on the disk.", "the disk is full"),
        ("registry.k8s.io/pause:9: not found", "no such tag"),
    ],
)
def test_runtime_errors_are_explained_in_plain_words(message: str, meant: str) -> None:
    explained = image().explain("pull", CallResult(ok=False, stderr=message, error=CallError(message="exit code 1")))
    assert meant in str(explained)
    assert image().explain("pull", CallResult(ok=False, stderr="something else")) is None


def test_an_archive_without_the_name_is_not_the_registrys_fault() -> None:
    message = CallResult(ok=False, stderr=f'ctr: image "{PAUSE}": not found', error=CallError(message="exit code 1"))
    assert "the archive contains no container image with this name" in str(image().explain("check", message))


def test_archives_fit_by_windows() -> None:
    any_windows = ImageArchive(url="http://c/a.tar", sha256="a" * 64)
    only = ImageArchive(url="http://c/b.tar", sha256="b" * 64, windows=("2025",))
    assert supported_archive([only, any_windows], dataclasses.replace(SERVER_2022, build=26100)) is only
    assert supported_archive([only, any_windows], SERVER_2022) is any_windows
    assert supported_archive([only], SERVER_2022) is None
    # An unknown build is treated like the newest one before it.
    assert supported_archive([only], dataclasses.replace(SERVER_2022, build=29500)) is only


# -- unused images

USED_TABLE = "CONTAINER IMAGE RUNTIME\n"


def unused(**more: t.Any) -> t.Any:
    return one(**{"type": "UnusedContainerImages", "name": "containerd", **more})


def in_use(*names: str, ids: tuple[str, ...] = ()) -> dict[str, CallResult]:
    table = USED_TABLE + "".join(f"c{number} {name} io.containerd.runhcs.v1\n" for number, name in enumerate(names))
    containers = [{"image": {"image": identity}, "imageRef": identity} for identity in ids]
    return {
        "containers": answer(stdout=table, exit_code=0),
        "ps": answer(stdout=json.dumps({"containers": containers}), exit_code=0),
    }


def digest(letter: str) -> str:
    return "sha256:" + letter * 64


def test_only_unlisted_unused_and_unpinned_images_are_removed() -> None:
    lines = [
        line("r.io/kept:1", digest("1")),
        line("r.io/kept-too:1", digest("1")),
        line("r.io/used:1", digest("2")),
        line("r.io/moved:1", digest("3")),
        line(digest("d"), digest("4")),  # a container runs it although its tag has moved
        line("r.io/pinned:1", digest("5"), PIN),
        line("r.io/old:1", digest("6")),
        line(f"r.io/old@{digest('6')}", digest("6")),
    ]
    change = must(unused(keep=["r.io/kept:1"]), **seen(*lines), **in_use("r.io/used:1", ids=(digest("d"),)))
    assert change.calls[0].arguments[5:] == ("r.io/moved:1", "r.io/old:1", f"r.io/old@{digest('6')}")
    assert change.why == "unused container images: 2"


def test_nothing_is_removed_if_the_used_images_are_unknown() -> None:
    lines = seen(line())
    for broken in ({"ps": NO_COMMAND}, {"containers": NO_COMMAND}, {"ps": answer(stdout="nonsense", exit_code=0)}):
        with pytest.raises(ResourceError, match="the images that containers use are unknown"):
            planned(unused(), **lines, **{**in_use(), **broken})
    # Without a runtime, there is nothing to remove.
    assert planned(unused(), **silent(NO_COMMAND), containers=NO_COMMAND, ps=NO_COMMAND) is None


def test_docker_removes_what_is_unused() -> None:
    rows = docker_seen(row("r.io/a:1", digest("1")), row("r.io/b:1", digest("2")), row("app:latest", digest("3")))
    containers = answer(stdout="".join(json.dumps({"Image": name}) + "\n" for name in ("app", digest("2"))))
    change = must(unused(runtime="docker"), **rows, containers=containers)
    assert change.calls[0].arguments == ("rmi", "r.io/a:1")


@pytest.mark.parametrize("keep", [["x"], ["r.io/a"], [""]])
def test_the_kept_images_are_named_in_full(keep: list[str]) -> None:
    with pytest.raises(ResourceError, match="keep"):
        unused(keep=keep)


def test_what_a_change_downloads() -> None:
    absent, other = seen(), seen(line(digest=OTHER))
    assert must(image(), **absent).downloads == "container image of containerd"
    assert must(image(digest=DIGEST), **other).downloads == "container image of containerd"
    assert must(docker(), **docker_seen()).downloads == "container image of docker"
    assert must(image(archive="C:\\pause.tar"), **absent).downloads == ""
    archive = {"url": "file:///C:/pause.tar", "sha256": "a" * 64}
    assert must(image(archives=[archive]), **absent).downloads == ""
    assert must(image(archives=[archive | {"url": "https://h/pause.tar"}]), **absent).downloads != ""
    assert must(image(aliases=["mirror.local/pause:3"], pinned=True), **seen(line())).downloads == ""
    assert must(image(state="absent"), **seen(line())).downloads == ""
