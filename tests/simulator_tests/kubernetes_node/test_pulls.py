# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pulls from registries that are broken, private or require credentials: requests, retries, and a full disk."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Callable, Iterator

import pytest

from simulator.artifacts.certificates import PrivateCA
from simulator.kubernetes_node.images.unpacking import SIZE
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.kubelet import image_gc
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.files import GIGABYTE

from .conftest import CONFIG_V2, CONTAINERD, Node

pytestmark = pytest.mark.xdist_group("pulls")
APP = "app.example/team/app:1"
PULL = ("images", "pull", "--hosts-dir", r"C:\certs.d")
LAYER = 40_000
ROOT = r"C:\ProgramData\containerd\root\io.containerd.content.v1.content"


def blobs() -> Blobs:
    """Return an image for three Windows builds, with a layer of 40 KB each."""
    found = Blobs()
    found.add(APP, ("2019", "2022", "2025"), linux=True, size=LAYER)
    return found


@pytest.fixture
def private() -> Iterator[SimulatedRegistry]:
    """Start a registry with this image only."""
    with SimulatedRegistry(images=blobs()) as found:
        yield found


@pytest.fixture
def app_node(make_node: Callable[..., Node], private: SimulatedRegistry) -> Node:
    """Return a node that uses the private registry for images of app.example."""
    node = make_node()
    hosts(node, private)
    node.start_containerd()
    node.put(r"C:\crictl.exe", "crictl", "1.34.0")
    return node


def hosts(node: Node, *registries: SimulatedRegistry, extra: str = "", server: str = "https://app.example") -> None:
    """Write hosts.toml for app.example, with these registries as mirrors."""
    tables = "".join(f"[host.'{registry.url}']\n{extra}" for registry in registries)
    node.write(r"C:\certs.d\app.example\hosts.toml", f"server = '{server}'\n{tables}")


def layer_path(registry: SimulatedRegistry) -> str:
    """Return the path of the layer's blob for Windows Server 2022."""
    index = json.loads(registry.images.content[registry.images.tags[APP]][1])
    entry = next(item for item in index["manifests"] if "20348" in item["platform"].get("os.version", ""))
    layer = json.loads(registry.images.content[entry["digest"]][1])["layers"][0]
    return f"*/blobs/{layer['digest']}"


def test_a_pull_takes_its_own_builds_content_and_nothing_else(app_node: Node, private: SimulatedRegistry) -> None:
    assert app_node.ctr(*PULL, APP).exit_code == 0
    assert (private.counters["manifests"], private.counters["blobs"]) == (2, 2)
    listed = app_node.ctr("images", "check", f"name=={APP}").stdout.splitlines()[1]
    assert "complete (2/2)" in listed
    assert listed.endswith("true")


def test_an_interrupted_pull_continues(app_node: Node, private: SimulatedRegistry) -> None:
    private.fault("cut", layer_path(private), at=10_000, times=2)
    result = app_node.ctr(*PULL, APP)
    assert result.exit_code == 0, result.stderr
    size = len(private.images.content["sha256:" + layer_path(private).rpartition(":")[2]][1])
    others = private.counters["bytes"] - size
    assert 0 < others < size, "no byte of the layer came twice"


def test_a_pull_that_failed_is_resumed_by_the_next_one(app_node: Node, private: SimulatedRegistry) -> None:
    private.fault("cut", layer_path(private), at=10_000, times=1)
    private.fault("status", layer_path(private), status=403, times=1)
    failed = app_node.ctr(*PULL, APP)
    assert (failed.exit_code, "failed open: unexpected status from GET request to" in failed.stderr) == (1, True)
    ingests = app_node.machine.files.listing(rf"{ROOT}\ingest")
    assert [entry.is_directory for entry in ingests] == [True]
    before = private.counters["bytes"]

    assert app_node.ctr(*PULL, APP).exit_code == 0

    size = len(private.images.content["sha256:" + layer_path(private).rpartition(":")[2]][1])
    assert private.counters["bytes"] - before == size - 10_000
    assert not app_node.machine.files.listing(rf"{ROOT}\ingest")


