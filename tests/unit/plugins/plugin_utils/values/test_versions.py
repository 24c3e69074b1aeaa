# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import Version, kubeadm_api, pair_problem


@pytest.mark.parametrize("text", ["1.37.1", "v1.37.1", " 1.37.1 "])
def test_a_version_is_read_with_or_without_v(text: str) -> None:
    assert Version.parse(text) == Version(1, 37, 1)


@pytest.mark.parametrize("text", ["latest", "1.37", "", "1.x.0", "1.37.1; rm"])
def test_an_incomplete_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"MAJOR\.MINOR\.PATCH"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("kubernetes", "containerd"),
    [("1.30.4", "1.6.36"), ("1.37.1", "1.7.35"), ("1.37.1", "2.4.2"), ("1.34.4", "2.0.14")],
)
def test_pairs_that_work_are_accepted(kubernetes: str, containerd: str) -> None:
    assert pair_problem(Version.parse(kubernetes), Version.parse(containerd)) is None


@pytest.mark.parametrize(
    ("kubernetes", "containerd", "accepted"),
    [("1.38.0", "1.7.35", "1.30 to 1.37"), ("1.29.0", "2.4.2", "1.30 to 1.37"), ("1.37.1", "1.5.0", "1.6, 1.7, 2.0")],
)
def test_incompatible_versions_are_reported_with_compatible_ones(
    kubernetes: str, containerd: str, accepted: str
) -> None:
    problem = pair_problem(Version.parse(kubernetes), Version.parse(containerd))
    assert problem is not None
    assert accepted in problem


@pytest.mark.parametrize(("kubernetes", "api"), [("1.30.4", "v1beta3"), ("1.31.0", "v1beta4"), ("1.37.1", "v1beta4")])
def test_kubeadm_reads_the_api_version_of_its_time(kubernetes: str, api: str) -> None:
    assert kubeadm_api(Version.parse(kubernetes)) == api
