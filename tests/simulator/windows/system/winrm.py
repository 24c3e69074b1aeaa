# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The settings of WinRM: listeners and authentication, for the WSMan cmdlets and WinRM's resource URIs.

A new simulated server is set up for Ansible, with basic authentication and an HTTPS listener. A machine from a
generalized disk has Windows' defaults instead, which include neither basic authentication nor an HTTPS listener.
`simulator.machine.winrm_settings` reads the settings.

Sources: https://learn.microsoft.com/powershell/module/microsoft.wsman.management/set-wsmaninstance and (for defaults)
https://learn.microsoft.com/windows/win32/winrm/installation-and-configuration-for-windows-remote-management
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cryptography import x509

from simulator.certificates import named
from simulator.machine import certificate_store
from simulator.machine.objects import Bound, Cmdlet, CmdletError, NotModelled, PSObject
from simulator.machine.winrm_settings import (
    AUTH,
    KEY,
    SERVICE,
    basic_allowed,
    cbt_hardening_level,
    certificate_of,
    listeners,
    switches,
)

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_SCHEMA = "http://schemas.microsoft.com/wbem/wsman/1/config/"
_PORTS = {"HTTP": 5985, "HTTPS": 5986}
# Also in winrm/config/service/auth. The simulated server accepts logons with and without a channel binding token.
_CBT, _CBT_LEVELS = "CbtHardeningLevel", ("None", "Relaxed", "Strict")


def _resource(bound: Bound) -> str:
    uri = bound.text("ResourceURI").casefold()
    return uri.removeprefix(_SCHEMA).removeprefix("winrm/config/").strip("/")


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, Mapping) else {}


def _transport(bound: Bound) -> str:
    """Return the transport (HTTP or HTTPS) in the selectors of a listener. The listener need not exist.

    Raises:
        CmdletError: the selectors are invalid.
    """
    selectors = {key.casefold(): value for key, value in _texts(bound.get("SelectorSet")).items()}
    transport = selectors.get("transport", "").upper()
    if selectors.get("address") != "*" or transport not in _PORTS:
        raise _error(
            "The WS-Management service cannot process the request because the request contained invalid selectors "
            "for the resource.",
            bound,
        )
    return transport


def _error(message: str, bound: Bound) -> CmdletError:
    class_name = bound.command.replace("-", "") + "Command"
    return CmdletError(
        "InvalidOperation",
        f"WsManError,Microsoft.WSMan.Management.{class_name}",
        message,
        "System.InvalidOperationException",
    )


def _missing(bound: Bound) -> CmdletError:
    return _error("The service cannot find the resource identified by the resource URI and selectors.", bound)


def _listener_object(machine: Machine, transport: str) -> PSObject:
    properties: dict[str, object] = {
        "Address": "*",
        "Transport": transport,
        "Port": str(_PORTS[transport]),
        "Enabled": "true",
        "URLPrefix": "wsman",
        "CertificateThumbprint": certificate_of(machine) if transport == "HTTPS" else "",
    }
    return PSObject("System.Xml.XmlElement", properties, "cfg:Listener")


def get_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Get-WSManInstance."""
    resource = _resource(bound)
    if resource == "listener":
        if bound.flag("Enumerate"):
            return [_listener_object(machine, transport) for transport in listeners(machine)]
        transport = _transport(bound)
        if transport not in listeners(machine):
            raise _missing(bound)
        return [_listener_object(machine, transport)]
    tables = {"service/auth": AUTH, "service": SERVICE}
    if resource not in tables:
        raise NotModelled(f"the resource {bound.text('ResourceURI')}")
    shown = {name: str(on).lower() for name, on in switches(machine, tables[resource]).items()}
    if resource == "service/auth":
        shown[_CBT] = cbt_hardening_level(machine)
    return [PSObject("System.Xml.XmlElement", dict(shown), f"cfg:{resource.rpartition('/')[2].title()}")]


def set_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Set-WSManInstance."""
    resource = _resource(bound)
    if resource == "listener":
        return _set_listener(machine, bound)
    table = {"service/auth": AUTH, "service": SERVICE}.get(resource)
    if table is None:
        raise NotModelled(f"changing the resource {bound.text('ResourceURI')}")
    names = {name.casefold(): value for name, (value, _) in table.items()}
    for name, text in _texts(bound.get("ValueSet")).items():
        if resource == "service/auth" and name.casefold() == _CBT.casefold() and text in _CBT_LEVELS:
            machine.registry.set(f"{KEY}\\Service", "cbt_hardening_level", text, "String")
            continue
        if name.casefold() not in names or text.casefold() not in ("true", "false"):
            message = "The WS-Management service cannot process the configuration request; the XML is invalid."
            raise _error(message, bound)
        machine.registry.set(f"{KEY}\\Service", names[name.casefold()], int(text.casefold() == "true"), "DWord")
    return get_instance(machine, bound)


