# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read how Calico is installed in a cluster: from manifests, as kubespray does, or by the Tigera operator.

Failed requests raise ApiError. A missing object is not an error; the values that are read from it are empty.

Sources: projectcalico/calico v3.31.5, libcalico-go/config/crd and manifests/calico.yaml; tigera/operator v1.40,
api/v1/installation_types.go; kubernetes-sigs/kubespray v2.31.0, roles/network_plugin/calico.
"""

from __future__ import annotations

import re
import typing as t

from .api_forms import CALICO_POOL, CONFIG_MAP, CUSTOM_OBJECT, WORKLOAD, Form
from .cluster_client import Cluster
from .cluster_state import is_own

_CRDS = "apis/crd.projectcalico.org/v1"
_LINUX, _WINDOWS = "calico-node", "calico-node-windows"
"""Names of Calico's DaemonSets for Linux and Windows. The Linux DaemonSet has a container of the same name."""
_TAG = re.compile(r":(v\d+\.\d+\.\d+)(?:-[^/:]*)?$")
"""Matches the version in the tag of an image, such as v3.31.5 in `quay.io/calico/node:v3.31.5`."""
_MANIFESTS = "kube-system"
_DAEMON_SETS = ("calico-system", _MANIFESTS)
"""Possible namespaces of the calico-node DaemonSet. The operator uses the first, and Calico's manifests the second."""
_OPERATOR_NAMESPACE = "tigera-operator"
_FOLDERS = {"cniBinDir": "/opt/cni/bin", "cniConfigDir": "/etc/cni/net.d", "cniLogDir": "/var/log/calico/cni"}
"""The fields of the operator's Installation that set folders on Windows nodes, each mapped to its default.

Source: tigera/operator, pkg/render/windows.go, DefaultWindowsCNIDirectories.
"""
_USES = ("Workload",)
"""The default `allowedUses` of an IPPool, without the uses that do not concern pods."""
_VXLAN = {
    "vni": ("FELIX_VXLANVNI", "vxlanVNI"),
    "port": ("FELIX_VXLANPORT", "vxlanPort"),
    "mtu": ("FELIX_VXLANMTU", "vxlanMTU"),
}
"""Maps each VXLAN setting to an environment variable of calico-node and a field of FelixConfiguration.

The environment variable takes precedence.
"""
_SWITCHES = {
    "bpfEnabled": "FELIX_BPFENABLED",
    "wireguardEnabled": "FELIX_WIREGUARDENABLED",
    "wireguardEnabledV6": "FELIX_WIREGUARDENABLEDV6",
}
"""Maps fields of FelixConfiguration to the environment variables of calico-node that override them."""


def calico(cluster: Cluster) -> dict[str, t.Any]:
    """Return how Calico is installed, or an empty mapping if the cluster has no calico-node DaemonSet."""
    namespace, daemon_set = _daemon_set(cluster)
    if daemon_set is None:
        return {}
    felix = _spec(cluster, "felixconfigurations", "default") or {}
    information = _spec(cluster, "clusterinformations", "default") or {}
    ipam = _spec(cluster, "ipamconfigs", "default")
    settings = _config_map(cluster, namespace, "calico-config")
    variables, installation = _variables(daemon_set), _installation(cluster)
    return {
        "namespace": namespace,
        # calico-node of each node writes its own version to ClusterInformation, also on Windows nodes. So after an
        # upgrade of the Linux nodes, that version may be the version of the Windows nodes.
        "version": _tagged_version(daemon_set) or information.get("calicoVersion") or "",
        "cluster_type": settings.get("cluster_type") or variables.get("CLUSTER_TYPE") or "",
        "backend": settings.get("calico_backend") or _backend(installation),
        "typha": _typha(settings, variables),
        "typha_secure": "FELIX_TYPHACAFILE" in variables,
        "has_etcd": bool(settings.get("etcd_endpoints") or variables.get("ETCD_ENDPOINTS")),
        # Without the object, Calico's default applies, which is false.
        "strict_affinity": bool((ipam or {}).get("strictAffinity")),
        "has_ipam_configuration": ipam is not None,
        "pools": _pools(cluster),
        "felix": {name: _switch(variables, felix, name) for name in _SWITCHES},
        "vxlan": {name: _vxlan_setting(variables, felix, name) for name in _VXLAN},
        "uses_host_local": '"host-local"' in (settings.get("cni_network_config") or "")
        or installation.get("ipam_type") == "HostLocal",
        "installation": installation,
        "windows_daemon_set": _windows_daemon_set(cluster, namespace),
        # kubespray can move Calico from manifests to the operator. It does not know the DaemonSet of this collection.
        "has_former_daemon_set": namespace != _MANIFESTS and _windows_daemon_set(cluster, _MANIFESTS) == "winkube",
    }


def _daemon_set(cluster: Cluster) -> tuple[str, t.Mapping[str, t.Any] | None]:
    for namespace in _DAEMON_SETS:
        path = ("apis/apps/v1/namespaces", namespace, "daemonsets", _LINUX)
        existing = cluster.lookup(*path, form=WORKLOAD)
        if existing is not None:
            return namespace, existing
    return "", None


def _windows_daemon_set(cluster: Cluster, namespace: str) -> str:
    """Return who created Calico's DaemonSet for Windows, or an empty string if it does not exist.

    `winkube` means this collection, `other` means anyone else.
    """
    existing = cluster.lookup("apis/apps/v1/namespaces", namespace, "daemonsets", _WINDOWS, form=WORKLOAD)
    if existing is None:
        return ""
    return "winkube" if is_own(existing) else "other"


