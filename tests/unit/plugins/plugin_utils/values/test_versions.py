# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Versions, and the rules of data/supported_versions.json."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.values import version_support
from ansible_collections.winkube.node.plugins.plugin_utils.values.version_support import pair_problems
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import (
    Version,
    kubeadm_api,
    nearest_containerd_line,
    skew_problem,
)

PRERELEASES = ["1.38.0-alpha.1", "1.37.2-rc.0.12+abcdef"]


@pytest.mark.parametrize("text", ["1.37.1", "v1.37.1", " 1.37.1 "])
def test_a_version_is_read_with_or_without_v(text: str) -> None:
    assert Version.parse(text) == Version(1, 37, 1)


@pytest.mark.parametrize("text", PRERELEASES)
def test_a_prerelease_is_read_and_written(text: str) -> None:
    assert str(Version.parse(f"v{text}")) == text


@pytest.mark.parametrize("text", ["latest", "1.37", "", "1.x.0", "1.37.1; rm", "1.37.1+", "1.37.1+a+b", "1.37.1-"])
def test_an_incomplete_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"MAJOR\.MINOR\.PATCH"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("kubernetes", "containerd"),
    [("1.30.4", "1.6.36"), ("1.37.1", "1.7.35"), ("1.37.1", "2.4.2"), ("1.34.4", "2.0.14")],
)
def test_pairs_that_work_are_accepted(kubernetes: str, containerd: str) -> None:
    assert pair_problems(Version.parse(kubernetes), Version.parse(containerd)) == []


@pytest.mark.parametrize(
    ("kubernetes", "containerd", "subjects", "texts"),
    [
        ("1.38.0", "2.4.2", ["kubernetes"], ["1.30 to 1.37", "1.38 is newer"]),
        ("1.38.0", "1.7.35", ["kubernetes", "containerd"], ["1.22 to 1.37 with containerd 1.7.35"]),
        ("1.38.0-alpha.1", "2.4.2", ["kubernetes"], ["1.38.0-alpha.1 is not a release", "1.38 is newer"]),
        ("1.37.2-rc.0.12+abcdef", "2.4.2", ["kubernetes"], ["1.37.2-rc.0.12+abcdef is not a release"]),
        ("1.29.0", "2.4.2", ["kubernetes"], ["1.30 to 1.37", "1.29 is older", "drop-in"]),
        ("1.23.17", "1.7.35", ["kubernetes"], ["dockershim", "two minor versions"]),
        ("1.22.17", "2.4.2", ["kubernetes", "containerd"], ["WindowsHostProcessContainers", "1.23 or newer"]),
        ("1.37.1", "1.5.0", ["containerd"], ["1.6, 1.7, 2.0", "HostProcess containers"]),
        ("1.37.1", "2.5.0", ["containerd"], ["2.3, 2.4"]),
        ("1.37.1", "2.4.2-rc.1", ["containerd"], ["expected a release"]),
    ],
)
def test_unsupported_versions_are_explained(
    kubernetes: str, containerd: str, subjects: list[str], texts: list[str]
) -> None:
    problems = pair_problems(Version.parse(kubernetes), Version.parse(containerd))
    assert [problem.subject for problem in problems] == subjects
    whole = " ".join(f"{problem.expected} {problem.why}" for problem in problems)
    assert [text for text in texts if text not in whole] == []


@pytest.mark.parametrize(
    ("kubernetes", "nearest"),
    [("1.38.0-alpha.1", "1.37"), ("1.37.2-rc.0.12+abcdef", "1.37"), ("1.25.3", "1.25"), ("1.19.0", "1.22")],
)
def test_an_unsupported_version_is_treated_like_the_nearest(kubernetes: str, nearest: str) -> None:
    assert version_support.nearest_minor(Version.parse(kubernetes)) == nearest


@pytest.mark.parametrize(
    ("kubernetes", "api"),
    [
        ("1.22.0", "v1beta3"),
        ("1.30.4", "v1beta3"),
        ("1.31.0", "v1beta4"),
        ("1.37.1", "v1beta4"),
        ("1.38.0-alpha.1", "v1beta4"),
        ("1.21.0", "v1beta3"),
    ],
)
def test_kubeadm_reads_the_api_version_of_its_time(kubernetes: str, api: str) -> None:
    assert kubeadm_api(Version.parse(kubernetes)) == api


@pytest.mark.parametrize(
    ("containerd", "minors"),
    [("1.5.1", "1.6"), ("1.7.35", "1.6"), ("2.1.9", "2.0"), ("2.3.0", "2.3"), ("3.0.0", "2.3")],
)
def test_an_unknown_containerd_has_the_nearest_configuration(containerd: str, minors: str) -> None:
    assert nearest_containerd_line(Version.parse(containerd))["minors"][0] == minors


@pytest.mark.parametrize(
    ("kubelet", "server", "expected"),
    [
        ("1.24.0", "1.26.0", None),
        ("1.23.0", "1.26.0", "expected 1.24 to 1.26"),
        ("1.25.0", "1.28.0", None),
        ("1.24.9", "1.27.0", "expected 1.25 to 1.27"),
        ("1.22.0", "1.24.0", None),
        ("1.21.0", "1.24.0", "expected 1.22 to 1.24"),
        ("1.38.0-alpha.1", "1.37.1", "expected 1.34 to 1.37"),
    ],
)
def test_kubelets_before_1_25_may_be_two_minors_older(kubelet: str, server: str, expected: str | None) -> None:
    problem = skew_problem(Version.parse(kubelet), Version.parse(server))
    assert (problem is None) if expected is None else str(problem).startswith(expected)


@pytest.mark.parametrize(("kubernetes", "reads"), [("1.29.9", False), ("1.30.0", True), ("1.38.0", True)])
def test_kubelets_before_1_30_read_no_dropins(kubernetes: str, reads: bool) -> None:
    assert version_support.reads_dropins(Version.parse(kubernetes)) is reads


def test_host_process_containers_need_a_feature_gate_in_1_22_only() -> None:
    found = {minor: version_support.required_gates(Version.parse(f"1.{minor}.0")) for minor in (22, 23, 37)}
    assert found == {22: ["WindowsHostProcessContainers"], 23: [], 37: []}
