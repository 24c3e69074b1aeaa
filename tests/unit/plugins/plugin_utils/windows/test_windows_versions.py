# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The table of Windows versions, and the images that run on a build."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_versions


def test_the_table_is_sorted_and_names_each_version_once() -> None:
    builds = [version.build for version in windows_versions.VERSIONS]

    assert builds == sorted(set(builds))
    assert len(set(windows_versions.NAMES)) == len(windows_versions.NAMES)
    assert list(windows_versions.SUPPORTED_NAMES) == ["2019", "2022", "2025"]


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (14393, "2019"),
        (20347, "2019"),
        (20348, "2022"),
        (25398, "23H2"),
        (26100, "2025"),
        (99999, "2025"),
    ],
)
def test_an_unknown_build_counts_as_the_newest_version_before_it(build: int, name: str) -> None:
    assert windows_versions.nearest(build).name == name


@pytest.mark.parametrize(
    ("host", "image", "runs"),
    [
        # learn.microsoft.com: Windows container version compatibility
        (17763, 17763, True),
        (17763, 20348, False),
        (20348, 17763, False),
        (20348, 20348, True),
        (20348, 26100, False),
        (26100, 17763, False),
        (26100, 20348, True),
        (26100, 26100, True),
    ],
)
def test_which_images_run_with_process_isolation(host: int, image: int, *, runs: bool) -> None:
    assert windows_versions.runs_image(host, image) is runs
