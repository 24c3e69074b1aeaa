# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""container_images with containerd on simulated servers: the resulting store, and the cost."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from integration.imaging import CERTS, HOSTS, PAUSE, Machines, converge, ctr, mirrors, names, put, statuses

from simulator.artifacts.certificates import PrivateCA
from simulator.kubernetes_node.containerd.runtime import PodConfig, connect
from simulator.kubernetes_node.cri.shims import ContainerCommand
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.kubelet import image_gc
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.machine import Machine

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("container_images")]

NANO = "mcr.microsoft.com/windows/nanoserver"
CORE = "mcr.microsoft.com/windows/servercore"
TWELVE = [
    *(f"registry.k8s.io/pause:{tag}" for tag in ("3.6", "3.7", "3.8", "3.9", "3.10", "3.10.1", "3.10.2")),
    f"{NANO}:ltsc2022",
    f"{CORE}:ltsc2022",
    "mcr.microsoft.com/windows/server:ltsc2022",
    "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0",
    "registry.k8s.io/e2e-test-images/agnhost:2.53",
]
SECRET = "s3cret-pa$$word"
PRIVATE = "D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines(20) as found:
        yield found


@pytest.fixture(scope="module")
def registry() -> Iterator[SimulatedRegistry]:
    with SimulatedRegistry() as found:
        yield found


@pytest.fixture(autouse=True)
def healthy(registry: SimulatedRegistry) -> Iterator[None]:
    yield
    registry.faults.clear()
    registry.failures.clear()