def _variables(daemon_set: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the environment variables of the calico-node container that have a literal value (no `valueFrom`)."""
    containers = daemon_set["spec"]["template"]["spec"].get("containers") or ()
    return {
        one["name"]: one["value"]
        for container in containers
        for one in container.get("env") or ()
        if container["name"] == _LINUX and one.get("value") is not None
    }


def _tagged_version(daemon_set: t.Mapping[str, t.Any]) -> str:
    """Return the version in the tag of calico-node's image, or an empty string if the tag contains no version."""
    containers = daemon_set["spec"]["template"]["spec"].get("containers") or ()
    images = [str(one.get("image") or "") for one in containers if one["name"] == _LINUX]
    tags = [_TAG.search(image.partition("@")[0]) for image in images]
    return next((tag[1] for tag in tags if tag), "")


def _spec(cluster: Cluster, resource: str, name: str, api: str = _CRDS) -> dict[str, t.Any] | None:
    """Return the `spec` of an object, or None if the object or its CustomResourceDefinition does not exist."""
    existing = cluster.lookup(api, resource, name, form=CUSTOM_OBJECT)
    return None if existing is None else existing.get("spec") or {}


def _config_map(cluster: Cluster, namespace: str, name: str) -> dict[str, str]:
    existing = cluster.lookup("api/v1/namespaces", namespace, "configmaps", name, form=CONFIG_MAP)
    return (existing or {}).get("data") or {}


def _pools(cluster: Cluster) -> list[dict[str, t.Any]]:
    form: Form = {"items": [CALICO_POOL]}
    existing = cluster.lookup(_CRDS, "ippools", form=form)
    return [
        {
            "name": pool["metadata"]["name"],
            "cidr": pool["spec"]["cidr"],
            # An empty mode means Never (libcalico-go/lib/apis/v3/ippool.go).
            "ipip": pool["spec"].get("ipipMode") or "Never",
            "vxlan": pool["spec"].get("vxlanMode") or "Never",
            # Pools that are not for pods, such as pools for load balancers, do not count.
            "disabled": bool(pool["spec"].get("disabled"))
            or "Workload" not in (pool["spec"].get("allowedUses") or _USES),
        }
        for pool in (existing or {}).get("items") or ()
    ]


def _vxlan_setting(variables: t.Mapping[str, str], felix: t.Mapping[str, t.Any], name: str) -> int | None:
    """Return a VXLAN setting of the Linux nodes, or None if it is not set and Calico's default applies."""
    variable, field = _VXLAN[name]
    text = variables.get(variable, "")
    if text.isascii() and text.isdigit():
        return int(text)
    value = felix.get(field)
    return value if isinstance(value, int) and value > 0 else None


def _switch(variables: t.Mapping[str, str], felix: t.Mapping[str, t.Any], field: str) -> bool:
    """Return whether a boolean setting of Felix is on. It is off by default."""
    text = variables.get(_SWITCHES[field])
    return bool(felix.get(field)) if text is None else text.lower() in ("true", "1", "yes", "y", "t")


def _typha(settings: t.Mapping[str, str], variables: t.Mapping[str, str]) -> str:
    """Return the name of Typha's Service, or an empty string if Calico does not use Typha.

    Calico's manifest sets the name to `none` if Typha is not used.
    """
    name = variables.get("FELIX_TYPHAK8SSERVICENAME") or settings.get("typha_service_name") or ""
    return "" if name == "none" else name


def _installation(cluster: Cluster) -> dict[str, t.Any]:
    """Return the settings of the Tigera operator that matter for Windows nodes.

    The result is empty if the operator does not manage Calico.
    """
    spec = _spec(cluster, "installations", "default", "apis/operator.tigera.io/v1")
    if not spec:
        return {}
    network, cni, windows = (spec.get(key) or {} for key in ("calicoNetwork", "cni", "windowsNodes"))
    endpoint = _config_map(cluster, _OPERATOR_NAMESPACE, "kubernetes-services-endpoint")
    return {
        "windows_dataplane": network.get("windowsDataplane") or "Disabled",
        "linux_dataplane": network.get("linuxDataplane") or "Iptables",
        "bgp": network.get("bgp") or "Disabled",
        "service_cidrs": spec.get("serviceCIDRs") or [],
        "cni_type": cni.get("type") or "Calico",
        "ipam_type": (cni.get("ipam") or {}).get("type") or "Calico",
        "mtu": network.get("mtu"),
        "api_server": _address(endpoint),
        "windows_folders": {key: windows.get(key) or default for key, default in _FOLDERS.items()},
    }


def _backend(installation: t.Mapping[str, t.Any]) -> str:
    """Return the network backend that the Tigera operator configures, or an empty string if Calico has no operator.

    The network backends have the same names as in the calico-config ConfigMap: `bird` and `vxlan`.
    """
    if not installation:
        return ""
    return "bird" if installation["bgp"] == "Enabled" else "vxlan"


def _address(endpoint: t.Mapping[str, str]) -> str:
    host, port = endpoint.get("KUBERNETES_SERVICE_HOST") or "", endpoint.get("KUBERNETES_SERVICE_PORT") or ""
    return f"{host}:{port}" if host and port else ""
