# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Invalid variables for container images and registries: reported with their values before a node is accessed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import (
    container_images as container_images_preflight,
)

SECRET = "hunter2"
GOOD: dict[str, Any] = {
    "container_runtime": "containerd",
    "container_runtime_sandbox_image": "registry.k8s.io/pause:3.10.2",
    "container_runtime_registries": {
        "docker.io": {"mirrors": ["https://mirror.example"]},
        "r.example:5000": {"username": "me", "password": SECRET},
    },
    "image_cache_base_images": ["registry.k8s.io/pause:3.10.2"],
    "image_cache_container_tags": ["r.example:5000/team/app:1.4"],
    "image_cache_images": [
        {"name": "r.example/a:1", "aliases": ["r.example/b:1"], "pinned": True, "windows": ["2022"]}
    ],
    "image_cache_core_dns_versions": ["1.12.1", "v1.11.3"],
    "image_cache_core_dns_repository": "r.example:5000/dns/coredns",
    "image_cache_windows_base_images": ["nanoserver", "servercore"],
    "image_cache_nano_server_name": "",
    "image_cache_test_images": [{"name": "r.example/test:1", "dockerfile": "FROM scratch\n", "push": True}],
    "image_cache_parallel_pulls": "4",
}

BAD: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"image_cache_container_tags": ["r.example/a:1", "pause:1"]},
        ["image_cache_container_tags[1]: expected", "got 'pause:1'", "complete reference"],
    ),
    ({"image_cache_images": [{"name": "r.example/a:1", "tag": "x"}]}, ["image_cache_images[0]", "'tag'", "aliases"]),
    ({"image_cache_images": [7]}, ["image_cache_images[0]", "7", "expected a reference"]),
    (
        {"image_cache_images": [{"name": "r.example/a:1", "digest": "x"}]},
        ["image_cache_images[0].digest: expected", "got 'x'", "sha256:"],
    ),
    (
        {"image_cache_images": [{"name": "r.example/a:1", "size": -5}]},
        ["image_cache_images[0].size: expected", "got -5", "bytes"],
    ),
    ({"image_cache_core_dns_versions": ["x"]}, ["core_dns_versions", "'x'", "1.12.1"]),
    # The upstream images are for Linux only.
    (
        {"image_cache_core_dns_repository": ""},
        ["image_cache_core_dns_repository: expected", "got ''", "run on Windows", "Linux only"],
    ),
    (
        {"image_cache_core_dns_repository": "coredns"},
        ["image_cache_core_dns_repository: expected", "got 'coredns'", "registry.example.com/coredns"],
    ),
    (
        {"image_cache_windows_base_images": ["nano"]},
        ["image_cache_windows_base_images: expected", "got 'nano'", "nanoserver"],
    ),
    (
        {"image_cache_test_images": [{"name": "r.example/a:1"}]},
        ["image_cache_test_images[0].dockerfile: expected a string, got nothing"],
    ),
    ({"image_cache_parallel_pulls": "0"}, ["image_cache_parallel_pulls: expected", "got '0'", "1 or more"]),
    (
        {"image_cache_nano_server_name": "not an image"},
        ["image_cache_nano_server_name: expected", "got 'not an image'", "complete reference"],
    ),
    (
        {"container_runtime_sandbox_image": "pause:3"},
        ["container_runtime_sandbox_image: expected", "got 'pause:3'", "complete reference"],
    ),
    (
        {"container_runtime_registries": {"https://x": {}}},
        ["container_runtime_registries: expected", "got 'https://x'", "without https"],
    ),
    (
        {"container_runtime_registries": {"r.example:5000": {"password": SECRET}}},
        ["container_runtime_registries.r.example:5000: expected both password and username"],
    ),
    (
        {"container_runtime_registries": {"r.example": {"mirrors": ["ftp://m"]}}},
        ["container_runtime_registries.r.example.mirrors[0].url: expected", "got 'ftp://m'", "expected a URL"],
    ),
    (
        {"container_runtime_registries": {"r.example": {"ca": "C:\\ca.pem"}}, "container_runtime": "moby"},
        ["container_runtime_registries.r.example.ca: expected PEM text, not a path"],
    ),
]


def test_valid_lists_have_no_problem_for_either_runtime() -> None:
    assert container_images_preflight.problems(GOOD) == []
    assert container_images_preflight.problems({**GOOD, "container_runtime": "docker"}) == []
    assert container_images_preflight.problems({}) == []


@pytest.mark.parametrize(("given", "named"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_a_refused_value_is_named(given: dict[str, Any], named: list[str]) -> None:
    (problem,) = container_images_preflight.problems({**GOOD, **given})
    for text in named:
        assert text in str(problem)
    assert SECRET not in str(problem)


def test_one_wrong_entry_does_not_hide_others() -> None:
    given = {"image_cache_container_tags": ["a", "b"], "image_cache_core_dns_versions": ["x"]}
    assert len(container_images_preflight.problems({**GOOD, **given})) == 3
