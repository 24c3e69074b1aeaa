# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Container images of bundles, from registries that need credentials, send wrong data, or have moved their tags."""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.bundling import PAUSE, Controller

from ansible_collections.winkube.node.plugins.plugin_utils.bundle import content
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.artifacts.certificates import PrivateCA
from simulator.artifacts.server import ArtifactServer
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.upstream import Blobs
from simulator.kubernetes_node.registry.server import SimulatedRegistry

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("bundle_registries")]


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    with ArtifactServer() as server, SimulatedRegistry() as registry:
        yield Controller(tmp_path, server, registry)


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_registries_that_require_authentication(controller: Controller, auth: Any) -> None:
    blobs = Blobs()
    blobs.add("r.example/app:1", ["2022"])
    authority = PrivateCA()
    context = authority.server_context(["127.0.0.1"])
    with SimulatedRegistry(images=blobs, user="me:s3cret", auth=auth, tls=context) as registry:
        controller.registry = registry
        image, ca = [controller.image("r.example/app:1")], authority.pem.decode()
        for given in ({}, {"username": "me", "password": "wr0ng"}):
            (failure,) = controller.make(controller.needed_content(image, ca=ca, **given)).failures
            assert "username and password" in failure or "HTTP 401" in failure
            assert "wr0ng" not in failure
        requested = controller.needed_content(image, ca=ca, username="me", password="s3cret")
        assert controller.make(requested).failures == []
        assert "s3cret" not in (controller.bundle / "index.json").read_text()


def test_the_mirror_of_all_other_registries_is_asked(controller: Controller) -> None:
    """This is like containerd on the nodes, which finds the mirror in the folder `_default`."""
    names = ["r.example/app:1", "other.example/app:1"]
    blobs = Blobs()
    blobs.add(names[0], ["2022"])
    blobs.add(names[1], ["2022"])
    with SimulatedRegistry(images=blobs) as mirror:
        settings = {"_default": {"mirrors": [mirror.url]}, "other.example": {"server": "http://127.0.0.1:9"}}
        requested = content.of_resources(load([controller.image(name) for name in names]), ("2022",), settings)
        made = controller.make(requested, attempts=1)
    # A registry with its own settings is not one of the others.
    assert [entry.name for entry in made.entries.values()] == names[:1]
    assert ["other.example" in failure or "127.0.0.1:9" in failure for failure in made.failures] == [True]


def test_every_authority_of_a_registry_counts(controller: Controller) -> None:
    blobs, authority = Blobs(), PrivateCA()
    blobs.add("r.example/app:1", ["2022"])
    old, new = PrivateCA("Another CA").pem.decode(), authority.pem.decode()
    with SimulatedRegistry(images=blobs, tls=authority.server_context(["127.0.0.1"])) as registry:
        controller.registry = registry
        image = [controller.image("r.example/app:1")]
        before = set(Path(tempfile.gettempdir()).glob("winkube-ca-*"))
        # A text file may lack its final line ending.
        assert controller.make(controller.needed_content(image, ca=[old.strip(), new.strip()])).failures == []
        assert set(Path(tempfile.gettempdir()).glob("winkube-ca-*")) <= before
        (failure,) = controller.make(controller.needed_content(image, ca=[old]), attempts=1, refresh=True).failures
        assert "its certificate is not accepted" in failure
        asked = controller.requests()
        for given in (r"C:\certificates\site.pem", [new, r"C:\certificates\site.pem"]):
            (failure,) = controller.make(controller.needed_content(image, ca=given), refresh=True).failures
            assert r"got 'C:\\certificates\\site.pem'" in failure
            assert "expected ca as a certificate in PEM" in failure
        assert controller.requests() == asked
        # Without a pinned digest there is nothing to verify with.
        unverified = controller.needed_content(image, ca=r"C:\certificates\site.pem", skip_verify=True)
        assert controller.make(unverified, refresh=True).failures == []


