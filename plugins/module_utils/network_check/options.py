# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define and check the options of the network_check module (no I/O)."""

from __future__ import annotations

import typing as t

from .plan import host_and_port
from .policies import AUTO, MODES

IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"
"""The default container image, which contains agnhost for Linux and for Windows Server 2019, 2022 and 2025.

Version 2.62.0 was the first one for Windows Server 2025. Sources: kubernetes/kubernetes, test/images/agnhost/BASEIMAGE;
kubernetes/kubernetes#136727 and #136777; kubernetes/k8s.io#9057.
"""

OPTIONS: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "nodes": {"type": "list", "elements": "str", "default": []},
    "sample": {"type": "int", "default": 0},
    "linux_nodes": {"type": "int", "default": 3},
    "windows_image": {"type": "str", "default": IMAGE},
    "linux_image": {"type": "str", "default": IMAGE},
    "tolerations": {"type": "list", "elements": "dict", "default": [{"operator": "Exists"}]},
    "outbound_url": {"type": "str", "default": "https://registry.k8s.io"},
    "network_policy": {"type": "str", "choices": list(MODES), "default": AUTO},
    "node_port_from_controller": {"type": "bool", "default": False},
    "dns_domain": {"type": "str"},
    "parallel": {"type": "int", "default": 50},
    "attempts": {"type": "int", "default": 3},
    "connect_timeout": {"type": "int", "default": 5},
    "result_timeout": {"type": "int", "default": 60},
    "pod_timeout": {"type": "int", "default": 600},
    "timeout": {"type": "int", "default": 3600},
    "cleanup_timeout": {"type": "int", "default": 300},
}
_LEAST = {
    "sample": 0,
    "linux_nodes": 0,
    "parallel": 1,
    "attempts": 1,
    "connect_timeout": 1,
    "result_timeout": 1,
    "pod_timeout": 1,
    "timeout": 1,
    "cleanup_timeout": 0,
}


def problem(params: t.Mapping[str, t.Any]) -> str:
    """Return why the module's options are invalid, or an empty string if they are valid."""
    for name, least in _LEAST.items():
        if params[name] < least:
            return f"{name}: expected a number of at least {least}, got {params[name]}"
    for name in ("windows_image", "linux_image"):
        if not params[name].strip():
            return f"{name}: expected the name of a container image, got nothing"
    try:
        if params["outbound_url"]:
            host_and_port(params["outbound_url"])
    except ValueError as error:
        return f"outbound_url: {error}"
    return ""
