# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The artifact cache on a simulated server: few commands, verified files, order of sources, and all kinds of failures.

The engine drives the machine directly. curl sends real HTTP requests to the artifact server.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.caching import CACHE, SECRET, TOOL, archive, cache, content, files, machine_of, offer, requests
from integration.sweeps import Sweeps
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Observation
from simulator.artifacts import ArtifactServer
from simulator.artifacts.archives import zip_archive
from simulator.artifacts.certificates import PrivateCA
from simulator.machine import certificate_store
from simulator.machine import faults as machine_faults

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("artifact_cache")]


@pytest.fixture(params=["2019", "2022"])
def windows(request: pytest.FixtureRequest) -> str:
    """Return the version of Windows: 2019 has curl 7.55, and 2022 a curl with more features."""
    return str(request.param)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    yield from machine_of(tmp_path, "2022")


@pytest.fixture
def old_and_new(tmp_path: Path, windows: str) -> Iterator[DirectNode]:
    yield from machine_of(tmp_path, windows)


@pytest.fixture
def server() -> Iterator[ArtifactServer]:
    with ArtifactServer() as server:
        yield server


# Every kind that upstream publishes, with its form of checksum.
EVERY = {
    "containerd": ["2.2.1"],
    "moby": ["29.2.0"],
    "cri-dockerd": ["0.4.0"],
    "crictl": ["1.36.0"],
    "nerdctl": ["2.1.0"],
    "sdn-plugins": ["0.3.2"],
    "azure-vnet": ["1.6.21"],
    "cni-plugins": ["1.9.0"],
    "flannel": ["0.28.0"],
    "flannel-cni-plugin": ["1.9.1-flannel1"],
    "csi-proxy": ["1.2.0"],
    "cloudbase-init": ["1.1.6"],
}


def test_every_kind_needs_few_commands_and_a_second_run_no_network(
    old_and_new: DirectNode, server: ArtifactServer
) -> None:
    node = old_and_new
    for version in range(13):
        offer(server, f"1.0.{version}", archive(str(version)))
    lists = {**EVERY, "tool": [f"1.0.{version}" for version in range(13)]}
    first = cache(node, lists, server, kinds=TOOL)
    assert first.outcome.failures == []
    assert set(first.status().values()) == {"fetched"}
    assert len(first.table) == 25
    # Observe (with the sizes), apply. On a real node, the detached apply takes two commands.
    assert first.commands == 2
    for entry in first.table:
        data = content(node, entry.path)
        assert (entry.sha256, entry.size) == (hashlib.sha256(data).hexdigest(), len(data))
        noted = json.loads(content(node, entry.path + ".manifest.json"))
        for key in ("kind", "version", "sha256", "size", "custom"):
            assert noted[key] == getattr(entry, key)
        assert noted["source"] == entry.source
    server.reset()
    second = cache(node, lists, server, kinds=TOOL)
    assert (second.commands, requests(server)) == (1, 0)
    assert set(second.status().values()) == {"cached"}
    assert [(entry.sha256, entry.source) for entry in second.table] == [
        (entry.sha256, entry.source) for entry in first.table
    ]


def test_downloads_run_side_by_side(node: DirectNode) -> None:
    # Each connection is slow, so that downloads overlap even on a busy machine.
    with ArtifactServer(rate=400_000) as server:
        for version in range(9):
            offer(server, str(version), archive(str(version), 0) + bytes(200_000))
        run = cache(node, {"tool": [str(version) for version in range(9)]}, server, kinds=TOOL)
        assert run.outcome.failures == []
        assert server.status()["most_at_once"] >= 8


