# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The stores of container images: their calls, and parsing the results, compared with golden files."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from collections.abc import Callable

import pytest
from unit import outcomes
from unit.resource_answers import SERVER_2022, answer

from ansible_collections.winkube.node.plugins.plugin_utils.image_stores import archives, store
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.archives import ImageArchive
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.containerd import ContainerdStore
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.docker import DockerStore
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.store import StoredImage, TransferOptions
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

A, B, C = (f"sha256:{64 * letter}" for letter in "abc")
NAME = "registry.k8s.io/pause:3.10.2"
HOW = TransferOptions(retries=5, delay=2.0, timeout=60.0, parallel=3)
CONTAINERD = ContainerdStore(ctr="ctr.exe", crictl="crictl.exe", endpoint="npipe:////./pipe/x", path="C:\\data")
FULL = ContainerdStore(
    ctr="ctr.exe", crictl="crictl.exe", endpoint="npipe:////./pipe/x", path="C:\\data", hosts_dir="C:\\certs.d",
    environment={"HTTPS_PROXY": "http://proxy.example"},
)  # fmt: skip
DOCKER = DockerStore(docker="docker.exe", path="C:\\data")
LOGGED_IN = DockerStore(docker="docker.exe", path="C:\\data", config_dir="C:\\docker")


def calls_of(one: store.Store) -> dict[str, list[str]]:
    calls = {
        "look": one.list_calls(),
        "look_for_use": one.container_calls(),
        "pull": [one.pull(NAME, HOW)],
        "load": one.load("C:\\x.tar", HOW),
        "check": one.check(NAME),
        "tag": one.tag("tag", NAME, ("a:1",)),
        "tags": one.tag("tag", NAME, ("a:1", "b:2")),
        "pin": one.pin(NAME),
        "remove": one.remove(("a:1", "b:2")),
        "push": [one.push(NAME, HOW)],
        "ask_size": one.ask_size(NAME),
    }
    return {step: outcomes.calls(made) for step, made in calls.items()}


def test_the_calls_of_the_stores() -> None:
    outcomes.check("image_stores/containerd_calls", {"plain": calls_of(CONTAINERD), "full": calls_of(FULL)})
    outcomes.check("image_stores/docker_calls", {"plain": calls_of(DOCKER), "with config": calls_of(LOGGED_IN)})


CTR = "\n".join([
    "REF TYPE DIGEST SIZE PLATFORMS LABELS",
    f"{NAME} application/vnd.oci {A} 98.3 MiB windows/amd64 io.cri-containerd.image=managed,a=b",
    f"{C} application/vnd.oci {A} 98.3 MiB windows/amd64 -",
    f"r.example/cut:1 application/vnd.oci {B} 1 KiB - -",
    f"r.example/unchecked:1 application/vnd.oci {B} 7 parsecs - -",
    f"r.example/short:1 application/vnd.oci {B}",
    f"{C} {B}",
    "garbage",
    "",
])  # fmt: skip
CHECKED = "\n".join([
    "REF TYPE DIGEST STATUS SIZE UNPACKED",
    f"{NAME} application/vnd.oci {A} complete (5/5) 1.0 MiB/1.0 MiB true",
    f"r.example/cut:1 application/vnd.oci {B} incomplete (2/5) 1.0 KiB/1.0 MiB false",
    "no digest true",
    "",
])  # fmt: skip
ROWS = [
    {"Repository": "registry.k8s.io/pause", "Tag": "3.10.2", "ID": "sha256:1", "Digest": A, "Size": "98.3MB"},
    {"Repository": "registry.k8s.io/pause", "Tag": "<none>", "ID": "sha256:1", "Digest": B, "Size": "1.5 GB (x)"},
    {"Repository": "nginx", "Tag": "1", "ID": "sha256:2", "Digest": "<none>", "Size": "12kB"},
    {"Repository": "me/app", "Tag": "1", "ID": "sha256:3", "Digest": None, "Size": ""},
    {"Repository": "localhost/app", "Tag": "1", "ID": "sha256:3"},
    {"Repository": "host:5000/app", "Tag": "1", "ID": "sha256:3", "Size": "many"},
    {"Repository": "<none>", "Tag": "<none>", "ID": "sha256:4"},
    {"Tag": "1", "ID": "sha256:5"},
]
IMAGES = "\n".join([*(json.dumps(row) for row in ROWS), "no JSON", "[1]"])
FAILED = CallResult(ok=False, stdout=CTR)


def of_containerd(**seen: CallResult) -> dict[str, StoredImage]:
    return CONTAINERD.read(seen)


def test_the_contents_of_the_stores() -> None:
    found = {
        "containerd": of_containerd(images=answer(stdout=CTR), check=answer(stdout=CHECKED)),
        "containerd, check failed": of_containerd(
            images=answer(stdout=CTR), check=CallResult(ok=False, stdout=CHECKED)
        ),
        "containerd, not checked": of_containerd(images=answer(stdout=CTR)),
        "containerd, no answer": of_containerd(),
        "containerd, failed": of_containerd(images=FAILED),
        "docker": DOCKER.read({"images": answer(stdout=IMAGES)}),
        "docker, no answer": DOCKER.read({}),
        "docker, failed": DOCKER.read({"images": CallResult(ok=False, stdout=IMAGES)}),
    }
    outcomes.check("image_stores/held", found)


