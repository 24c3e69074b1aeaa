# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Convert Kubernetes network policies to HNS rules, with the priorities and restrictions of Felix for Windows.

Felix skips rules with `except` in an IP block and rules with named ports, which Windows cannot express. Calico's own
policies are not modelled.

Sources: felix/dataplane/windows/policysets/policysets.go and endpoint_mgr.go, and for the conversion
libcalico-go/lib/backend/k8s/conversion.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]
Rule = dict[str, object]
HOST_PRIORITY, BASE_PRIORITY = 900, 1000
ANY = 256
_PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}


class _NotSupportedError(Exception):
    """Raised if Windows cannot express a rule of a network policy."""


@dataclass
class PolicyObjects:
    """The pods, namespaces and network policies of a cluster, which determine the HNS rules.

    `skipped` is called with a message for each rule that Felix skips.
    """

    pods: Sequence[Object] = ()
    namespaces: Sequence[Object] = ()
    policies: Sequence[Object] = ()
    skipped: Callable[[str], object] = field(default=lambda _text: None)


def acl(direction: str, action: str, priority: int, **more: object) -> Rule:
    """Return an ACL rule in the format of HNS's first API."""
    found: Rule = {"Type": "ACL", "RuleType": "Switch", "Action": action, "Direction": direction, "Protocol": ANY}
    return {**found, "Priority": priority, **{name: value for name, value in more.items() if value}}


def rules_of(cluster: PolicyObjects, pod: Object, hosts: Sequence[str], *, host_priority: int = 0) -> list[Rule]:
    """Return the HNS rules that enforce the network policies on a pod's endpoint.

    Args:
        cluster: the cluster's pods, namespaces and network policies.
        pod: the pod whose endpoint gets the rules.
        hosts: the addresses of the node, which may always reach its pods.
        host_priority: the priority of the rules of type Host, which allow all traffic in the firewall of Windows.
    """
    found: list[Rule] = []
    if hosts:
        found.append(acl("In", "Allow", HOST_PRIORITY, RemoteAddresses=",".join(f"{item}/32" for item in hosts)))
    selecting = [item for item in sorted(cluster.policies, key=_name) if _applies(item, pod)]
    for direction, kind in (("In", "Ingress"), ("Out", "Egress")):
        own = [item for item in selecting if kind in _types(item)]
        inner = [rule for item in own for rule in _rules(cluster, item, direction)]
        if not own:
            inner = [acl(direction, "Allow", BASE_PRIORITY)]  # the profile of the namespace
        found += [*inner, acl(direction, "Block", BASE_PRIORITY + 1)]
    for direction in ("In", "Out"):
        found.append({**acl(direction, "Allow", host_priority), "RuleType": "Host"})
    return found


def _name(policy: Object) -> str:
    return str(policy["metadata"]["name"])


def _types(policy: Object) -> list[str]:
    given = policy["spec"].get("policyTypes")
    return list(given) if given else ["Ingress", *(["Egress"] if policy["spec"].get("egress") else [])]


def _applies(policy: Object, pod: Object) -> bool:
    if policy["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    return selects(policy["spec"].get("podSelector") or {}, pod["metadata"].get("labels") or {})


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Return whether a Kubernetes label selector matches labels. An empty selector matches everything."""
    for name, value in (selector.get("matchLabels") or {}).items():
        if labels.get(name) != value:
            return False
    for item in selector.get("matchExpressions") or []:
        value, values = labels.get(item["key"]), item.get("values") or []
        if not {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[item["operator"]]:
            return False
    return True


def _rules(cluster: PolicyObjects, policy: Object, direction: str) -> list[Rule]:
    spec, found = policy["spec"], []
    entries, peers = ("ingress", "from") if direction == "In" else ("egress", "to")
    for entry in spec.get(entries) or []:
        for peer in entry.get(peers) or [None]:
            for port in entry.get("ports") or [None]:
                try:
                    found += _rule(cluster, policy, direction, peer, port)
                except _NotSupportedError as error:
                    name = f"{policy['metadata']['namespace']}/{_name(policy)}"
                    text = f"Skipped rule because it's not supported on Windows. policy={name} reason={error}"
                    cluster.skipped(text)
    return found


def _rule(
    cluster: PolicyObjects, policy: Object, direction: str, peer: Object | None, port: Object | None
) -> list[Rule]:
    """Return the HNS rules for one peer and one port of a network policy. A peer that selects no pods has no rules."""
    more: dict[str, object] = {}
    if peer is not None:
        addresses = _addresses(cluster, policy, peer)
        if not addresses:
            return []
        more["RemoteAddresses"] = ",".join(addresses)
    if port is not None:
        number = port.get("port")
        if isinstance(number, str):
            raise _NotSupportedError(f"named port {number}")
        more["Protocol"] = _PROTOCOLS[str(port.get("protocol") or "TCP")]
        if number is not None:
            last = port.get("endPort")
            more["LocalPorts" if direction == "In" else "RemotePorts"] = f"{number}-{last}" if last else str(number)
    return [acl(direction, "Allow", BASE_PRIORITY, **more)]


def _addresses(cluster: PolicyObjects, policy: Object, peer: Object) -> list[str]:
    if block := peer.get("ipBlock"):
        if block.get("except"):
            raise _NotSupportedError("except in an ipBlock")
        return [str(block["cidr"])] if ":" not in block["cidr"] else []
    own = policy["metadata"]["namespace"]
    names = {own}
    if peer.get("namespaceSelector") is not None:
        names = {
            str(item["metadata"]["name"])
            for item in cluster.namespaces
            if selects(peer["namespaceSelector"], item["metadata"].get("labels") or {})
        }
    selector = peer.get("podSelector") or {}
    found = {
        str(item["status"]["podIP"])
        for item in cluster.pods
        if item["metadata"]["namespace"] in names
        and (item.get("status") or {}).get("podIP")
        and not item["spec"].get("hostNetwork")
        and selects(selector, item["metadata"].get("labels") or {})
    }
    return sorted((f"{item}/32" for item in found), key=lambda item: int(ipaddress.ip_interface(item).ip))