def _set_listener(machine: Machine, bound: Bound) -> Iterable[object]:
    """Change the certificate of a listener for new connections. Open connections keep the old certificate."""
    transport = _transport(bound)
    if transport not in listeners(machine):
        raise _missing(bound)
    values = {key.casefold(): value for key, value in _texts(bound.get("ValueSet")).items()}
    if set(values) != {"certificatethumbprint"} or transport != "HTTPS":
        raise NotModelled(f"changing {', '.join(sorted(values))} of the {transport} listener")
    mark = values["certificatethumbprint"].replace(" ", "").upper()
    if not certificate_store.contains(machine, "My", mark):
        raise _error("The certificate specified by the thumbprint was not found on the local machine.", bound)
    _add(machine, transport, mark)
    return [_listener_object(machine, transport)]


def new_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate New-WSManInstance for a listener."""
    if _resource(bound) != "listener":
        raise NotModelled(f"creating the resource {bound.text('ResourceURI')}")
    transport = _transport(bound)
    present = listeners(machine)
    if transport in present:
        message = "The WS-Management service cannot create the resource because it already exists."
        raise _error(message, bound)
    mark = _texts(bound.get("ValueSet")).get("CertificateThumbprint", "").replace(" ", "").upper()
    if transport == "HTTPS" and not certificate_store.contains(machine, "My", mark):
        message = (
            "Cannot create a WinRM listener on HTTPS because this machine does not have an appropriate certificate."
        )
        raise _error(message, bound)
    _add(machine, transport, mark if transport == "HTTPS" else "")
    machine.network.listeners_changed()
    return [_listener_object(machine, transport)]


def remove_instance(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Remove-WSManInstance for a listener."""
    if _resource(bound) != "listener":
        raise NotModelled(f"removing the resource {bound.text('ResourceURI')}")
    transport = _transport(bound)
    if transport not in listeners(machine):
        raise _missing(bound)
    _add(machine)
    machine.registry.delete_key(f"{KEY}\\Listener\\*+{transport}")
    machine.network.listeners_changed()
    return []


def enable_remoting(machine: Machine, bound: Bound) -> Iterable[object]:
    """Simulate Enable-PSRemoting. It enables the service and an HTTP listener, which servers have by default."""
    _add(machine, "HTTP")
    if machine.services.exists("WinRM"):
        machine.services.configure("WinRM", Start=2)
    machine.network.listeners_changed()
    return []


def _add(machine: Machine, transport: str = "", certificate: str = "") -> None:
    """Write a WinRM listener to the registry.

    If the registry contains no listeners yet, also write the default listeners.
    """
    for name in dict.fromkeys([*listeners(machine), *([transport] if transport else [])]):
        machine.registry.write(f"{KEY}\\Listener\\*+{name}", {"Port": _PORTS[name], "enabled": 1})
    if certificate:
        machine.registry.set(f"{KEY}\\Listener\\*+{transport}", "certThumbprint", certificate)


def _create_baseline(machine: Machine) -> None:
    # This certificate has no key, so the transport uses the fleet's certificate for TLS.
    certificate, _ = certificate_store.self_signed(
        named(machine.settings.name),
        [x509.DNSName(machine.settings.name)],
    )
    _add(machine, "HTTPS", certificate_store.add(machine, "My", certificate))
    machine.registry.write(f"{KEY}\\Service", {"auth_basic": 1, "allow_unencrypted": 1})


def _status(machine: Machine) -> object:
    return {"listeners": listeners(machine), "basic": basic_allowed(machine)}


CMDLETS: Mapping[str, Cmdlet] = {
    "Enable-PSRemoting": enable_remoting,
    "Get-WSManInstance": get_instance,
    "Set-WSManInstance": set_instance,
    "New-WSManInstance": new_instance,
    "Remove-WSManInstance": remove_instance,
}
STATUS = {"winrm": _status}
BASELINE = _create_baseline