def test_versions_are_switched_and_pruned_without_the_network(node: DirectNode, server: ArtifactServer) -> None:
    three = {"crictl": ["1.34.0", "1.35.0", "1.36.0"], "nerdctl": ["2.0.0", "2.1.0", "2.1.1"]}
    assert cache(node, three, server).outcome.failures == []
    node.machine.files.write_bytes(f"{CACHE}\\notes.txt", b"mine")
    server.reset()
    two = {kind: versions[1:] for kind, versions in three.items()}
    kept = cache(node, two, server)
    assert [change.planned.why for change in kept.outcome.changes] == []
    looked = cache(node, two, server, prune=True, check_mode=True)
    assert [change.planned.resource.type for change in looked.outcome.changes] == ["ArtifactCache"]
    pruned = cache(node, two, server, prune=True, keep=[f"{CACHE}\\nerdctl\\2.0.0\\nerdctl-2.0.0-windows-amd64.tar.gz"])
    assert len(pruned.outcome.changes) == 1
    folders = {name.rpartition("\\")[0] for name in files(node)}
    assert folders == {"", "crictl\\1.35.0", "crictl\\1.36.0", "nerdctl\\2.0.0", "nerdctl\\2.1.0", "nerdctl\\2.1.1"}
    assert cache(node, {"crictl": ["1.36.0"]}, server).status() == {"crictl 1.36.0": "cached"}
    assert requests(server) == 0


def test_a_file_is_never_trusted_by_its_name(node: DirectNode, server: ArtifactServer) -> None:
    lists = {"crictl": ["1.36.0"], "flannel": ["0.28.0"]}
    paths = [entry.path for entry in cache(node, lists, server).table]
    good = [content(node, path) for path in paths]
    for path in paths:
        node.machine.files.write_bytes(path, b"not what it was")
    again = cache(node, lists, server)
    assert set(again.status().values()) == {"fetched"}
    assert [content(node, path) for path in paths] == good
    # Only its manifest verifies flannel. Without a manifest it is not trusted.
    node.machine.files.delete(paths[1] + ".manifest.json")
    assert cache(node, lists, server).status() == {"crictl 1.36.0": "cached", "flannel 0.28.0": "fetched"}


def test_an_override_is_fetched_again_when_its_etag_changes_and_never_counts_as_official(
    node: DirectNode, server: ArtifactServer
) -> None:
    path = offer(server, "1.0.0", archive("official"))
    server.put("ci.example/build.tar.gz", archive("first"))
    url = f"{server.url}/ci.example/build.tar.gz?sig={SECRET}"
    both = {"tool": ["1.0.0", {"version": "1.0.0", "url": url}]}
    first = cache(node, both, server, kinds=TOOL)
    assert [(entry.status, entry.custom) for entry in first.table] == [("fetched", False), ("fetched", True)]
    official, own = first.table
    assert content(node, official.path) == server.content(path)
    assert content(node, own.path) == archive("first")
    assert cache(node, both, server, kinds=TOOL).outcome.changes == []

    server.put("ci.example/build.tar.gz", archive("other"))
    changed = cache(node, both, server, kinds=TOOL)
    assert [entry.status for entry in changed.table] == ["cached", "fetched"]
    assert content(node, own.path) == archive("other")
    # Signatures change, while the file stays the same.
    renewed = {"tool": [{"version": "1.0.0", "url": url.replace(SECRET, "renewed")}]}
    assert cache(node, renewed, server, kinds=TOOL).outcome.changes == []
    # The source is down. The existing file is still valid.
    server.fault("status", "/ci.example/*", status=503)
    assert cache(node, both, server, kinds=TOOL).outcome.changes == []
    assert SECRET not in changed.shown()


BROKEN: dict[str, tuple[str, dict[str, t.Any], str]] = {
    "wrong": ("", {}, "wrong SHA256"),
    "garbage": ("wrong", {}, "wrong SHA256"),
    "truncated": ("truncated", {"at": 40}, "wrong SHA256"),
    "html": ("html", {}, "an HTML page"),
    "404": ("status", {"status": 404}, "HTTP 404"),
    "401": ("status", {"status": 401}, "HTTP 401"),
    "429": ("status", {"status": 429}, "HTTP 429"),
    "loop": ("loop", {}, "curl 47"),
    "cut": ("cut", {"at": 0}, "curl 18"),
    "sums": ("html", {"suffix": ".sha256"}, "holds no SHA256 checksum"),
}


