# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_upgrade role whether a node needs an upgrade, in which steps, and what prevents the upgrade."""

from __future__ import annotations

import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ..lifecycle import upgrade
from ..node_resources import kubernetes_node, node_upgrade
from ..node_resources.downloads import ResourceMapping
from ..node_resources.kubernetes_node import KubernetesSettings
from ..node_resources.variables import Variables
from .live_nodes import drain_problem, first_unreachable

_RESULTS = ("node_upgrade_converged", "node_upgrade_kubeadm", "windows_patches_result", "cni_pods_deleted")
"""Registered results of the tasks that change a drained node."""
_NOT_DRAINED = (
    "node_maintenance_drain: expected true for an upgrade, got false. Kubernetes does not support an upgrade of a "
    "kubelet to another minor version while pods run on its node (kubernetes.io: Version Skew Policy)"
)


def cached(versions: t.Iterable[t.Any]) -> dict[str, node_upgrade.Origin]:
    """Return where to get the archive of each Kubernetes version that the nodes cache, by version without a `v`.

    Args:
        versions: value of `image_cache_kube_node_versions`: versions, or mappings with `version`, `url` and `sha256`.
    """
    listed = [one if isinstance(one, t.Mapping) else {"version": one} for one in versions]
    return {
        str(one["version"]).removeprefix("v"): node_upgrade.Origin(
            str(one.get("url") or ""), str(one.get("sha256") or "")
        )
        for one in listed
        if "version" in one
    }


def stage_problem(staged: t.Mapping[str, t.Any], problem: str, patches: str) -> str:
    """Return why a node is not drained and upgraded, or an empty string if it may be drained and upgraded.

    Args:
        staged: result of the task that makes the changes that do not disrupt pods.
        problem: why the node must not be drained; empty if it may be drained.
        patches: why the check for missing patches failed; empty if it succeeded.
    """
    if staged.get("failed") or staged.get("unreachable"):
        return str(staged.get("msg") or "the changes that disrupt no pods failed")
    return problem or patches


def _plan(host: Variables) -> dict[str, t.Any]:
    """Return the plan for the node's upgrade, or an empty mapping if the host is not a node of the cluster."""
    if not host.value("node_join_is_live"):
        return {}
    name = str(host.value("node_join_name"))
    kubelet = str(host.part("node_join_cluster", "nodes", name, "version", default=""))
    known = [*host.value("node_upgrade_versions"), *cached(host.value("image_cache_kube_node_versions"))]
    return upgrade.plan(kubelet, str(host.value("kubernetes_node_version")).removeprefix("v"), known).to_result()


def _problem(host: Variables) -> str:
    plan = host.value("node_upgrade_plan")
    if plan and not to_bool(host.optional("node_maintenance_drain", True)):
        problem: str = _NOT_DRAINED
    else:
        problem = str(plan.get("problem") or "")
    return f"{host.value('inventory_hostname')}: {problem}. No node was changed." if problem else ""


def _programs(host: Variables) -> list[ResourceMapping]:
    steps = host.value("node_upgrade_plan").get("steps") or []
    if not steps:
        return node_upgrade.leftovers()
    settings = host.read(KubernetesSettings, kubernetes_node.ROLE)
    return node_upgrade.programs(settings, steps, cached(host.value("image_cache_kube_node_versions")))


def _lacks_patches(host: Variables) -> bool:
    installs = to_bool(host.value("node_upgrade_patches"))
    return bool(installs and host.part("windows_patches_result", "changed", default=False))


def _work(host: Variables) -> bool:
    """Return whether the node must be drained."""
    steps = host.value("node_upgrade_plan").get("steps")
    deferred = host.part("node_upgrade_staged", "deferred", default=[])
    return bool(steps or deferred or host.value("node_upgrade_lacks_patches"))


def _stage_problem(host: Variables) -> str:
    if not host.value("node_upgrade_plan"):
        return ""
    patches = str(host.value("windows_patches_check_problem")) if to_bool(host.value("node_upgrade_patches")) else ""
    own, problem = str(host.value("inventory_hostname")), ""
    if host.value("node_upgrade_work") and not host.value("node_join_name_is_proven"):
        problem = drain_problem(own, str(host.value("node_join_name")), str(host.optional("ansible_host", own)))
    return stage_problem(host.optional("node_upgrade_staged", {}), problem, patches)


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_upgrade_plan": _plan,
        "node_upgrade_problem": _problem,
        "node_upgrade_programs": _programs,
        "node_upgrade_leftovers": lambda _host: node_upgrade.leftovers(),
        "node_upgrade_lacks_patches": _lacks_patches,
        "node_upgrade_work": _work,
        "node_upgrade_stage_problem": _stage_problem,
        "node_upgrade_unreachable": lambda host: first_unreachable(host.optional(name, {}) for name in _RESULTS),
    }
)