def test_a_layer_that_no_registry_has_comes_from_its_own_url(controller: Controller) -> None:
    blobs = Blobs()
    blobs.add("r.example/base:1", ["2022"])
    index = json.loads(blobs.content[blobs.tags["r.example/base:1"]][1])
    manifest = json.loads(blobs.content[index["manifests"][0]["digest"]][1])
    layer = manifest["layers"][0]
    controller.server.put("layers.example/layer", blobs.content.pop(layer["digest"])[1])
    layer["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    layer["urls"] = [f"{controller.server.url}/nowhere", f"{controller.server.url}/layers.example/layer"]
    new = blobs.put(oci.MANIFEST, oci.encode(manifest), platform=index["manifests"][0]["platform"])
    index["manifests"] = [new]
    blobs.tags["r.example/base:1"] = blobs.put(oci.INDEX, oci.encode(index))["digest"]
    with SimulatedRegistry(images=blobs) as registry:
        controller.registry = registry
        assert controller.make([controller.image("r.example/base:1")]).failures == []
    bundle = controller.verified()
    (path,) = bundle.entries
    with tarfile.open(bundle.file(path)) as archive:
        assert f"blobs/sha256/{layer['digest'].partition(':')[2]}" in archive.getnames()


def test_a_foreign_layer_cannot_reach_the_sites_network(controller: Controller) -> None:
    """Otherwise, the author of the manifest could choose where the controller sends requests."""
    blobs = Blobs()
    blobs.add("r.example/base:1", ["2022"])
    index = json.loads(blobs.content[blobs.tags["r.example/base:1"]][1])
    manifest = json.loads(blobs.content[index["manifests"][0]["digest"]][1])
    layer = manifest["layers"][0]
    with ArtifactServer("127.0.0.2") as inside:
        inside.put("layer", blobs.content.pop(layer["digest"])[1])
        layer["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
        layer["urls"] = [f"{inside.url}/layer"]
        index["manifests"] = [blobs.put(oci.MANIFEST, oci.encode(manifest), platform=index["manifests"][0]["platform"])]
        blobs.tags["r.example/base:1"] = blobs.put(oci.INDEX, oci.encode(index))["digest"]
        with SimulatedRegistry(images=blobs) as registry:
            controller.registry = registry
            (failure,) = controller.make([controller.image("r.example/base:1")]).failures
        assert "an address that is not public" in failure
        assert sum(inside.status()["requests"].values()) == 0


def test_no_password_goes_to_a_token_server_without_https(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, authority = Blobs(), PrivateCA()
    blobs.add("r.example/app:1", ["2022"])
    context = authority.server_context(["127.0.0.1"])
    with (
        ArtifactServer() as clear,
        SimulatedRegistry(images=blobs, user="me:s3cret", auth="bearer", tls=context) as registry,
    ):
        controller.registry = registry
        requested = controller.needed_content(
            [controller.image("r.example/app:1")], ca=authority.pem.decode(), username="me", password="s3cret"
        )
        # Only the token server that the registry names may be on another host.
        monkeypatch.setattr(SimulatedRegistry, "url", clear.url)
        (failure,) = controller.make(requested, attempts=1).failures
        asked = sum(clear.status()["requests"].values())
    assert "a token server without HTTPS" in failure
    assert asked == 0


@pytest.mark.parametrize("kind", ["manifests", "blobs"])
def test_a_registry_with_wrong_content_is_detected(controller: Controller, kind: str) -> None:
    controller.registry.fault("wrong", f"*/{kind}/*")
    (failure,) = controller.make([controller.image()]).failures
    assert PAUSE in failure or "SHA256" in failure or "JSON" in failure
    assert controller.verified().entries == {}


def test_a_tag_that_moved_is_seen_when_asked_to_and_takes_the_place_of_the_old_one(controller: Controller) -> None:
    blobs = Blobs()
    blobs.add("r.example/app:1", ["2022", "2025"])
    with SimulatedRegistry(images=blobs) as registry:
        controller.registry = registry
        image = [controller.image("r.example/app:1")]
        controller.make(image)
        old = {entry.digest for entry in controller.verified().entries.values()}
        blobs.add("r.example/app:1", ["2022", "2025"], size=9000)
        assert controller.make(image).fetched == []
        assert len(controller.make(image, refresh=True).fetched) == 2
    new = controller.verified().entries.values()
    assert len(new) == 2
    assert old.isdisjoint(entry.digest for entry in new)


def test_a_pinned_digest_is_had_though_its_tag_moved_on(controller: Controller) -> None:
    blobs = Blobs()
    blobs.add("r.example/app:1", ["2022"])
    pinned = blobs.tags["r.example/app:1"]
    blobs.add("r.example/app:1", ["2022"], size=9000)
    assert blobs.tags["r.example/app:1"] != pinned
    with SimulatedRegistry(images=blobs) as registry:
        controller.registry = registry
        image = controller.image("r.example/app:1", digest=pinned)
        assert controller.make([image]).failures == []
        assert controller.make([image]).fetched == []
        bundle = controller.verified()
        (entry,) = bundle.entries.values()
        assert (entry.name, entry.version, entry.digest) == ("r.example/app:1", "1", pinned)
        with tarfile.open(bundle.file(entry.path)) as archive:
            member = archive.extractfile("index.json")
            assert member is not None
            (top,) = json.loads(member.read())["manifests"]
        # The imported image has the name by which the node requests it.
        assert (top["digest"], top["annotations"]["io.containerd.image.name"]) == (pinned, "r.example/app:1")
        del blobs.content[pinned]
        (failure,) = controller.make([image], refresh=True, attempts=1).failures
        assert pinned in failure
