# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm's JoinConfiguration: reading it by kubeadm's version, flags over it, and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from simulator.kubernetes_node import configuration, contracts
from simulator.kubernetes_node.configuration import ConfigurationError
from simulator.kubernetes_node.discovery import Discovery
from simulator.kubernetes_node.flags import Flags, seconds

GROUP = "kubeadm.k8s.io"
PIPE = "npipe:////./pipe/containerd-containerd"


@dataclass
class Join:
    """What a join works with. Times in seconds."""

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
    """Split a configuration file. Raises ConfigurationError."""
    try:
        found = [item for item in yaml.safe_load_all(text) if item is not None]
    except yaml.YAMLError as error:
        raise ConfigurationError(f"error converting YAML to JSON: yaml: {str(error).splitlines()[0]}") from error
    for item in found:
        if not isinstance(item, dict) or not item.get("kind") or not item.get("apiVersion"):
            raise ConfigurationError(
                "invalid configuration: kind and apiVersion is mandatory information that must be specified"
            )
    return found


def check(document: Mapping[str, Any], version: str, allow_experimental: bool = False) -> list[str]:
    """Check one document; returns unknown fields. Raises ConfigurationError for an API that the version does not
    take."""
    api, kind = str(document["apiVersion"]), str(document["kind"])
    known = contracts.kinds(version)
    name = f"{api} {kind}"
    if name not in known:
        if api.startswith(GROUP):
            raise ConfigurationError(
                f'this version of kubeadm does not support API spec: "{api}" (kind: "{kind}"). Please use a '
                f"supported one"
            )
        return []
    if known[name] == "experimental" and not allow_experimental:
        raise ConfigurationError(
            f'experimental API spec: "{api}" is not allowed. You can use the --allow-experimental-api flag if the '
            f"command supports it."
        )
    return configuration.check(document, name, version)


def strict_error(document: Mapping[str, Any], unknown: list[str]) -> str:
    """Return kubeadm's text for unknown fields."""
    group, _, api = str(document["apiVersion"]).partition("/")
    kind = f'schema.GroupVersionKind{{Group:"{group}", Version:"{api}", Kind:"{document["kind"]}"}}'
    return f"error unmarshaling configuration {kind}: {configuration.strict_error(unknown)}"


def read(text: str | None, flags: Flags, arguments: list[str], version: str, host: str) -> Join:
    """Make a join of a configuration file, or of flags alone. Raises ConfigurationError."""
    document: dict[str, Any] = {}
    warnings: list[str] = []
    if text is not None:
        found = [item for item in documents(text) if item["kind"] == "JoinConfiguration"]
        if not found:
            raise ConfigurationError("no JoinConfiguration found in config file")
        document = found[0]
        unknown = check(document, version)
        if unknown:
            # `kubeadm join` says so and goes on (joinconfiguration.go); only `config validate` fails.
            warnings.append(strict_error(document, unknown))
    discovery = document.get("discovery") or {}
    bootstrap = discovery.get("bootstrapToken") or {}
    registration = document.get("nodeRegistration") or {}
    timeouts = document.get("timeouts") or {}
    token = str(flags.text("token") or flags.text("discovery-token") or bootstrap.get("token") or "")
    endpoint = arguments[0] if arguments else str(bootstrap.get("apiServerEndpoint") or "")
    pins = tuple(
        flags.items_of("discovery-token-ca-cert-hash") or [str(item) for item in bootstrap.get("caCertHashes") or []]
    )
    skip = flags.on("discovery-token-unsafe-skip-ca-verification") or bool(bootstrap.get("unsafeSkipCAVerification"))
    file = str(flags.text("discovery-file") or (discovery.get("file") or {}).get("kubeConfigPath") or "")
    bootstrap_token = str(flags.text("tls-bootstrap-token") or discovery.get("tlsBootstrapToken") or token)
    if file:
        _require_file(file, bootstrap_token)
    else:
        _require(token, endpoint, pins, skip)
    extra = registration.get("kubeletExtraArgs") or {}
    pairs = (
        {str(item["name"]): str(item.get("value", "")) for item in extra} if isinstance(extra, list) else dict(extra)
    )
    old = seconds(str(discovery.get("timeout") or ""), 300.0)
    return Join(
        discovery=Discovery(endpoint, token, pins, skip, file),
        bootstrap_token=bootstrap_token,
        node_name=str(flags.text("node-name") or registration.get("name") or host).lower(),
        cri_socket=str(flags.text("cri-socket") or registration.get("criSocket") or PIPE),
        extra_args=pairs,
        taints=[dict(item) for item in registration.get("taints") or []],
        ignored={
            str(item).lower()
            for item in [*flags.items_of("ignore-preflight-errors"), *(registration.get("ignorePreflightErrors") or [])]
        },
        discovery_timeout=seconds(str(timeouts.get("discovery") or ""), old),
        health_timeout=seconds(str(timeouts.get("kubeletHealthCheck") or ""), 240.0),
        bootstrap_timeout=seconds(str(timeouts.get("tlsBootstrap") or ""), 300.0),
        warnings=warnings,
    )


def _require_file(file: str, token: str) -> None:
    """kubeadm reads the path as a URL, the letter of a drive as its scheme (ValidateDiscoveryKubeConfigPath)."""
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", file):
        if file.startswith("https:"):
            raise ConfigurationError("the simulator does not model a discovery file at a URL")
        raise ConfigurationError(
            f'discovery.file.kubeConfigPath: Invalid value: "{file}": if a URL is used, the scheme must be https'
        )
    if not token:
        raise ConfigurationError("the simulator does not model a discovery file that has credentials")


def _require(token: str, endpoint: str, pins: tuple[str, ...], skip: bool) -> None:
    if not token:
        raise ConfigurationError('discovery: Invalid value: "": bootstrapToken or file must be set')
    if not endpoint:
        raise ConfigurationError('discovery.bootstrapToken: Invalid value: "": the API server endpoint is not set')
    if not pins and not skip:
        raise ConfigurationError(
            'discovery.bootstrapToken.caCertHashes: Invalid value: "": using token-based discovery without '
            "caCertHashes "
            "can be unsafe. Set unsafeSkipCAVerification as true in your kubeadm config file or pass "
            "--discovery-token-unsafe-skip-ca-verification flag to continue"
        )
