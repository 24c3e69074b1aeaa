# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables of a host that concern container images and registries, before any node is touched.

The roles also reject these values when they compute their resources, but they report only the first error, and other
roles may have changed the node by then.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..container_images import listing
from ..node_config import registries
from ..resources.load import load
from ..values.errors import ResourceError
from ..values.image_reference import EXPECTED, is_whole
from ..windows.node_paths import CONTAINERD_REGISTRIES
from .variables import Problem

_LISTS = ("image_cache_base_images", "image_cache_container_tags", "image_cache_images")
_REFERENCES = ("container_runtime_sandbox_image", "image_cache_nano_server_name", "image_cache_pause_source")
_REGISTRIES = "container_runtime_registries"
_DOCKER = ("docker", "moby")


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each invalid value in the variables for container images and registries.

    Args:
        values: templated values of all role options that are set.
    """
    docker = values.get("container_runtime") in _DOCKER
    return [
        *_reference_problems(values),
        *(problem for name in _LISTS for problem in _list_problems(name, values.get(name), docker)),
        *_core_dns_problems(values),
        *_base_problems(values),
        *_built_problems(values.get("image_cache_test_images")),
        *_parallel_problems(values),
        *_registry_problems(values.get(_REGISTRIES), docker),
    ]


def _reference_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for name in _REFERENCES:
        given = values.get(name)
        if given and not is_whole(str(given)):
            yield Problem(name, given, EXPECTED)


def _list_problems(name: str, items: t.Any, docker: bool) -> t.Iterator[Problem]:
    """Check each item of a list separately, so that one error does not hide the next error."""
    # A value that is not a list has already been rejected.
    for index, item in enumerate(items if isinstance(items, list) else ()):
        where = f"{name}[{index}]"
        try:
            resources = listing.resources([item], {"runtime": "docker" if docker else "containerd"})
        except ResourceError as error:
            yield Problem(where, error.value, error.expected, error.hint)
            continue
        yield from _resource_problems(where, resources)


def _resource_problems(where: str, resources: t.Sequence[t.Mapping[str, t.Any]]) -> t.Iterator[Problem]:
    try:
        load(resources)
    except ResourceError as error:
        # `where` has the form `resources[0] (ContainerImage NAME).digest`; its last part is the key of the item.
        key = error.where.rpartition(").")[2]
        place = where if key in ("name", error.where) else f"{where}.{key}"
        yield Problem(place, error.value, error.expected, error.hint)


def _core_dns_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    versions = _items(values, "image_cache_core_dns_versions")
    repository = values.get("image_cache_core_dns_repository", "")
    if versions and not is_whole(f"{repository}:v1"):
        expected = "expected a repository whose CoreDNS images run on Windows, such as registry.example.com/coredns"
        yield Problem(
            "image_cache_core_dns_repository", repository, expected, "Upstream publishes images for Linux only."
        )
    for version in versions:
        try:
            listing.core_dns([version], "registry.example/coredns")
        except ResourceError:
            name = "image_cache_core_dns_versions (from core_dns_versions)"
            yield Problem(name, version, "expected a version such as 1.12.1", "Put it in quotes.")


def _base_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    for name in _items(values, "image_cache_windows_base_images"):
        try:
            listing.base_images([name])
        except ResourceError as error:
            yield Problem("image_cache_windows_base_images", name, error.expected)


def _built_problems(items: t.Any) -> t.Iterator[Problem]:
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            resource = {**item, "type": "BuiltContainerImage"}
            yield from _resource_problems(f"image_cache_test_images[{index}]", [resource])


def _parallel_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    name = "image_cache_parallel_pulls"
    given = str(values.get(name, 1))
    if given.isdecimal() and int(given) < 1:
        yield Problem(name, values[name], "expected 1 or more")


def _registry_problems(given: t.Any, docker: bool) -> t.Iterator[Problem]:
    """Check each registry separately. Messages never contain a password."""
    for host, settings in (given if isinstance(given, dict) else {}).items():
        try:
            parsed = registries.read({host: settings})
            if docker:
                # Another check rejects mirrors, and its message contains a remedy.
                registries.docker_files([dataclasses.replace(one, mirrors=()) for one in parsed])
            else:
                registries.containerd_files(parsed, CONTAINERD_REGISTRIES)
        except ResourceError as error:
            where = error.where.replace("registries", _REGISTRIES, 1)
            yield Problem(where, error.value, error.expected, error.hint)


def _items(values: t.Mapping[str, t.Any], name: str) -> list[t.Any]:
    given = values.get(name)
    return given if isinstance(given, list) else []