@pytest.mark.parametrize(
    ("containerd", "before", "after"),
    [
        ("1.7.35", "unexpected status code ", " - Server message: unavailable: injected\n"),
        ("2.4.2", "unexpected status from GET request to ", "\nunavailable: injected\n"),
    ],
)
def test_a_failed_request_for_content_is_reported_with_the_registrys_error(
    make_node: Callable[..., Node], private: SimulatedRegistry, containerd: str, before: str, after: str
) -> None:
    node = make_node(containerd=containerd)
    hosts(node, private)
    node.start_containerd()
    private.fault("status", layer_path(private), status=403, times=1)
    layer = layer_path(private).rpartition("/")[2]

    failed = node.ctr(*PULL, APP)

    url = f"{private.url}/v2/{APP.partition('/')[2].partition(':')[0]}/blobs/{layer}?ns=app.example"
    assert f"failed open: {before}{url}: 403 Forbidden{after}" in failed.stderr


def test_cuts_over_the_bytes_of_a_layer(app_node: Node, private: SimulatedRegistry) -> None:
    size = len(private.images.content["sha256:" + layer_path(private).rpartition(":")[2]][1])
    for at in (-1, 0, 1, size // 2, size - 1):
        private.fault("cut", layer_path(private), at=at, times=1)
        result = app_node.ctr(*PULL, APP)
        if at < 0:
            # The response has no complete head: containerd fails, and the next pull succeeds.
            assert "EOF" in result.stderr
            result = app_node.ctr(*PULL, APP)
        assert result.exit_code == 0, (at, result.stderr)
        app_node.ctr("images", "remove", "--sync", APP)


def test_a_registry_that_gives_up_too_often(app_node: Node, private: SimulatedRegistry) -> None:
    private.fault("cut", layer_path(private), at=0)
    result = app_node.ctr(*PULL, APP)
    assert (result.exit_code, result.stderr) == (1, "ctr: failed to copy: unexpected EOF\n")


@pytest.mark.parametrize(
    ("containerd", "status", "times", "works"),
    [("2.4.2", 429, 4, True), ("2.4.2", 429, 0, False), ("2.4.2", 503, 1, True), ("1.7.35", 503, 1, False),
     ("2.4.2", 503, 2, False)],
)  # fmt: skip
def test_requests_that_are_retried(
    make_node: Callable[..., Node], private: SimulatedRegistry, containerd: str, status: int, times: int, works: bool
) -> None:
    node = make_node(containerd=containerd)
    hosts(node, extra="", server=private.url)
    node.start_containerd()
    private.fault("status", "*/manifests/1", status=status, times=times)
    result = node.ctr(*PULL, APP)
    assert (result.exit_code == 0) is works, result.stderr
    assert works or f": {status} " in result.stderr


def test_wrong_bytes_are_not_kept(app_node: Node, private: SimulatedRegistry) -> None:
    private.fault("wrong", layer_path(private), times=1)
    result = app_node.ctr(*PULL, APP)
    assert "unexpected commit digest" in result.stderr
    assert app_node.ctr("images", "list", "-q").stdout == ""
    assert app_node.ctr(*PULL, APP).exit_code == 0


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_a_registry_with_a_user(make_node: Callable[..., Node], auth: str) -> None:
    with SimulatedRegistry(images=blobs(), user="ci:secret", auth=auth) as registry:  # type: ignore[arg-type]
        node = make_node()
        hosts(node, registry)
        node.start_containerd(CONFIG_V2)
        refused = node.ctr(*PULL, "--local", APP)
        assert (refused.exit_code, "401 Unauthorized" in refused.stderr) == (1, True)
        assert node.ctr(*PULL, "--local", "--user", "ci:wrong", APP).exit_code == 1
        assert node.ctr(*PULL, "--local", "--user", "ci:secret", APP).exit_code == 0
        node.ctr("images", "remove", "--sync", APP)
        hosts(node, registry, extra="  [host.'" + registry.url + "'.header]\n  Authorization = 'Basic Y2k6c2VjcmV0'\n")
        result = node.ctr(*PULL, APP)
        assert result.exit_code == 0, result.stderr
        assert bool(registry.counters["tokens"]) is (auth == "bearer")


def test_cri_gives_its_own_credentials(make_node: Callable[..., Node]) -> None:
    with SimulatedRegistry(images=blobs(), user="ci:secret", auth="bearer") as registry:
        node = make_node()
        hosts(node, registry)
        node.start_containerd()
        node.put(r"C:\crictl.exe", "crictl", "1.34.0")
        refused = node.run(r"C:\crictl.exe", "pull", APP)
        assert (refused.exit_code, "failed to fetch anonymous token" in refused.stderr) == (1, True)
        assert node.run(r"C:\crictl.exe", "pull", "--creds", "ci:secret", APP).exit_code == 0


@pytest.mark.parametrize("containerd", ["1.7.35", "2.4.2"])
def test_ctr_reads_hosts_toml_only_with_its_flag(
    make_node: Callable[..., Node], private: SimulatedRegistry, containerd: str
) -> None:
    node = make_node(containerd=containerd)
    hosts(node, private)
    node.start_containerd()
    node.put(r"C:\crictl.exe", "crictl", "1.34.0")
    assert "lookup app.example: no such host" in node.ctr("images", "pull", APP).stderr
    assert node.run(r"C:\crictl.exe", "pull", APP).exit_code == 0


def test_a_private_ca(make_node: Callable[..., Node]) -> None:
    authority = PrivateCA()
    with SimulatedRegistry(images=blobs(), tls=authority.server_context(["127.0.0.1"])) as registry:
        node = make_node()
        hosts(node, registry)
        node.start_containerd()
        assert "x509: certificate signed by unknown authority" in node.ctr(*PULL, APP).stderr
        hosts(node, registry, extra="  skip_verify = true\n")
        assert node.ctr(*PULL, APP).exit_code == 0
        node.ctr("images", "remove", "--sync", APP)
        node.machine.files.write_bytes(r"C:\certs.d\app.example\ca.pem", authority.pem)
        hosts(node, registry, extra="  ca = 'ca.pem'\n")
        assert node.ctr(*PULL, APP).exit_code == 0


def test_an_expired_certificate(make_node: Callable[..., Node]) -> None:
    authority = PrivateCA()
    with SimulatedRegistry(images=blobs(), tls=authority.server_context(["127.0.0.1"], expired=True)) as registry:
        node = make_node()
        node.write(r"C:\ca.pem", authority.pem.decode())
        hosts(node, registry, extra="  ca = 'C:\\ca.pem'\n")
        node.start_containerd()
        assert "certificate has expired" in node.ctr(*PULL, APP).stderr


def test_mirrors_are_asked_in_their_order_by_what_they_can(app_node: Node, private: SimulatedRegistry) -> None:
    with SimulatedRegistry(images=Blobs()) as empty:
        hosts(app_node, empty, private)
        assert app_node.ctr(*PULL, APP).exit_code == 0
        assert empty.counters["requests"] > 0
        app_node.ctr("images", "remove", "--sync", APP)
        empty.reset()
        hosts(app_node, empty, private, extra="  capabilities = ['push']\n")
        assert "no resolve hosts" not in app_node.ctr(*PULL, APP).stderr
        assert empty.counters["requests"] == 0


def test_the_folder_of_a_host_with_a_port_and_a_file_that_cannot_be_read(
    app_node: Node, private: SimulatedRegistry
) -> None:
    name = "other.example:5000/team/app:1"
    private.images.tags[name] = private.images.tags[APP]
    app_node.write(r"C:\certs.d\other.example5000\hosts.toml", f"[host.'{private.url}']\n")
    assert app_node.ctr(*PULL, name).exit_code == 0
    app_node.ctr("images", "remove", "--sync", name)
    app_node.write(r"C:\certs.d\other.example_5000_\hosts.toml", "[host.")
    assert "lookup other.example: no such host" in app_node.ctr(*PULL, name).stderr


def test_cri_pulls_side_by_side(app_node: Node, private: SimulatedRegistry) -> None:
    names = [f"app.example/team/app{number}:1" for number in range(4)]
    for name in names:
        private.images.add(name, ["2022"], size=LAYER)
    private.rate = LAYER * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda name: app_node.run(r"C:\crictl.exe", "pull", name), names))
    assert [result.exit_code for result in results] == [0] * 4, results
    assert private.counters["most_at_once"] > 1


