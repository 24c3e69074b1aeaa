# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""dockerd's configuration: its command line and daemon.json, and conflicts between the two.

contracts/docker.json lists the keys that each version knows. See moby/moby daemon/config/config.go (unknown keys,
duplicate keys) and daemon_windows.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.flags import CommandFlags, FlagError, parse

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

PROGRAM_DATA = r"C:\ProgramData\docker"
PIPE = "npipe:////./pipe/docker_engine"
_PROXIES = ("http-proxy", "https-proxy", "no-proxy")
_LEVELS = ("debug", "info", "warn", "error", "fatal", "panic", "trace")


class DockerdError(Exception):
    """Raised if dockerd cannot start. The exception's message is dockerd's."""


@dataclass(frozen=True)
class DaemonConfig:
    """The effective configuration of dockerd.

    Args:
        root: the Windows path of the folder for Docker's data (`data-root`).
        hosts: the addresses to listen on.
        bridge: the network for containers; `none` if dockerd should create no network.
        fixed_cidr: the subnet of the `nat` network; empty for the default.
        proxies: the configured values by name. The names are `http_proxy`, `https_proxy` and `no_proxy`.
        mirrors: the mirrors of Docker Hub; dockerd supports no mirrors of other registries.
        insecure: hosts (with or without a port) or networks for which TLS is not verified and plain HTTP is allowed.
        debug: whether debug messages are logged.
        labels: the daemon's labels.
        path: the path of daemon.json.
    """

    root: str = PROGRAM_DATA
    hosts: Sequence[str] = (PIPE,)
    bridge: str = ""
    fixed_cidr: str = ""
    proxies: Mapping[str, str] = field(default_factory=dict)
    mirrors: Sequence[str] = ()
    insecure: Sequence[str] = ()
    debug: bool = False
    labels: Sequence[str] = ()
    path: str = ""


def table(version: str, program: str = "dockerd") -> dict[str, dict[str, Any]]:
    """Return the flags that a version of dockerd or cri-dockerd supports."""
    found: dict[str, dict[str, Any]] = {}
    for name, about in contracts.load("docker")[program].items():
        if _key(version) < _key(str(about.get("since", "0"))):
            continue
        if "until" in about and _key(version)[:2] > _key(str(about["until"]))[:2]:
            continue
        found[name] = dict(about)
    return found


def _key(version: str) -> tuple[int, ...]:
    parts = [part for part in version.removeprefix("v").partition("-")[0].split(".") if part.isdigit()]
    return tuple(int(part) for part in parts)


def at_least(version: str, other: str) -> bool:
    """Return whether a version of Docker is at least the version `other`."""
    return _key(version) >= _key(other)


def read_flags(argv: Sequence[str], version: str) -> CommandFlags:
    """Parse dockerd's command line.

    Raises:
        DockerdError: dockerd rejects the command line.
    """
    try:
        flags, rest = parse(argv, table(version))
    except FlagError as error:
        raise DockerdError(str(error)) from error
    if rest:
        raise DockerdError(f'unknown command "{rest[0]}" for "dockerd"')
    return flags


def read(machine: Machine, flags: CommandFlags, version: str) -> DaemonConfig:
    """Return dockerd's configuration, which consists of daemon.json and the flags on the command line.

    Raises:
        DockerdError: dockerd rejects the configuration.
    """
    named = flags.text("config-file")
    path = named or f"{flags.text('data-root', PROGRAM_DATA)}\\config\\daemon.json"
    document: dict[str, Any] = {}
    if machine.files.is_file(path):
        document = _document(machine.files.read_bytes(path), path)
        _check(document, flags, version, path)
    elif named:
        raise DockerdError(
            f"unable to configure the Docker daemon with file {path}: open {path}: The system cannot find the file "
            f"specified."
        )
    return _merge(document, flags, path, has_file=machine.files.is_file(path))


