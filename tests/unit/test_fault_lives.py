# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How the faults of a sweep over a playbook are distributed over servers."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st
from integration.fault_lives import CUTS, Hit, all_hits, differences, pack

HITS = st.lists(st.builds(Hit, st.sampled_from([*CUTS, "power"]), st.integers(1, 80)), unique=True)


def test_every_request_is_hit_in_every_way() -> None:
    hits = all_hits(61, power_every=5)
    assert len(hits) == len(set(hits)) == 61 * 3 + 12
    assert {hit.request for hit in hits if hit.kind == "power"} == set(range(5, 61, 5))
    assert len(pack(hits, 8)) == math.ceil(len(hits) / 8)


@given(HITS, st.integers(1, 10))
def test_no_fault_is_lost_and_no_request_of_a_server_is_hit_twice(hits: list[Hit], per_life: int) -> None:
    lives = pack(hits, per_life)
    assert sorted(itertools.chain(*lives), key=str) == sorted(hits, key=str)
    for life in lives:
        requests = [hit.request for hit in life]
        assert requests == sorted(set(requests))


def test_differences_name_the_place() -> None:
    requested = {"files": {"a": 1, "b": 2}, "boots": 2}
    assert differences({"files": {"a": 1, "c": 3}, "boots": 2}, requested) == [
        "/files/b: None != 2",
        "/files/c: 3 != None",
    ]
    assert differences(requested, requested) == []
