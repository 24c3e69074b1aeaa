# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files in which containerd, Docker and BuildKit expect mirrors, CA certificates and credentials of registries.

Sources: containerd docs/hosts.md (hosts.toml; on Windows, the folder for HOST:5000 is HOST_5000_);
moby registry/config_windows.go (certs.d in ProgramData; folder names omit the colon);
docs.docker.com/reference/cli/docker/login (config.json);
docs.docker.com/docker-hub/image-library/mirror (Docker supports mirrors only for its own registry).
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import typing as t
import urllib.parse

from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows import node_paths
from ..windows.sddl import ADMINISTRATORS_ONLY_FILE
from . import registry_settings, toml
from .registry_settings import MirrorSettings, RegistrySettings, ServerSettings

DOCKER_CERTS = f"{node_paths.DOCKER_DATA}\\certs.d"
DOCKER_CONFIG = f"{node_paths.PROGRAM_DATA}\\docker"
BUILDKIT_CONFIG = "C:\\ProgramData\\buildkitd\\buildkitd.toml"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PEM = "-----BEGIN CERTIFICATE-----"
_ANY = "https://_default"
"""The server of `_default` if the user sets no server. This value means that each registry is served by its own
server."""
_HIDDEN = AsItIs("a different value")
"""The text that is printed instead of a value that may be secret."""
_NO_QUOTES = "expected no quotes and no control characters"
_HUB = "https://index.docker.io/v1/"

