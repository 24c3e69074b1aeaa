# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decisions of role node_join: how kubeadm joins a machine, and what is compared with the version of Kubernetes."""

from __future__ import annotations

import base64
import json
import types
import typing as t

from ..node_config import kubeadm
from ..node_resources.variables import Variables

_LABELS = "node-labels"
"""The kubelet's flag that sets the labels of its node."""
_COMPONENT_SETTINGS = (
    *("kubernetes_node_kubelet_configuration", "kubernetes_node_kubelet_arguments"),
    *("kubernetes_node_kube_reserved", "kubernetes_node_system_reserved", "kubernetes_node_eviction_hard"),
    *("node_join_kubelet_arguments", "node_join_kube_proxy_configuration"),
)
"""The variables with settings of kubelet and kube-proxy that a version of Kubernetes may not have."""


def kubelet_arguments(
    given: t.Mapping[str, t.Any], of_service: t.Mapping[str, t.Any], network_label: str
) -> dict[str, t.Any]:
    """Return the kubelet's arguments that kubeadm passes on.

    A node whose network runs as services registers with a label that keeps the networks' DaemonSets away, and a node
    with Calico registers with a label that admits Calico's DaemonSets. A flag that kubeadm passes on replaces the same
    flag of the kubelet's service, so the labels of that flag are repeated.

    Args:
        given: value of `node_join_kubelet_arguments`.
        of_service: value of `kubernetes_node_kubelet_arguments`.
        network_label: the labels as `label=value`, separated by commas; empty if the node needs none.
    """
    if not network_label:
        return dict(given)
    labels = [of_service.get(_LABELS), given.get(_LABELS), network_label]
    return {**given, _LABELS: ",".join(str(label) for label in labels if label)}


def discovery(server: str, *, ca_certificate: str) -> str:
    """Return the kubeconfig that lets kubeadm find a cluster at an endpoint which the cluster does not publish.

    Args:
        server: `host:port` of the API server.
        ca_certificate: CA certificate of the cluster (PEM).
    """
    authority = base64.b64encode(ca_certificate.encode()).decode()
    cluster = {"server": f"https://{server}", "certificate-authority-data": authority}
    document = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]}
    return json.dumps(document, indent=1, sort_keys=True)


def _component_settings(host: Variables) -> dict[str, t.Any]:
    """Return the settings of kubelet and kube-proxy that depend on their version, by variable."""
    given = {name: host.optional(name, {}) for name in _COMPONENT_SETTINGS}
    return {name: value for name, value in given.items() if value}


def _kubelet_arguments(host: Variables) -> dict[str, t.Any]:
    labels = ",".join(f"{name}={value}" for name, value in host.value("cni_node_labels").items() if value)
    service = host.value("kubernetes_node_kubelet_arguments")
    return kubelet_arguments(host.value("node_join_kubelet_arguments"), service, labels)


def _discovery(host: Variables) -> str:
    """Return the kubeconfig with which kubeadm finds the cluster; empty if kubeadm does not need one.

    kubeadm uses the endpoint in the ConfigMap cluster-info. It uses a different endpoint only if the discovery file
    contains it.
    """
    if host.value("node_join_endpoint") == host.part("node_join_cluster", "api_server"):
        return ""
    certificate = str(host.part("node_join_cluster", "ca_certificate"))
    return discovery(str(host.value("cni_api_server")), ca_certificate=certificate)


def _configuration(host: Variables) -> str:
    join = kubeadm.Join(
        api_server=str(host.value("node_join_endpoint")),
        discovery_file=bool(host.value("node_join_discovery")),
        token=str(host.part("node_join_tokens", "tokens", str(host.value("node_join_name")))),
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
        "node_join_discovery": _discovery,
        "node_join_configuration": _configuration,
    }
)