def test_each_failure_names_its_source_and_the_other_artifacts_are_downloaded(
    old_and_new: DirectNode, server: ArtifactServer, windows: str
) -> None:
    node = old_and_new
    for name, (kind, options, dummy) in BROKEN.items():
        path = offer(server, name, archive(name))
        if kind:
            more = dict(options)
            server.fault(kind, f"/{path}{more.pop('suffix', '')}", **more)
        else:
            server.put(path, archive("another file"))
    offer(server, "good", archive("good"))
    signed = windows == "2019"
    site = {"url": server.url, **({"query": f"sig={SECRET}"} if signed else {})}
    run = cache(node, {"tool": [*BROKEN, "good"]}, sites=[site], upstream=False, kinds=TOOL)
    assert run.status() == {**{f"tool {name}": "failed" for name in BROKEN}, "tool good": "fetched"}
    for name, (dummy, dummy2, words) in BROKEN.items():
        (reported,) = [text for text in run.outcome.failures if f"Artifact tool {name}:" in text]
        assert f"{server.url}/files.example/tool/{name}/tool.tar.gz: " in reported
        # This also applies to a signed URL, for which users need to know whether it has expired (403) or is wrong
        # (404).
        assert words in reported
        assert SECRET not in reported
    finals = [name for name in files(node) if name.endswith("tool.tar.gz")]
    assert finals == ["tool\\good\\tool.tar.gz"]
    server.faults.clear()
    offer(server, "wrong", archive("wrong"))
    healed = cache(node, {"tool": [*BROKEN, "good"]}, sites=[site], upstream=False, kinds=TOOL)
    assert set(healed.status().values()) == {"fetched", "cached"}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("html", "an HTML page"),
        ("wrong", "not have the format that its extension indicates"),
        ("truncated", "incomplete or damaged"),
        ("unsafe", "names that lead outside its target folder: ../"),
    ],
)
def test_an_unverified_download_must_at_least_have_the_right_file_format(
    node: DirectNode, server: ArtifactServer, kind: str, words: str
) -> None:
    server.fault(kind, "*csi-proxy-v1.2.0*", at=3000)
    run = cache(node, {"csi-proxy": ["1.2.0"]}, server)
    assert words in run.outcome.failures[0]
    assert not [name for name in files(node) if name.endswith(".tar.gz")]


@pytest.mark.parametrize("name", ["../../Windows/evil.exe", "a/../../evil.exe", "/Windows/evil.exe", "C:/evil.exe"])
def test_a_zip_with_paths_outside_its_folder_is_refused_even_if_verified(
    node: DirectNode, server: ArtifactServer, name: str
) -> None:
    evil = zip_archive({"good.exe": b"MZ", name: b"MZ"})
    server.put("files.example/tool/1.0.0/tool.zip", evil)
    pinned = {"version": "1.0.0", "sha256": hashlib.sha256(evil).hexdigest()}
    kinds = {"tool": {"url": "https://files.example/tool/{version}/tool.zip"}}
    run = cache(node, {"tool": [pinned]}, server, kinds=kinds)
    assert "names that lead outside its target folder" in run.outcome.failures[0]
    assert not node.machine.files.exists(f"{CACHE}\\tool\\1.0.0\\tool.zip")


def test_a_server_that_is_busy_is_asked_again(old_and_new: DirectNode, server: ArtifactServer) -> None:
    path = offer(server, "1.0.0", archive("1"))
    for status in (429, 503):
        server.fault("status", f"/{path}", status=status, times=2, retry_after=1)
    run = cache(old_and_new, {"tool": ["1.0.0"]}, server, kinds=TOOL)
    assert run.status() == {"tool 1.0.0": "fetched"}


