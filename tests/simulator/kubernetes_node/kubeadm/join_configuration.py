# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse a JoinConfiguration as the given version of kubeadm does, and combine it with the flags of `kubeadm join`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from simulator.kubernetes_node.kubeadm import join_validation
from simulator.kubernetes_node.kubeadm.discovery import Discovery
from simulator.kubernetes_node.kubeadm.join_validation import ValidationError
from simulator.kubernetes_node.programs import configuration, contracts
from simulator.kubernetes_node.programs.configuration import ConfigurationError
from simulator.kubernetes_node.programs.flags import CommandFlags, seconds

GROUP = "kubeadm.k8s.io"
PIPE = "npipe:////./pipe/containerd-containerd"
_LAST = {"v1beta1": "v1.15", "v1beta2": "v1.22", "v1beta3": "v1.36"}
"""For each API version, the last minor version of kubeadm that supports it, as stated by kubeadm 1.37.1."""


@dataclass
class JoinConfiguration:
    """The settings of `kubeadm join`. Times are in seconds."""

    discovery: Discovery
    bootstrap_token: str
    node_name: str
    cri_socket: str
    extra_args: dict[str, str] = field(default_factory=dict)
    taints: list[dict[str, str]] = field(default_factory=list)
    ignored: set[str] = field(default_factory=set)
    discovery_timeout: float = 300.0
    health_timeout: float = 240.0
    bootstrap_timeout: float = 300.0
    warnings: list[str] = field(default_factory=list)


def documents(text: str) -> list[dict[str, Any]]:
    """Split a configuration file into documents.

    Raises:
        ConfigurationError: the configuration is invalid.
    """
    try:
        found = [item for item in yaml.safe_load_all(text) if item is not None]
    except yaml.YAMLError as error:
        raise ConfigurationError(
            "could not interpret GroupVersionKind; unmarshal error: error converting YAML to JSON: yaml: "
            f"{str(error).splitlines()[0]}"
        ) from error
    for item in found:
        api, kind = (str(item.get(name) or "") if isinstance(item, dict) else "" for name in ("apiVersion", "kind"))
        if not api or not kind:
            raise ConfigurationError(
                f"invalid configuration for GroupVersionKind {api or '/'}, Kind={kind}: kind and apiVersion is "
                "mandatory information that must be specified"
            )
    return found


def check(document: Mapping[str, Any], version: str, allow_experimental: bool = False) -> list[str]:
    """Check one document of a configuration file, and return its unknown fields.

    Raises:
        ConfigurationError: this kubeadm does not accept the API version of the document or the type of a value.
    """
    api, kind = str(document["apiVersion"]), str(document["kind"])
    known = contracts.kinds(version)
    name = f"{api} {kind}"
    if name not in known:
        if api.startswith(GROUP):
            raise ConfigurationError(_unknown(api, kind, version))
        return []
    if known[name] == "experimental" and not allow_experimental:
        raise ConfigurationError(
            f"experimental API spec: {_spec(api, kind, version)} is not allowed. You can use the "
            "--allow-experimental-api flag if the command supports it."
        )
    return configuration.check(document, name, version)


def _spec(api: str, kind: str, version: str) -> str:
    return f'"{api}" (kind: "{kind}")' if contracts.at_least(version, "1.34") else f'"{api}"'


def _unknown(api: str, kind: str, version: str) -> str:
    """Return kubeadm's message for an API version that this kubeadm does not yet support or no longer supports."""
    last = _LAST.get(api.rpartition("/")[2])
    if last is None:
        return f'no kind "{kind}" is registered for version "{api}" in scheme "pkg/runtime/scheme.go:111"'
    old, new = (
        ("old-config-file", "new-config-file") if contracts.at_least(version, "1.34") else ("old.yaml", "new.yaml")
    )
    return (
        f"your configuration file uses an old API spec: {_spec(api, kind, version)}. Please use kubeadm {last} instead "
        f"and run 'kubeadm config migrate --old-config {old} --new-config {new}', which will write the new, similar "
        "spec using a newer API version."
    )


def strict_error(document: Mapping[str, Any], unknown: list[str]) -> str:
    """Return kubeadm's error message about the unknown fields of a document."""
    group, _, api = str(document["apiVersion"]).partition("/")
    kind = f'schema.GroupVersionKind{{Group:"{group}", Version:"{api}", Kind:"{document["kind"]}"}}'
    return f"error unmarshaling configuration {kind}: {configuration.strict_error(unknown)}"


