# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""References to container images."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.values.image_reference import (
    ImageReference,
    is_whole,
    with_registry,
)

DIGEST = "sha256:" + "a" * 64
HOSTS = st.sampled_from(["registry.k8s.io", "localhost", "localhost:5000", "127.0.0.1:5000", "a-b.c", "registry:5000"])
PARTS = st.from_regex(r"[a-z0-9]+((\.|_|__|-{1,3})[a-z0-9]+)?", fullmatch=True)
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
DIGESTS = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)


@given(HOSTS, PATHS, st.one_of(st.just(""), TAGS), st.one_of(st.just(""), DIGESTS))
def test_a_reference_is_parsed_and_written_unchanged(host: str, path: str, tag: str, digest: str) -> None:
    reference = ImageReference(host=host, path=path, tag=tag, digest=digest)
    text = str(reference)
    assert text == f"{host}/{path}" + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")
    assert is_whole(text) is bool(tag or digest)
    if tag or digest:
        assert ImageReference.parse(text) == reference
        assert reference.version == (digest or tag)
        assert reference.repository == f"{host}/{path}"
        assert with_registry(text) == text


@given(st.text(alphabet="aA0.:/@-_ \n", max_size=20))
def test_parsed_references_are_written_unchanged(text: str) -> None:
    if is_whole(text):
        assert str(ImageReference.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "pause", "pause:3", "nginx:1", "library/nginx:1", "r.example/a", "r.example/A:1", "R.example/a:1",
        "r.example/../a:1", "r.example/a//b:1", "r.example/a:b c", "r.example/a:\u00fc", "r.example/a:1\n",
        "r.example/a@sha256:12", f"r.example/a@{DIGEST}0", "--all/x.y:1", "-.x/y:1", "https://r.example/a:1",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    assert not is_whole(text)
    with pytest.raises(ResourceError, match="expected a complete reference: registry/repository:tag") as caught:
        ImageReference.parse(text, "image_cache_images[0]")
    assert (caught.value.where, caught.value.value) == ("image_cache_images[0]", text)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1", "docker.io/library/nginx:1"),
        ("grafana/loki", "docker.io/grafana/loki"),
        ("r.example/a", "r.example/a"),
        ("registry:5000/a", "registry:5000/a"),
        ("localhost/a:1", "localhost/a:1"),
    ],
)
def test_a_name_of_docker_without_a_registry(name: str, whole: str) -> None:
    assert with_registry(name) == whole
