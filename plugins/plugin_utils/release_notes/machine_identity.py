# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a machine's identifiers, which must differ between the build machine and machines from the image (no I/O).

The identifiers are not secret: a machine shows its SID and the thumbprints of its certificates to its users, and its
host keys to everyone who connects. Release notes contain only the hashes of the host keys.
"""

from __future__ import annotations

import typing as t

from ..wire.calls import query
from ..wire.messages import Call, CallResult, Input, Json, Observation
from .contents import NotedIdentity

_STORE = "Cert:\\LocalMachine\\"
PERSONAL, REMOTE_DESKTOP = f"{_STORE}My", f"{_STORE}Remote Desktop"
_SSH = "C:\\ProgramData\\ssh"
_UPDATE_CLIENT: t.Mapping[str, Json] = {
    "path": "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate",
    "name": "SusClientId",
}
_DOMAIN_PREFIX = "S-1-5-21-"
"""Beginning of the SIDs of accounts. The last part of a SID identifies the account.

Source: learn.microsoft.com, Security identifiers.
"""


def calls() -> tuple[Call, ...]:
    """Return the calls that read the identifiers of a machine."""
    return (
        query("identity.accounts", "Get-LocalUser", select=("Name", "SID")),
        query(
            "identity.keys", "Get-ChildItem", {"LiteralPath": _SSH, "Filter": "ssh_host_*.pub"}, select=("FullName",)
        ),
        query(
            "identity.key-hashes",
            "Get-FileHash",
            {"Algorithm": "SHA256"},
            input=Input(calls=("identity.keys",), parameter="LiteralPath", property="FullName"),
            needs=("identity.keys",),
            select=("Path", "Hash"),
        ),
        query("identity.certificates", "Get-ChildItem", {"LiteralPath": PERSONAL}, select=("Thumbprint",)),
        query("identity.remote-desktop", "Get-ChildItem", {"LiteralPath": REMOTE_DESKTOP}, select=("Thumbprint",)),
        query("identity.update-client", "@read-registry", {"values": [dict(_UPDATE_CLIENT)]}),
    )


def read(seen: Observation, computer_name: str) -> NotedIdentity:
    """Return the identifiers that the results of `calls` contain.

    Args:
        seen: the observation with the results.
        computer_name: the computer's name, which was read at the same time.
    """
    client = seen["identity.update-client"]
    return NotedIdentity(
        computer_name=computer_name,
        sid=_machine_sid(_texts(seen["identity.accounts"], "SID")),
        host_keys=tuple(sorted(text.lower() for text in _texts(seen.calls.get("identity.key-hashes"), "Hash"))),
        certificates=_thumbprints(seen["identity.certificates"]),
        remote_desktop=_thumbprints(seen["identity.remote-desktop"]),
        update_client=str(client.first.get("value") or "") if client.ok and client.output else "",
    )


def _texts(result: CallResult | None, name: str) -> list[str]:
    """Return a property of each object that a call returned, or an empty list if the call did not run or failed."""
    if result is None or not result.ok:
        return []
    return [str(item[name]) for item in result.output if item.get(name)]


def _thumbprints(result: CallResult) -> tuple[str, ...]:
    return tuple(sorted(text.upper() for text in _texts(result, "Thumbprint")))


def _machine_sid(sids: t.Iterable[str]) -> str:
    """Return the machine's SID, taken from the SIDs of its local accounts, or an empty string if none are known."""
    machines = {sid.rpartition("-")[0] for sid in sids if sid.startswith(_DOMAIN_PREFIX)}
    return min(machines, default="")
