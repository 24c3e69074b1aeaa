# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Lists of container images: resources, results and errors, as tables that are compared with golden files."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Callable

import pytest
from unit import outcomes
from unit.resource_answers import one

from ansible_collections.winkube.node.plugins.plugin_utils.container_images import listing
from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.store import StoredImage
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

A, B = (f"sha256:{64 * letter}" for letter in "ab")
PAUSE = "registry.k8s.io/pause:3.10.2"
APP = "app.example/app:1"
OPTIONS: dict[str, t.Any] = {
    "runtime": "containerd", "environment": None, "ctr": None, "crictl": None, "cri_endpoint": None, "docker": None,
    "docker_config": None, "store_dir": None, "parallel": 2, "retries": 5, "delay": None, "timeout": None,
    "images": [PAUSE], "pinned": True, "registries": {}, "registry_config_dir": None, "prune": False, "keep": [],
}  # fmt: skip
REGISTRIES = {"r.example": {"username": "u", "password": "p"}}


def refused(call: Callable[[], object]) -> object:
    """Return the result of a call, or its error message."""
    try:
        return call()
    except ResourceError as error:
        return error


def test_lists_of_images() -> None:
    bundle = {APP: [{"url": "http://c/app.tar", "sha256": 64 * "a"}]}
    lists: dict[str, t.Any] = {
        "references": [PAUSE, APP],
        "whole": [{"name": APP, "digest": A, "aliases": ["m.example/app:1"], "size": 5, "state": "absent"}],
        "an archive goes before the bundle": [{"name": APP, "archive": "C:\\app.tar"}],
        "twice": [{"name": APP, "pinned": True, "size": 1}, {"name": APP, "size": 2}, APP],
        "not pinned": [{"name": APP, "pinned": False}],
        "a text": APP,
        "bytes": b"x",
        "a number": 5,
        "a number in it": [APP, 5],
        "no name": [{"reference": APP}],
        "a name that is no text": [{"name": 5}],
        "an unknown key": [{"name": APP, "tag": "x"}],
        "nothing": [],
    }
    found = {
        name: refused(lambda given=given: listing.resources(given, {"parallel": 2}, pinned=True, bundle=bundle))  # type: ignore[misc]
        for name, given in lists.items()
    }
    found["docker"] = listing.resources([{"name": APP, "pinned": True}], {"runtime": "docker"})
    found["by default"] = listing.resources([APP], {})
    found["base images"] = listing.base_images(["nanoserver", "servercore", "server"])
    found["an unknown base image"] = refused(lambda: listing.base_images(["nano"]))
    found["CoreDNS"] = listing.core_dns(["v1.12.1", "1.11.3-rc.1"], "r.example/dns")
    for version in ("latest", "1.12", "1.12.1_x", "vv1.12.1", 1.12):
        found[f"CoreDNS {version}"] = refused(lambda given=version: listing.core_dns([given], "r.example/dns"))  # type: ignore[misc]
    found["CoreDNS without a repository"] = refused(lambda: listing.core_dns(["1.12.1"], ""))
    outcomes.check("container_images/lists", found)


def test_the_resources_of_options() -> None:
    given: dict[str, dict[str, t.Any]] = {
        "plain": {},
        "containerd": {"registries": REGISTRIES, "registry_config_dir": "C:\\certs.d", "prune": True, "keep": [APP]},
        "docker": {"runtime": "docker", "registries": REGISTRIES, "prune": True, "pinned": False},
        "docker with a folder": {"runtime": "docker", "registries": REGISTRIES, "docker_config": "C:\\d"},
        "docker without secrets": {"runtime": "docker", "registries": {"plain.example": {"server": "http://plain.example"}}},
        "a bad image": {"images": 5},
        "a bad registry": {"registries": {"r.example": {"x": 1}}},
        "one name for two": {"images": [PAUSE, {"name": APP, "aliases": [PAUSE]}]},
        "removed, and so free": {"images": [{"name": PAUSE, "state": "absent"}, {"name": APP, "aliases": [PAUSE]}]},
    }  # fmt: skip
    found: dict[str, t.Any] = {}
    for name, more in given.items():
        made = refused(lambda more=more: listing.load_options({**OPTIONS, **more}))  # type: ignore[misc]
        found[name] = [{"type": each.type, **outcomes.plain(each)} for each in made] if isinstance(made, list) else made
    outcomes.check("container_images/options", found)
    assert listing.store_of(OPTIONS).path == "C:\\ProgramData\\containerd"
    assert listing.store_of({**OPTIONS, "runtime": "docker", "store_dir": "D:\\docker"}).path == "D:\\docker"