def ps(*containers: t.Any) -> CallResult:
    return answer(stdout=json.dumps({"containers": containers}))


def test_images_that_containers_use() -> None:
    images = of_containerd(images=answer(stdout=CTR))
    listed = answer(stdout="CONTAINER IMAGE RUNTIME\nx r.example/cut:1 y\nalone\n")
    none, nobody = answer(stdout="CONTAINER IMAGE RUNTIME\n"), answer(stdout="")
    used = {
        "by ctr": CONTAINERD.in_use({"containers": listed, "ps": nobody}, images),
        "by name": CONTAINERD.in_use({"containers": none, "ps": ps({"image": {"image": NAME}})}, images),
        "by digest": CONTAINERD.in_use({"containers": none, "ps": ps({"imageRef": A}, {"image": None})}, images),
        "by id": CONTAINERD.in_use({"containers": none, "ps": ps({"imageId": B})}, images),
        "nothing": CONTAINERD.in_use({"containers": none, "ps": answer(stdout="{}")}, images),
        "no JSON": CONTAINERD.in_use({"containers": none, "ps": answer(stdout="x")}, images),
        "another form": CONTAINERD.in_use({"containers": none, "ps": ps({"image": "x"})}, images),
        "no answer of ctr": CONTAINERD.in_use({"ps": nobody}, images),
        "no answer of crictl": CONTAINERD.in_use({"containers": none}, images),
        "ctr failed": CONTAINERD.in_use({"containers": FAILED, "ps": nobody}, images),
        "crictl failed": CONTAINERD.in_use({"containers": none, "ps": FAILED}, images),
    }
    assert used == {
        "by ctr": {B}, "by name": {A}, "by digest": {A}, "by id": {B}, "nothing": set(), "no JSON": None,
        "another form": None, "no answer of ctr": None, "no answer of crictl": None, "ctr failed": None,
        "crictl failed": None,
    }  # fmt: skip
    listed_images = DOCKER.read({"images": answer(stdout=IMAGES)})
    for name, identity in {
        NAME: 1,
        "nginx:1": 2,
        "nginx": None,
        "sha256:3": 3,
        "me/app:1": 3,
        "2": 2,
        "x": None,
    }.items():
        seen = {"containers": answer(stdout=json.dumps({"Image": name}))}
        assert DOCKER.in_use(seen, listed_images) == (set() if identity is None else {f"sha256:{identity}"}), name
    latest = {"docker.io/library/nginx:latest": StoredImage(identity="sha256:9")}
    assert DOCKER.in_use({"containers": answer(stdout='{"Image": "nginx"}')}, latest) == {"sha256:9"}
    assert DOCKER.in_use({"containers": FAILED}, listed_images) is DOCKER.in_use({}, listed_images) is None


TREE = f"""{NAME}
application/vnd.oci.image.index.v1+json @{A} (500 bytes)
 application/vnd.oci.image.manifest.v1+json @{A} (400 bytes)
   application/vnd.oci.image.config.v1+json @{B} (30 bytes)
   application/vnd.oci.image.layer.v1.tar+gzip @{A} (1000 bytes)
   application/vnd.docker.image.rootfs.foreign.diff.tar.gzip @{B} (50 bytes)
 application/vnd.oci.image.manifest.v1+json @{B} (400 bytes)
   application/vnd.oci.image.layer.v1.tar+gzip @{C} (70 bytes)
 application/vnd.oci.image.manifest.v1+json @{C} (400 bytes)
"""


def manifest(version: str, *sizes: int, system: str = "windows", key: str = "OCIManifest") -> dict[str, t.Any]:
    layers = [{"digest": f"{version} {number}", "size": size} for number, size in enumerate(sizes)]
    return {"Descriptor": {"platform": {"os": system, "os.version": version}}, key: {"layers": layers}}


def test_sizes_in_registries() -> None:
    def size(total: str) -> CallResult:
        return answer(stdout=f"REF TYPE DIGEST SIZE PLATFORMS LABELS\n{NAME} application/x {A} {total} B - -")

    tree = answer(stdout=TREE)
    entries = [
        manifest("10.0.20348.1", 100, 1),
        manifest("10.0.26100.1", 300, key="SchemaV2Manifest"),
        manifest("10.0", 200),
        manifest("", 900, system="linux"),
        {"Descriptor": None},
    ]

    def docker(document: t.Any, build: int | None) -> object:
        seen = {"size": answer(stdout=json.dumps(document))}
        return {"size": DOCKER.read_size(seen, build), "layers": DOCKER.read_layers(seen, build)}

    outcomes.check(
        "image_stores/sizes",
        {
            "containerd": [CONTAINERD.read_size({"size": size("75")}, None), CONTAINERD.read_size({}, None)],
            "layers of the size": CONTAINERD.read_layers({"layers": tree, "size": size("75")}, None),
            "layers of the other size": CONTAINERD.read_layers({"layers": tree, "size": size("1000")}, None),
            "layers without a size": CONTAINERD.read_layers({"layers": tree}, None),
            "no layers": CONTAINERD.read_layers({"layers": FAILED}, None) or CONTAINERD.read_layers({}, None),
            "one manifest": CONTAINERD.read_layers({"layers": answer(stdout=TREE.split(f" @{B} (400")[0])}, None),
            "docker": docker(entries, 20348),
            "docker, another build": docker(entries, 26100),
            "docker, unknown build": docker(entries, 1),
            "docker, no build": docker(entries, None),
            "docker, one": docker(manifest("", 5, system=""), None),
            "docker, no layers": docker([{"OCIManifest": {"config": {}}}], None),
            "docker, wrong": [docker("x", None), docker([1], None), docker([{"OCIManifest": {"layers": [1]}}], None)],
            "docker, failed": [DOCKER.read_size({}, None), DOCKER.read_layers({"size": FAILED}, None)],
        },
    )


