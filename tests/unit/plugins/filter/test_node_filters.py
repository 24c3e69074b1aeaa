# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.winkube.node.plugins.filter.node import FilterModule

FILTERS: dict[str, t.Any] = FilterModule().filters()


@pytest.mark.parametrize(
    ("cidr", "address"), [("10.244.3.0/24", "10.244.3.254"), ("10.0.0.8/29", "10.0.0.14"), ("fd00::/120", "fd00::fe")]
)
def test_source_vip_is_the_last_usable_address(cidr: str, address: str) -> None:
    assert FILTERS["source_vip"](cidr) == address


@pytest.mark.parametrize("cidr", ["", "10.244.3.0/30", "10.244.3.1/24", "x"])
def test_source_vip_of_what_is_no_pod_cidr(cidr: str) -> None:
    with pytest.raises(AnsibleFilterError, match="pod CIDR"):
        FILTERS["source_vip"](cidr)


def test_an_artifact_is_verified_by_pin_or_by_the_publishers_checksum_or_said_not_to_be() -> None:
    artifact = FILTERS["artifact"]
    assert artifact("kubernetes", "1.37.1", cache_dir="C:\\c")["checksum_url"].endswith(".sha256")
    pinned = artifact("kubernetes", "1.37.1", cache_dir="C:\\c", sha256="ab" * 32)
    assert pinned["sha256"] == "ab" * 32
    assert "checksum_url" not in pinned
    assert artifact("flannel", "0.28.0", cache_dir="C:\\c")["allow_unverified"]


def test_as_resources_gives_each_name_the_same_properties() -> None:
    resources = FILTERS["as_resources"](["Containers", "Hyper-V"], "WindowsFeature", state="absent")
    assert resources[1] == {"type": "WindowsFeature", "name": "Hyper-V", "state": "absent"}


def test_errors_of_values_are_ansibles() -> None:
    with pytest.raises(AnsibleFilterError, match="not a version"):
        FILTERS["plain_version"]("latest")
    with pytest.raises(AnsibleFilterError, match="did you mean kubernetes"):
        FILTERS["artifact"]("kubernets", "1", cache_dir="C:\\c")
