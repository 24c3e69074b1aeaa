# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a cleanup was asked for, and its plan: what it removes, and what it leaves alone and why. Pure.

The scopes are explained in docs/hns.md.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..facts.journal import Journal
from ..facts.node_facts import HnsFacts
from ..facts.objects import HnsEndpoint, HnsNetwork, Namespace, PolicyList
from ..facts.owners import Ownership
from ..facts.runtime import Owner
from ..facts.uplink import AdapterRoute, Uplink

Scope = t.Literal["stale", "networks", "all"]
SCOPES: tuple[str, ...] = ("stale", "networks", "all")
DEFAULT_PROTECTED = ("nat",)


class ScopeError(Exception):
    """A cleanup that was asked for cannot be: the text says what would be accepted."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupRequest:
    """What was asked for."""

    scope: Scope
    networks: tuple[str, ...] = ()
    """Of scope `networks`: names or ids."""
    missing_ok: bool = False
    """Whether such a network may be gone already."""
    protected: tuple[str, ...] | None = None
    """Names or ids of networks that nothing is removed from; None: DEFAULT_PROTECTED and all that did not come from a
    CNI."""
    keep_running_containers: bool = False
    stopped_containers: bool = False
    """Whether scope `stale` takes endpoints of containers that exist but do not run."""
    extra_files: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Removal:
    """One thing that is removed."""

    type: str
    id: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptObject:
    """Something in a cleanup's reach that stays."""

    type: str
    name: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanupPlan:
    """What a cleanup does on a node."""

    policies: tuple[PolicyList, ...] = ()
    endpoints: tuple[HnsEndpoint, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    networks: tuple[HnsNetwork, ...] = ()
    containers: tuple[Owner, ...] = ()
    files: tuple[str, ...] = ()
    routes: tuple[AdapterRoute, ...] = ()
    items: tuple[Removal, ...] = ()
    """All of the above, for people."""
    kept: tuple[KeptObject, ...] = ()
    stop: tuple[str, ...] = ()
    """Services that stop for it, in order."""
    start: tuple[str, ...] = ()
    """Services that run at its end, in order: those that stopped for it, and those an earlier cleanup left stopped."""
    uplinks: tuple[Uplink, ...] = ()
    """Static settings of cards that must be there at its end."""
    repair: tuple[str, ...] = ()
    """What an earlier cleanup left undone, for people."""
    networks_left: int = 0
    external_left: int = 0
    """Networks with the outside network card that stay."""
    port_pools: int = 0
    """How many ranges of ports are reserved before."""
    journal: Journal | None = None
    """What an earlier cleanup left on the node."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.items and self.journal is None

    @property
    def disruptive(self) -> bool:
        """Whether services stop for it."""
        return bool(self.stop or self.networks or self.containers)


def check_wish(wish: CleanupRequest, facts: HnsFacts) -> tuple[str, ...]:
    """Refuses what cannot be done, before anything is.

    Returns:
        What looks wrong and may be right: scope `stale` takes no network, so a protected one need not be on each node.

    Raises:
        ScopeError: a network that does not exist, or is protected.
    """
    warnings: list[str] = []
    objects = facts.last.objects
    known = ", ".join(sorted(network.name for network in objects.networks)) or "none"
    # A name with a slip in it would protect nothing; Docker's network need not be there to be protected.
    wanted = [("protected_networks", name) for name in wish.protected or () if name.lower() not in DEFAULT_PROTECTED]
    for option, name in (*(("networks", name) for name in wish.networks), *wanted):
        if not wish.missing_ok and not objects.called([name]):
            said = f"{option}: there is no network {name!r}; there are: {known}"
            if wish.scope != "stale":
                raise ScopeError(said if option == "networks" else f"{said}; ignore_missing accepts that")
            warnings.append(said)
    for network in objects.called(wish.networks):
        if is_protected(network, wish, facts):
            accepted = ", ".join(sorted(n.name for n in objects.networks if not is_protected(n, wish, facts))) or "none"
            raise ScopeError(f"networks: {network.name!r} is protected (protected_networks); accepted: {accepted}")
    return tuple(warnings)


def is_protected(network: HnsNetwork, wish: CleanupRequest, facts: HnsFacts) -> bool:
    """Whether nothing may be removed from a network."""
    if wish.protected is None:
        return network.is_called(DEFAULT_PROTECTED) or not facts.from_cni(network)
    return network.is_called(wish.protected)


def without_network(wish: CleanupRequest, facts: HnsFacts) -> tuple[HnsEndpoint, ...]:
    """Endpoints whose network is gone, as a removal may leave them, but for those of a network that is protected."""
    known = {item.id for item in facts.last.objects.networks}
    protected = DEFAULT_PROTECTED if wish.protected is None else wish.protected
    return tuple(
        item
        for item in facts.last.objects.endpoints
        if item.network not in known
        and not HnsNetwork(id=item.network, name=item.network_name, type="").is_called(protected)
    )


def items_of(
    policies: t.Iterable[PolicyList],
    endpoints: t.Iterable[HnsEndpoint],
    namespaces: t.Iterable[Namespace],
    networks: t.Iterable[HnsNetwork],
    owners: Ownership,
    why: str,
) -> tuple[Removal, ...]:
    """Return the HNS objects that a cleanup removes as rows of its report, in the order of removal."""
    found = [Removal(type="HnsPolicyList", id=item.id, name=item.name or item.id, why=why) for item in policies]
    for item in endpoints:
        owner = owners.endpoints[item.id].owner
        state = owners.endpoints[item.id].state
        said = {
            "stale": f"{owner[:12]} does not exist",
            "stopped": f"{owner} does not run",
            "in use": f"{why}; {owner} uses it",
        }.get(state, why)
        said = owners.endpoints[item.id].note or said
        found.append(Removal(type="HnsEndpoint", id=item.id, name=item.name or item.address or item.id, why=said))
    for space in namespaces:
        holding = owners.namespaces[space.id]
        said = f"{why}; {holding.owner} uses it" if holding.state == "in use" else why
        found.append(Removal(type="HnsNamespace", id=space.id, name=space.id, why=said))
    found += [Removal(type="HnsNetwork", id=item.id, name=item.name, why=why) for item in networks]
    return tuple(found)
