# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the cni role which of Calico's Kubernetes objects to create, change or remove for Windows nodes."""

from __future__ import annotations

import types
import typing as t

from ansible.plugins.filter.core import to_bool

from ...module_utils.addresses import is_loopback
from ..node_resources.variables import Variables
from ..pod_networks.catalogue import catalogue
from ..pod_networks.network import daemon_sets

_PLUGIN = "calico"
_ENDPOINT = ("tigera-operator", "kubernetes-services-endpoint")


def affinity(facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the IPAMConfig object that turns on Calico's strict affinity.

    The result is an empty mapping if `facts` is empty or strict affinity is already on.

    A new object also needs `autoAllocateBlocks`, whose default is true. Source: projectcalico/calico v3.31.5,
    libcalico-go/lib/ipam/ipam.go, GetIPAMConfig.

    Args:
        facts: the value of `calico` in the result of the cluster_info module.
    """
    if not facts or facts["strict_affinity"]:
        return {}
    new = {} if facts["has_ipam_configuration"] else {"autoAllocateBlocks": True}
    return {
        "apiVersion": "crd.projectcalico.org/v1",
        "kind": "IPAMConfig",
        "metadata": {"name": "default"},
        "spec": {"strictAffinity": True, **new},
    }


def windows_objects(facts: t.Mapping[str, t.Any], services: str, api_server: str) -> list[dict[str, t.Any]]:
    """Return the Kubernetes objects that make the Tigera operator run Calico on Windows nodes.

    The result is empty if the operator already does so, or if it did not install Calico.

    Args:
        facts: the value of `calico` in the result of the cluster_info module.
        services: the cluster's service network.
        api_server: the `host:port` at which Windows nodes reach the API server.
    """
    installation = facts.get("installation") or {}
    if not installation:
        return []
    host, _colon, port = api_server.rpartition(":")
    namespace, name = _ENDPOINT
    objects: list[dict[str, t.Any]] = []
    if is_unreachable(installation["api_server"], host):
        data = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        metadata = {"name": name, "namespace": namespace}
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    cidrs = {} if installation["service_cidrs"] else {"serviceCIDRs": [services]}
    if cidrs or installation["windows_dataplane"] != "HNS":
        objects.append(
            {
                "apiVersion": "operator.tigera.io/v1",
                "kind": "Installation",
                "metadata": {"name": "default"},
                "spec": {**cidrs, "calicoNetwork": {"windowsDataplane": "HNS"}},
            }
        )
    return objects


def former_objects(facts: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return this collection's Kubernetes objects that must be removed because the Tigera operator now runs Calico.

    The result is an empty list if there are no such objects.

    kubespray can move a cluster from manifests to the operator. It then removes the service accounts that the pods of
    these objects use.

    Args:
        facts: the value of `calico` in the result of the cluster_info module.
    """
    if not (facts.get("installation") and facts["has_former_daemon_set"]):
        return []
    names = {"DaemonSet": daemon_sets(_PLUGIN), "ConfigMap": catalogue()[_PLUGIN].files.config_maps}
    versions = {"DaemonSet": "apps/v1", "ConfigMap": "v1"}
    return [
        {
            "apiVersion": versions[kind],
            "kind": kind,
            "metadata": {"namespace": name.partition("/")[0], "name": name.partition("/")[2]},
        }
        for kind, listed in names.items()
        for name in listed
    ]


def is_unreachable(api_server: str, reachable: str) -> bool:
    """Return whether the address of an API server is unknown, or is a loopback address that nodes cannot reach.

    Args:
        api_server: `host:port` from the kubernetes-services-endpoint ConfigMap.
        reachable: an address that Windows nodes can reach. If it is a loopback address, every loopback address is
            considered reachable.
    """
    host = str(api_server).rpartition(":")[0]
    return not host or (is_loopback(host) and not is_loopback(reachable))


def _facts(host: Variables, switch: str = "") -> t.Mapping[str, t.Any]:
    """Return facts about Calico's installation, or an empty mapping if the host does not need them.

    Args:
        host: the variables of the host for which the decision is made.
        switch: name of a Boolean variable that must also be true; empty if only `cni_plugin` matters.
    """
    if host.value("cni_plugin") != _PLUGIN or (switch and not to_bool(host.value(switch))):
        return {}
    return t.cast("t.Mapping[str, t.Any]", host.part("winkube_cluster", "calico", default={}))


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "cni_calico_former_objects": lambda host: former_objects(_facts(host)),
        "cni_calico_affinity": lambda host: affinity(_facts(host, "cni_calico_set_strict_affinity")),
        "cni_calico_windows_objects": lambda host: windows_objects(
            _facts(host, "cni_calico_enable_windows"),
            str(host.value("cni_services_subnet")),
            str(host.value("cni_api_server")),
        ),
    }
)
