# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module cluster_check: see plugins/modules/cluster_check.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.pod_networks.linux_daemon_sets import Restricted
from ..plugin_utils.preflight import cluster as checks
from ..plugin_utils.preflight import kubelet, linux_side
from ..plugin_utils.preflight.host import HostVariables
from ..plugin_utils.values.ansible_data import plain

_TEXTS = {
    "kubernetes_version": "kubernetes",
    "container_runtime": "runtime",
    "containerd_version": "containerd",
    "cni_plugin": "cni_plugin",
    "flannel_backend": "backend",
    "calico_mode": "calico_mode",
    "cni_bin_dir": "cni_bin_dir",
    "cni_conf_dir": "cni_conf_dir",
    "pods_subnet": "pods",
    "services_subnet": "services",
    "api_server": "api_server",
    "address": "address",
}
"""Maps the module's string options to the attributes of HostVariables that hold them."""
_SWITCHES = {
    "calico_set_strict_affinity": "set_strict_affinity",
    "calico_enable_windows": "enable_calico_windows",
    "allow_unsupported_versions": "unsupported_versions",
}


class ActionModule(ControllerAction):
    """Compares a host's variables with the state of the host's cluster. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "cluster": {"type": "dict", "required": True},
        "hosts": {"type": "dict", "default": {}},
        "settings": {"type": "dict", "default": {}, "no_log": True},
        "cluster_dns": {"type": "list", "elements": "str", "default": []},
        "linux_namespaces": {"type": "list", "elements": "str", "default": []},
        "linux_daemon_sets": {"type": "list", "elements": "str", "default": []},
        "own_builds": {
            "type": "list",
            "elements": "str",
            "choices": ["kubernetes", "containerd"],
            "default": [],
        },
        "mtu": {"type": "int", "default": 0},
        "warn": {"type": "bool", "default": True},
        "fail": {"type": "bool", "default": True},
        **{name: {"type": "str", "default": ""} for name in _TEXTS},
        **{name: {"type": "bool", "default": False} for name in _SWITCHES},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Compare the host's variables with the cluster, and return the problems and findings.

        If there are problems, the task fails unless the option `fail` is false.
        """
        texts = {own: str(options[name] or "") for name, own in _TEXTS.items()}
        hosts = {str(name).lower(): str(address) for name, address in options["hosts"].items()}
        switches = {own: bool(options[name]) for name, own in _SWITCHES.items()}
        host = HostVariables(
            **texts,
            **switches,
            hosts=hosts,
            cluster_dns=tuple(options["cluster_dns"]),
            mtu=int(options["mtu"]),
            own_builds=options["own_builds"],
        )
        cluster = options["cluster"]
        problems = [str(one) for one in checks.problems(host, cluster)]
        problems += [str(one) for one in kubelet.problems(plain(options["settings"]), host.kubernetes)]
        restricted = Restricted(namespaces=options["linux_namespaces"], patterns=options["linux_daemon_sets"])
        findings = linux_side.findings(host, cluster, checks.linux_problems(host, cluster), restricted)
        # Ansible prints a warning only once if it is the same for all hosts.
        warnings = [
            *linux_side.warnings(cluster.get("unbound_daemon_sets") or (), restricted),
            *checks.version_warnings(host, cluster),
            *map(str, checks.requested_changes(host, cluster)),
        ]
        result: dict[str, t.Any] = {
            "problems": problems,
            "findings": [one.to_json() for one in findings],
            "warnings": warnings if options["warn"] else [],
        }
        if problems:
            name = variables.get("inventory_hostname")
            lines = "\n".join(f"- {problem}" for problem in problems)
            message = f"{name}: no node was touched, because its variables do not match the cluster:\n{lines}"
            result |= {"refused": True, "failed": options["fail"], "msg": message}
        return result