def test_unpacked_images_fill_the_disk_and_a_full_one_fails(make_node: Callable[..., Node]) -> None:
    images = blobs()
    index = json.loads(images.content[images.tags[APP]][1])
    for entry in index["manifests"]:
        document = json.loads(images.content[entry["digest"]][1])
        document["layers"][0]["annotations"] = {SIZE: str(5 * GIGABYTE)}
        data = json.dumps(document).encode()
        entry |= {key: value for key, value in images.put(entry["mediaType"], data).items() if key != "platform"}
    images.tags[APP] = images.put("application/vnd.oci.image.index.v1+json", json.dumps(index).encode())["digest"]
    with SimulatedRegistry(images=images) as registry:
        node = make_node(disk_gb=30)
        hosts(node, registry)
        node.start_containerd()
        before = node.machine.files.free_space()
        assert node.ctr(*PULL, APP).exit_code == 0
        assert 5 * GIGABYTE < before - node.machine.files.free_space() < 5.1 * GIGABYTE
        node.ctr("images", "remove", "--sync", APP)
        assert before - node.machine.files.free_space() < GIGABYTE // 10
        node.machine.files.reserved += node.machine.files.free_space() - GIGABYTE
        full = node.ctr(*PULL, APP)
        assert "There is not enough space on the disk" in full.stderr
        node.ctr("images", "remove", "--sync", APP)
        node.machine.files.reserved += node.machine.files.free_space() - 10_000
        result = node.ctr(*PULL, APP)
        assert "write C:\\ProgramData\\containerd\\root\\io.containerd.content.v1.content\\ingest" in result.stderr