def image(**more: t.Any) -> t.Any:
    return one(**{"type": "ContainerImage", "name": PAUSE, **more})


def outcome(image: t.Any, kind: str = "") -> t.Any:
    planned = types.SimpleNamespace(resource=image)
    return types.SimpleNamespace(
        changes=[types.SimpleNamespace(planned=planned)] if kind == "done" else [],
        pending=[planned] if kind == "pending" else [],
        failures=["ContainerImage x: no", f"node-1: {image.title}: pull: no such tag"] if kind == "failed" else [],
    )


def stored(*digests: str, complete: bool = True) -> StoredImage:
    return StoredImage(identity=A, digests=frozenset(digests), size=5, complete=complete)


def test_results() -> None:
    tar = [{"url": "http://c/x.tar", "sha256": 64 * "a"}]
    cases: dict[str, tuple[t.Any, str, StoredImage | None, StoredImage | None]] = {
        "present": (image(), "", stored(B, A), stored(B, A)),
        "present, with a digest": (image(digest=B), "", stored(B, A), stored(B, A)),
        "present, with another digest": (image(digest=B), "", stored(A), stored(A)),
        "present, without a digest": (image(), "", stored(), stored()),
        "absent": (image(state="absent"), "", None, None),
        "pulled": (image(), "done", None, stored(A)),
        "pulled anew": (image(digest=A), "done", stored(B), stored(A)),
        "pulled as it was cut": (image(), "done", stored(A, complete=False), stored(A)),
        "updated": (image(), "done", stored(A), stored(A)),
        "updated, with a digest": (image(digest=A), "done", stored(A), stored(A)),
        "imported": (image(archive="C:\\x.tar"), "done", None, stored()),
        "imported from a bundle": (image(archives=tar), "done", None, stored()),
        "removed": (image(state="absent"), "done", stored(A), None),
        "pending": (image(), "pending", None, None),
        "failed": (image(), "failed", None, None),
        "for another Windows": (image(windows=["2019"]), "", None, None),
        "for this Windows": (image(windows=["2022"]), "", None, stored(A)),
    }
    outcomes.check(
        "container_images/results",
        {
            name: listing.results(
                [requested],
                {PAUSE: before} if before else {},
                {PAUSE: after} if after else {},
                outcome(requested, kind),
                "2022",
            )
            for name, (requested, kind, before, after) in cases.items()
        },
    )
    assert len(listing.results([image(windows=["2019"])], {}, {}, outcome(image()), None)) == 1


def test_names_that_stay() -> None:
    images = [image(aliases=["m.example/a:1"]), image(name=APP, state="absent"), image(name="b.example/b:1")]
    assert listing.kept(images, ["x", PAUSE]) == (PAUSE, "m.example/a:1", "b.example/b:1", "x")
    assert listing.kept([]) == ()
    listing.check([image(aliases=["m.example/a:1"]), image(aliases=["m.example/a:1"])])
    with pytest.raises(ResourceError) as refusal:
        listing.check([image(aliases=["m.example/a:1"]), image(name=APP, aliases=["m.example/a:1"])])
    assert str(refusal.value) == (
        f"images: expected a name or alias that no other image has, got 'm.example/a:1'. {PAUSE} already has this name."
    )
