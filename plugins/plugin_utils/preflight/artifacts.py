# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a host's artifact variables, and find unverified downloads, before any node is touched."""

from __future__ import annotations

import typing as t

from ...module_utils.redaction.urls import redact_url
from ..artifacts import cache, catalogue, locations, sites, verification
from ..artifacts.catalogue import ArtifactError
from ..downloads import curl
from .variables import Problem

_LISTS: t.Mapping[str, str] = {
    "kube_node_versions": "kubernetes",
    "containerd_versions": "containerd",
    "moby_versions": "moby",
    "docker_versions": "docker",
    "sdn_plugin_versions": "sdn-plugins",
    "azure_vnet_versions": "azure-vnet",
}
"""Maps the name of each variable that lists versions to the kind of artifact. The names come from AKS Engine."""


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each invalid variable that concerns artifacts.

    Args:
        values: templated values of all role options that are set.
    """
    by_text: dict[str, Problem] = {}
    for name, sources in values.items():
        if name.endswith("_artifact_sources") and isinstance(sources, t.Mapping):
            mirror = values.get(name.replace("_artifact_sources", "_artifact_mirror")) or ""
            for problem in _source_problems(sources, str(mirror)):
                by_text.setdefault(str(problem), problem)
    for problem in (*_folder_problems(values), *_own_problems(values)):
        by_text.setdefault(str(problem), problem)
    if not by_text:
        try:
            cached(values)
        except ArtifactError as error:
            by_text.setdefault(str(error), _problem(error))
    return list(by_text.values())


def warnings(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> list[str]:
    """Return warnings about unverified downloads.

    The warnings name no host, so that a report can merge the warnings of many hosts.

    Args:
        values: role options, as in `problems`. They must be free of problems.
        roles: the roles whose artifacts are downloaded.
    """
    listed = cache.unverified(cached(values)) if "image_cache" in roles else []
    return [*map(str, verification.of_roles(values, roles)), *listed]


def refused(values: t.Mapping[str, t.Any], roles: t.Collection[str]) -> list[Problem]:
    """Return the unverified downloads that `artifact_verify: strict` rejects.

    With a bundle, nothing is rejected here. The bundle's signed index verifies the files in the bundle. All other
    unverified downloads are rejected once the bundle is known.

    Args:
        values: role options, as in `problems`.
        roles: the roles whose artifacts are downloaded.
    """
    if _verify(values) != verification.STRICT or values.get("node_prepare_bundle_dir"):
        return []
    expected = f"expected a checksum, because {verification.VARIABLE} is {verification.STRICT}"
    return [
        Problem(one.variable, one.value or None, expected, f"Nothing verifies the file: {one.why}; {one.fix}.")
        for one in verification.of_roles(values, roles)
    ]


def _verify(values: t.Mapping[str, t.Any]) -> object:
    """Return the value of `artifact_verify`, which all roles share."""
    sources = [given for name, given in values.items() if name.endswith("_artifact_sources")]
    given = [one["verify"] for one in sources if isinstance(one, t.Mapping) and "verify" in one]
    return given[0] if given else verification.WARN


def cached(values: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return the resources of the artifacts that the image_cache role caches.

    Raises:
        ArtifactError: a list of artifacts is invalid.
    """
    given = values.get("image_cache_artifact_sources") or {}
    sources = {**given, "mirror": values.get("image_cache_artifact_mirror") or ""}
    if values.get("node_prepare_bundle_dir"):
        sources.pop("verify", None)
    sources["urls"] = values.get("image_cache_urls") or {}
    resources = []
    for name, kind in _LISTS.items():
        resources += _resources({kind: values.get(f"image_cache_{name}") or []}, name, sources)
    return resources + _resources(values.get("image_cache_artifacts") or {}, "image_cache_artifacts", sources)


def _resources(lists: object, where: str, sources: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    given = {
        name: sources[name] for name in ("kinds", "sites", "mirror", "upstream", "verify", "urls") if name in sources
    }
    return cache.resources_for_versions(lists, where, cache_dir="C:\\cache", **given)


def _source_problems(sources: t.Mapping[str, t.Any], mirror: str) -> t.Iterator[Problem]:
    for check in (
        lambda: sites.parse(sources.get("sites"), mirror),
        lambda: catalogue.kinds(sources.get("kinds")),
        lambda: _check_signers(sources.get("allowed_signers")),
        lambda: verification.check_mode(sources.get("verify", verification.WARN)),
    ):
        try:
            check()
        except ArtifactError as error:
            yield _problem(error)
    rate = sources.get("limit_rate")
    if rate and not curl.is_rate(str(rate)):
        yield Problem("artifact_limit_rate", rate, "expected bytes a second, such as 500K or 2M")


def _check_signers(given: object) -> None:
    """Check the signers that the user allows for each kind of artifact.

    Raises:
        ArtifactError: an entry is invalid, or a kind is unknown.
    """
    for kind in given if isinstance(given, t.Mapping) else ("",):
        catalogue.signers(given, str(kind))


def _folder_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """Check each role's cache folder. All roles share the folder, so the same problem may be found several times."""
    for name, given in values.items():
        if name.endswith("_artifact_cache"):
            try:
                locations.checked_folder(given, "artifact_cache")
            except ArtifactError as error:
                yield _problem(error)


def _own_problems(values: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """Check the variables that set the versions, URLs and SHA-256 checksums of the roles' artifacts."""
    for kind in catalogue.catalogue().values():
        if not kind.variables:
            continue
        url, sha256 = (f"{kind.variables}_{what}" for what in ("url", "sha256"))
        given = str(values.get(url) or "")
        if given and not locations.is_own_url(given):
            yield Problem(url, redact_url(given), "expected a URL (http, https or file) that ends in a file name")
        try:
            catalogue.checked_sha256(values.get(sha256), sha256)
        except ArtifactError as error:
            yield _problem(error)
        version = f"{kind.variables}_version"
        # An empty version is read from the cluster later, or rejected by the check for compatible versions.
        if values.get(version) not in (None, "") and kind.is_used(values):
            try:
                catalogue.checked_version(values[version], version)
            except ArtifactError as error:
                yield _problem(error)


def _problem(error: ArtifactError) -> Problem:
    return Problem(error.where, error.value, error.expected, error.hint)
