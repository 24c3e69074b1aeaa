# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The registry endpoints that containerd pulls from, with and without a hosts.toml.

Sources: containerd docs/hosts.md; core/remotes/docker/config/hosts.go and config_windows.go. On Windows, the candidates
for the folder of `HOST:5000` are `HOST_5000_`, `HOST5000` and `_default`. The first folder that exists is used, even
if it contains no hosts.toml. An invalid hosts.toml is ignored; unlike containerd, the simulator does not log it. If
`ca` is set, the system's root certificates are not trusted.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ALL = ("pull", "resolve", "push")


@dataclass(frozen=True)
class RegistryEndpoint:
    """A host to pull from or to push to.

    Args:
        url: the URL, such as `http://127.0.0.1:5000`, optionally with a path.
        mirror: whether to send the name of the original host as `?ns=`.
        skip_verify: whether to accept any certificate of the host.
        override_path: whether the path of `url` replaces `/v2`.
        ca: Windows paths of CA certificates. If there are any, the machine's root certificates are not trusted.
        headers: additional headers of each request.
        capabilities: the host's capabilities: any of `pull`, `resolve` and `push`.
        local: whether the host is on this machine and has a port other than 80 and 443. If so, HTTPS without
            verification is also tried after HTTP has failed.
    """

    url: str
    mirror: bool = False
    skip_verify: bool = False
    ca: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    override_path: bool = False
    capabilities: tuple[str, ...] = _ALL
    local: bool = False


def endpoints(machine: Machine, host: str, config_paths: Sequence[str], *, plain_http: bool = False,
              mirrors: Mapping[str, Sequence[str]] | None = None) -> list[RegistryEndpoint]:  # fmt: skip
    """Return the endpoints for a registry host in the order in which containerd tries them.

    The host itself, or `server` in hosts.toml, comes last.

    Args:
        host: the host in the image's name.
        config_paths: the folders with hosts.toml files.
        plain_http: the value of `ctr --plain-http`.
        mirrors: the value of containerd's deprecated registry.mirrors setting.
    """
    own = _own(host, plain_http)
    for folder in config_paths:
        found = next((path for path in _folders(folder, host) if machine.files.is_directory(path)), None)
        if found:
            return _in_folder(machine, found, own)
    if mirrors and not config_paths:
        requested = mirrors.get(host, mirrors.get("*", ()))
        return [*(RegistryEndpoint(url.rstrip("/"), mirror=True) for url in requested), own]
    return [own]


def _own(host: str, plain_http: bool) -> RegistryEndpoint:
    name, _, port = host.partition(":")
    local = _loopback(name)
    scheme = "http" if plain_http or (local and port not in ("", "443")) else "https"
    address = "registry-1.docker.io" if host == "docker.io" else host
    return RegistryEndpoint(f"{scheme}://{address}", skip_verify=local, local=local and port not in ("", "80", "443"))


def _loopback(name: str) -> bool:
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _folders(root: str, host: str) -> list[str]:
    name, colon, port = host.rpartition(":")
    names = [f"{name}_{port}_"] if colon else []
    return [f"{root}\\{name}" for name in (*names, host.replace(":", ""), "_default")]


def _in_folder(machine: Machine, folder: str, own: RegistryEndpoint) -> list[RegistryEndpoint]:
    path = f"{folder}\\hosts.toml"
    if machine.files.is_file(path):
        try:
            return _read(tomllib.loads(machine.files.read_text(path)), folder, own)
        except (tomllib.TOMLDecodeError, ValueError, TypeError):
            pass
    authorities = [entry.path for entry in machine.files.listing(folder) if entry.name.casefold().endswith(".crt")]
    return [RegistryEndpoint(own.url, False, own.skip_verify, tuple(authorities), local=own.local)]


def _read(document: Mapping[str, Any], folder: str, own: RegistryEndpoint) -> list[RegistryEndpoint]:
    found = [_endpoint(url, about, folder, own) for url, about in document.get("host", {}).items()]
    server = str(document.get("server", ""))
    if server:
        return [*found, _endpoint(server, document, folder, own)]
    last = _endpoint(own.url, document, folder, own)
    return [*found, RegistryEndpoint(own.url, False, last.skip_verify or own.skip_verify, last.ca, last.headers,
                             local=own.local)]  # fmt: skip


def _endpoint(url: str, about: Mapping[str, Any], folder: str, own: RegistryEndpoint) -> RegistryEndpoint:
    """Return the endpoint that a table in hosts.toml describes.

    Raises:
        ValueError: containerd rejects the table.
    """
    capabilities = tuple(str(item).lower() for item in about.get("capabilities", [])) or _ALL
    if unknown := [item for item in capabilities if item not in _ALL]:
        raise ValueError(f"unknown capability {unknown[0]}")
    authority = about.get("ca", [])
    names = [authority] if isinstance(authority, str) else list(authority)
    paths = tuple(name if ":" in name else f"{folder}\\{name}" for name in names)
    full = url if url.startswith("http") else f"https://{url}"
    headers = {
        name: str(value[0] if isinstance(value, list) else value) for name, value in about.get("header", {}).items()
    }
    mirror = urlsplit(full).netloc != urlsplit(own.url).netloc
    skip = bool(about.get("skip_verify"))
    return RegistryEndpoint(
        full.rstrip("/"), mirror, skip, paths, headers, bool(about.get("override_path")), capabilities
    )
