# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the node names that machines report.

A machine for which the inventory sets no node name, for example a machine that was created from an image, joins under
its computer name. A compromised machine can report any name, so the reported name must not belong to another node.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

_REMEDY = "set kubernetes_node_hostname for this host"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NameClaim:
    """A host in the inventory and its node name."""

    host: str
    """Name in the inventory."""
    given: str = ""
    """Node name in the inventory; empty if the name that the machine reports is used."""
    name: str = ""
    """The node name; empty for hosts that are not part of this run."""
    address: str = ""
    """Address in the inventory."""
    joined: bool = False
    """Whether the machine reports that it has joined a cluster."""


def claim(host: str, inventory: t.Sequence[str], address: str, facts: t.Mapping[str, t.Any]) -> NameClaim:
    """Return the node name that a host claims, with what the inventory and the machine report about the host.

    Args:
        host: name in the inventory.
        inventory: possible node names in the inventory. If the machine was not queried, the first one that is not empty
            is used.
        address: address in the inventory.
        facts: result of join_info; empty if the machine was not queried.
    """
    name = str(facts.get("node_name") or "")
    given = next((str(one) for one in inventory if one), "")
    # The host's own variables lack a name that a role or a play sets, so prefer the facts.
    named = given if not facts else "" if facts.get("self_named") else name
    return NameClaim(host=host, given=named, name=name, address=address, joined=bool(facts.get("joined")))


def problems(claims: t.Sequence[NameClaim], nodes: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, str]:
    """Return why hosts must not use the node names that they report.

    Args:
        claims: the node names that all hosts in the inventory claim.
        nodes: the cluster's nodes by name, as in the result of cluster_info.

    Returns:
        The reasons, by host. Hosts that may use their names are left out.
    """
    owners: dict[str, str] = {}
    for claim in claims:
        for name in (claim.host, claim.given):
            if name:
                owners.setdefault(name.lower(), claim.host)
    reported = collections.Counter(claim.name for claim in claims if claim.name and not claim.given)
    reasons = {}
    for claim in claims:
        why = "" if claim.given or not claim.name else _objection(claim, owners.get(claim.name), reported, nodes)
        if why:
            reasons[claim.host] = f"the machine reports the name {claim.name}, but {why}; {_REMEDY}"
    return reasons


def _objection(
    claim: NameClaim, owner: str | None, reported: t.Mapping[str, int], nodes: t.Mapping[str, t.Mapping[str, t.Any]]
) -> str:
    node = nodes.get(claim.name)
    if owner is not None and owner != claim.host:
        return f"that is the name of host {owner} in the inventory"
    if reported[claim.name] > 1:
        return "another host reports the same name"
    if node is None:
        return ""
    if node.get("os") not in ("windows", "", None):
        return f"that is a node with the operating system {node['os']}"
    if not claim.joined and not is_at(node, claim):
        where = ", ".join(node.get("addresses") or ()) or "an unknown address"
        return f"that is a node at {where}, not at {claim.address}"
    return ""


def is_at(node: t.Mapping[str, t.Any], claim: NameClaim) -> bool:
    """Return whether a node reports the address or name that the inventory has for a host."""
    return bool({claim.address, claim.host} & set(node.get("addresses") or ()))