def test_metadata_alone_in_a_namespace_of_its_own(app_node: Node, private: SimulatedRegistry) -> None:
    def ctr(*words: str) -> str:
        result = app_node.run(f"{CONTAINERD}\\ctr.exe", "-n", "sizes", *words)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    ctr("content", "fetch", "--metadata-only", "--hosts-dir", r"C:\certs.d", APP)
    (row,) = ctr("images", "list").splitlines()[1:]
    assert row.split()[3:5] == ["40.0", "KiB"]
    assert "incomplete (1/2)" in ctr("images", "check")
    assert private.counters["bytes"] < LAYER // 4
    assert app_node.ctr("images", "list", "-q").stdout == ""
    assert len(ctr("content", "list", "-q").splitlines()) == 11
    ctr("images", "remove", "--sync", APP)
    ctr("namespaces", "remove", "sizes")
    assert "sizes" not in ctr("namespaces", "list", "-q")


def test_an_image_is_pushed(app_node: Node, private: SimulatedRegistry) -> None:
    assert app_node.ctr(*PULL, APP).exit_code == 0
    remote = "app.example/kept/app:2"
    missing = app_node.ctr("images", "push", "--hosts-dir", r"C:\certs.d", remote, APP)
    assert "not found" in missing.stderr, "the index names manifests that are not here"
    words = ("images", "push", "--hosts-dir", r"C:\certs.d", "--platform", "windows/amd64", remote, APP)
    assert app_node.ctr(*words).exit_code == 0
    app_node.ctr("images", "remove", "--sync", APP)
    private.images.tags[remote] = private.images.tags[f"{private.address}:{private.port}/kept/app:2"]
    assert app_node.ctr(*PULL, remote).exit_code == 0


def test_the_kubelet_collects_what_is_unused_and_not_pinned(app_node: Node, private: SimulatedRegistry) -> None:
    other = "app.example/team/other:1"
    private.images.add(other, ["2022"])
    for name in (APP, other):
        assert app_node.run(r"C:\crictl.exe", "pull", name).exit_code == 0
    app_node.ctr("images", "label", APP, "io.cri-containerd.pinned=pinned")
    assert other in image_gc.collect(app_node.machine)
    kept = app_node.ctr("images", "list", "-q").stdout.split()
    assert APP in kept
    assert other not in kept
