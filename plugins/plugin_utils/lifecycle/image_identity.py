# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Remove data of the build machine and its users that sysprep would leave in an image (no I/O).

Two machines from one image must not share this data. Windows creates new keys, ids and certificates when they are
needed: sshd creates its host keys, the Windows Update service creates its client id, and Remote Desktop creates its
certificate.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..wire.calls import action, query
from ..wire.messages import Call, Input, Json, Observation

_WINDOWS_UPDATE = "HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate"
_CLIENT_ID = ("SusClientId", "SusClientIdValidation")
"""Registry values that identify a WSUS client. Source: technet.microsoft.com/library/dd939898 (client requirements)."""
_SSH = "C:\\ProgramData\\ssh"
"""The folder of sshd's host keys. sshd creates missing keys when it starts. Source:
github.com/PowerShell/openssh-portable contrib/win32/win32compat/wmain_sshd.c."""
_REMOTE_DESKTOP = "Cert:\\LocalMachine\\Remote Desktop"
"""The store of Remote Desktop's self-signed certificate. A connection or a boot creates a new certificate. Source:
blogs.technet.microsoft.com/askpfeplat/2017/02/01/removing-self-signed-rdp-certificates."""
_STORE = "HKLM:\\SOFTWARE\\Microsoft\\SystemCertificates\\Remote Desktop\\Certificates"
"""Registry key of the certificate store of Remote Desktop. Source:
learn.microsoft.com/windows/win32/seccrypto/system-store-locations."""
_ADMINISTRATOR = "-500"
"""Last part of the SID of the built-in administrator, an account that Windows does not delete. Source:
learn.microsoft.com (security identifiers)."""
_ACCOUNT = re.compile(r"[^\"/\\\[\]:;|=,+*?<>@\x00-\x1f]{1,20}")
"""Matches names that Windows accepts for a local account. Source:
learn.microsoft.com/windows-server/administration/windows-commands (net user)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineIdentity:
    """The build machine's accounts, app packages and certificates that must not be in the image."""

    accounts: tuple[str, ...] = ()
    """The local accounts that the image must not contain."""
    user_apps: tuple[str, ...] = ()
    """Full names of app packages that some users have, but that are not provisioned for all users."""
    certificates: tuple[str, ...] = ()
    """Thumbprints of Remote Desktop's certificates."""


def local_names(names: t.Iterable[str], computer: str | None) -> list[str]:
    r"""Return the names of local accounts without a leading `.\` or computer name; domain accounts are left out.

    Args:
        names: names in any of these forms: `NAME`, `.\NAME`, `COMPUTER\NAME`, `DOMAIN\NAME`, `NAME@domain`.
        computer: the computer's name, or None if it is unknown, in which case any leading name is accepted.
    """
    by_name: dict[str, str] = {}
    for name in names:
        domain, separator, short = name.rpartition("\\")
        is_local = not separator or computer is None or domain.casefold() in (".", computer.casefold())
        if is_local and _ACCOUNT.fullmatch(short):
            by_name.setdefault(short.casefold(), short)
    return list(by_name.values())


def inspection_calls(accounts: t.Sequence[str]) -> tuple[Call, ...]:
    """Return the calls that find the accounts, app packages and certificates that the image must not contain.

    Args:
        accounts: names of the accounts that the image must not contain, in any form that `local_names` accepts.
    """
    return (
        *(
            query(f"account-{number}", "Get-LocalUser", {"Name": [name]}, select=("Name", "SID"))
            for number, name in enumerate(local_names(accounts, None))
        ),
        query(
            "apps",
            "Get-AppxPackage",
            {"AllUsers": True},
            select=("Name", "PackageFullName", "IsFramework", "NonRemovable", "SignatureKind"),
        ),
        query("provisioned", "Get-AppxProvisionedPackage", {"Online": True}, select=("DisplayName",)),
        query("remote-desktop", "Get-ChildItem", {"LiteralPath": _REMOTE_DESKTOP}, select=("Thumbprint",)),
    )


