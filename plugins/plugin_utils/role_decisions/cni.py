# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions of role cni: which host changes the cluster, and which parts of a node's network are out of date."""

from __future__ import annotations

import types
import typing as t

from ..node_resources.services import DOCKER_RUNTIMES
from ..node_resources.variables import Variables

Pod: t.TypeAlias = t.Mapping[str, str]
"""A pod of flannel or kube-proxy: `namespace`, `name` and `revision`."""


def first_host(hosts: t.Iterable[str], runtime: t.Callable[[str], str], *, docker: bool) -> str:
    """Return the first host with Docker or, if `docker` is false, the first one without it; empty if there is none.

    Args:
        hosts: hosts in the play's order.
        runtime: returns the container runtime of a host. It is called for no more hosts than necessary.
        docker: whether the host must run Docker.
    """
    return next((host for host in hosts if (runtime(host) in DOCKER_RUNTIMES) is docker), "")


def runtime_label(runtime: str) -> str:
    """Return the expected value of the node label winkube.node/container-runtime; empty if the label must not exist.

    Args:
        runtime: value of `container_runtime`.
    """
    return "docker" if runtime in DOCKER_RUNTIMES else ""


def network_differs(recorded: t.Mapping[str, t.Any], expected: t.Mapping[str, t.Any]) -> bool:
    """Return whether the node has an unexpected pod network, which must be removed first.

    Args:
        recorded: the network in the node's record; empty if there is no record.
        expected: identity of the network that the variables describe.
    """
    # The network is the same whether flannel is a service or a pod.
    networks = [{key: value for key, value in one.items() if key != "services"} for one in (recorded, expected)]
    return bool(recorded) and networks[0] != networks[1]


def revisions(applied: t.Iterable[t.Mapping[str, t.Any]], label: str) -> list[str]:
    """Return the revisions of the DaemonSets. Each DaemonSet labels the pods that it creates with its revision.

    Args:
        applied: objects as the cluster returned them.
        label: name of the label.
    """
    templates = [one["spec"]["template"] for one in applied if one["kind"] == "DaemonSet"]
    labels = [template["metadata"]["labels"] for template in templates]
    return [one[label] for one in labels if label in one]


def outdated(pods: t.Iterable[Pod], expected: t.Collection[str]) -> list[Pod]:
    """Return the pods that were created from an earlier template; empty if no template was applied.

    Args:
        pods: pods on the node.
        expected: revisions of the templates that were applied.
    """
    return [pod for pod in pods if pod["revision"] not in expected] if expected else []


def pods_to_replace(pods: t.Iterable[Pod], old: t.Iterable[Pod], *, configuration_changed: bool) -> list[Pod]:
    """Return the pods to delete, so that their DaemonSets create new ones.

    Args:
        pods: pods on the node.
        old: pods on the node that are out of date.
        configuration_changed: whether this run changed kube-proxy's configuration, which is a file on the node.
    """
    proxies = [pod for pod in pods if configuration_changed and pod["namespace"] == "kube-system"]
    replaced: list[Pod] = []
    for pod in (*old, *proxies):
        if pod not in replaced:
            replaced.append(pod)
    return replaced


def revision_selector(label: str, expected: t.Sequence[str]) -> str:
    """Return the label selector of pods that were created from one of the applied templates.

    Args:
        label: name of the label.
        expected: revisions of the templates. If empty, pods of any revision are selected.
    """
    return f"{label} in ({','.join(expected)})" if expected else label


def _is_docker(host: Variables) -> bool:
    return host.runtime in DOCKER_RUNTIMES


def _applying_host(host: Variables, *, docker: bool) -> str:
    """Return the host that changes the cluster for all hosts with Docker, or for all hosts without Docker.

    The result is empty for a host that is not in this group, because it only needs to know that it is not the one.
    """
    if _is_docker(host) is not docker:
        return ""
    own = str(host.value("inventory_hostname"))

    def runtime(name: str) -> str:
        return host.runtime if name == own else str(host.of_host(name, "container_runtime", default="containerd"))

    return first_host(host.value("ansible_play_hosts"), runtime, docker=docker)


def _tokens(host: Variables) -> dict[str, str]:
    """Return the tokens of the service accounts, which one host read for all hosts.

    That host may have failed since, or may not be part of a later play, so all hosts are searched. Tokens that this run
    created come first, because tokens that were read earlier may be incomplete.
    """
    hosts = host.part("groups", "all")
    for result in ("cni_accounts_made", "cni_accounts"):
        for name in hosts:
            tokens: dict[str, str] = host.of_host(name, result, "tokens", default={})
            if tokens:
                return tokens
    return {}


def _flannel_hosts(host: Variables) -> list[str]:
    own = host.value("cni_plugin")
    hosts = host.value("ansible_play_hosts_all")
    return [name for name in hosts if host.of_host(name, "cni_plugin", default=own) == "flannel"]


def _applied_revisions(host: Variables) -> list[str]:
    """Return the revisions of the DaemonSets, which one host applied for all hosts."""
    for name in host.value("ansible_play_hosts_all"):
        results = host.of_host(name, "cni_applied", "result", "results", default=[])
        if results:
            return revisions([one["result"] for one in results], str(host.value("cni_revision_label")))
    return []


def _label_differs(host: Variables) -> bool:
    expected = host.value("cni_expected_runtime_label")
    return bool(host.part("winkube_cluster_node", "runtime_label", default=expected) != expected)


def _pods_to_replace(host: Variables) -> list[Pod]:
    configuration = f"{host.value('cni_kube_proxy_dir')}\\config.yaml"
    changes = host.part("winkube_node_converged", "changes", default=[])
    return pods_to_replace(
        host.value("cni_network_pods"),
        host.value("cni_outdated_pods"),
        configuration_changed=any(change["name"] == configuration for change in changes),
    )


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "cni_is_docker": _is_docker,
        "cni_daemon_set_host": lambda host: _applying_host(host, docker=False),
        "cni_service_host": lambda host: _applying_host(host, docker=True),
        "cni_expected_runtime_label": lambda host: runtime_label(host.runtime),
        "cni_runtime_label_differs": _label_differs,
        "cni_tokens": _tokens,
        "cni_missing_tokens": lambda host: [
            name for name in host.value("cni_account_secrets") if name not in host.value("cni_tokens")
        ],
        "cni_tokens_known": lambda host: not host.value("cni_missing_tokens"),
        "cni_network_changes": lambda host: network_differs(
            host.value("cni_recorded_network"), host.value("cni_network_identity")
        ),
        "cni_flannel_hosts": _flannel_hosts,
        "cni_applied_revisions": _applied_revisions,
        "cni_outdated_pods": lambda host: outdated(
            host.value("cni_network_pods"), host.value("cni_expected_revisions")
        ),
        "cni_pods_to_replace": _pods_to_replace,
        "cni_namespaces_to_replace": lambda host: list(
            dict.fromkeys(pod["namespace"] for pod in host.value("cni_pods_to_replace"))
        ),
        "cni_revision_selector": lambda host: revision_selector(
            str(host.value("cni_revision_label")), host.value("cni_expected_revisions")
        ),
    }
)
