# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is read from a machine. The tests of the action, test_release_notes_actions.py, read a simulated machine."""

from __future__ import annotations

import json
import typing as t

import pytest
from unit.image_contents import CACHE

from ansible_collections.winkube.node.plugins.plugin_utils.image_stores.store import StoredImage
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import observation
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import NotedComponent, NotedFix
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

A, B = f"sha256:{64 * 'a'}", f"sha256:{64 * 'b'}"


def noted(images: t.Mapping[str, StoredImage]) -> list[tuple[tuple[str, ...], str, int | None]]:
    return [(image.names, image.digest, image.size) for image in observation._images(images)]


def test_an_image_of_containerd_is_listed_once_with_its_tags() -> None:
    image = StoredImage(identity=A, digests=frozenset({A}), size=7)
    # CRI names an image by its tag, by its digest, and by the digest of its configuration.
    names = ("registry.k8s.io/pause:3.10.2", f"registry.k8s.io/pause@{A}", B, "mirror.example/pause:3.10.2")
    assert noted(dict.fromkeys(names, image)) == [
        (("mirror.example/pause:3.10.2", "registry.k8s.io/pause:3.10.2"), A, 7)
    ]


def test_an_image_without_a_tag_has_its_digest_as_name() -> None:
    image = StoredImage(identity=A, digests=frozenset({A}))
    assert noted(dict.fromkeys((f"a.example/app@{A}", B), image)) == [((f"a.example/app@{A}",), A, None)]
    assert noted({A: image}) == [((A,), A, None)]


def test_an_image_of_docker_has_the_digest_of_its_registry() -> None:
    pulled = StoredImage(identity=A, digests=frozenset({B}), size=1)
    built = StoredImage(identity=B, size=2)
    assert noted({"b.example/app:1": built, "a.example/app:1": pulled}) == [
        (("a.example/app:1",), B, 1),
        (("b.example/app:1",), "", 2),
    ]


def test_no_images() -> None:
    assert observation._images({}) == ()


@pytest.mark.parametrize(
    ("actual", "state"), [(None, "not set"), (1, "set"), (0, "set to 0"), ("1", "set to 1"), ("x", "set to x")]
)
def test_the_state_of_a_registry_value(actual: int | str | None, state: str) -> None:
    assert NotedFix(path="HKLM:\\A", value_name="b", expected=1, actual=actual).state == state
    assert observation._plain(actual) == actual


def test_a_package_with_the_number_of_a_listed_update_is_the_same_update() -> None:
    fixes = [{"id": "KB5046616", "description": "Security Update", "installed_on": "2024-11-13"}]
    names = (
        "Package_for_KB5046616~31bf~amd64~~1.0",
        "Package_1_for_KB504661~31bf~amd64~~1.0",
        "Package_for_RollupFix~x",
    )
    packages = [{"name": name, "release_type": "Update"} for name in names]
    updates = observation._updates({"installed_qfes": fixes, "installed_packages": packages})
    assert [update.id for update in updates] == ["KB5046616", *names[1:]]


@pytest.mark.parametrize(("runtime", "command"), [("containerd", "D:\\ctr.exe"), ("docker", "D:\\docker.exe")])
def test_the_runtime_is_asked_with_the_programs_of_the_options(runtime: str, command: str) -> None:
    options = {"runtime": runtime, "ctr": "D:\\ctr.exe", "docker": "D:\\docker.exe", "cache_dir": f"{CACHE}\\"}
    sources = observation.ContentSources.of(options)
    calls = {call.id: call for call in observation.calls(sources)}
    assert (calls["images"].command, sources.cache_dir) == (command, CACHE)
    assert len(calls) == len(observation.calls(sources))


def index(content: str | None) -> CallResult:
    return CallResult(ok=True, output=({"content": content},))


def test_the_versions_that_a_machine_may_choose() -> None:
    listed = {"name": "kubernetes", "title": "Kubernetes", "parameter": "Kubernetes", "image": "1.37.1"}
    versions = [{"version": "1.37.1", "archive": "a", "batch": ""}, {"version": "1.36.3", "archive": "b", "batch": "c"}]
    content = json.dumps({"components": [{**listed, "versions": versions}]})
    assert observation._components(index(content)) == (NotedComponent(**listed, versions=("1.37.1", "1.36.3")),)
    assert observation._components(index(None)) == ()


@pytest.mark.parametrize("content", ["{", "[]", '{"components": [{}]}', '{"components": [{"name": 1}]}', "[" * 100_000])
def test_a_broken_index_of_versions_is_reported(content: str) -> None:
    with pytest.raises(observation.ContentsUnreadable, match=r"index\.json is not an index of cached versions"):
        observation._components(index(content))


def test_every_call_only_reads() -> None:
    options = {"runtime": "containerd", "ctr": None, "docker": None, "cache_dir": CACHE}
    for call in observation.calls(observation.ContentSources.of(options)):
        assert call.on_error == "continue", call.id
        assert call.command.startswith(("Get-", "@read", "@free-space", "Select-String")) or call.command.endswith(
            "ctr.exe"
        )
