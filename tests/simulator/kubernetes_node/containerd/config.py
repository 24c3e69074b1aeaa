# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse containerd's configuration as a version of containerd does, with the warnings and errors of this version.

The simulator knows the keys in the version's default configuration (contracts/containerd-default), and a few keys that
the default configuration does not show. In tables whose names the user chooses, such as runtimes and registry mirrors,
all keys are allowed. Messages are from runs of containerd 1.7.35 and 2.4.2, with these differences: the simulator warns
about unknown keys with every version, although 1.7 ignores them silently; unlike 1.7, it does not warn about version 1
of the configuration; and its messages about wrong types lack the names of Go's structs and, in 1.7, the position in the
file.
"""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from simulator.kubernetes_node.programs import contracts

Table = dict[str, Any]

# Tables whose keys the user chooses. No key below them is unknown.
_FREE = re.compile(r"\.(runtimes|mirrors|configs|auths|headers|options|pod_annotations|timeouts|stream_processors)$")
_NEVER_PRINTED = {"isolation", "runtime_engine", "runtime_root", "auth", "mirrors", "configs", "auths", "headers"}


class ConfigError(Exception):
    """Raised if the configuration keeps containerd from starting. The exception's message is containerd's."""


@dataclass
class ContainerdConfig:
    """containerd's effective configuration, with the keys of the newest configuration version that containerd reads.

    Args:
        version: the version number in the file; without a file, the version of the default configuration.
        tables: the defaults, overridden by the file's settings, as `config dump` prints them.
        warnings: the lines that containerd writes to its log.
        minor: the minor version of containerd, such as `2.4`.
    """

    version: int
    tables: Table
    warnings: list[str] = field(default_factory=list)
    minor: str = "2.4"

    def plugin(self, *names: str) -> Table:
        """Return the settings of the first plugin in `names` that has settings, or an empty table if none has any."""
        plugins = self.tables.get("plugins", {})
        return next((plugins[name] for name in names if name in plugins), {})

    @property
    def _images(self) -> Table:
        return self.plugin("io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri")

    @property
    def address(self) -> str:
        """The path of the named pipe on which containerd listens."""
        server = self.plugin("io.containerd.server.v1.grpc")
        return str(server.get("address") or self.tables.get("grpc", {}).get("address", ""))

    @property
    def root(self) -> str:
        """The folder for content and metadata."""
        return str(self.tables.get("root") or r"C:\ProgramData\containerd\root")

    @property
    def state(self) -> str:
        """The folder for the state of running containers."""
        return str(self.tables.get("state") or r"C:\ProgramData\containerd\state")

    @property
    def sandbox_image(self) -> str:
        """The name of the pause image."""
        pinned = self._images.get("pinned_images", {})
        return str(pinned.get("sandbox") or self._images.get("sandbox_image", ""))

    @property
    def registry_config_path(self) -> list[str]:
        """The folders with hosts.toml files (config_path may contain several, separated by `;`)."""
        text = str(self._images.get("registry", {}).get("config_path", ""))
        return [part for part in text.split(";") if part]

    @property
    def registry_mirrors(self) -> dict[str, list[str]]:
        """The registry mirrors in the old format, `registry.mirrors.HOST.endpoint` (only without config_path)."""
        mirrors = self._images.get("registry", {}).get("mirrors", {})
        return {host: [str(item) for item in about.get("endpoint", [])] for host, about in mirrors.items()}

    def credentials(self, host: str) -> str:
        """Return the `user:password` from `registry.configs.HOST.auth` (deprecated), or an empty string if not set."""
        about = self._images.get("registry", {}).get("configs", {}).get(host, {}).get("auth", {})
        if about.get("auth"):
            return base64.b64decode(str(about["auth"])).decode()
        return f"{about['username']}:{about.get('password', '')}" if about.get("username") else ""

    @property
    def transfer_config_path(self) -> list[str]:
        """The folders with hosts.toml files for pulls by the transfer service (`ctr images pull` in 2.x)."""
        text = str(self.plugin("io.containerd.transfer.v1.local").get("config_path", ""))
        return [part for part in text.split(";") if part]

    @property
    def cni(self) -> Table:
        """The table with the CNI settings."""
        runtime = self.plugin("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")
        found: Table = runtime.get("cni", {})
        return found

    @property
    def cni_bin_dirs(self) -> list[str]:
        """The folders with CNI plugins."""
        several = [str(item) for item in self.cni.get("bin_dirs", []) if item]
        single = str(self.cni.get("bin_dir") or "")
        return [single] if single else several

    @property
    def cni_conf_dir(self) -> str:
        """The folder with CNI configurations."""
        return str(self.cni.get("conf_dir", ""))


def default_text(version: str) -> str:
    """Return the output of `containerd config default` in the given version of containerd."""
    minor = contracts.nearest("containerd", version)
    return (contracts.FOLDER / "containerd-default" / f"{minor}.toml").read_text(encoding="utf-8")


def load(
    text: str | None, version: str, path: str, imported: Callable[[str], Mapping[str, str]] | None = None
) -> ContainerdConfig:
    """Parse a configuration file of containerd, and return the effective configuration.

    Args:
        text: the contents of the file, or None if the file does not exist.
        version: the version of containerd.
        path: the path of the file, for messages.
        imported: a function that returns the path and text of each file that matches a pattern in `imports`.

    Raises:
        ConfigError: containerd rejects the configuration.
    """
    minor = contracts.nearest("containerd", version)
    defaults = tomllib.loads(default_text(version))
    if text is None:
        config = ContainerdConfig(int(defaults["version"]), defaults, minor=minor)
        _import(config, list(defaults.get("imports", [])), imported)
        return config
    config = ContainerdConfig(1, defaults, minor=minor)
    document = _parse(text, path, minor)
    imports = [str(item) for item in document.get("imports", defaults.get("imports", []))]
    config.version = _apply(config, document, path)
    _import(config, imports, imported)
    return config


def _import(config: ContainerdConfig, patterns: list[str], imported: Callable[[str], Mapping[str, str]] | None) -> None:
    for pattern in patterns if imported else []:
        for path, text in sorted((imported or (lambda _: {}))(pattern).items()):
            _apply(config, _parse(text, path, config.minor), path)


def _parse(text: str, path: str, minor: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        row, column = (int(where[1]), int(where[2])) if where else (1, 1)
        message = str(error).split(" (at")[0]
        if contracts.at_least(minor, "2.0"):
            raise ConfigError(f"failed to unmarshal TOML at row {row} column {column}: toml: {message}") from error
        raise ConfigError(f"failed to load TOML: {path}: ({row}, {column}): {message}") from error


def _apply(config: ContainerdConfig, document: Table, path: str) -> int:
    """Apply the settings of a configuration file, and return the version number in the file."""
    newest = int(tomllib.loads(default_text(f"{config.minor}.0"))["version"])
    version = int(document.get("version", 1))
    new = contracts.at_least(config.minor, "2.0")
    if version > newest:
        limit = f"expected containerd config version equal to or less than `{newest}`, got `{version}`"
        message = limit if new else f"unsupported config version `{version}`"
        raise ConfigError(f"failed to load TOML from {path}: {message}")
    plugins = document.get("plugins", {})
    if version < 2 and "cri" in plugins:  # version 1 has short names of plugins
        plugins = {"io.containerd.grpc.v1.cri" if name == "cri" else name: item for name, item in plugins.items()}
    for name in plugins:
        if not new and version >= 2 and not re.match(r"^io\.containerd\.\w[\w.-]*\.v\d+\b|^proxy", name):
            raise ConfigError(
                f'failed to load TOML from {path}: invalid plugin key URI "{name}" expect io.containerd.x.vx'
            )
    if version < newest:
        plugins = _migrate(config, plugins, version, newest)
        if new:
            known = document.get("version", 0)
            _warn(
                config,
                f"Configuration migrated from version {known}, use `containerd config migrate` to avoid migration",
            )
    for old in ("grpc", "ttrpc") if version < newest else ():
        server = config.tables["plugins"].get(f"io.containerd.server.v1.{old}")
        if server is not None:  # from version 4 on, the servers are plugins
            server.update({key: value for key, value in document.get(old, {}).items() if key in server})
    for name, value in document.items():
        if name not in ("plugins", "version", "imports"):
            _merge(config, config.tables, name, value, "", path, newest)
    for name, table in plugins.items():
        if name in config.tables["plugins"]:
            for key, value in table.items():
                _merge(config, config.tables["plugins"][name], key, value, name, path, newest)
        # The table of an unknown plugin is ignored.
    return version


def _migrate(config: ContainerdConfig, plugins: Table, version: int, newest: int) -> Table:
    """Return the plugin tables of an older configuration version, converted to the newest version."""
    moved: Table = dict(plugins)
    cri = moved.get("io.containerd.grpc.v1.cri")
    if version < 3 <= newest and cri is not None:
        del moved["io.containerd.grpc.v1.cri"]
        moved |= _split_cri(config, cri)
    runtime = moved.get("io.containerd.cri.v1.runtime", {})
    network = runtime.get("cni", {})
    if network.get("bin_dir") and "bin_dir" not in config.cni:
        table = {name: value for name, value in network.items() if name != "bin_dir"}
        table.setdefault("bin_dirs", [network["bin_dir"]])
        moved["io.containerd.cri.v1.runtime"] = {**runtime, "cni": table}
    return moved


def _split_cri(config: ContainerdConfig, cri: Table) -> Table:
    """Split the single CRI table into the three tables of containerd 2.0 and later."""
    known = config.tables["plugins"]
    names = ("io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")
    images: Table = {}
    runtime: Table = {}
    service: Table = {}
    for key, value in cri.items():
        if key == "sandbox_image":
            images["pinned_images"] = {"sandbox": value}
        elif key == "containerd":
            moved = ("snapshotter", "discard_unpacked_layers", "disable_snapshot_annotations")
            runtime["containerd"] = {name: item for name, item in value.items() if name not in moved}
            images |= {name: item for name, item in value.items() if name in moved}
        elif key in known[names[0]]:
            images[key] = value
        elif key in known.get(names[2], {}):
            service[key] = value
        else:
            runtime[key] = value
    return {name: table for name, table in zip(names, (images, runtime, service), strict=True) if table}


def _merge(
    config: ContainerdConfig, into: Table, key: str, value: Any, plugin: str, path: str, newest: int, at: str = ""
) -> None:
    here = f"{at}.{key}" if at else key
    if (
        key not in into
        and not _FREE.search(f".{at}")
        and key not in _NEVER_PRINTED
        and not _known_address(config, here)
    ):
        if plugin:
            _warn(config, "Ignoring unknown key in TOML for plugin", key=here.replace(".", " "), plugin=plugin)
        else:
            _warn(config, "Ignoring unknown key in TOML", file=path, key=here.replace(".", " "))
        return
    present = into.get(key)
    if isinstance(present, dict) and isinstance(value, dict):
        for name, item in value.items():
            _merge(config, present, name, item, plugin, path, newest, here)
        return
    if present is not None and _kind(present) != _kind(value) and not _FREE.search(f".{at}"):
        expected = {"boolean": "bool", "integer": "int", "float": "float64"}.get(_kind(present), _kind(present))
        raise ConfigError(f"toml: cannot decode TOML {_kind(value)} into struct field {here} of type {expected}")
    into[key] = value


def _known_address(config: ContainerdConfig, here: str) -> bool:
    """Return whether a key is in a former table that plugins have replaced.

    Version 4 of the configuration still accepts these tables.
    """
    top = here.split(".")[0]
    return top in ("grpc", "ttrpc", "metrics") and top not in config.tables


def _kind(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "float", str: "string", list: "array", dict: "table"}
    return names.get(type(value), "value")


def _warn(config: ContainerdConfig, message: str, **fields: str) -> None:
    stamp = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    rest = "".join(f" {name}={_quoted(value)}" for name, value in fields.items())
    config.warnings.append(f'time="{stamp}" level=warning msg="{message}"{rest}')


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w./:\\-]+", text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def dump(tables: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> str:
    """Return tables as TOML, formatted as `containerd config dump` prints them."""
    lines: list[str] = []
    inner: list[str] = []
    for key, value in tables.items():
        if isinstance(value, Mapping):
            name = ".".join(_key(part) for part in (*prefix, key))
            body = dump(value, (*prefix, key))
            own = any(not isinstance(item, Mapping) for item in value.values())
            inner.append((f"[{name}]\n" if own or not value else "") + body)
        else:
            lines.append(f"{_key(key)} = {_literal(value)}")
    return "".join(line + "\n" for line in lines) + ("\n" if lines and inner else "") + "\n".join(inner)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name) else f"'{name}'"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'" if "'" not in value else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(name))} = {_literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return str(value)
