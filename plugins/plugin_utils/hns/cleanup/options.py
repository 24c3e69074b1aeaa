# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options of the HNS modules."""

from __future__ import annotations

import typing as t

from ...values.errors import refusal
from ..facts.cni import CONF_DIRS
from ..facts.node_facts import FactsOptions
from ..facts.runtime import OTHERS, Programs
from .batch import BatchOptions
from .cleanup import CleanupOptions
from .plan import SCOPES, CleanupRequest, ScopeError

FACTS_OPTIONS: t.Mapping[str, t.Mapping[str, t.Any]] = {
    "hns_timeout": {"type": "float", "default": 60.0},
    "cni_conf_dirs": {"type": "list", "elements": "str", "default": list(CONF_DIRS)},
    "crictl": {"type": "str", "default": "crictl.exe"},
    "ctr": {"type": "str", "default": "ctr.exe"},
    "docker": {"type": "str", "default": "docker.exe"},
    "containerd_namespaces": {"type": "list", "elements": "str", "default": list(OTHERS)},
}
"""Options that hns_info and hns_cleanup share."""
CLEANUP_OPTIONS: t.Mapping[str, t.Mapping[str, t.Any]] = {
    **FACTS_OPTIONS,
    "scope": {"type": "str", "required": True, "choices": list(SCOPES)},
    "networks": {"type": "list", "elements": "str", "default": []},
    "ignore_missing": {"type": "bool", "default": False},
    "protected_networks": {"type": "list", "elements": "str"},
    "keep_running_containers": {"type": "bool", "default": False},
    "stopped_containers": {"type": "bool", "default": False},
    "pods_without_endpoints": {"type": "bool", "default": False},
    "state_files": {"type": "list", "elements": "str", "default": []},
    "grace": {"type": "float", "default": 15.0},
    "port_pool_timeout": {"type": "int", "default": 60},
    "network_timeout": {"type": "int", "default": 60},
    "restart_timeout": {"type": "int", "default": 120},
    "allow_hns_restart": {"type": "bool", "default": False},
    "allow_reboot": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 900},
}
"""Options of hns_cleanup."""


def facts_options(options: t.Mapping[str, t.Any], grace: float = 0.0) -> FactsOptions:
    """Convert a module's options to FactsOptions, which control how HNS is observed.

    Args:
        options: the module's options.
        grace: seconds between two observations.
    """
    return FactsOptions(
        hns_timeout=options["hns_timeout"],
        grace=grace,
        conf_dirs=tuple(options["cni_conf_dirs"]),
        programs=_programs(options),
        extra_files=tuple(options.get("state_files") or ()),
    )


def cleanup_request(options: t.Mapping[str, t.Any]) -> CleanupRequest:
    """Convert the options of hns_cleanup to a CleanupRequest.

    Raises:
        ScopeError: the options contradict each other, or a number of seconds is out of range.
    """
    if options["networks"] and options["scope"] != "networks":
        expected = f"expected no networks with scope {options['scope']}"
        raise ScopeError(refusal("networks", options["networks"], expected, "Names of networks need scope: networks."))
    if options["scope"] == "networks" and not options["networks"]:
        expected = "expected names of networks, because scope is networks"
        raise ScopeError(refusal("networks", None, expected, "hns_info lists the networks of a node."))
    for name in ("hns_timeout", "restart_timeout", "timeout"):
        if options[name] <= 0:
            raise ScopeError(refusal(name, options[name], "expected a number of seconds greater than 0"))
    for name in ("grace", "port_pool_timeout", "network_timeout"):
        if options[name] < 0:
            raise ScopeError(refusal(name, options[name], "expected a number of seconds, 0 or more"))
    protected = options["protected_networks"]
    return CleanupRequest(
        scope=options["scope"],
        networks=tuple(options["networks"]),
        missing_ok=options["ignore_missing"],
        protected=None if protected is None else tuple(protected),
        keep_running_containers=options["keep_running_containers"],
        stopped_containers=options["stopped_containers"],
        pods_without_endpoints=options["pods_without_endpoints"],
    )


def cleanup_options(options: t.Mapping[str, t.Any]) -> CleanupOptions:
    """Convert the options of hns_cleanup to CleanupOptions."""
    stale = options["scope"] == "stale"
    return CleanupOptions(
        # Two observations are needed only if objects are removed because they have no owner.
        facts=facts_options(options, grace=options["grace"] if stale else 0.0),
        batch=BatchOptions(
            hns_timeout=options["hns_timeout"],
            port_pool_timeout=options["port_pool_timeout"],
            network_timeout=options["network_timeout"],
            programs=_programs(options),
        ),
        restart_timeout=options["restart_timeout"],
        may_restart=not stale or options["allow_hns_restart"],
        may_reboot=options["allow_reboot"],
    )


def _programs(options: t.Mapping[str, t.Any]) -> Programs:
    return Programs(
        crictl=options["crictl"],
        ctr=options["ctr"],
        docker=options["docker"],
        namespaces=tuple(options["containerd_namespaces"]),
    )
