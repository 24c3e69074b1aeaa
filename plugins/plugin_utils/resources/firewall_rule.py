# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Create, change or remove a rule of Windows Firewall."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, is_missing, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows import azure_platform, sddl
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Results

# The name of each property in New-NetFirewallRule, Get-NetFirewallRule and the Get-NetFirewall…Filter cmdlets.
_PARAMETERS = {
    "display_name": "DisplayName",
    "description": "Description",
    "group": "Group",
    "direction": "Direction",
    "action": "Action",
    "profile": "Profile",
    "enabled": "Enabled",
    "protocol": "Protocol",
    "local_ports": "LocalPort",
    "remote_ports": "RemotePort",
    "local_addresses": "LocalAddress",
    "remote_addresses": "RemoteAddress",
    "program": "Program",
    "local_user": "LocalUser",
}
_LISTS = ("local_ports", "remote_ports", "local_addresses", "remote_addresses")
_SID = "S-1-"
_EVERYONE = "S-1-1-0"
_NUMBERED = {"1": "ICMPv4", "6": "TCP", "17": "UDP", "58": "ICMPv6"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirewallRule(Resource):
    """A rule of Windows Firewall. A rule without ports or addresses applies to all ports or addresses.

    If `program`, `group` or `description` is omitted, that property of an existing rule is not changed.
    """

    type: t.ClassVar[str] = "FirewallRule"
    name: str = dataclasses.field(metadata={"help": "The rule's unique name (not its display name)."})
    display_name: str = dataclasses.field(
        default="", metadata={"help": "The rule's name in the user interface. The default is `name`."}
    )
    description: str = dataclasses.field(default="", metadata={"help": "What the rule is for."})
    group: str = dataclasses.field(default="", metadata={"help": "The group to which the rule belongs."})
    direction: t.Literal["Inbound", "Outbound"] = dataclasses.field(
        default="Inbound", metadata={"help": "Whether the rule applies to inbound or outbound traffic."}
    )
    action: t.Literal["Allow", "Block"] = dataclasses.field(
        default="Allow", metadata={"help": "Whether the rule allows or blocks the traffic."}
    )
    protocol: str = dataclasses.field(
        default="Any", metadata={"help": "`TCP`, `UDP`, `ICMPv4`, `ICMPv6`, `Any`, or a number."}
    )
    local_ports: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Ports of the node, or ranges such as `30000-32767`."}
    )
    remote_ports: tuple[str, ...] = dataclasses.field(default=(), metadata={"help": "Ports of the remote computer."})
    local_addresses: tuple[str, ...] = dataclasses.field(default=(), metadata={"help": "Addresses of the node."})
    remote_addresses: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Addresses of remote computers: addresses, subnets, ranges or `LocalSubnet`."}
    )
    program: str = dataclasses.field(
        default="", metadata={"help": "Path of a program. The rule then applies only to the traffic of this program."}
    )
    except_users: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Users whose programs are exempt from the rule: SIDs, or names of local users. The rule applies to"
            " the programs of all other users. A local user that does not exist is left out. With an empty list, the"
            " users of an existing rule are not changed."
        },
    )
    platform: t.Literal["any", "azure"] = dataclasses.field(
        default="any",
        metadata={"help": "With `azure`, the rule is managed only on Azure virtual machines."},
    )
    profile: tuple[t.Literal["Any", "Domain", "Private", "Public"], ...] = dataclasses.field(
        default=("Any",), metadata={"help": "The network profiles to which the rule applies."}
    )
    enabled: bool = dataclasses.field(default=True, metadata={"help": "Whether the rule is enabled."})
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the rule exists."}
    )

    def __post_init__(self) -> None:
        if not self.name or any(letter in self.name for letter in "*?[]"):
            raise ResourceError("name", self.name, "expected a rule's name, without * ? [ or ]")
        protocol = self.protocol.strip()
        known = {name.casefold(): name for name in (*_NUMBERED.values(), "Any")}
        protocol = _NUMBERED.get(protocol, known.get(protocol.casefold(), protocol))
        if protocol not in known.values() and not (protocol.isascii() and protocol.isdigit() and int(protocol) < 256):
            raise ResourceError(
                "protocol", self.protocol, "expected TCP, UDP, ICMPv4, ICMPv6, Any or a number below 256"
            )
        if (self.local_ports or self.remote_ports) and protocol not in ("TCP", "UDP"):
            raise ResourceError("protocol", self.protocol, "expected TCP or UDP, because only these have ports")
        self._set(protocol=protocol, display_name=self.display_name or self.name)
        for ports in ("local_ports", "remote_ports"):
            self._set(**{ports: tuple(port.strip() for entry in getattr(self, ports) for port in entry.split(","))})

    def observe(self) -> tuple[Call, ...]:
        rule = Input(calls=("rule",), parameter="AssociatedNetFirewallRule")
        filters = {
            "ports": ("Get-NetFirewallPortFilter", ("Protocol", "LocalPort", "RemotePort")),
            "addresses": ("Get-NetFirewallAddressFilter", ("LocalAddress", "RemoteAddress")),
        }
        if self.program:
            filters["program"] = ("Get-NetFirewallApplicationFilter", ("Program",))
        if self.except_users:
            filters["security"] = ("Get-NetFirewallSecurityFilter", ("LocalUser",))
        return (
            *([azure_platform.chassis_call()] if self.platform == "azure" else []),
            *(query(f"user.{name}", "Get-LocalUser", {"Name": [name]}, select=("SID",)) for name in self._named()),
            query(
                "rule",
                "Get-NetFirewallRule",
                {"Name": [self.name]},
                select=("DisplayName", "Description", "Group", "Direction", "Action", "Profile", "Enabled"),
            ),
            *(
                query(call_id, command, input=rule, select=select, needs=("rule",))
                for call_id, (command, select) in filters.items()
            ),
        )

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        if self.platform == "azure" and not azure_platform.is_azure(seen.get(azure_platform.CHASSIS)):
            return None
        exists = not is_missing(seen.get("rule"))
        delete = action("remove", "Remove-NetFirewallRule", {"Name": [self.name]})
        if self.state == "absent":
            if not exists:
                return None
            return remove(self, {"display_name": only(self, seen, "rule").get("DisplayName")}, [delete])
        desired = self._desired(seen)
        if not exists:
            return create(self, desired, [self._write("New-NetFirewallRule", desired)])
        observed: dict[str, t.Any] = {
            **only(self, seen, "rule"),
            **only(self, seen, "ports"),
            **only(self, seen, "addresses"),
        }
        for part in (*(["program"] if self.program else []), *(["security"] if self.except_users else [])):
            observed |= only(self, seen, part)
        before = {key: _seen(key, observed.get(_PARAMETERS[key]), desired[key]) for key in desired}
        changed = {key: value for key, value in desired.items() if before[key] != value}
        if "group" in changed:  # Set-NetFirewallRule cannot change a rule's group: its parameter -Group selects rules.
            return update(self, before, desired, [delete, self._write("New-NetFirewallRule", desired)])
        if "local_ports" in changed or "remote_ports" in changed or "protocol" in changed:
            # Set-NetFirewallRule accepts ports only together with a protocol.
            changed |= {key: desired[key] for key in ("protocol", "local_ports", "remote_ports")}
        return update(self, before, desired, [self._write("Set-NetFirewallRule", changed)])

    def _named(self) -> list[str]:
        """Return the exempt users that are given by name; the node has to look up their SIDs."""
        return [name for name in self.except_users if not name.startswith(_SID)]

    def _local_user(self, seen: Results) -> str:
        """Return an SDDL string with the users to whom the rule applies: all except the exempt users.

        Source of the SDDL's form: kubernetes-sigs/image-builder,
        images/capi/ansible/windows/roles/providers/tasks/azure.yml.
        """
        sids = []
        for name in self.except_users:
            result = None if name.startswith(_SID) else seen.get(f"user.{name}")
            user = result.first if result is not None and result.ok else None
            sids += [name] if name.startswith(_SID) else [str(user["SID"])] if user else []
        return "O:LSD:" + "".join(f"(D;;CC;;;{sid})" for sid in sids) + f"(A;;CC;;;{_EVERYONE})"

    def _desired(self, seen: Results) -> dict[str, t.Any]:
        desired: dict[str, t.Any] = {key: getattr(self, key) for key in _PARAMETERS if key != "local_user"}
        desired["local_user"] = self._local_user(seen) if self.except_users else ""
        for key in _LISTS:
            desired[key] = sorted(desired[key]) or ["Any"]
        desired["profile"] = ", ".join(sorted(self.profile)) or "Any"
        return {key: value for key, value in desired.items() if value != ""}

    def _write(self, command: str, values: t.Mapping[str, t.Any]) -> Call:
        parameters: dict[str, Json] = {"Name": self.name if command.startswith("New") else [self.name]}
        for key, value in values.items():
            word = "NewDisplayName" if key == "display_name" and command.startswith("Set") else _PARAMETERS[key]
            # -Enabled is an enumeration, not a switch.
            parameters[word] = ("True" if value else "False") if key == "enabled" else value
        if values.get("protocol") not in (None, "TCP", "UDP"):
            parameters = {key: value for key, value in parameters.items() if key not in ("LocalPort", "RemotePort")}
        return action("rule", command, parameters)


