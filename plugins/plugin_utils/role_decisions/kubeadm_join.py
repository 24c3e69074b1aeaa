# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_join role how kubeadm joins a machine, and which user settings the node and its programs get."""

from __future__ import annotations

import base64
import json
import re
import types
import typing as t

from ...module_utils.bootstrap_tokens import AUTO_APPROVED_GROUP, GROUP
from ..node_config import kubeadm, node_labels
from ..node_resources import kubernetes_node
from ..node_resources.variables import MissingVariableError, Variables

_LABELS = "node-labels"
"""The kubelet's flag that sets the labels of its node."""
_COMPONENT_SETTINGS = (
    *("kubernetes_node_kubelet_configuration", "kubernetes_node_kubelet_arguments"),
    *("kubernetes_node_kube_reserved", "kubernetes_node_system_reserved", "kubernetes_node_eviction_hard"),
    *("node_join_kubelet_arguments", "node_join_kube_proxy_configuration"),
)
"""The variables with settings of the kubelet and kube-proxy that a version of Kubernetes might not support."""
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
"""The form of a bootstrap token. Source: kubernetes.io, "Authenticating with Bootstrap Tokens"."""


def kubelet_arguments(
    given: t.Mapping[str, t.Any], of_service: t.Mapping[str, t.Any], own_labels: str
) -> dict[str, t.Any]:
    """Return the arguments that kubeadm passes to the kubelet.

    A node whose network runs as services registers with a label that keeps the networks' DaemonSets away, and a node
    with Calico registers with a label that admits Calico's DaemonSets. A node also registers with the user's labels,
    except the labels that a kubelet must not set.

    A flag that kubeadm passes to the kubelet overrides the same flag of the kubelet's service. So if the result adds
    `own_labels`, it also repeats the labels from the service's flag.

    Args:
        given: value of `node_join_kubelet_arguments`.
        of_service: value of `kubernetes_node_kubelet_arguments`.
        own_labels: labels of the network and of the user, as `label=value`, separated by commas; may be empty.
    """
    if not own_labels:
        return dict(given)
    labels = [of_service.get(_LABELS), given.get(_LABELS), own_labels]
    return {**given, _LABELS: ",".join(str(label) for label in labels if label)}


def discovery(server: str, *, ca_certificate: str, token: str = "") -> str:
    """Return the kubeconfig with which kubeadm finds a cluster.

    Args:
        server: `host:port` of the API server.
        ca_certificate: CA certificate of the cluster (PEM).
        token: the bootstrap token, if kubeadm cannot read the cluster-info ConfigMap without credentials. kubeadm
            continues if the token is not allowed to read it. Source: cmd/kubeadm/app/discovery/file/file.go.
    """
    authority = base64.b64encode(ca_certificate.encode()).decode()
    cluster = {"server": f"https://{server}", "certificate-authority-data": authority}
    document: dict[str, t.Any] = {"apiVersion": "v1", "kind": "Config"}
    if token:
        document |= {
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "bootstrap", "user": {"token": token}}],
            "contexts": [{"name": "join", "context": {"cluster": "cluster", "user": "bootstrap"}}],
            "current-context": "join",
        }
    else:
        document["clusters"] = [{"name": "", "cluster": cluster}]
    return json.dumps(document, indent=1, sort_keys=True)


def discovers_by_file(method: str, *, public: bool, own_endpoint: bool) -> bool:
    """Return whether kubeadm discovers the cluster with a kubeconfig.

    Args:
        method: value of `node_join_discovery_method`.
        public: whether the cluster-info ConfigMap can be read without credentials.
        own_endpoint: whether nodes join at an endpoint that cluster-info does not contain. Without a kubeconfig,
            kubeadm would use the endpoint in cluster-info.
    """
    return method == "file" or own_endpoint or (method == "auto" and not public)


def created_tokens(results: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, str]:
    """Return a mapping from node names to the bootstrap tokens that `kubeadm token create` printed.

    Args:
        results: results of the task that runs this command for each node. Results without a token are left out.
    """
    by_node = {}
    for one in results:
        lines = [line.strip() for line in str(one.get("stdout") or "").splitlines()]
        token = next((line for line in reversed(lines) if _TOKEN.fullmatch(line)), "")
        if token:
            by_node[str(one.get("item"))] = token
    return by_node


def _kubeadm_tokens(host: Variables) -> dict[str, str]:
    """Return a mapping from node names to the bootstrap tokens that this run created on a control plane host."""
    return created_tokens(host.part("node_join_kubeadm_tokens", "results", default=[]))


def _token(host: Variables) -> str:
    """Return the bootstrap token of the host's node, or an empty string in check mode, which creates no token.

    Raises:
        MissingVariableError: the run created no token for the node.
    """
    name = str(host.value("node_join_name"))
    if host.value("node_join_token_source") == "api":
        return str(host.part("node_join_tokens", "tokens", name))
    token = _kubeadm_tokens(host).get(name, "")
    if not token and not host.optional("ansible_check_mode", False):
        raise MissingVariableError(f"node_join_kubeadm_tokens.{name}")
    return token


