# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which node of the cluster belongs to a machine that is reset."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.role_decisions.node_reset import ResetHost, node_problem

SERVER = "lb:6443"


def host(**given: t.Any) -> ResetHost:
    values: dict[str, t.Any] = {
        "name": "win1",
        "self_named": False,
        "joined": True,
        "server": SERVER,
        "host_addresses": ("10.0.0.11", "first"),
        "own_addresses": ("192.168.7.11",),
    }
    return ResetHost(**values | given)


def node(*addresses: str, os: str = "windows") -> dict[str, t.Any]:
    return {"os": os, "addresses": list(addresses)}


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        (host(), {}),
        (host(), node("10.0.0.11", "win1")),
        # The inventory has a name that is not the node's, and that the kubelet reports as Hostname.
        (host(), node("172.16.0.1", "first")),
        # The inventory reaches the machine through another address.
        (host(), node("192.168.7.11")),
        (host(self_named=True), node("10.0.0.11")),
        # The machine has the name that the inventory has for the host.
        (host(self_named=True, host_addresses=("WIN1",)), node("192.168.7.11", "win1")),
        (host(joined=False, server=""), node("10.0.0.11")),
        (host(server=""), node("10.0.0.11")),
    ],
)
def test_the_node_of_the_machine_may_be_deleted(machine: ResetHost, found: dict[str, t.Any]) -> None:
    assert node_problem(machine, found, [SERVER]) == ""


@pytest.mark.parametrize(
    ("machine", "found", "why"),
    [
        (host(), node("10.0.0.12"), "the cluster's node win1 is at 10.0.0.12, expected one of 10.0.0.11, first, 192"),
        (host(), node(), "is at an unknown address"),
        (host(joined=False, server=""), node("10.0.0.12"), "neither drained nor deleted"),
        # The machine itself reports its name, so its own addresses prove nothing.
        (host(self_named=True), node("192.168.7.11"), "expected one of 10.0.0.11, first. It may"),
        # Each node reports its own name, so the name does not show which machine it is.
        (host(host_addresses=("win1",)), node("10.0.0.12", "win1"), "expected one of 192.168.7.11. It may"),
        (host(host_addresses=("10.0.0.11", "WIN1")), node("10.0.0.12", "win1"), "is at 10.0.0.12, win1, expected one"),
        (host(host_addresses=("win1",), own_addresses=()), node("10.0.0.12", "win1"), "the addresses of the machine"),
        (host(), node("10.0.0.11", os="linux"), "has the operating system linux, expected windows"),
        (host(server="other:6443"), node("10.0.0.11"), "its kubelet uses the API server at other:6443"),
        (host(server="other:6443"), node("10.0.0.11"), "is for the cluster at lb:6443. Use"),
        (host(server="other:6443"), {}, "set node_join_api_server: other:6443"),
    ],
)
def test_the_node_of_another_machine_is_never_deleted(machine: ResetHost, found: dict[str, t.Any], why: str) -> None:
    assert why in node_problem(machine, found, [SERVER])


def test_a_second_address_of_the_api_server_is_the_same_cluster() -> None:
    assert node_problem(host(server="vip:6443"), node("10.0.0.11"), [SERVER, "vip:6443"]) == ""


def test_a_cluster_without_a_known_address_is_another_cluster() -> None:
    assert "for the cluster at an unknown address" in node_problem(host(), node("10.0.0.11"), [])