def test_an_untrusted_or_expired_certificate_is_reported(node: DirectNode) -> None:
    unknown, known = PrivateCA(), PrivateCA()
    trust = [{"type": "CertificateImport", "name": "ours", "content": known.pem.decode()}]
    assert len(Convergence(NodeSession(node), load(trust)).run().changes) == 1
    assert Convergence(NodeSession(node), load(trust)).run().changes == []
    with (
        ArtifactServer(tls=unknown.server_context(["127.0.0.1"])) as first,
        ArtifactServer(tls=known.server_context(["127.0.0.1"], expired=True)) as second,
        ArtifactServer(tls=known.server_context(["127.0.0.1"])) as third,
    ):
        urls = []
        for version, server in enumerate((first, second, third)):
            server.put("x/tool.tar.gz", archive("1"))
            urls.append({"version": str(version), "url": f"{server.url}/x/tool.tar.gz"})
        # A private CA has no revocation lists.
        run = cache(node, {"tool": urls}, ignore_revocation=True)
    assert [entry.status for entry in run.table] == ["failed", "failed", "fetched"]
    for text, entry in zip(run.outcome.failures, urls, strict=False):
        assert entry["url"] in text
        assert "certificate" in text


def test_a_formerly_pinned_file_is_kept_if_no_source_can_be_reached(node: DirectNode, server: ArtifactServer) -> None:
    data = archive("1")
    offer(server, "1.0.0", data)
    pinned = {"tool": [{"version": "1.0.0", "sha256": hashlib.sha256(data).hexdigest()}]}
    assert cache(node, pinned, server, kinds=TOOL).status() == {"tool 1.0.0": "fetched"}
    server.reset()
    assert cache(node, {"tool": ["1.0.0"]}, server, kinds=TOOL).status() == {"tool 1.0.0": "cached"}
    assert requests(server) == 0


def test_a_sha256_does_not_replace_a_publishers_sha512(node: DirectNode, server: ArtifactServer) -> None:
    """A file that cannot be verified is set aside on the node. With the pin it is restored without a download."""
    kind = {"tool": {**TOOL["tool"], "checksum_suffix": ".sha512"}}
    data = archive("1")
    where = offer(server, "1.0.0", data)
    site = {"url": server.url, "digests": {where: hashlib.sha256(data).hexdigest()}}
    vouched = {"kinds": kind, "sites": [site], "upstream": False}
    assert cache(node, {"tool": ["1.0.0"]}, **vouched).status() == {"tool 1.0.0": "fetched"}
    path = f"{CACHE}\\tool\\1.0.0\\tool.tar.gz"
    shut = cache(node, {"tool": ["1.0.0"]}, server, kinds=kind)
    assert shut.status() == {"tool 1.0.0": "failed"}
    assert not node.machine.files.exists(path)
    assert content(node, f"{path}.unverified") == data
    server.reset()
    assert cache(node, {"tool": ["1.0.0"]}, **vouched).status() == {"tool 1.0.0": "cached"}
    assert (content(node, path), requests(server)) == (data, 0)
    server.put(f"{where}.sha512", hashlib.sha512(data).hexdigest().encode())
    assert cache(node, {"tool": ["1.0.0"]}, server, kinds=kind).status() == {"tool 1.0.0": "fetched"}
    assert not node.machine.files.exists(f"{path}.unverified")
    assert cache(node, {"tool": ["1.0.0"]}, server, kinds=kind).status() == {"tool 1.0.0": "cached"}


def test_every_certificate_of_an_item_is_imported(node: DirectNode) -> None:
    """Import a root and an intermediate certificate, and then one more after the existing ones."""
    pems = [PrivateCA().pem.decode() for dummy in range(3)]
    marks = [certificate_store.thumbprint(certificate_store.load(pem.encode())[0]) for pem in pems]
    for count in (2, 3):
        trust = load([{"type": "CertificateImport", "name": "ours", "content": "\n".join(pems[:count])}])
        assert len(Convergence(NodeSession(node), trust).run().changes) == 1
        assert [certificate_store.contains(node.machine, "Root", mark) for mark in marks[:count]] == [True] * count
        assert Convergence(NodeSession(node), trust).run().changes == []
    assert list(node.machine.files.listing(r"C:\Windows\winkube\certificates")) == []