def _document(data: bytes, path: str) -> dict[str, Any]:
    text = data.decode("utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else data.decode("utf-8-sig", "replace")
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DockerdError(f"unable to configure the Docker daemon with file {path}: {error}") from error
    if not isinstance(found, dict):
        raise DockerdError(
            f"unable to configure the Docker daemon with file {path}: json: cannot unmarshal {_json_type(found)} into "
            "Go value of type map[string]interface {}"
        )
    return found


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in daemon.json in one flat dictionary, for the comparison with dockerd's flags.

    A nested object is replaced by its own keys, unless it is the value of a setting such as `log-opts`.
    """
    about = contracts.load("docker")["daemon_json"]
    kept = (*about["file_only"], "log-opts", "default-network-opts", "runtimes", "default-ulimits")
    found: dict[str, Any] = {}
    for key, value in document.items():
        found |= value if isinstance(value, Mapping) and key not in kept else {key: value}
    return found


def _check(document: Mapping[str, Any], flags: CommandFlags, version: str, path: str) -> None:
    """Check daemon.json.

    Raises:
        DockerdError: a key is unknown or also set by a flag, or a value has the wrong type.
    """
    known = table(version)
    keys = {str(about.get("key", name)): name for name, about in known.items()}
    flat = _flat(document)
    free = contracts.load("docker")["daemon_json"]["file_only"]
    head = f"unable to configure the Docker daemon with file {path}: the following directives"
    unknown = [key for key in flat if key not in known and key not in keys and key not in free]
    if unknown:
        raise DockerdError(f"{head} don't match any configuration option: {', '.join(unknown)}")
    twice = [
        f"{key}: (from flag: {flags.text(name)}, from file: {_shown(flat[key])})"
        for key, name in keys.items()
        if key in flat and name in flags
    ]
    if twice:
        raise DockerdError(f"{head} are specified both as a flag and in the configuration file: {', '.join(twice)}")
    for key, value in flat.items():
        _check_type(key, value, known.get(keys.get(key, ""), {}), path)


def _shown(value: Any) -> str:
    return f"[{' '.join(map(str, value))}]" if isinstance(value, list) else str(value)


_TYPES: Mapping[str, tuple[type, str]] = {
    "list": (list, "[]string"),
    "bool": (bool, "bool"),
    "string": (str, "string"),
    "int32": (int, "int"),
    "map": (dict, "map[string]string"),
}
_MAPS = ("log-opts", "default-network-opts", "features", "builder")


def _json_type(value: object) -> str:
    return {str: "string", list: "array", dict: "object", bool: "bool"}.get(type(value), "number")


def _check_type(key: str, value: Any, about: Mapping[str, Any], path: str) -> None:
    """Reject a value that Go cannot unmarshal into its field. Null is valid for all fields.

    Raises:
        DockerdError: the type is wrong.
    """
    if value is None:
        return
    kind, name = _TYPES.get("map" if key in _MAPS else str(about.get("type")), (object, ""))
    wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
    if not wrong and kind is list:
        value = next((item for item in value if not isinstance(item, str | None)), "")
        wrong, name = not isinstance(value, str), "string"
    if wrong:
        raise DockerdError(
            f"unable to configure the Docker daemon with file {path}: json: cannot unmarshal {_json_type(value)} into "
            f"Go struct field Config.{key} of type {name}"
        )


def _merge(document: Mapping[str, Any], flags: CommandFlags, path: str, *, has_file: bool) -> DaemonConfig:
    flat = _flat(document)

    def text(name: str, default: str = "") -> str:
        return str(flat.get(name) or flags.text(name, default))

    def several(flag: str, key: str) -> tuple[str, ...]:
        return tuple(item or "" for item in flat.get(key) or flags.get(flag) or ())

    level = text("log-level")
    merged = "merged configuration validation from file and command line flags failed"
    head = f"unable to configure the Docker daemon with file {path}: {merged}: " if has_file else ""
    if level and level.casefold() not in _LEVELS:
        raise DockerdError(f"{head}invalid logging level: {level}")
    mirrors = several("registry-mirror", "registry-mirrors")
    for url in mirrors:
        if not str(url).startswith(("http://", "https://")):
            message = f'no scheme specified for "{url}": must use either https:// or http://'
            raise DockerdError(f"{head}invalid mirror: {message}")
    # Valid only in `proxies`. At the top level these keys are known, but correspond to no flag.
    own = document.get("proxies") or {}
    proxies = {name.replace("-", "_"): str(own.get(name) or flags.text(name)) for name in _PROXIES}
    hosts = tuple(PIPE if item in ("npipe://", "") else str(item) for item in several("host", "hosts"))
    for host in hosts:
        if not host.startswith(("npipe://", "tcp://")):
            raise DockerdError(f'invalid bind address ({host}): unsupported proto, expected "npipe" or "tcp"')
    return DaemonConfig(
        root=text("data-root", PROGRAM_DATA).replace("/", "\\").rstrip("\\"),
        hosts=hosts or (PIPE,),
        bridge=text("bridge"),
        fixed_cidr=text("fixed-cidr"),
        proxies={name: value for name, value in proxies.items() if value},
        mirrors=mirrors,
        insecure=several("insecure-registry", "insecure-registries"),
        debug=bool(flat.get("debug")) or flags.on("debug"),
        labels=several("label", "labels"),
        path=path,
    )