def _token_ids(host: Variables) -> dict[str, str]:
    """Return a mapping from node names to the ids of this run's bootstrap tokens. The ids are not secret."""
    if host.value("node_join_token_source") == "api":
        return t.cast("dict[str, str]", host.part("node_join_tokens", "token_ids", default={}))
    return {name: token.partition(".")[0] for name, token in _kubeadm_tokens(host).items()}


def _component_settings(host: Variables) -> dict[str, t.Any]:
    """Return the user's kubelet and kube-proxy settings that a version of Kubernetes might not support, by variable."""
    given = {name: host.optional(name, {}) for name in _COMPONENT_SETTINGS}
    return {name: value for name, value in given.items() if value}


def _kubelet_arguments(host: Variables) -> dict[str, t.Any]:
    users = {
        name: value
        for name, value in host.value("node_join_node_labels").items()
        if value is not None and node_labels.is_allowed_to_kubelets(name)
    }
    network = {name: value for name, value in host.value("cni_node_labels").items() if value}
    labels = ",".join(f"{name}={value}" for name, value in {**users, **network}.items())
    service = host.value("kubernetes_node_kubelet_arguments")
    return kubelet_arguments(host.value("node_join_kubelet_arguments"), service, labels)


def _metadata(host: Variables) -> dict[str, t.Any]:
    """Return the labels and annotations that the user sets for the node, or an empty mapping if there are none."""
    given = {
        "labels": host.value("node_join_node_labels"),
        "annotations": host.value("node_join_node_annotations"),
    }
    return {kind: values for kind, values in given.items() if values}


def _metadata_of_nodes(host: Variables) -> dict[str, t.Any]:
    """Return a mapping from the nodes of the play's batch to the labels and annotations that the user sets for them."""
    by_node = {}
    for name in host.value("ansible_play_batch"):
        metadata = host.of_host(name, "node_join_own_metadata", default={})
        if metadata:
            by_node[host.of_host(name, "node_join_info", "node_name")] = metadata
    return by_node


def _discovery(host: Variables) -> str:
    """Return the kubeconfig with which kubeadm finds the cluster, or an empty string if kubeadm needs no kubeconfig."""
    own_endpoint = host.value("node_join_endpoint") != host.part("node_join_cluster", "api_server")
    public = bool(host.part("node_join_cluster", "cluster_info_public", default=True))
    if not discovers_by_file(str(host.value("node_join_discovery_method")), public=public, own_endpoint=own_endpoint):
        return ""
    certificate = str(host.part("node_join_cluster", "ca_certificate"))
    token = "" if public else _token(host)
    return discovery(str(host.value("cni_api_server")), ca_certificate=certificate, token=token)


def kubeadm_flags(arguments: t.Mapping[str, t.Any], taints: t.Iterable[t.Mapping[str, str]]) -> list[str]:
    """Return the kubelet flags that kubeadm derives from the arguments and taints in its configuration.

    Source: kubernetes/kubernetes cmd/kubeadm/app/phases/kubelet/flags.go.

    Args:
        arguments: flags that kubeadm passes to the kubelet.
        taints: taints with which the node registers.
    """
    listed = [f"{one['key']}={one.get('value', '')}:{one['effect']}" for one in taints]
    own = {"register-with-taints": ",".join(listed)} if listed else {}
    return [f"--{name}={value}" for name, value in sorted({**own, **arguments}.items())]


def _kubelet(host: Variables) -> dict[str, str]:
    """Return the service settings that start the kubelet with the flags that kubeadm derives from its configuration.

    The result is empty if there are no such flags, or if this collection's launcher program runs the kubelet.
    """
    flags = kubeadm_flags(_kubelet_arguments(host), host.value("node_join_node_taints"))
    settings = host.read(kubernetes_node.KubernetesSettings, kubernetes_node.ROLE)
    return kubernetes_node.started_with(settings, flags) if flags else {}


def _configuration(host: Variables) -> str:
    join = kubeadm.Join(
        api_server=str(host.value("node_join_endpoint")),
        discovery_file=bool(host.value("node_join_discovery")),
        token=_token(host),
        ca_cert_hashes=(str(host.part("node_join_cluster", "ca_cert_hash")),),
        node_name=str(host.value("node_join_name")),
        cri_socket=str(host.value("kubernetes_node_cri_socket")),
        kubelet_extra_args=_kubelet_arguments(host),
        taints=tuple(host.value("node_join_node_taints")),
        ignore_preflight_errors=tuple(host.value("node_join_ignore_preflight_errors")),
        timeouts=host.value("node_join_kubeadm_timeouts"),
    )
    return kubeadm.join_configuration(str(host.value("kubernetes_node_version")), join)


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_join_component_settings": _component_settings,
        "node_join_expected_metadata": _metadata,
        "node_join_metadata_of_nodes": _metadata_of_nodes,
        "node_join_token_ids": _token_ids,
        "node_join_token_group": lambda host: (
            AUTO_APPROVED_GROUP if host.value("node_join_approval") == "cluster" else GROUP
        ),
        "node_join_discovery": _discovery,
        "node_join_kubelet": _kubelet,
        "node_join_configuration": _configuration,
    }
)