def test_a_disk_that_fills_during_a_download_is_reported_and_leaves_no_final_file(
    node: DirectNode, server: ArtifactServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(server, "1.0.0", archive("1") + bytes(100_000))
    run = node.run

    def fill_and_run(batch: Batch, *, step: str = "", private: bool = False, **more: t.Any) -> Observation:
        if step == "apply":
            machine_faults.set_fault(node.machine, {"kind": "disk_full", "free": 20_000})
        return run(batch, step=step, private=private, **more)

    monkeypatch.setattr(node, "run", fill_and_run)
    broken = cache(node, {"tool": ["1.0.0"]}, server, kinds=TOOL)
    assert "is the disk full? (curl 23)" in broken.outcome.failures[0]
    assert not node.machine.files.exists(f"{CACHE}\\tool\\1.0.0\\tool.tar.gz")
    monkeypatch.undo()
    machine_faults.set_fault(node.machine, {"kind": "disk_full", "free": None})
    assert cache(node, {"tool": ["1.0.0"]}, server, kinds=TOOL).status() == {"tool 1.0.0": "fetched"}


def test_artifacts_for_another_windows_are_skipped(node: DirectNode, server: ArtifactServer) -> None:
    run = cache(node, {"tool": ["1.0.0"]}, server, kinds={"tool": {**TOOL["tool"], "windows": ["2025"]}})
    assert (run.status(), run.outcome.failures, requests(server)) == ({"tool 1.0.0": "skipped"}, [], 0)


def test_a_download_that_does_not_fit_on_the_disk_does_not_start(
    node: DirectNode, server: ArtifactServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(server, "1.0.0", archive("1"))
    monkeypatch.setattr(node.machine.files, "free_space", lambda *dummy: 10**6)
    run = cache(node, {"tool": ["1.0.0"]}, server, kinds=TOOL)
    assert "not enough disk space on C:" in run.outcome.failures[0]
    assert "Artifact tool 1.0.0" in run.outcome.failures[0]
    assert not node.machine.files.exists(CACHE) or files(node) == []


@pytest.mark.sweep
def test_a_download_cut_at_any_byte_is_resumed(node: DirectNode, server: ArtifactServer, sweep: Sweeps) -> None:
    """Every response with a file is cut at the same byte of its head or body. The next run has a stable link."""
    data = archive("sweep", 4000) + bytes(range(256)) * 40
    size = len(data)
    # Negative numbers are in the head. The others are the first and last bytes of the body, and some in between.
    possible = [("", at) for at in (*range(-160, 0, 8), *range(12), *range(64, size, 256), size - 2, size - 1)]
    # The checksum file is cut, too.
    possible += [(".sha256", at) for at in (-1, -40, 0, 1, 32, 63)]
    chosen = sweep.choose("artifact_cache", possible, 30, by=lambda cut: (cut[0], cut[1] < 0))
    cuts = {f"{2 if suffix else 1}.{at + 1000}": (suffix, at) for suffix, at in chosen}
    for version, (suffix, at) in cuts.items():
        server.fault("cut", f"/{offer(server, version, data)}{suffix}", at=at)
    finals = {version: f"{CACHE}\\tool\\{version}\\tool.tar.gz" for version in cuts}

    broken = cache(node, {"tool": list(cuts)}, server, kinds=TOOL, parallel=16)
    for version, final in finals.items():
        # The file is complete or missing: each attempt of a run continues where the last was cut, and may complete it.
        assert node.machine.files.exists(final) == (broken.status()[f"tool {version}"] == "fetched")
    missing = [version for version, status in broken.status().items() if status == "failed"]
    assert missing, "no cut did any harm: nothing was tested"
    assert len(broken.outcome.failures) == len(missing)

    server.faults.clear()
    healed = cache(node, {"tool": list(cuts)}, server, kinds=TOOL, parallel=16)
    assert healed.outcome.failures == []
    converged = [version for version, final in finals.items() if content(node, final) == data]
    sweep.report("artifact_cache", injected=len(cuts), converged=len(converged))
    assert len(converged) == len(cuts)
    assert not [name for name in files(node) if name.endswith(".part")]
