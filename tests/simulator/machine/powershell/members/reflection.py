# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Non-public members of PowerShell's own objects, which scripts access by reflection.

pypsrp's copy.ps1 removes the limit on the input's size in this way. From `$Host`, it reaches the transport, and from
there the deserialization context. The names come from classes in https://github.com/PowerShell/PowerShell:
InternalHost, ServerRemoteHost, AbstractServerTransportManager, Fragmentor and DeserializationContext.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.machine.objects import Enumeration, NotModelled, PSObject
from simulator.machine.powershell.types.names import AUTOMATION
from simulator.machine.powershell.types.plain_text import to_text

HOST = f"{AUTOMATION}Internal.Host.InternalHost"
REMOTE_HOST = f"{AUTOMATION}Remoting.ServerRemoteHost"
_TRANSPORT = f"{AUTOMATION}Remoting.Server.AbstractServerTransportManager"
_FRAGMENTOR = f"{AUTOMATION}Remoting.Fragmentor"
_CONTEXT = f"{AUTOMATION}DeserializationContext"
# The types of member values, by type, kind of member and name. An empty type stands for a value that is stored.
_MEMBERS: Mapping[tuple[str, str], Mapping[str, str]] = {
    (HOST, "property"): {"ExternalHost": REMOTE_HOST},
    (REMOTE_HOST, "field"): {"_transportManager": _TRANSPORT},
    (_TRANSPORT, "property"): {"Fragmentor": _FRAGMENTOR},
    (_FRAGMENTOR, "property"): {"DeserializationContext": _CONTEXT},
    (_CONTEXT, "property"): {"MaximumAllowedMemory": ""},
}
_PRIVATE = 32


def member(type_name: str, kind: str, arguments: list[object]) -> PSObject:
    """Return the result of `[type].GetProperty(name, flags)` or `.GetField(name, flags)`.

    Args:
        kind: `property` or `field`.

    Raises:
        NotModelled: the member is not modelled.
    """
    name = to_text(arguments[0]) if arguments else ""
    flags = arguments[1] if len(arguments) == 2 else None
    known = _MEMBERS.get((type_name, kind), {})
    if name not in known or not isinstance(flags, Enumeration) or not flags.number & _PRIVATE:
        raise NotModelled(f"the {kind} {name} of {type_name} by reflection")

    def get_value(owner: object, *_: object) -> object:
        if not isinstance(owner, PSObject):
            raise NotModelled("GetValue() of a value that is not an object with properties")
        if type_name == HOST and owner.get("Name") != "ServerRemoteHost":
            raise NotModelled("the internal host object of $Host without a remote client")
        if not known[name]:
            return owner.get(name)
        return PSObject(known[name], {})

    def set_value(owner: object, value: object, *_: object) -> None:
        if known[name] or not isinstance(owner, PSObject):
            raise NotModelled(f"setting the {kind} {name} by reflection")
        owner.properties[name] = value

    properties: dict[str, object] = {"Name": name, "GetValue": get_value, "SetValue": set_value}
    return PSObject(f"System.Reflection.Runtime{kind.capitalize()}Info", properties, name)
