# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Versions that are not supported: refused with an explanation, or allowed with a warning."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from unit.plugins.plugin_utils.preflight.test_cluster import CLUSTER, NODE

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import cluster
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as checks


def judged(
    kubernetes: str, containerd: str = "2.4.2", *, allowed: bool = False, **urls: str
) -> tuple[list[str], list[str]]:
    """Return the problems and the warnings of a host."""
    problems = checks.version_problems(kubernetes, containerd)
    kept, warnings = checks.allowed_versions(problems, allowed=allowed, own_builds=checks.own_builds(urls))
    return [str(one) for one in kept], warnings


@pytest.mark.parametrize("version", ["1.38.0-alpha.1", "1.37.2-rc.0.12+abcdef", "1.29.4", "1.22.0"])
def test_an_unsupported_kubernetes_is_refused_or_allowed(version: str) -> None:
    (problem,), warnings = judged(version, "1.7.35" if version < "1.30" else "2.4.2")
    assert warnings == []
    assert version in problem
    assert "allow_unsupported_versions: true" in problem
    problems, (warning,) = judged(version, "1.7.35" if version < "1.30" else "2.4.2", allowed=True)
    assert problems == []
    assert "is not supported" in warning
    assert "treated like Kubernetes 1." in warning
    assert "allow_unsupported_versions" not in warning


def test_a_url_allows_only_what_comes_from_it() -> None:
    problems, warnings = judged("1.38.0-alpha.1", "2.9.0", kubernetes_node_url="https://example.com/node.tar.gz")
    assert len(problems) == len(warnings) == 1
    assert "containerd versions" in problems[0]
    assert "Kubernetes 1.37" in warnings[0]
    problems, warnings = judged(
        "1.38.0-alpha.1", "2.9.0", container_runtime_containerd_url="https://example.com/containerd.tar.gz"
    )
    assert "1.30 to 1.37" in problems[0]
    assert "containerd 2.4" in warnings[0]


def test_a_docker_that_is_too_old_is_never_allowed() -> None:
    values: Mapping[str, Any] = {
        "container_runtime_moby_version": "20.10.27",
        "container_runtime_cri_dockerd_version": "0.4.10",
    }
    problems = checks.docker_problems("moby", "1.38.0", values)
    kept, warnings = checks.allowed_versions(problems, allowed=True, own_builds=())
    assert [one.expected for one in kept] == ["expected docker 23.0.0 or newer"]
    assert len(warnings) == 1


def test_dockershim_is_never_allowed() -> None:
    values: Mapping[str, Any] = {
        "container_runtime_moby_version": "29.2.1",
        "container_runtime_cri_dockerd_version": "0.4.10",
    }
    (problem,), _ = checks.allowed_versions(
        checks.docker_problems("moby", "1.23.0", values), allowed=True, own_builds=("kubernetes",)
    )
    assert "cri-dockerd" in problem.expected
    assert "dockershim" in problem.hint


@pytest.mark.parametrize("allowed", [True, False])
def test_the_skew_policy_holds_for_versions_that_users_allow(allowed: bool) -> None:
    node = dataclasses.replace(NODE, kubernetes="1.38.0-alpha.1", unsupported_versions=allowed)
    (problem,) = cluster.problems(node, {**CLUSTER, "kubernetes_version": "v1.37.1"})
    assert "Version Skew Policy" in str(problem)


def test_a_node_of_a_prerelease_joins_its_cluster_if_users_allow_it() -> None:
    server = {**CLUSTER, "kubernetes_version": "v1.38.0-alpha.1"}
    node = dataclasses.replace(NODE, kubernetes="1.38.0-alpha.1", containerd="2.4.2")
    assert len(cluster.problems(node, server)) == 1
    assert cluster.version_warnings(node, server) == []
    allowed = dataclasses.replace(node, unsupported_versions=True)
    assert cluster.problems(allowed, server) == []
    (warning,) = cluster.version_warnings(allowed, server)
    assert "1.38.0-alpha.1 is not a release" in warning
    own = dataclasses.replace(node, own_builds=["kubernetes"])
    assert cluster.problems(own, server) == []
