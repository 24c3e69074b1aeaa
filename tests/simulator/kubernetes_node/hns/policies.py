# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The endpoint policies that each of HNS's two APIs accepts, and the format in which Get-HnsEndpoint prints policies.

The first API takes flat objects (`{"Type": "ROUTE", "DestinationPrefix": …}`: microsoft/hcsshim
internal/hns/hnspolicy.go). The second one takes `{"Type": "SDNRoute", "Settings": {…}}` (hcn/hcnpolicy.go). Each API
refuses the other one's format with 0x803b000d (projectcalico/calico#8465). Unknown keys are ignored: in the second API,
`ExceptionList` instead of `Exceptions` results in a policy without exceptions. Get-HnsEndpoint uses the first API, so
it always prints policies in that API's format.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping

from simulator.kubernetes_node.hns.objects import INVALID_POLICY, INVALID_POLICY_TYPE, HnsError

Policy = Mapping[str, object]
_ACL_KEYS = ("Protocols", "Protocol", "Action", "Direction", "LocalAddresses", "RemoteAddresses", "LocalPorts",
             "RemotePorts", "LocalPort", "RemotePort", "RuleType", "Priority")  # fmt: skip
# Types of both APIs that the simulator stores as they are.
_OPAQUE = (
    "L4WFPPROXY",
    "L4Proxy",
    "PROXY",
    "L2Driver",
    "QOS",
    "Iov",
    "EncapOverhead",
    "TierAcl",
    "InterfaceParameters",
)


class _InvalidPolicyError(Exception):
    pass


def _networks(value: object) -> list[str]:
    """Return a list of networks or addresses as strings. Raise _InvalidPolicyError if the value is anything else."""
    if not isinstance(value, list):
        raise _InvalidPolicyError
    return [_network(item) for item in value]


def _network(value: object) -> str:
    try:
        ipaddress.ip_network(str(value or "-"), strict=False)
    except ValueError as error:
        raise _InvalidPolicyError from error
    return str(value)


def _nat(given: Policy, exceptions: str) -> dict[str, object]:
    found: dict[str, object] = {"Type": "OutBoundNAT"}
    if given.get(exceptions) is not None:
        found["ExceptionList"] = _networks(given[exceptions])
    if given.get("Destinations") is not None:
        found["Destinations"] = _networks(given["Destinations"])
    return found


def _route(given: Policy) -> dict[str, object]:
    prefix = _network(given.get("DestinationPrefix"))
    return {"Type": "ROUTE", "DestinationPrefix": prefix, "NeedEncap": bool(given.get("NeedEncap"))}


def _acl(given: Policy) -> dict[str, object]:
    if given.get("Action") not in ("Allow", "Block", "Pass") or given.get("Direction") not in ("In", "Out"):
        raise _InvalidPolicyError
    for name in ("LocalAddresses", "RemoteAddresses"):
        # microsoft/hcsshim#1059: words such as `Any` are refused.
        for item in filter(None, str(given.get(name) or "").split(",")):
            _network(item.strip())
    kept = {name: given[name] for name in _ACL_KEYS if given.get(name) not in (None, "")}
    return {"Type": "ACL", "RuleType": "Switch", "Priority": 0, **kept}


def _mapping(given: Policy) -> dict[str, object]:
    numbers = {name: given.get(name) for name in ("InternalPort", "ExternalPort")}
    if not all(isinstance(value, int) and 0 < value < 65536 for value in numbers.values()):
        raise _InvalidPolicyError
    return {"Type": "NAT", "Protocol": given.get("Protocol", "TCP"), **numbers}


def _provider(given: Policy, name: str) -> dict[str, object]:
    return {"Type": "PA", "PA": _network(given.get(name))}


_FIRST: Mapping[str, Callable[[Policy], dict[str, object]]] = {
    "outboundnat": lambda given: _nat(given, "ExceptionList"),
    "route": _route,
    "acl": _acl,
    "nat": _mapping,
    "pa": lambda given: _provider(given, "PA"),
}
_SECOND: Mapping[str, Callable[[Policy], dict[str, object]]] = {
    "outboundnat": lambda given: _nat(given, "Exceptions"),
    "sdnroute": _route,
    "acl": _acl,
    "portmapping": _mapping,
    "provideraddress": lambda given: _provider(given, "ProviderAddress"),
}


def normalize(policies: Iterable[object], api: int) -> tuple[dict[str, object], ...]:
    """Convert policies from the format of the given HNS API, 1 or 2, to the format of the first API.

    Raises:
        HnsError: HNS refuses a policy.
    """
    return tuple(_normalized(item, api) for item in policies)


def _normalized(policy: object, api: int) -> dict[str, object]:
    kind = str(policy.get("Type") or "") if isinstance(policy, Mapping) else ""
    known, other = (_FIRST, _SECOND) if api == 1 else (_SECOND, _FIRST)
    opaque = {item.casefold(): item for item in _OPAQUE}
    try:
        if not isinstance(policy, Mapping) or not kind:
            raise _InvalidPolicyError
        if kind.casefold() not in known and kind.casefold() not in opaque:
            if kind.casefold() in other:
                raise _InvalidPolicyError
            raise HnsError("CreateEndpoint", INVALID_POLICY_TYPE, api)
        settings = _settings(policy, api)
        if kind.casefold() in opaque:
            return {"Type": opaque[kind.casefold()], **{key: settings[key] for key in settings if key != "Type"}}
        return known[kind.casefold()](settings)
    except _InvalidPolicyError as error:
        raise HnsError("CreateEndpoint", INVALID_POLICY, api) from error


def _settings(policy: Policy, api: int) -> Policy:
    settings = policy.get("Settings")
    if api == 1:
        if settings is not None:
            raise _InvalidPolicyError
        return policy
    if not isinstance(settings, Mapping):
        raise _InvalidPolicyError
    return settings
