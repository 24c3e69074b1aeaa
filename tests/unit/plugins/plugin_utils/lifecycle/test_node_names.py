# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The name that a machine reports is not used if the name belongs to another machine."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.node_names import NameClaim, problems
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.node_names import claim as claim_of

HONEST = NameClaim(host="image-1", name="win-7f3k2", address="192.0.2.1")


def node(os: str = "windows", *addresses: str) -> dict[str, t.Any]:
    return {"os": os, "addresses": list(addresses), "ready": False}


def test_a_name_of_its_own_is_taken() -> None:
    assert problems([HONEST, NameClaim(host="other", given="win-b")], {"win-b": node()}) == {}


@pytest.mark.parametrize(
    ("others", "nodes", "why"),
    [
        ([NameClaim(host="a", given="win-7f3k2")], {}, "the name of host a in the inventory"),
        ([NameClaim(host="a", given="WIN-7F3K2")], {}, "the name of host a in the inventory"),
        ([NameClaim(host="win-7f3k2")], {}, "the name of host win-7f3k2 in the inventory"),
        ([NameClaim(host="a", name="win-7f3k2", address="192.0.2.2")], {}, "another host reports the same name"),
        ([], {"win-7f3k2": node("linux", "192.0.2.1")}, "a node with the operating system linux"),
        ([], {"win-7f3k2": node("windows", "192.0.2.9")}, "a node at 192.0.2.9, not at 192.0.2.1"),
        ([], {"win-7f3k2": node("windows")}, "a node at an unknown address"),
    ],
)
def test_a_name_of_another_machine_is_refused(others: list[NameClaim], nodes: dict[str, t.Any], why: str) -> None:
    found = problems([HONEST, *others], nodes)
    assert why in found["image-1"]
    assert "set kubernetes_node_hostname" in found["image-1"]


def test_the_same_machine_may_join_again() -> None:
    assert problems([HONEST], {"win-7f3k2": node("windows", "192.0.2.1")}) == {}
    assert problems([HONEST], {"win-7f3k2": node("windows", "10.0.0.1", "image-1")}) == {}


def test_a_node_may_be_reached_at_an_address_that_it_does_not_know() -> None:
    """An example is address translation. Only changes of the Node object require more."""
    joined = NameClaim(host="image-1", name="win-7f3k2", address="203.0.113.1", joined=True)
    assert problems([joined], {"win-7f3k2": node("windows", "10.0.0.1")}) == {}


def test_names_in_the_inventory_need_no_proof() -> None:
    given_ = NameClaim(host="a", given="win-a", name="win-a", address="192.0.2.1")
    assert problems([given_], {"win-a": node("windows", "192.0.2.9")}) == {}


NAMES = st.sampled_from(["a", "b", "c", "linux"])
CLAIMS = st.lists(
    st.builds(NameClaim, host=st.sampled_from(["h1", "h2", "a", "b"]),
              given=st.just("") | NAMES, name=st.just("") | NAMES, address=st.sampled_from(["1", "2"]),
              joined=st.booleans()),
    max_size=4, unique_by=lambda claim: claim.host,
)  # fmt: skip


@given(claims=CLAIMS)
def test_a_machine_cannot_claim_the_name_of_another_one(claims: list[NameClaim]) -> None:
    nodes = {"linux": node("linux", "1")}
    refused = problems(claims, nodes)
    taken = [claim for claim in claims if claim.name and not claim.given and claim.host not in refused]
    assert len({claim.name for claim in taken}) == len(taken)
    for claim in taken:
        assert claim.name != "linux"
        others = {name for other in claims if other.host != claim.host for name in (other.host, other.given)}
        # A host with the name of another host's node: the first of them in the inventory has it.
        assert claim.name not in others or claim.name in (claim.host, claim.given)


@pytest.mark.parametrize(
    ("inventory", "facts", "expected"),
    [
        # A host that is not part of this run keeps the name that the inventory gives it.
        (["", "node-a"], {}, {"given": "node-a"}),
        (["node-b", "node-a"], {}, {"given": "node-b"}),
        # The inventory names the node, perhaps by a variable of a role or a play.
        ([""], {"node_name": "win3", "joined": True, "self_named": False}, {"given": "win3", "joined": True}),
        ([""], {"node_name": "win3", "joined": False, "self_named": True}, {}),
        (["other"], {"node_name": "win3", "self_named": True}, {}),
        ([""], {"node_name": None}, {"name": ""}),
    ],
)
def test_the_claim_of_a_host(inventory: list[str], facts: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    found = claim_of("host", inventory, "10.0.0.3", facts)
    name = "win3" if facts else ""
    whole = {"host": "host", "given": "", "name": name, "address": "10.0.0.3", "joined": False, **expected}
    assert dataclasses.asdict(found) == whole
