# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the cni role which pods of the pod network and kube-proxy to replace, and which new pods to wait for."""

from __future__ import annotations

import types
import typing as t

from ...module_utils.node_labels import REVISION_LABEL, RUN_AS_LABEL
from ..node_resources.variables import Variables
from ..pod_networks import kube_proxy_pods
from ..pod_networks.catalogue import catalogue
from ..pod_networks.network import daemon_sets

Pod: t.TypeAlias = t.Mapping[str, str]
"""A pod of the pod network or of kube-proxy, with the keys `namespace`, `name`, `revision` and `daemon_set`."""


def revisions(applied: t.Iterable[t.Mapping[str, t.Any]], label: str) -> list[str]:
    """Return the revisions of the applied DaemonSets. The pods of a DaemonSet have a label with its revision.

    Args:
        applied: the applied objects, as the cluster returned them.
        label: name of the label that contains the revision.
    """
    templates = [one["spec"]["template"] for one in applied if one["kind"] == "DaemonSet"]
    labels = [template["metadata"]["labels"] for template in templates]
    return [one[label] for one in labels if label in one]


def outdated(pods: t.Iterable[Pod], expected: t.Collection[str]) -> list[Pod]:
    """Return the pods that were created from an earlier pod template, or an empty list if no template was applied.

    Args:
        pods: pods on the node.
        expected: revisions of the templates that were applied.
    """
    return [pod for pod in pods if pod["revision"] not in expected] if expected else []


def pods_to_replace(pods: t.Iterable[Pod], old: t.Iterable[Pod], *, proxy_changed: bool) -> list[Pod]:
    """Return the pods to delete, so that their DaemonSets create new pods.

    Args:
        pods: pods on the node.
        old: pods on the node that are out of date.
        proxy_changed: whether this run changed kube-proxy's program or configuration, which are files on the node.
    """
    proxies = [pod for pod in pods if proxy_changed and _is_proxy(pod)]
    replaced: list[Pod] = []
    for pod in (*old, *proxies):
        if pod not in replaced:
            replaced.append(pod)
    return replaced


def _is_proxy(pod: Pod) -> bool:
    """Return whether a pod belongs to kube-proxy. A pod network such as Calico may have pods in the same namespace."""
    networks = {name for plugin in catalogue() for name in daemon_sets(plugin)}
    return pod["namespace"] == kube_proxy_pods.DAEMON_SET.partition("/")[0] and _owner(pod) not in networks


def _owner(pod: Pod) -> str:
    """Return the DaemonSet (`NAMESPACE/NAME`) of a pod."""
    return f"{pod['namespace']}/{pod['daemon_set']}"


def awaited_daemon_sets(
    replaced: t.Iterable[Pod], plugin: str, labels: t.Mapping[str, str | None]
) -> list[dict[str, str]]:
    """Return the DaemonSets that create new pods in place of the deleted ones, each with `namespace` and `name`.

    The DaemonSets of other networks are left out, because they no longer exist, or no longer run on the node. The
    result is empty if the network and kube-proxy now run as services.

    Args:
        replaced: the pods that were deleted.
        plugin: value of `cni_plugin`.
        labels: the labels that the node needs for its network.
    """
    if labels.get(RUN_AS_LABEL):
        return []
    others = {name for other in catalogue() for name in daemon_sets(other)} - {*daemon_sets(plugin)}
    owners = dict.fromkeys(_owner(pod) for pod in replaced if pod["daemon_set"])
    pairs = (name.partition("/") for name in owners if name not in others)
    return [{"namespace": namespace, "name": name} for namespace, _slash, name in pairs]


def revision_selector(label: str, expected: t.Sequence[str]) -> str:
    """Return the label selector of pods that were created from one of the applied templates.

    Args:
        label: name of the label that contains the revision.
        expected: revisions of the templates. If empty, pods of any revision are selected.
    """
    return f"{label} in ({','.join(expected)})" if expected else label


def _applied_revisions(host: Variables) -> list[str]:
    """Return the revisions of the DaemonSets that one host applied for all hosts, or an empty list if none exist."""
    for name in host.value("ansible_play_hosts_all"):
        results = host.of_host(name, "cni_applied", "result", "results", default=[])
        if results:
            return revisions([one["result"] for one in results], REVISION_LABEL)
    return []


def _pods_to_replace(host: Variables) -> list[Pod]:
    folder = host.optional("kubernetes_node_install_dir", "C:\\k")
    configuration = f"{folder}\\kube-proxy\\config.yaml"
    changes = host.part("winkube_node_converged", "changes", default=[])
    return pods_to_replace(
        host.value("cni_network_pods"),
        host.value("cni_outdated_pods"),
        proxy_changed=bool(host.optional("winkube_kube_proxy_is_outdated", False))
        or any(change["name"] == configuration for change in changes),
    )


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "cni_applied_revisions": _applied_revisions,
        "cni_outdated_pods": lambda host: outdated(
            host.value("cni_network_pods"), host.value("cni_expected_revisions")
        ),
        "cni_pods_to_replace": _pods_to_replace,
        "cni_daemon_sets_to_await": lambda host: awaited_daemon_sets(
            host.value("cni_pods_to_replace"), str(host.value("cni_plugin")), host.value("cni_node_labels")
        ),
        "cni_revision_selector": lambda host: revision_selector(REVISION_LABEL, host.value("cni_expected_revisions")),
    }
)
