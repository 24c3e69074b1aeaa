# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Read a machine's membership in a domain, and determine why a machine cannot join one.

A join changes Win32_ComputerSystem immediately, but Netlogon and the services use the new domain only after a reboot.
Until then the registry key `Netlogon\JoinDomain` exists.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows.registry_keys import SERVICES
from ..wire.calls import query
from ..wire.messages import Call, CallResult

SYSTEM, WAITING, CONTROLLERS = "domain.system", "domain.waiting", "domain.controllers"
_WAITING_KEYS = tuple(f"{SERVICES}\\Netlogon\\{name}" for name in ("JoinDomain", "AvoidSpnSet"))
"""Registry keys that exist while a join waits for a reboot. Neither is documented; tools that find pending reboots read
both."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DomainState:
    """A machine's membership in a domain, as the machine reports it."""

    domain: str
    """DNS name of the machine's domain; empty for a machine in a workgroup."""
    waits: bool = False
    """Whether the machine's join waits for a reboot."""
    unresolved: str = ""
    """Why DNS does not find the domain's controllers; empty if DNS finds them, or was not queried."""

    def is_member_of(self, domain: str) -> bool:
        """Return whether the machine is a member of a given domain, and does not need a reboot to complete the join.

        Args:
            domain: DNS name of the domain.
        """
        return not self.waits and same_name(self.domain, domain)


def same_name(one: str, other: str) -> bool:
    """Return whether two DNS names are the same; case and a trailing dot do not matter."""
    return one.rstrip(".").casefold() == other.rstrip(".").casefold()


def calls(domain: str, *, online: bool) -> tuple[Call, ...]:
    """Return the calls that read a machine's membership in a domain.

    Args:
        domain: DNS name of the domain to join.
        online: whether the machine contacts a domain controller to join, and therefore needs DNS to find one.
    """
    # [MS-ADTS] 6.3.2.3: the SRV records by which clients find domain controllers.
    record = {"Name": f"_ldap._tcp.dc._msdcs.{domain.rstrip('.')}", "Type": "SRV"}
    return (
        query(
            SYSTEM,
            "Get-CimInstance",
            {"ClassName": "Win32_ComputerSystem"},
            select=("Domain", "PartOfDomain"),
            on_error="stop",
        ),
        query(WAITING, "@read-registry", {"values": [{"path": key} for key in _WAITING_KEYS]}, select=("key_exists",)),
        *([query(CONTROLLERS, "Resolve-DnsName", record, select=("Name",))] if online else []),
    )


def read(results: t.Mapping[str, CallResult]) -> DomainState:
    """Return the membership that the results of `calls` show.

    Args:
        results: the results, by the ids of the calls.
    """
    (system,) = results[SYSTEM].output
    searched = results.get(CONTROLLERS)
    return DomainState(
        domain=str(system.get("Domain") or "") if system.get("PartOfDomain") is True else "",
        waits=any(one.get("key_exists") is True for one in results[WAITING].output),
        unresolved=str(searched.error) if searched is not None and searched.error is not None else "",
    )


def problems(state: DomainState, domain: str, *, joined: bool) -> t.Iterator[str]:
    """Yield the reason why a machine cannot join a domain, or nothing if it can join or is already a member.

    Args:
        state: what the machine reports.
        domain: DNS name of the domain.
        joined: whether the machine is a node of a cluster.
    """
    if state.domain and not same_name(state.domain, domain):
        yield (
            f"it is a member of the domain {state.domain}, expected {domain} (node_join_domain) or no domain. Remove "
            "it from that domain first (microsoft.ad.membership with state: workgroup), or correct node_join_domain"
        )
    elif not state.is_member_of(domain) and joined:
        yield (
            f"it is a node of a cluster and {'its join to' if state.waits else 'not a member of'} the domain {domain}"
            f"{' waits for a reboot' if state.waits else ''}, and joining a domain reboots the machine. Reset it "
            "(reset_nodes.yml), and run this playbook again: it then joins the domain before the cluster"
        )
    elif not state.domain and state.unresolved:
        yield (
            f"its DNS servers do not know the domain {domain} ({state.unresolved}). Let the machine use DNS servers of "
            "the domain, correct node_join_domain, or join it with node_join_domain_blob"
        )