def read(
    text: str | None,
    flags: CommandFlags,
    arguments: list[str],
    version: str,
    host: str,
    is_file: Callable[[str], bool] = lambda _: True,
) -> JoinConfiguration:
    """Return the settings of `kubeadm join` from a configuration file and flags, or only from flags.

    Args:
        text: the contents of the file given by --config; None without that flag.
        flags: the values of the flags by name.
        arguments: the arguments that are not flags.
        version: the version of kubeadm.
        host: the default name of the node.
        is_file: a function that returns whether a path is a file on the machine.

    Raises:
        ConfigurationError: kubeadm rejects the configuration.
    """
    warnings: list[str] = []
    document = _of_flags(flags, arguments) if text is None else _of_file(text, version, warnings)
    document = with_defaults(document, host)
    join_validation.require(document, is_file)
    discovery = document.get("discovery") or {}
    bootstrap = discovery.get("bootstrapToken") or {}
    registration = document["nodeRegistration"]
    timeouts = document.get("timeouts") or {}
    file = str((discovery.get("file") or {}).get("kubeConfigPath") or "")
    token = str(bootstrap.get("token") or "")
    bootstrap_token = str(discovery.get("tlsBootstrapToken") or token)
    if file:
        _require_modelled(file, bootstrap_token)
    skip = bool(bootstrap.get("unsafeSkipCAVerification"))
    pins = tuple(str(item) for item in bootstrap.get("caCertHashes") or [])
    extra = registration.get("kubeletExtraArgs") or {}
    pairs = (
        {str(item["name"]): str(item.get("value", "")) for item in extra} if isinstance(extra, list) else dict(extra)
    )
    old = seconds(str(discovery.get("timeout") or ""), 300.0)
    return JoinConfiguration(
        discovery=Discovery(str(bootstrap.get("apiServerEndpoint") or ""), token, pins, skip, file),
        bootstrap_token=bootstrap_token,
        # With a configuration file, the flag is used unchanged: join.go applies it after validating the file.
        node_name=flags.text("node-name")
        if text is not None and flags.text("node-name")
        else str(registration["name"]),
        cri_socket=str(registration["criSocket"]),
        extra_args=pairs,
        taints=[dict(item) for item in registration.get("taints") or []],
        ignored=_ignored(
            [*flags.items_of("ignore-preflight-errors"), *(registration.get("ignorePreflightErrors") or [])]
        ),
        discovery_timeout=seconds(str(timeouts.get("discovery") or ""), old),
        health_timeout=seconds(str(timeouts.get("kubeletHealthCheck") or ""), 240.0),
        bootstrap_timeout=seconds(str(timeouts.get("tlsBootstrap") or ""), 300.0),
        warnings=warnings,
    )


def with_defaults(document: Mapping[str, Any], host: str) -> dict[str, Any]:
    """Return a copy of a JoinConfiguration with kubeadm's defaults added (SetNodeRegistrationDynamicDefaults)."""
    given = document.get("nodeRegistration") or {}
    name = str(given.get("name") or host).strip().lower()
    socket = str(given.get("criSocket") or PIPE)
    socket = socket if socket.startswith("npipe") else f"npipe://{socket}"
    return {**document, "nodeRegistration": {**given, "name": name, "criSocket": socket}}


def _of_file(text: str, version: str, warnings: list[str]) -> dict[str, Any]:
    found = [item for item in documents(text) if item["kind"] == "JoinConfiguration"]
    if not found:
        raise ConfigurationError("no JoinConfiguration found in the supplied config")
    unknown = check(found[0], version)
    if unknown:
        # `kubeadm join` warns and continues (joinconfiguration.go); only `config validate` fails.
        warnings.append(strict_error(found[0], unknown))
    return found[0]


def _of_flags(flags: CommandFlags, arguments: list[str]) -> dict[str, Any]:
    """Convert the flags of `kubeadm join` to a document (newJoinOptions, newJoinData in join.go)."""
    token = flags.text("token")
    discovery: dict[str, Any] = {"tlsBootstrapToken": flags.text("tls-bootstrap-token") or token}
    if flags.text("discovery-file"):
        discovery["file"] = {"kubeConfigPath": flags.text("discovery-file")}
    if arguments:
        discovery["bootstrapToken"] = {
            "apiServerEndpoint": arguments[0],
            "token": flags.text("discovery-token") or token,
            "caCertHashes": flags.items_of("discovery-token-ca-cert-hash"),
            "unsafeSkipCAVerification": flags.on("discovery-token-unsafe-skip-ca-verification"),
        }
    registration = {"name": flags.text("node-name"), "criSocket": flags.text("cri-socket")}
    return {"discovery": discovery, "nodeRegistration": registration}


def _ignored(names: list[object]) -> set[str]:
    found = {str(name).lower() for name in names}
    if "all" in found and len(found) > 1:
        raise ValidationError(
            f'ignore-preflight-errors: Invalid value: "{",".join(sorted(found))}": don\'t specify individual checks if '
            "'all' is used"
        )
    return found


def _require_modelled(file: str, token: str) -> None:
    if file.startswith("https:"):
        raise ConfigurationError("the simulator does not model a discovery file at a URL")
    if not token:
        raise ConfigurationError("the simulator does not model a discovery file without a TLS bootstrap token")
