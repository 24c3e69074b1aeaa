# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Load the CNI configuration of a container runtime, and find out whether the pod network is ready.

The runtime loads the first file, sorted by name, that ends with `.conf`, `.conflist` or `.json`. For containerd, an
invalid file is an error even if a valid one follows.

Sources: containerd/go-cni opts.go and containernetworking/cni libcni/conf.go.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cni.objects import CniError, NetworkConfig, plugin_path

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

NOT_INITIALIZED = "cni plugin not initialized"
_ENDINGS = (".conf", ".conflist", ".json")


class _InvalidConfigurationError(Exception):
    pass


def load(machine: Machine, conf_dir: str, bin_dirs: list[str], *, skips_invalid: bool = False) -> NetworkConfig:
    """Return the CNI configuration that a container runtime loads.

    Args:
        machine: the node.
        conf_dir: the folder with the CNI configuration files.
        bin_dirs: the folders with the CNI plugins.
        skips_invalid: whether the runtime continues with the next file after an invalid one, as cri-dockerd does
            (Mirantis/cri-dockerd network/cni/cni.go). containerd does not.

    Raises:
        CniError: there is no valid configuration. The text is go-cni's error.
    """
    found = machine.files.listing(conf_dir) if machine.files.is_directory(conf_dir) else []
    paths = sorted(entry.path for entry in found if not entry.is_directory and entry.name.endswith(_ENDINGS))
    if not paths:
        raise CniError(f"no network config found in {conf_dir}: {NOT_INITIALIZED}")
    for path in paths:
        several = path.endswith(".conflist")
        try:
            return _read(machine.files.read_text(path), path, bin_dirs, several=several)
        except _InvalidConfigurationError as error:
            if not skips_invalid:
                kind = "config list file" if several else "config file"
                raise CniError(f"failed to load CNI {kind} {path}: {error}: invalid cni config") from error
    raise CniError(f"no valid networks found in {conf_dir}: {NOT_INITIALIZED}")


def _read(text: str, path: str, bin_dirs: list[str], *, several: bool) -> NetworkConfig:
    what = "error parsing configuration list" if several else "error parsing configuration"
    document = _decoded(text, what)
    if not several:
        # libcni makes a list of the single configuration, whose type and name are then mandatory.
        _plugin(document)
        plugins: object = [document]
        name = document.get("name", "")
    elif "name" not in document:
        raise _InvalidConfigurationError(f"{what}: no name")
    else:
        name, plugins = document["name"], document.get("plugins")
    if not isinstance(name, str):
        raise _InvalidConfigurationError(f"{what}: invalid name type {_go_type(name)}")
    version = document.get("cniVersion", "")
    if not isinstance(version, str):
        raise _InvalidConfigurationError(f"{what}: invalid cniVersion type {_go_type(version)}")
    if plugins is None:
        raise _InvalidConfigurationError("no plugin configs found")
    if not isinstance(plugins, list):
        raise _InvalidConfigurationError(f"{what}: invalid 'plugins' type {_go_type(plugins)}")
    if not plugins:
        raise _InvalidConfigurationError(f"{what}: no plugins in list")
    for number, plugin in enumerate(plugins):
        try:
            _plugin(plugin)
        except _InvalidConfigurationError as error:
            raise _InvalidConfigurationError(f"failed to parse plugin config {number}: {error}") from error
    return NetworkConfig(path, name, version or "0.1.0", plugins, bin_dirs)


def _plugin(plugin: object) -> None:
    if not isinstance(plugin, dict):
        message = f"json: cannot unmarshal {_go_kind(plugin)} into Go value of type types.PluginConf"
        raise _InvalidConfigurationError(f"error parsing configuration: {message}")
    if not plugin.get("type"):
        raise _InvalidConfigurationError("error parsing configuration: missing 'type'")


def _decoded(text: str, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        wrong = f"invalid character {rest[:1]!r} looking for beginning of value"
        reason = wrong if rest else "unexpected end of JSON input"
        raise _InvalidConfigurationError(f"{what}: {reason}") from error
    if not isinstance(document, dict):
        message = f"json: cannot unmarshal {_go_kind(document)} into Go value of type map[string]interface {{}}"
        raise _InvalidConfigurationError(f"{what}: {message}")
    return document


def _go_kind(value: object) -> str:
    """Return the name that Go's JSON decoder gives a value's type in its error messages."""
    if isinstance(value, bool):
        return "bool"
    kinds = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _go_type(value: object) -> str:
    """Return the Go type into which Go's JSON decoder decodes a value."""
    kinds = {"bool": "bool", "string": "string", "number": "float64", "array": "[]interface {}"}
    return kinds.get(_go_kind(value), "map[string]interface {}" if isinstance(value, dict) else "<nil>")


def ready(machine: Machine, conf_dir: str, bin_dirs: list[str], *, skips_invalid: bool = False) -> NetworkConfig:
    """Return the CNI configuration if the pod network is ready.

    Raises:
        CniError: the pod network is not ready. The text is the message that the runtime reports with
            NetworkReady=false.
    """
    try:
        config = load(machine, conf_dir, bin_dirs, skips_invalid=skips_invalid)
    except CniError as error:
        raise CniError(NOT_INITIALIZED) from error
    for plugin in config.plugins:
        plugin_path(machine, str(plugin["type"]), bin_dirs)
    return config


def load_status(machine: Machine, conf_dir: str, bin_dirs: list[str]) -> str:
    """Return the value of `lastCNILoadStatus` in `crictl info`.

    It is `OK`, or the reason why containerd cannot load the CNI configuration.

    Sources: containerd internal/cri/server/status.go and cni_conf_syncer.go, containerd/go-cni cni.go (`Load`).
    """
    try:
        load(machine, conf_dir, bin_dirs)
    except CniError as error:
        return f"cni config load failed: {error}: failed to load cni config"
    return "OK"