def read(seen: Observation, accounts: t.Sequence[str], computer: str) -> MachineIdentity:
    """Return the accounts, app packages and certificates that must not be in the image.

    Server Core lacks the cmdlets for apps, so no apps are returned for it.

    Args:
        seen: the results of `inspection_calls`.
        accounts: names of the accounts that the image must not contain, in any form that `local_names` accepts.
        computer: the computer's name.
    """
    local = {name.casefold() for name in local_names(accounts, computer)}
    known: list[str] = []
    for number, name in enumerate(local_names(accounts, None)):
        result = seen[f"account-{number}"]
        exists = name.casefold() in local and result.ok and result.output
        if exists and not str(result.first.get("SID")).endswith(_ADMINISTRATOR):
            known.append(name)
    provisioned = {str(item["DisplayName"]).casefold() for item in seen["provisioned"].output}
    apps = [
        str(item["PackageFullName"])
        for item in seen["apps"].output
        if not item.get("IsFramework")
        and not item.get("NonRemovable")
        # These are part of Windows, and sysprep accepts them.
        and str(item.get("SignatureKind")) != "System"
        and str(item["Name"]).casefold() not in provisioned
    ]
    marks = [str(item["Thumbprint"]) for item in seen["remote-desktop"].output if item.get("Thumbprint")]
    return MachineIdentity(accounts=tuple(known), user_apps=tuple(apps), certificates=tuple(marks))


def app_calls(identity: MachineIdentity) -> tuple[Call, ...]:
    """Return the calls that remove apps that only some users have. If an app is left, sysprep fails and reports it."""
    return tuple(
        action(
            f"app-{number}",
            "Remove-AppxPackage",
            {"Package": name, "AllUsers": True},
            on_error="continue",
            timeout=300,
        )
        for number, name in enumerate(identity.user_apps)
    )


def removal_calls(identity: MachineIdentity) -> tuple[Call, ...]:
    """Return the calls that remove ids, host keys and certificates after sysprep.

    If any of these cannot be removed, the batch stops.
    """
    values: list[Json] = [{"path": _WINDOWS_UPDATE, "name": name} for name in _CLIENT_ID]
    return (
        # A running service would write its id again.
        action("update-service", "Stop-Service", {"Name": ["wuauserv"], "Force": True}, on_error="continue"),
        query("client-id", "@read-registry", {"values": values}, on_error="stop", select=("name", "exists")),
        action(
            "client-id-gone",
            "Remove-ItemProperty",
            {"LiteralPath": _WINDOWS_UPDATE, "Force": True},
            input=Input(calls=("client-id",), where={"exists": True}, parameter="Name", property="name"),
        ),
        query("ssh-keys", "Get-ChildItem", {"LiteralPath": _SSH, "Filter": "ssh_host_*"}, select=("FullName",)),
        action(
            "ssh-keys-gone",
            "Remove-Item",
            {"Force": True},
            input=Input(calls=("ssh-keys",), parameter="LiteralPath", property="FullName"),
            needs=("ssh-keys",),
        ),
        *(call for number, mark in enumerate(identity.certificates) for call in _drop_certificate(number, mark)),
    )


def _drop_certificate(number: int, mark: str) -> t.Iterator[Call]:
    """Yield the calls that remove a Remote Desktop certificate (with its private key if possible).

    The last call verifies that the certificate is gone. Perhaps only SYSTEM and the Remote Desktop service can delete
    the private key.
    """
    path, call_id = f"{_REMOTE_DESKTOP}\\{mark}", f"remote-desktop-{number}"
    quiet: dict[str, Json] = {"LiteralPath": path, "Force": True, "ErrorAction": "SilentlyContinue"}
    yield action(call_id, "Remove-Item", {"LiteralPath": path, "DeleteKey": True, "Force": True}, on_error="continue")
    yield action(f"{call_id}-without-key", "Remove-Item", quiet, unless=(call_id,), on_error="continue")
    yield query(
        f"{call_id}-gone",
        "@read-registry",
        {"values": [{"path": f"{_STORE}\\{mark}"}]},
        select=("key_exists",),
        until={"key_exists": False},
        on_error="stop",
    )


def closing_calls(identity: MachineIdentity) -> tuple[Call, ...]:
    """Return the calls that disable accounts that must not be in the image.

    The script of the first boot removes those accounts that are still disabled.
    """
    return tuple(
        action(f"disable-{number}", "Disable-LocalUser", {"Name": [name]})
        for number, name in enumerate(identity.accounts)
    )
