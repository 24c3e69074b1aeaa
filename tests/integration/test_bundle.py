# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bundles from the simulator's artifact server and registry: their contents, and the effects of faults."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.bundling import PAUSE, Controller
from integration.sweeps import Sweeps
from traced_memory import peak_memory

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content as bundle_content
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import verify
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.build import Builder
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.fetch import Fetcher, FetchError, FetchSource
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.index import BundleError
from ansible_collections.winkube.node.plugins.plugin_utils.patches.input import read_patches
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.registry.server import SimulatedRegistry

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("bundle")]

CRICTL = "github.com/kubernetes-sigs/cri-tools/releases/download/v1.37.0/crictl-v1.37.0-windows-amd64.tar.gz"
HOST_PROCESS = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    with ArtifactServer() as server, SimulatedRegistry() as registry:
        yield Controller(tmp_path, server, registry)


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """Return every file with its time and hash."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_bundle_has_what_the_resources_need_and_costs_nothing_again(controller: Controller) -> None:
    resources = [
        controller.artifact("crictl", "1.37.0"),
        controller.artifact("containerd", "2.3.7"),
        controller.image(),
        controller.image(HOST_PROCESS),
    ]
    made = controller.make(resources)
    assert (made.failures, made.warnings, made.signed) == ([], [], True)
    bundle = controller.verified()
    assert {entry.kind for entry in bundle.entries.values()} == {"crictl", "containerd", "checksum", "container-image"}
    assert hashlib.sha256(bundle.file(CRICTL).read_bytes()).hexdigest() == bundle.entries[CRICTL].sha256
    assert bundle.file(f"{CRICTL}.sha256").read_text().strip() == bundle.entries[CRICTL].sha256
    archives = [entry for entry in bundle.entries.values() if entry.kind == "container-image"]
    assert sorted((entry.name, entry.windows) for entry in archives) == [
        # It runs on all versions of Windows, so one archive is enough.
        (HOST_PROCESS, ("2022", "2025")),
        (PAUSE, ("2022",)),
        (PAUSE, ("2025",)),
    ]
    before, asked = tree(controller.bundle), controller.requests()
    again = controller.make(resources)
    assert (again.fetched, again.removed, again.signed, again.failures) == ([], [], False, [])
    assert tree(controller.bundle) == before
    assert controller.requests() == asked


def test_an_archive_has_the_registrys_own_index_and_only_the_blobs_that_its_windows_takes(
    controller: Controller,
) -> None:
    controller.make([controller.image()])
    images, bundle = controller.registry.images, controller.verified()
    index = images.tags[PAUSE]
    entries = json.loads(images.content[index][1])["manifests"]
    for entry in bundle.entries.values():
        with tarfile.open(bundle.file(entry.path)) as archive:
            names = set(archive.getnames())
            blobs = {name.rpartition("/")[2] for name in names if name.startswith("blobs/")}
            for name in blobs:
                member = archive.extractfile(f"blobs/sha256/{name}")
                assert member is not None
                assert hashlib.sha256(member.read()).hexdigest() == name
        builds = {"2022": 20348, "2025": 26100}
        fitting = [one["digest"] for one in entries if oci.matches(one["platform"], builds[entry.windows[0]], False)]
        there = {one["digest"] for one in entries if one["digest"].partition(":")[2] in blobs}
        assert there == set(fitting)
        assert index.partition(":")[2] in blobs
        assert {"oci-layout", "index.json", "manifest.json"} <= names
        assert entry.digest == index


@pytest.mark.sweep
def test_a_download_cut_at_any_byte_continues(controller: Controller, sweep: Sweeps) -> None:
    content = random.Random(7).randbytes(4000)
    requested, injected, converged = controller.needed_content([controller.own("tool.zip", content)]), 0, 0
    for at in sweep.choose("bundle", [*range(0, 4000, 97), 3999], 20):
        for name in ("bundle", "key", "key.pub"):
            path = controller.folder / name
            if path.is_dir():
                for file in sorted(path.rglob("*"), reverse=True):
                    file.rmdir() if file.is_dir() else file.unlink()
        controller.server.fault("cut", "*tool.zip", at=at, times=1)
        before = sum(controller.server.status()["bytes"].values())
        made = controller.make(requested)
        injected += 1
        (path,) = controller.verified().entries
        converged += made.failures == [] and controller.verified().file(path).read_bytes() == content
        # What arrived before the cut is not downloaded again.
        assert sum(controller.server.status()["bytes"].values()) - before == 4000
    sweep.report("bundle", injected=injected, converged=converged)
    assert converged == injected


def test_an_interrupted_layer_continues_in_the_next_run(controller: Controller) -> None:
    blobs = Blobs()
    blobs.add("r.example/app:1", ["2022"], size=300_000)
    with SimulatedRegistry(images=blobs) as registry:
        controller.registry = registry
        layer = max(blobs.content, key=lambda digest: len(blobs.content[digest][1]))
        # From the mirror, and from the registry itself.
        registry.fault("cut", f"*/blobs/{layer}", at=100_000, times=2)
        made = controller.make([controller.image("r.example/app:1")], attempts=1)
        assert "the connection broke" in made.failures[0]
        assert controller.verified().entries == {}
        sent = registry.counters["bytes"]
        assert controller.make([controller.image("r.example/app:1")]).failures == []
        assert registry.counters["bytes"] - sent < 150_000
    (entry,) = controller.verified().entries.values()
    assert entry.windows == ("2022", "2025")


def test_a_run_that_is_killed_loses_only_what_is_not_whole(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = [controller.artifact("crictl", "1.37.0"), controller.image(), controller.own("tool.zip", b"x" * 100)]

    def killed(*_arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Builder, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            controller.make(resources)
    asked = controller.requests()
    assert controller.make(resources).fetched == []
    assert controller.requests() == asked
    assert len(controller.verified().entries) == 5


def test_a_new_checksum_file_comes_with_its_file_only(controller: Controller) -> None:
    resources = [controller.artifact("crictl", "1.37.0")]
    controller.make(resources)
    new = b"another build"
    controller.server.put(CRICTL, new)
    controller.server.put(f"{CRICTL}.sha256", hashlib.sha256(new).hexdigest().encode())
    controller.server.fault("status", "*.tar.gz", status=500)
    assert controller.make(resources, refresh=True).failures
    # The old pair of files is still complete.
    bundle = controller.verified()
    assert bundle.file(f"{CRICTL}.sha256").read_text().strip() == bundle.entries[CRICTL].sha256
    controller.server.faults.clear()
    assert controller.make(resources, refresh=True).failures == []
    assert controller.verified().file(CRICTL).read_bytes() == new


@pytest.mark.parametrize(
    ("fault", "options", "message"),
    [
        ("wrong", {}, "expected SHA256"),
        ("truncated", {"at": 100}, "expected SHA256"),
        ("html", {}, "an HTML page"),
        ("status", {"status": 404}, "HTTP 404"),
        ("status", {"status": 401}, "HTTP 401"),
        ("status", {"status": 503}, "HTTP 503 Service Unavailable (attempts: 3)"),
        ("loop", {}, "it redirects more than 10 times"),
    ],
)
def test_a_failed_download_is_one_message_and_the_rest_is_downloaded(
    controller: Controller, fault: str, options: dict[str, Any], message: str
) -> None:
    good, bad = controller.own("good.zip", b"good" * 100), controller.own("bad.zip", b"bad" * 100)
    bad["urls"] = [f"{url}?sig=s3cret" for url in bad["urls"]]
    controller.server.fault(fault, "*bad.zip", **options)
    made = controller.make([good, bad])
    (failure,) = made.failures
    assert message in failure
    assert "/files.example/bad.zip" in failure
    assert "s3cret" not in failure
    bundle = controller.verified()
    assert [entry.kind for entry in bundle.entries.values()] == ["good"]
    assert not list(controller.bundle.rglob("bad.zip*"))
    controller.server.faults.clear()
    assert controller.make([good, bad]).failures == []
    assert (len(controller.verified().entries), (controller.bundle / ".work").exists()) == (2, False)


def test_retry_after_of_a_busy_server_is_respected(controller: Controller) -> None:
    controller.server.fault("status", "*tool.zip", status=429, retry_after=17, times=2)
    assert controller.make([controller.own("tool.zip", b"x" * 100)]).failures == []
    assert controller.pauses == [17.0, 17.0]


def test_a_long_download_reports_progress(controller: Controller, tmp_path: Path) -> None:
    messages: list[str] = []
    ticks = itertools.count(step=6)
    controller.server.put("files.example/long.zip", b"x" * 3_000_000)
    source = FetchSource(url=f"{controller.server.url}/files.example/long.zip?sig=s3cret")
    Fetcher(notify=messages.append, clock=lambda: float(next(ticks))).file(source, tmp_path / "long.zip")
    bare = f"bundle: {controller.server.url}/files.example/long.zip"
    assert messages
    assert set(messages) <= {f"{bare}: {number} of 3 MB" for number in range(4)}


def test_sites_are_asked_in_order_and_the_publisher_last(controller: Controller) -> None:
    with ArtifactServer() as site:
        site.fault("status", "*", status=404)
        sites = [{"url": site.url, "query": "sv=1&sig=s3cret"}]
        made = controller.make([controller.artifact("crictl", "1.37.0", sites=sites)])
        assert made.failures == []
        assert sum(site.status()["requests"].values()) == 1
    assert "s3cret" not in (controller.bundle / "index.json").read_text()
    # The path is that of the publisher, regardless of the source.
    assert CRICTL in controller.verified().entries


def test_a_proxy_with_a_password_and_a_private_authority(controller: Controller, tmp_path: Path) -> None:
    authority = PrivateCA()
    with ArtifactServer(authority=authority, proxy_user="me:s3cret") as proxy:
        through = proxy.url.replace("http://", "http://me:s3cret@")
        resource = controller.artifact("crictl", "1.37.0", mirror="", upstream=True, proxy=through)
        requested = controller.needed_content([resource])
        # The authority is not trusted yet.
        (failure,) = controller.make(requested, attempts=1).failures
        assert "its certificate is not accepted" in failure
        assert "s3cret" not in failure
        bundle = tmp_path / "ca.pem"
        bundle.write_bytes(authority.pem)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
            assert controller.make(requested).failures == []
        assert proxy.status()["proxied"] > 0
        # A wrong password.
        proxy.proxy_user = "me:other"
        (failure,) = controller.make(requested, attempts=1, refresh=True).failures
        assert "the proxy refused the connection (407)" in failure
        assert "s3cret" not in failure


def test_no_redirect_of_the_controllers_leaves_https(tmp_path: Path) -> None:
    authority = PrivateCA()
    with ArtifactServer(tls=authority.server_context(["127.0.0.1"])) as first, ArtifactServer() as clear:
        clear.put("blob", b"x" * 100)
        first.put("moved", b"y")
        first.fault("redirect", "/moved", location=f"{clear.url}/blob")
        source = FetchSource(url=f"{first.url}/moved", ca=authority.pem.decode())
        with pytest.raises(FetchError, match="redirects from HTTPS to plain HTTP"):
            Fetcher(attempts=1).file(source, tmp_path / "file")
        assert sum(clear.status()["requests"].values()) == 0


def test_unneeded_files_are_removed_only_on_request(controller: Controller) -> None:
    crictl, tool = controller.artifact("crictl", "1.37.0"), controller.own("tool.zip", b"x" * 100)
    controller.make([crictl, tool])
    assert controller.make([crictl]).removed == []
    assert len(controller.verified().entries) == 3
    (controller.bundle / "notes.txt").write_text("mine")
    assert "notes.txt is in bundle_dir but does not belong to the bundle" in controller.make([crictl]).failures[0]
    assert len(controller.make([crictl], prune=True).removed) == 2
    assert set(controller.verified().entries) == {CRICTL, f"{CRICTL}.sha256"}


def test_files_that_were_changed_are_fetched_again(controller: Controller) -> None:
    resources = [controller.artifact("crictl", "1.37.0"), controller.own("tool.zip", b"x" * 100)]
    controller.make(resources)
    (controller.bundle / CRICTL).write_bytes(b"something else")
    made = controller.make(resources)
    assert CRICTL in made.fetched
    assert "the file is downloaded again" in made.warnings[0]
    assert len(controller.verified().entries) == 3
    # An unsigned index has no meaning.
    index = controller.bundle / "index.json"
    index.write_bytes(index.read_bytes() + b" ")
    assert len(controller.make(resources).fetched) == 3
    assert len(controller.verified().entries) == 3


def test_patches_come_by_url_or_from_the_controller(controller: Controller, tmp_path: Path) -> None:
    local, remote = b"local" * 50, b"remote" * 50
    (tmp_path / "windows10.0-kb5046617-x64.msu").write_bytes(local)
    controller.server.put("files.example/windows10.0-kb5046616-x64.msu", remote)
    digests = [hashlib.sha256(content).hexdigest() for content in (remote, local)]
    entries = [
        {"url": f"{controller.server.url}/files.example/windows10.0-kb5046616-x64.msu?sig=s", "sha256": digests[0]},
        {"file": "windows10.0-kb5046617-x64.msu", "sha256": digests[1]},
        "KB5050000",
    ]
    patches = read_patches(entries, str(tmp_path), str)
    made = controller.make(bundle_content.of_patches(patches, ["2022"], None, ()))
    assert made.failures == []
    assert set(controller.verified().entries) == {
        f"patches/{digests[0]}/windows10.0-kb5046616-x64.msu",
        f"patches/{digests[1]}/windows10.0-kb5046617-x64.msu",
    }


def test_two_hosts_that_contradict_each_other(controller: Controller) -> None:
    one = controller.needed_content([controller.own("tool.zip", b"one")])
    two = controller.needed_content([controller.own("tool.zip", b"two")])
    with pytest.raises(BundleError, match="expected the same checksum of"):
        one.joined(two)


def test_a_dry_run_sends_no_requests(controller: Controller) -> None:
    made = controller.make([controller.artifact("crictl", "1.37.0"), controller.image()], check_mode=True)
    assert (made.fetched, controller.requests(), controller.bundle.exists()) == ([CRICTL, PAUSE], 0, False)


def test_requirements_of_hosts_can_be_passed_between_tasks(controller: Controller) -> None:
    expected = controller.needed_content(
        [controller.artifact("crictl", "1.37.0", proxy="http://p:1", no_proxy="a,b"), controller.image()], username="me"
    )
    assert bundle_content.from_data(json.loads(json.dumps(bundle_content.to_data(expected)))) == expected
    (file,) = expected.files.values()
    assert {(source.proxy, source.no_proxy) for source in file.sources} == {("http://p:1", ("a", "b"))}


def test_memory_does_not_grow_with_the_size_of_files(controller: Controller) -> None:
    content = random.Random(1).randbytes(1 << 20) * 48
    requested = controller.needed_content([controller.own("large.zip", content)])

    def make_and_verify() -> None:
        assert controller.make(requested).failures == []
        verify.verify(str(controller.bundle), controller.public)

    assert peak_memory(make_and_verify) < len(content) // 3


def test_a_run_killed_between_index_and_signature_can_be_repeated(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """An exception that no code catches."""

    resources = [controller.own(f"tool{number}.zip", b"x" * 100 * number) for number in (1, 2, 3)]
    replace, signatures = Path.replace, 0

    def renaming(path: Path, target: Path) -> Path:
        nonlocal signatures
        signatures += path.name == "index.json.sig.part"
        if signatures == 2:
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", renaming)
        with pytest.raises(Killed):
            controller.make(resources[:2], parallel=1)
    # Other users have no access to it.
    with pytest.raises(BundleError, match=r"by bundle_public_key in index\.json\.sig, got a different one"):
        controller.verified()
    asked = controller.requests()
    made = controller.make(resources)
    assert (made.warnings, made.failures, len(made.fetched)) == ([], [], 1)
    assert controller.requests() == asked + 1
    assert len(controller.verified().entries) == 3