def test_names_of_images() -> None:
    images = {"b@x": StoredImage(identity="1"), "a:1": StoredImage(identity="1"), "c@y": StoredImage(identity="2")}
    assert store.names_of("1", images) == ["a:1", "b@x"]
    assert CONTAINERD.removable(("b@x", "a:1"), images) == ["b@x", "a:1"]
    assert DOCKER.removable(("b@x", "a:1", "c@y"), images) == ["a:1", "c@y"]


def test_printed_sizes() -> None:
    units = ("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
    assert [store.size_of("1.5", unit) for unit in units] == [
        *(1, 1500, 1500, 1_500_000, 1_500_000_000, 1_500_000_000_000),
        *(1536, 1_572_864, 1_610_612_736, 1_649_267_441_664),
    ]
    assert store.size_of("x", "B") is store.size_of("1", "PB") is None


def test_explanations_of_runtime_errors() -> None:
    messages = (
        "no match for platform in manifest", "no matching manifest for windows/amd64",
        "image does not match the specified platform", "image does not match the host platform", "status: 429",
        "toomanyrequests: x", "Too many requests", "status 401", "403 Forbidden", "Unauthorized",
        "authentication required", "no basic auth credentials", "pull access denied for x", "DENIED: x",
        "x509: unknown", "certificate has expired", "certificate signed by unknown authority", "tls: x",
        "there is not enough space on the disk", "no space left on device", "disk is full",
        "unexpected commit digest x", "unexpected digest", "layer verification failed", "no such host",
        "actively refused it", "i/o timeout", "connection refused", "manifest unknown", "not found: manifest x",
        "x: not found", "name unknown", "repository does not exist", "something else", "4290",
    )  # fmt: skip
    outcomes.check("image_stores/meanings", {text: store.meaning(text) for text in messages})


OLD, NEW, ANY = (
    ImageArchive(url=f"http://h/{name}.tar", sha256=64 * "aB"[position % 2], windows=windows)
    for position, (name, windows) in enumerate({"old": ("2019", "2022"), "new": ("2025",), "any": ()}.items())
)


def test_the_archive_that_fits() -> None:
    def chosen(*listed: ImageArchive) -> dict[int, ImageArchive | None]:
        builds = (17763, 20348, 25398, 26099, 26100, 30000)
        return {
            build: archives.supported_archive(listed, dataclasses.replace(SERVER_2022, build=build)) for build in builds
        }

    assert chosen(OLD, NEW) == {17763: OLD, 20348: OLD, 25398: None, 26099: None, 26100: NEW, 30000: NEW}
    assert set(chosen(ANY, NEW).values()) == {ANY}
    assert set(chosen().values()) == {None}


def test_the_calls_of_an_archive() -> None:
    lax = ImageArchive(url="https://h/x.tar", sha256=64 * "B", ignore_revocation=True)
    outcomes.check(
        "image_stores/archives",
        {
            "containerd": outcomes.calls(archives.fetched(OLD, CONTAINERD, HOW, NAME)),
            "docker": outcomes.calls(archives.fetched(lax, DOCKER, HOW, NAME)),
        },
    )
    names = {call.parameters.get("destination") for call in archives.fetched(OLD, CONTAINERD, HOW, "other:1")}
    assert names.isdisjoint(
        str(call.parameters["destination"])
        for call in archives.fetched(OLD, CONTAINERD, HOW, NAME)
        if "destination" in call.parameters
    )


def test_archives_that_cannot_be() -> None:
    def refusal(make: Callable[[], object]) -> str:
        with pytest.raises(ResourceError) as refused:
            make()
        return str(refused.value)

    assert refusal(lambda: ImageArchive(url="x?s3cret", sha256=64 * "a")) == (
        "url: expected an http, https or file URL, got 'x'"
    )
    for digest in (63 * "a", 65 * "a", 63 * "a" + "g"):
        assert refusal(lambda text=digest: ImageArchive(url="file:///C:/x.tar", sha256=text)) == (  # type: ignore[misc]
            f"sha256: expected 64 hexadecimal digits, got '{digest}'"
        )
