# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm's validation of a JoinConfiguration, with kubeadm's messages in their original order.

See kubernetes cmd/kubeadm/app/apis/kubeadm/validation/validation.go (ValidateJoinConfiguration). Tests compare the
result with that of a real kubeadm, if one is available.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from simulator.kubernetes_node.programs.configuration import ConfigurationError

_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_UNPINNED = (
    "using token-based discovery without caCertHashes can be unsafe. Set unsafeSkipCAVerification as true in your "
    "kubeadm config file or pass --discovery-token-unsafe-skip-ca-verification flag to continue"
)
_PULL_POLICIES = ("", "Always", "IfNotPresent", "Never")
_MIXED = ("config", "ignore-preflight-errors", "dry-run", "node-name", "v", "rootfs", "help")
"""The flags that can be combined with --config, besides those whose names begin with `skip-`."""


class ValidationError(ConfigurationError):
    """Raised if kubeadm rejects values of a configuration.

    kubeadm before 1.34 exits with code 3 on this error: 1.30.4 was observed to do so, and 1.34.4 not to.
    """


def mixed(given: list[str]) -> str:
    """Return why flags cannot be combined with --config (ValidateMixedArguments), or an empty string if they can."""
    wrong = sorted(name for name in given if name not in _MIXED and not name.startswith("skip-"))
    return f"can not mix '--config' with arguments [{' '.join(wrong)}]" if "config" in given and wrong else ""


def problems(document: Mapping[str, Any], is_file: Callable[[str], bool]) -> list[str]:
    """Return kubeadm's validation errors for a JoinConfiguration to which the defaults were added.

    Args:
        is_file: a function that returns whether a path is a file on the machine.
    """
    registration = _map(document, "nodeRegistration")
    found = [*_discovery(_map(document, "discovery"), is_file), *_registration(registration)]
    authority = str(document.get("caCertPath") or "/etc/kubernetes/pki/ca.crt")
    if not _absolute(authority) or not authority.endswith(".crt"):
        found.append(_invalid("caCertPath", authority, "the ca certificate path must be an absolute path"))
    return found


def require(document: Mapping[str, Any], is_file: Callable[[str], bool]) -> None:
    """Raise ValidationError if kubeadm rejects the configuration."""
    found = problems(document, is_file)
    if found:
        raise ValidationError(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def subdomain_problems(name: str) -> list[str]:
    """Return the reasons why a string is not a valid name of a Node (k8s.io/apimachinery IsDNS1123Subdomain)."""
    found = ["must be no more than 253 characters"] if len(name) > 253 else []
    return found if re.fullmatch(_SUBDOMAIN, name) else [*found, _NAME]


def _map(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _invalid(path: str, value: str, text: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value, ensure_ascii=False)}: {text}"


def _discovery(discovery: Mapping[str, Any], is_file: Callable[[str], bool]) -> list[str]:
    token, file = discovery.get("bootstrapToken"), discovery.get("file")
    if token is None and file is None:
        return [_invalid("discovery", "", "bootstrapToken or file must be set")]
    if token is not None and file is not None:
        return [_invalid("discovery", "", "bootstrapToken and file cannot both be set")]
    if file is not None:
        found = _kubeconfig_path(str(_map(discovery, "file").get("kubeConfigPath") or ""), is_file)
        bootstrap = str(discovery.get("tlsBootstrapToken") or "")
        return found + (_token("discovery.tlsBootstrapToken", bootstrap) if bootstrap else [])
    return _bootstrap_token(discovery)


def _bootstrap_token(discovery: Mapping[str, Any]) -> list[str]:
    about, path = _map(discovery, "bootstrapToken"), "discovery.bootstrapToken"
    endpoint, token = str(about.get("apiServerEndpoint") or ""), str(about.get("token") or "")
    found = [] if endpoint else [f"{path}: Required value: APIServerEndpoint is not set"]
    if not about.get("caCertHashes") and not about.get("unsafeSkipCAVerification"):
        found.append(_invalid(f"{path}.caCertHashes", "", _UNPINNED))
    found += _token(f"{path}.token", token)
    if wrong := host_port_problem(endpoint):
        found.append(_invalid(f"{path}.apiServerEndpoint", endpoint, wrong))
    return found + _token("discovery.tlsBootstrapToken", str(discovery.get("tlsBootstrapToken") or token))


def _token(path: str, token: str) -> list[str]:
    return [] if _TOKEN.fullmatch(token) else [_invalid(path, token, "the bootstrap token is invalid")]


def host_port_problem(endpoint: str) -> str:
    """Return why Go's net.SplitHostPort rejects a string, or an empty string if it accepts the string."""
    about = f"address {endpoint}: " if endpoint else ""
    colon = endpoint.rfind(":")
    if colon < 0:
        return f"{about}missing port in address"
    opened, rest = 0, 0
    if endpoint.startswith("["):
        end = endpoint.find("]")
        if end < 0:
            return f"{about}missing ']' in address"
        if end + 1 == len(endpoint):
            return f"{about}missing port in address"
        if end + 1 != colon:
            return f"{about}{'too many colons' if endpoint[end + 1] == ':' else 'missing port'} in address"
        opened, rest = 1, end + 1
    elif ":" in endpoint[:colon]:
        return f"{about}too many colons in address"
    if "[" in endpoint[opened:]:
        return f"{about}unexpected '[' in address"
    return f"{about}unexpected ']' in address" if "]" in endpoint[rest:] else ""


def _kubeconfig_path(file: str, is_file: Callable[[str], bool]) -> list[str]:
    """Return the errors for the path or URL of a discovery file (ValidateDiscoveryKubeConfigPath).

    kubeadm takes the drive letter of a Windows path for a URL scheme and rejects the path.
    """
    path = "discovery.file.kubeConfigPath"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", file)
    if scheme and scheme[1].lower() != "https":
        return [_invalid(path, file, "if a URL is used, the scheme must be https")]
    if scheme or is_file(file):
        return []
    return [_invalid(path, file, "not a valid HTTPS URL or a file on disk")]


def _registration(registration: Mapping[str, Any]) -> list[str]:
    name = str(registration.get("name") or "")
    found = [_invalid("nodeRegistration.name", name, text) for text in subdomain_problems(name)]
    socket = str(registration.get("criSocket") or "")
    host = socket.partition("://")[2].partition("/")[0]
    if wrong := re.search(r"[\\ <>^`{|}]", host):
        shown = json.dumps(socket)
        message = f"URL parsing error: parse {shown}: invalid character {json.dumps(wrong[0])} in host name"
        found.append(_invalid("nodeRegistration.criSocket", socket, message))
    extra = registration.get("kubeletExtraArgs")
    names = [item.get("name") for item in extra] if isinstance(extra, list) else list(extra or {})
    for index, argument in enumerate(names):
        if not argument:
            found.append(_invalid("nodeRegistration.kubeletExtraArgs", f"index {index}", "argument has no name"))
    policy = str(registration.get("imagePullPolicy") or "")
    if policy not in _PULL_POLICIES:
        found.append(_invalid("nodeRegistration.imagePullPolicy", policy, "invalid pull policy"))
    return found


def _absolute(path: str) -> bool:
    return path.startswith(("/", "\\")) or bool(re.match(r"[A-Za-z]:[\\/]", path))