def test_twelve_images_need_few_commands_and_one_if_present(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    given = {"registries": mirrors(registry), "pinned": True, "parallel": 6}

    checked = converge(machine, TWELVE, check_mode=True, **given)
    assert (checked["changed"], checked["remote_commands"], names(machine)) == (True, 1, set())
    first = converge(machine, TWELVE, **given)
    assert not first.get("failed"), first.get("msg")
    assert first["remote_commands"] <= 6
    assert set(statuses(first).values()) == {"pulled"}
    assert names(machine) == set(TWELVE)
    assert all(item["digest"].startswith("sha256:") and item["size"] for item in first["images"])
    # The requests for sizes left only an empty namespace.
    assert ctr(machine, "namespaces", "list", "-q").split() == ["k8s.io", "winkube-sizes"]
    assert ctr(machine, "-n", "winkube-sizes", "images", "list", "-q") == ""
    registry.reset()
    second = converge(machine, TWELVE, **given)
    assert (second["changed"], second["remote_commands"]) == (False, 1)
    assert set(statuses(second).values()) == {"present"}
    assert [item["digest"] for item in second["images"]] == [item["digest"] for item in first["images"]]
    assert registry.counters["requests"] == 0
    assert ctr(machine, "images", "list").count("io.cri-containerd.pinned=pinned") >= len(TWELVE)


def test_unpacked_layers_need_no_disk_space(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    converge(machine, [f"{CORE}:ltsc2022"], registries=mirrors(registry))
    blobs = machine.files.listing(r"C:\ProgramData\containerd\root\io.containerd.content.v1.content\blobs\sha256")
    assert sum(1 for blob in blobs if machine.files.read_bytes(blob.path)[:1] != b"{") == 0


def test_a_tag_that_moved_is_pulled_by_digest_and_keeps_its_names(machines: Machines) -> None:
    machine, blobs = machines.next(), Blobs()
    blobs.add("r.example/app:1", ["2022"], size=100)
    old = blobs.tags["r.example/app:1"]
    with SimulatedRegistry(images=blobs) as registry:
        given = {"registries": mirrors(registry, "r.example")}
        image = {"name": "r.example/app:1", "aliases": ["mirror.local/app:latest"]}
        assert converge(machine, [image], **given)["images"][0]["digest"] == old
        blobs.add("r.example/app:1", ["2022"], size=200)
        new = blobs.tags["r.example/app:1"]
        assert converge(machine, [image], **given)["changed"] is False
        moved = converge(machine, [{**image, "digest": new}], **given)
    assert moved["images"][0] | {"size": 0} == {
        "reference": "r.example/app:1", "status": "pulled", "digest": new, "size": 0, "msg": "",
    }  # fmt: skip
    lines = {line.split()[0]: line for line in ctr(machine, "images", "list").splitlines()[1:]}
    assert new in lines["mirror.local/app:latest"]
    assert new in lines["r.example/app:1"]


def holds_secret(machine: Machine, path: str) -> bool:
    data = machine.files.read_bytes(path)
    return SECRET.encode() in data or base64.b64encode(f"node:{SECRET}".encode()) in data


def test_credentials_and_a_private_authority_are_files_that_others_cannot_read(
    machines: Machines, tmp_path: Any
) -> None:
    machine, authority, blobs = machines.next(), PrivateCA("Registry CA"), Blobs()
    blobs.add("r.example:5443/team/app:1", ["2022"])
    context = authority.server_context(["127.0.0.1"])
    with SimulatedRegistry(images=blobs, user=f"node:{SECRET}", tls=context) as registry:
        place = {"server": registry.url, "ca": authority.pem.decode(), "username": "node"}
        wrong = converge(
            machine, ["r.example:5443/team/app:1"], registries={"r.example:5443": {**place, "password": "x"}}
        )
        assert "credentials" in wrong["msg"]
        given = {"r.example:5443": {**place, "password": SECRET}}
        result = converge(machine, ["r.example:5443/team/app:1"], registries=given)
        assert statuses(result) == {"r.example:5443/team/app:1": "pulled"}
        assert SECRET not in str(result)
        untrusted = {key: value for key, value in place.items() if key != "ca"}
        other = machines.next()
        refused = converge(
            other, ["r.example:5443/team/app:1"], registries={"r.example:5443": {**untrusted, "password": SECRET}}
        )
    assert "private CA" in refused["msg"]
    assert SECRET not in str(refused)
    for folder in (r"C:\ProgramData\winkube", r"C:\Users", r"C:\Windows\Temp"):
        files = machine.files.walk(folder) if machine.files.is_directory(folder) else ()
        assert not [entry.path for entry in files if not entry.is_directory and holds_secret(machine, entry.path)]
    toml = rf"{CERTS}\r.example_5443_\hosts.toml"
    assert "Basic " in machine.files.read_text(toml)
    assert PRIVATE in machine.files.sddl(toml)


def test_each_failure_has_a_reason_and_the_other_images_are_pulled(
    machines: Machines, registry: SimulatedRegistry
) -> None:
    machine = machines.next()
    registry.failures["registry.k8s.io/pause:3.9"] = 429
    bad = {
        f"{NANO}:ltsc2019": "no image for this version of Windows",
        "registry.k8s.io/pause:0.0": "the registry has no such tag",
        "registry.k8s.io/pause:3.9": "limits requests",
        "registry.k8s.io/coredns/coredns:v1.37.1": "no image for this version of Windows",
    }
    # Without the hosts themselves, which tests cannot reach.
    only = {host: {"server": registry.url} for host in HOSTS}
    result = converge(machine, [*bad, PAUSE], registries=only, retries=0)
    assert result["failed"]
    assert statuses(result) == {**dict.fromkeys(bad, "failed"), PAUSE: "pulled"}
    for item in result["images"]:
        assert bad.get(item["reference"], "") in item["msg"]
    assert names(machine) == {PAUSE}


def test_temporary_failures_are_retried(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    registry.fault("status", "*/pause/*", status=503, times=3)
    registry.fault("cut", "*/nanoserver/blobs/*", at=700, times=2)
    registry.fault("html", "*/servercore/manifests/*", times=1)
    images = [PAUSE, f"{NANO}:ltsc2022", f"{CORE}:ltsc2022"]
    result = converge(machine, images, registries=mirrors(registry), retries=5)
    assert set(statuses(result).values()) == {"pulled"}, result.get("msg")


def test_only_unlisted_unused_and_unpinned_images_go(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    given = {"registries": mirrors(registry)}
    pinned = {"name": "registry.k8s.io/pause:3.6", "pinned": True}
    used, unused, requested = f"{NANO}:ltsc2022", f"{CORE}:ltsc2022", "registry.k8s.io/pause:3.8"
    converge(machine, [pinned, used, unused, requested, PAUSE], **given)
    server = connect(machine, r"\\.\pipe\containerd-containerd")
    assert server is not None
    sandbox = server.run_sandbox(PodConfig("web", "default", "1", host_network=True))
    image = server.image(used)
    assert image is not None
    server.run_container(sandbox, "web", image, ContainerCommand(()), attempt=0, log="")

    checked = converge(machine, [requested], prune=True, check_mode=True, **given)
    assert [change["type"] for change in checked["changes"]] == ["UnusedContainerImages"]
    result = converge(machine, [requested], prune=True, **given)
    # The pod's own pause image is also in use.
    assert names(machine) == {pinned["name"], used, requested, PAUSE}
    assert not any(name.startswith(CORE) for name in ctr(machine, "images", "list", "-q").split())
    assert result["changed"]
    again = converge(machine, [requested], prune=True, **given)
    assert (again["changed"], again["remote_commands"]) == (False, 1)


def test_pinned_images_survive_the_kubelets_garbage_collection(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    images = [{"name": PAUSE, "pinned": True, "aliases": ["mirror.local/pause:1"]}, f"{NANO}:ltsc2022"]
    converge(machine, images, registries=mirrors(registry))
    image_gc.collect(machine)
    assert PAUSE in names(machine)
    assert f"{NANO}:ltsc2022" not in names(machine)


def test_absent_images_are_removed_completely(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    converge(machine, [{"name": PAUSE, "aliases": ["mirror.local/pause:1"]}], registries=mirrors(registry))
    gone = {"name": PAUSE, "aliases": ["mirror.local/pause:1"], "state": "absent"}
    assert statuses(converge(machine, [gone])) == {PAUSE: "removed"}
    assert ctr(machine, "images", "list", "-q") == ""
    assert statuses(converge(machine, [gone])) == {PAUSE: "absent"}


class _Files(http.server.BaseHTTPRequestHandler):
    archive = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.archive)))
        self.end_headers()
        self.wfile.write(self.archive)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize("containerd", ["1.6.36", "1.7.35", "2.3.7"])
def test_archives_are_imported_and_leave_no_file(
    machines: Machines, registry: SimulatedRegistry, containerd: str
) -> None:
    source, machine = machines.next(), machines.next(containerd)
    image = f"{NANO}:ltsc2022"
    put(source, rf"{CERTS}\mcr.microsoft.com\hosts.toml", f"server = '{registry.url}'\n".encode())
    # Not over CRI: an archive has layers, which containerd discards there.
    ctr(source, "images", "pull", "--hosts-dir", CERTS, image)
    ctr(source, "images", "export", r"C:\nano.tar", image)
    data = source.files.read_bytes(r"C:\nano.tar")
    handler = type("Handler", (_Files,), {"archive": data})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/nano.tar?sig=hidden"
    try:
        offer = {"url": url, "sha256": "0" * 64, "windows": ["2022"]}
        wrong = converge(machine, [{"name": image, "archives": [offer]}], retries=0)
        assert wrong["failed"]
        assert "hidden" not in str(wrong)
        offer["sha256"] = hashlib.sha256(data).hexdigest()
        result = converge(machine, [{"name": image, "archives": [offer]}])
    finally:
        server.shutdown()
        server.server_close()
    assert statuses(result) == {image: "imported"}, result.get("msg")
    assert names(machine) == {image}
    assert [entry.name for entry in machine.files.listing(r"C:\Windows\winkube\images")] == []


def test_an_archive_on_the_node_must_contain_the_named_image(machines: Machines, registry: SimulatedRegistry) -> None:
    machine = machines.next()
    converge(machine, [f"{NANO}:ltsc2022"], registries=mirrors(registry))
    put(machine, r"C:\broken.tar", b"<html>no archive</html>")
    result = converge(machine, [{"name": "r.example/app:1", "archive": r"C:\broken.tar"}], retries=0)
    assert statuses(result) == {"r.example/app:1": "failed"}
    assert "load" in result["msg"]


def test_as_many_pulls_run_in_parallel_as_requested(machines: Machines) -> None:
    blobs = Blobs()
    images = [f"r.example/app-{number}:1" for number in range(6)]
    for name in images:
        blobs.add(name, ["2022"], size=30_000)
    at_once = {}
    for parallel in (1, 4):
        machine = machines.next()
        with SimulatedRegistry(images=blobs, rate=150_000) as registry:
            converge(machine, images, registries=mirrors(registry, "r.example"), parallel=parallel)
            at_once[parallel] = registry.counters["most_at_once"]
        assert names(machine) == set(images)
    # One pull requests several parts of its image at the same time.
    assert at_once[4] > at_once[1] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"images": ["pause"]}, "expected a complete reference: registry/repository:tag"),
        ({"images": [{"reference": PAUSE}]}, "got a mapping with the key 'reference'"),
        ({"images": [{"name": PAUSE, "tag": "1"}]}, "got 'tag'"),
        ({"images": [{"name": PAUSE, "digest": "x"}]}, "sha256:"),
        ({"images": [PAUSE, {"name": "r.example/a:1", "aliases": [PAUSE]}]}, "a name or alias that no other image has"),
        ({"images": [PAUSE], "registries": {"https://r": {}}}, "no node was touched: registries: expected a host"),
        ({"images": [PAUSE], "registries": {"r": {"password": SECRET}}}, "expected both password and username"),
        ({"images": [PAUSE], "parallel": 0}, "parallel"),
        ({"images": [PAUSE], "keep": ["x"], "prune": True}, "keep"),
        (
            {"images": [PAUSE], "runtime": "docker", "registries": {"r.k8s.io": {"mirrors": ["http://m"]}}},
            "only for docker.io",
        ),
    ],
)
def test_bad_input_is_refused_before_the_node_is_touched(machines: Machines, options: Any, says: str) -> None:
    machine = machines.fleet.machine("IMG-0")
    before = machines.requests(machine)
    given = dict(options)
    result = converge(machine, given.pop("images"), **given)
    assert result["failed"]
    assert says in result["msg"]
    assert SECRET not in str(result)
    assert machines.requests(machine) == before