def _seen(key: str, value: t.Any, desired: t.Any) -> t.Any:
    """Return an observed value in the notation of the desired value."""
    if key == "enabled":
        return str(value).casefold() == "true"
    if key in _LISTS:
        items = value if isinstance(value, (list, tuple)) else [value]
        observed = sorted(_address(str(item)) for item in items if item is not None) or ["Any"]
        same = sorted(map(str.casefold, observed)) == sorted(_address(str(item)).casefold() for item in desired)
        return desired if same else observed
    if key == "profile":
        profiles = ", ".join(sorted(part.strip() for part in str(value).split(",")))
        return "Any" if profiles == "Domain, Private, Public" else profiles
    text = str(value or "")
    # Windows may abbreviate well-known SIDs, such as WD for S-1-1-0.
    if key == "local_user" and sddl.same(desired, text):
        return desired
    if key == "protocol":
        text = _NUMBERED.get(text, text)
    return desired if text.casefold() == str(desired).casefold() else text


def _address(text: str) -> str:
    """Convert an address with a subnet mask to CIDR notation, and return any other address or range unchanged.

    For a rule with 10.0.0.0/8, Windows returns 10.0.0.0/255.0.0.0.
    """
    address, slash, mask = text.partition("/")
    if slash and "." in mask:
        bits = "".join(f"{int(part):08b}" for part in mask.split(".") if part.isdigit())
        mask = str(bits.count("1"))
    return f"{address}{slash}{mask}"