Files = list[dict[str, t.Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistryServer:
    """The server of a registry, or one of the registry's mirrors."""

    url: str
    ca: tuple[str, ...] = ()
    """CA certificates, as PEM text or as paths of files on the node."""
    headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    skip_verify: bool = False
    override_path: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class RegistryConfig:
    """A registry's host, as it appears in image references, with the registry's server and mirrors."""

    host: str
    server: RegistryServer
    mirrors: tuple[RegistryServer, ...] = ()

    @property
    def secret(self) -> bool:
        """Whether any server receives headers, which may contain credentials."""
        return any(server.headers for server in (self.server, *self.mirrors))


def read(given: t.Mapping[str, t.Any]) -> list[RegistryConfig]:
    """Validate the registry settings that the user has written, and convert them.

    Args:
        given: the settings of each registry, by host.

    Raises:
        ResourceError: an entry is invalid.
    """
    return [_registry(host, settings) for host, settings in registry_settings.settings(given).items()]


def hosts_toml(registry: RegistryConfig) -> str:
    """Return the content of containerd's hosts.toml for a registry.

    Raises:
        ResourceError: a value contains a quote or a control character.
    """
    try:
        return toml.render(
            "hosts.toml.j2",
            server=registry.server,
            mirrors=registry.mirrors,
            any_registry=_ANY,
            # PEM text is written to a file next to hosts.toml; a path on the node is used as it is.
            ca_paths=lambda server: [_ca_name(text) if _PEM in text else text for text in server.ca],
        )
    except ValueError:
        # Omit the cause, because it contains the value, and ansible-core 2.19 appends causes to messages.
        raise ResourceError(f"registries.{registry.host}", _HIDDEN, _NO_QUOTES) from None


def containerd_files(registries: t.Sequence[RegistryConfig], folder: str) -> Files:
    """Return the resources for the files in containerd's `config_path`.

    Raises:
        ResourceError: a value contains a quote or a control character.
    """
    files: Files = []
    for registry in registries:
        host_folder = f"{folder}\\{_folder(registry.host)}"
        for text in dict.fromkeys(text for server in (registry.server, *registry.mirrors) for text in server.ca):
            if _PEM in text:
                files.append({"type": "File", "name": f"{host_folder}\\{_ca_name(text)}", "content": text})
        hosts = {"type": "File", "name": f"{host_folder}\\hosts.toml", "content": hosts_toml(registry)}
        files.append({**hosts, "acl": ADMINISTRATORS_ONLY_FILE, "no_log": True} if registry.secret else hosts)
    return files


def docker_files(registries: t.Sequence[RegistryConfig], config_dir: str = DOCKER_CONFIG) -> Files:
    """Return the resources for dockerd's files with CA certificates, and for docker.exe's file with credentials.

    Raises:
        ResourceError: Docker does not support a setting.
    """
    files: Files = []
    for registry in registries:
        where, server = f"registries.{registry.host}", registry.server
        if server.override_path or server.capabilities or any(_is_rich(mirror) for mirror in registry.mirrors):
            raise ResourceError(
                where,
                _HIDDEN,
                "expected no capabilities, override_path or mirror settings, which Docker does not support",
            )
        if registry.mirrors and registry.host != "docker.io":
            hint = "Docker supports mirrors only for docker.io. Use the mirror's name in image references."
            raise ResourceError(
                f"{where}.mirrors", [mirror.url for mirror in registry.mirrors], "expected no mirrors", hint
            )
        if registry.host == "_default":
            hint = "Only containerd supports settings for all registries that are not listed."
            raise ResourceError(where, AsItIs("one"), "expected no entry _default with Docker", hint)
        for text in server.ca:
            if _PEM not in text:
                raise ResourceError(f"{where}.ca", text, "expected PEM text, not a path, for Docker")
        if server.ca:
            path = f"{DOCKER_CERTS}\\{_docker_folder(registry.host)}\\ca.crt"
            files.append({"type": "File", "name": path, "content": "\n".join(server.ca)})
        sent = server.headers.items()
        if any(name.casefold() != "authorization" or not value.startswith("Basic ") for name, value in sent):
            hint = "Docker does not support headers."
            raise ResourceError(f"{where}.headers", _HIDDEN, "expected username and password", hint)
    return [*files, *_logins(registries, config_dir)]


def buildkit_files(registries: t.Sequence[RegistryConfig], folder: str, config_dir: str = DOCKER_CONFIG) -> Files:
    """Return the resources for buildkitd.toml and for the file with buildctl.exe's credentials.

    BuildKit does not read containerd's hosts.toml files. Source: moby/buildkit, docs/buildkitd.toml.md.

    Args:
        registries: the registries.
        folder: containerd's `config_path`.
        config_dir: folder of Docker's config.json, from which buildctl reads credentials.

    Raises:
        ResourceError: a value contains a quote or a control character.
    """
    try:
        text = toml.render("buildkitd.toml.j2", registries=_buildkit_registries(registries, folder))
    except ValueError:
        raise ResourceError("registries", _HIDDEN, _NO_QUOTES) from None
    config = {"type": "File", "name": BUILDKIT_CONFIG, "content": text, "restarts": ["buildkitd"]}
    return [config, *_logins(registries, config_dir)]


@dataclasses.dataclass
class _BuildkitRegistry:
    """A registry's table in buildkitd.toml."""

    mirrors: list[str] = dataclasses.field(default_factory=list)
    http: bool = False
    insecure: bool = False
    ca: list[str] = dataclasses.field(default_factory=list)


def _buildkit_registries(registries: t.Sequence[RegistryConfig], folder: str) -> dict[str, _BuildkitRegistry]:
    """Return BuildKit's settings by host. The same host can be a registry and a mirror of other registries."""
    tables: dict[str, _BuildkitRegistry] = {}
    for registry in registries:
        if registry.host == "_default":
            continue
        base = f"{folder}\\{_folder(registry.host)}"
        mirrors = [(_bare(mirror.url), mirror) for mirror in registry.mirrors]
        tables.setdefault(registry.host, _BuildkitRegistry()).mirrors += [name for name, dummy in mirrors]
        for name, server in ((registry.host, registry.server), *mirrors):
            table = tables.setdefault(name.partition("/")[0], _BuildkitRegistry())
            table.http |= server.url.startswith("http://")
            table.insecure |= server.skip_verify
            paths = (f"{base}\\{_ca_name(text)}" if _PEM in text else text for text in server.ca)
            table.ca += [path for path in paths if path not in table.ca]
    return {name: table for name, table in tables.items() if table != _BuildkitRegistry()}


def _bare(url: str) -> str:
    return url.partition("://")[2]


def unlisted(registries: t.Sequence[RegistryConfig], folder: str) -> Files:
    """Return the resource that removes containerd's folders for registries that are no longer listed."""
    keep = sorted({_folder(registry.host) for registry in registries})
    return [{"type": "UnlistedRegistries", "name": folder, "keep": keep}]


def unlisted_for_docker(registries: t.Sequence[RegistryConfig]) -> Files:
    """Return the resource that removes Docker's certificate folders of registries for which no `ca` is set any more.

    Docker trusts a registry's CA as long as the CA's certificate file exists.
    """
    keep = sorted({_docker_folder(registry.host) for registry in registries if registry.server.ca})
    return [{"type": "UnlistedRegistries", "name": DOCKER_CERTS, "keep": keep}]


def forgotten(registries: t.Sequence[RegistryConfig], config_dir: str = DOCKER_CONFIG) -> Files:
    """Return the resource that removes Docker's config.json if no registry has credentials.

    The file is removed only from the collection's own folder, because files in other folders may belong to other
    software.
    """
    if _auths(registries) or config_dir.rstrip("\\").casefold() != DOCKER_CONFIG.casefold():
        return []
    return [{"type": "File", "name": f"{DOCKER_CONFIG}\\config.json", "state": "absent", "no_log": True}]


def _logins(registries: t.Sequence[RegistryConfig], config_dir: str) -> Files:
    """Return the resource for Docker's config.json, or an empty list if no registry has credentials."""
    logins = _auths(registries)
    if not logins:
        return []
    text = json.dumps({"auths": logins}, indent=2) + "\n"
    name = f"{config_dir}\\config.json"
    return [{"type": "File", "name": name, "content": text, "acl": ADMINISTRATORS_ONLY_FILE, "no_log": True}]


def _auths(registries: t.Sequence[RegistryConfig]) -> dict[str, dict[str, str]]:
    """Return the registries' credentials in the format of Docker's config.json."""
    return {
        _HUB if registry.host == "docker.io" else registry.host: {"auth": value.removeprefix("Basic ")}
        for registry in registries
        for name, value in registry.server.headers.items()
        if name.casefold() == "authorization" and value.startswith("Basic ")
    }


def docker_settings(registries: t.Sequence[RegistryConfig]) -> dict[str, list[str]]:
    """Return `registry-mirrors` and `insecure-registries` for Docker's daemon.json. Empty lists are left out."""
    mirrors = [mirror.url for registry in registries for mirror in registry.mirrors if registry.host == "docker.io"]
    insecure = [
        registry.host
        for registry in registries
        if registry.server.skip_verify or registry.server.url.startswith("http://")
    ]
    settings = {"registry-mirrors": mirrors, "insecure-registries": insecure}
    return {key: value for key, value in settings.items() if value}


def _is_rich(mirror: RegistryServer) -> bool:
    return bool(mirror.ca or mirror.headers or mirror.skip_verify or mirror.override_path)


def _registry(host: str, given: RegistrySettings) -> RegistryConfig:
    where = f"registries.{host}"
    if host == "_default" and not given.server and not given.mirrors:
        raise ResourceError(where, None, "expected server or mirrors", "_default applies to all other registries.")
    if host == "_default" and not given.server and (given.username or given.headers):
        hint = "Otherwise these credentials would be sent to all registries."
        raise ResourceError(f"{where}.server", None, "expected the URL of a server", hint)
    url = given.server or f"https://{'registry-1.docker.io' if host == 'docker.io' else host}"
    listed = [MirrorSettings(url=mirror) if isinstance(mirror, str) else mirror for mirror in given.mirrors]
    mirrors = [_server(f"{where}.mirrors[{number}]", "url", one.url, one) for number, one in enumerate(listed)]
    return RegistryConfig(
        host=host,
        server=_server(where, "server", url, given),
        # By default, mirrors do not receive pushes. They may resolve tags, because a user who lists a mirror trusts it.
        mirrors=tuple(
            dataclasses.replace(mirror, capabilities=mirror.capabilities or ("pull", "resolve")) for mirror in mirrors
        ),
    )


def _server(where: str, url_key: str, url: str, given: ServerSettings) -> RegistryServer:
    _check_authorities(f"{where}.ca", given.ca)
    return RegistryServer(
        url=_url(f"{where}.{url_key}", url),
        ca=given.ca,
        headers=_all_headers(where, given),
        capabilities=given.capabilities,
        skip_verify=given.skip_verify,
        override_path=given.override_path,
    )


def _url(where: str, url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ResourceError(where, _HIDDEN, "expected a URL, such as https://mirror.example:5000") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        expected = "expected a URL without a user, query or fragment"
        raise ResourceError(where, _HIDDEN, expected, "Set the keys username and password instead.")
    if not good or not url.isprintable() or any(letter in " '\"" for letter in url):
        raise ResourceError(where, url, "expected a URL, such as https://mirror.example:5000")
    return url.rstrip("/")


def _check_authorities(where: str, texts: t.Iterable[str]) -> None:
    for text in texts:
        if not (_PEM in text or re.match(r"[A-Za-z]:\\", text)):
            expected = f"expected certificates in PEM ({_PEM}…), or paths of files on the node (C:\\…)"
            raise ResourceError(where, _HIDDEN, expected)


def _all_headers(where: str, given: ServerSettings) -> dict[str, str]:
    """Return all headers to send, including the header that contains the username and password."""
    headers, username = dict(given.headers), given.username
    if not all(_HEADER.fullmatch(name) for name in headers):
        raise ResourceError(f"{where}.headers", _HIDDEN, "expected a mapping of HTTP headers to their values")
    if username is None and given.password is None:
        return headers
    if not username or given.password is None or ":" in username:
        raise ResourceError(where, _HIDDEN, "expected both password and username, and no colon in the username")
    if any(name.casefold() == "authorization" for name in headers):
        raise ResourceError(where, AsItIs("both"), "expected either username and password or an Authorization header")
    login = base64.b64encode(f"{username}:{given.password}".encode()).decode()
    return {**headers, "Authorization": f"Basic {login}"}


def _folder(host: str) -> str:
    return re.sub(r":([0-9]+)$", r"_\1_", host)


def _docker_folder(host: str) -> str:
    return host.replace(":", "")


def _ca_name(text: str) -> str:
    return f"ca-{hashlib.sha256(text.encode()).hexdigest()[:12]}.pem"
