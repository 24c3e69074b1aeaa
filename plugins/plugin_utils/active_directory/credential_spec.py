# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check credential specs of group managed service accounts (gMSAs), in the form that `New-CredentialSpec` writes.

Only the fields of the CustomResourceDefinition are accepted (kubernetes-sigs/windows-gmsa v0.9.0,
charts/gmsa/crds/crds.yaml), because the API server drops all other fields. `HostAccountConfig` is for machines that are
not members of the domain. It names a plugin of Container Credential Guard, and its `PluginInput` may be a secret.

Sources: Microsoft, "Create gMSAs for Windows containers" and "Run a container with a gMSA".
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..specification.describe import SECRET
from ..values.errors import ResourceError
from ..values.shown import AsItIs

GUID = re.compile(r"\{?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?")
_SID = re.compile(r"S-1-5-21(?:-\d{1,10}){3}(?:-\d{1,10})?")
_OBJECT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_ACCOUNT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_DOMAIN = ("Sid", "MachineAccountName", "Guid", "DnsTreeName", "DnsName", "NetBiosName")
_PLUGIN = ("PortableCcgVersion", "PluginGUID", "PluginInput")
_ANOTHER = AsItIs("another value")
_HINT = "Create the credential spec with New-CredentialSpec (module CredentialSpec), and use the JSON that it writes."


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterCredentialSpec:
    """A credential spec, and the service accounts whose pods may use it."""

    name: str
    credspec: t.Mapping[str, t.Any] = dataclasses.field(metadata=SECRET)
    service_accounts: tuple[str, ...] = ()
    """Service accounts as `NAMESPACE/NAME`."""

    def __post_init__(self) -> None:
        if not _OBJECT_NAME.fullmatch(self.name):
            expected = "expected lower-case letters, digits, - and ., with a letter or digit at both ends"
            raise ResourceError("name", self.name, expected)
        for account in self.service_accounts:
            if not _ACCOUNT.fullmatch(account):
                raise ResourceError("service_accounts", account, "expected NAMESPACE/NAME, such as default/web")
        check(self.credspec, "credspec")


def check(spec: t.Mapping[str, t.Any], where: str) -> None:
    """Check a credential spec. Messages quote no value, because a value may be secret.

    Args:
        spec: the credential spec.
        where: the name of the variable, for messages.

    Raises:
        ResourceError: the credential spec is incomplete, has an unknown field, or has an invalid value.
    """
    _fields(spec, where, ("CmsPlugins", "DomainJoinConfig", "ActiveDirectoryConfig"))
    if not _is_list(spec["CmsPlugins"]) or list(spec["CmsPlugins"]) != ["ActiveDirectory"]:
        raise ResourceError(f"{where}.CmsPlugins", _ANOTHER, "expected [ActiveDirectory]", _HINT)
    domain = _texts(spec["DomainJoinConfig"], f"{where}.DomainJoinConfig", _DOMAIN)
    for name, form in (("Sid", _SID), ("Guid", GUID)):
        if not form.fullmatch(domain[name]):
            place = f"{where}.DomainJoinConfig.{name}"
            got = AsItIs(f"a string that is not a {name.upper()}")
            raise ResourceError(place, got, f"expected the {name.upper()} of the domain", _HINT)
    place = f"{where}.ActiveDirectoryConfig"
    _fields(spec["ActiveDirectoryConfig"], place, ("GroupManagedServiceAccounts",), ("HostAccountConfig",))
    accounts = spec["ActiveDirectoryConfig"]["GroupManagedServiceAccounts"]
    if not _is_list(accounts) or not accounts:
        raise ResourceError(f"{place}.GroupManagedServiceAccounts", None, "expected at least one account", _HINT)
    for index, account in enumerate(accounts):
        _texts(account, f"{place}.GroupManagedServiceAccounts[{index}]", ("Name", "Scope"))
    if "HostAccountConfig" in spec["ActiveDirectoryConfig"]:
        plugin = _texts(spec["ActiveDirectoryConfig"]["HostAccountConfig"], f"{place}.HostAccountConfig", _PLUGIN)
        if not GUID.fullmatch(plugin["PluginGUID"]):
            raise ResourceError(
                f"{place}.HostAccountConfig.PluginGUID",
                AsItIs("a string that is not a GUID"),
                "expected the plugin's CLSID",
            )


def to_json(spec: t.Mapping[str, t.Any]) -> str:
    """Return a credential spec as JSON, for a file on the node.

    Args:
        spec: the credential spec.
    """
    return json.dumps(spec, indent=2) + "\n"


def _is_list(value: object) -> bool:
    return isinstance(value, t.Sequence) and not isinstance(value, str)


def _fields(value: object, where: str, required: t.Sequence[str], optional: t.Sequence[str] = ()) -> None:
    """Check that a value is a mapping with all required keys and no unknown keys."""
    if not isinstance(value, t.Mapping):
        raise ResourceError(where, _ANOTHER, f"expected a mapping with {', '.join(required)}", _HINT)
    if missing := [name for name in required if name not in value]:
        raise ResourceError(f"{where}.{missing[0]}", None, "expected a value", _HINT)
    if unknown := sorted(str(name) for name in value if name not in (*required, *optional)):
        expected = f"expected only {', '.join((*required, *optional))}"
        raise ResourceError(where, AsItIs(f"the key {unknown[0]}"), expected, "Names are case-sensitive.")


def _texts(value: object, where: str, names: t.Sequence[str]) -> dict[str, str]:
    """Return the values of a mapping, which must have exactly the given keys and only non-empty strings as values."""
    _fields(value, where, names)
    values: dict[str, t.Any] = {name: value[name] for name in names if isinstance(value, t.Mapping)}
    for name, text in values.items():
        # The API server accepts only strings.
        if not isinstance(text, str) or not text.strip():
            raise ResourceError(f"{where}.{name}", _ANOTHER if text else None, "expected a string", _HINT)
    return values
