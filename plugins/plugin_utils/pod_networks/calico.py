# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calico on Windows nodes: how Calico is installed in the cluster, and the Kubernetes objects that run it as pods.

The Tigera operator runs Calico on Windows nodes itself. If manifests (for example kubespray's) installed Calico, this
collection applies the operator's DaemonSet for the cluster's Calico version (tigera/operator v1.40.8,
pkg/render/windows.go). Differences from the operator's DaemonSet:

* The uninstall-calico init container is left out. It removes installations without HostProcess containers, and deletes
  a service named kube-proxy.
* The address of the API server is literal, because its service can be reached only after kube-proxy has started, and
  kube-proxy waits for Calico's network.
* The node's address is the address in its Node object (`kubernetes-internal-ip`), and calico-node creates no IP pools.
"""

from __future__ import annotations

import json
import typing as t

from .calico_configuration import cni_configuration
from .catalogue import network
from .manifests import config_map, daemon_set, node_affinity
from .rules import NetworkRules
from .settings import ClusterSettings, KubernetesObject

_NAMESPACE = "kube-system"
_NAME = "calico-node-windows"
_CONFIG_MAP = "cni-config-windows"
_LABELS = {"k8s-app": _NAME}
_MOUNT = "$env:CONTAINER_SANDBOX_MOUNT_POINT"
"""The environment variable with the path at which Windows mounts a HostProcess container's image. PowerShell or
containerd expands it."""
_BACKENDS = {"vxlan": "vxlan", "bgp": "windows-bgp"}
_SYSTEM = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\system"}}
_TOLERATIONS = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists", "effect": "NoExecute"},
)


def mode_of(facts: t.Mapping[str, t.Any]) -> str:
    """Return Calico's mode on the Linux nodes (vxlan or bgp), or an empty string if Calico has no enabled IP pool.

    Args:
        facts: `calico` in the result of cluster_info.
    """
    pools = [pool for pool in facts.get("pools") or () if not pool["disabled"]]
    if not pools:
        return ""
    return "vxlan" if any(pool["vxlan"] != "Never" for pool in pools) else "bgp"


def runs_elsewhere(facts: t.Mapping[str, t.Any]) -> bool:
    """Return whether the Tigera operator or another tool's DaemonSet runs Calico on Windows nodes.

    Args:
        facts: `calico` in the result of cluster_info.
    """
    return bool(facts.get("installation")) or facts.get("windows_daemon_set") == "other"


class Calico(NetworkRules):
    """Calico, which runs on Windows nodes as a DaemonSet."""

    daemon_sets: t.ClassVar[tuple[str, ...]] = (f"{_NAMESPACE}/{_NAME}",)

    @staticmethod
    def cluster_mode(facts: t.Mapping[str, t.Any], of_cluster: t.Callable[[str], t.Any]) -> str:
        """Return Calico's mode in the cluster or, if Calico is not set up yet, the mode that kubespray will set up.

        kubespray's default is VXLAN without BGP.

        Args:
            facts: `calico` in the result of cluster_info.
            of_cluster: function that returns a variable of the cluster, or an empty string if it is not set.
        """
        return mode_of(facts) or ("bgp" if str(of_cluster("calico_network_backend")) == "bird" else "vxlan")

    def cluster_objects(self, cluster: ClusterSettings) -> list[KubernetesObject]:
        """Return Calico's DaemonSet and ConfigMap for Windows, or an empty list if another tool runs Calico there.

        Args:
            cluster: the cluster.
        """
        facts = cluster.linux
        if runs_elsewhere(facts):
            return []
        namespace = str(facts.get("namespace") or _NAMESPACE)
        release = network("calico").release(cluster.network_version)
        configuration = json.dumps(
            cni_configuration(
                self.settings,
                cluster,
                mode=_BACKENDS[self.settings.mode],
                vni=self._vni(facts),
                cni_version=release.cni_version,
            )
        )
        return [
            config_map(f"{namespace}/{_CONFIG_MAP}", {"config": configuration}),
            daemon_set(f"{namespace}/{_NAME}", _LABELS, self._pod(cluster), configuration),
        ]

    def images(self, cluster: ClusterSettings) -> list[str]:
        """Return Calico's images for Windows.

        The list is empty if Calico's version is unknown, or if another tool runs Calico on Windows nodes.

        Args:
            cluster: the cluster.
        """
        is_ours = cluster.network_version and not runs_elsewhere(cluster.linux)
        return list(self._images(cluster).values()) if is_ours else []

    def _images(self, cluster: ClusterSettings) -> dict[str, str]:
        version = cluster.network_version
        repository = str(cluster.images.get("calico_image_repo") or "quay.io").rstrip("/")
        defaults = {name: f"{repository}/calico/{name}-windows:v{version}" for name in ("cni", "node")}
        return {name: str(cluster.images.get(f"calico_{name}_image") or image) for name, image in defaults.items()}

    @staticmethod
    def _vni(facts: t.Mapping[str, t.Any]) -> int:
        given = (facts.get("vxlan") or {}).get("vni")
        return int(given or network("calico").mode("vxlan").fixed["vni"])

    def _pod(self, cluster: ClusterSettings) -> dict[str, t.Any]:
        names = ["felix", "node", *(["confd"] if self.settings.mode == "bgp" else [])]
        return {
            "serviceAccountName": "calico-node",
            "hostNetwork": True,
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "affinity": node_affinity(self.settings.plugin),
            "priorityClassName": "system-node-critical",
            "terminationGracePeriodSeconds": 5,
            "tolerations": [dict(one) for one in _TOLERATIONS],
            "initContainers": [self._install_cni(cluster)],
            "containers": [self._container(cluster, name) for name in names],
            "volumes": _volumes(cluster),
        }

    def _install_cni(self, cluster: ClusterSettings) -> dict[str, t.Any]:
        folder = f"{_MOUNT}/opt/cni/bin"
        is_single = network("calico").release(cluster.network_version).single_program
        command = [f"{folder}/calico.exe", "component", "cni", "install"] if is_single else [f"{folder}/install.exe"]
        configuration = {"configMapKeyRef": {"name": _CONFIG_MAP, "key": "config"}}
        texts = {
            "SLEEP": "false",
            "CNI_PLUGIN_TYPE": "Calico",
            "CNI_BIN_DIR": "/host/opt/cni/bin",
            "CNI_CONF_NAME": self.settings.known.files.configuration,
            "CNI_NET_DIR": host_path(cluster.conf_dir),
            "KUBERNETES_DNS_SERVERS": ",".join(self.settings.cluster_dns),
            "KUBERNETES_SERVICE_CIDRS": self.settings.services_subnet,
            "VXLAN_VNI": str(self._vni(cluster.linux)),
            **_api_server(cluster),
        }
        env = [
            *_texts(texts),
            _field("KUBERNETES_NODE_NAME", "spec.nodeName"),
            {"name": "CNI_NETWORK_CONFIG", "valueFrom": configuration},
        ]
        return {
            "name": "install-cni",
            "image": self._images(cluster)["cni"],
            "command": command,
            "env": env,
            "securityContext": _SYSTEM,
            "volumeMounts": [
                {"name": "cni-bin-dir", "mountPath": "/host/opt/cni/bin"},
                {"name": "cni-net-dir", "mountPath": "/host/etc/cni/net.d"},
            ],
        }

    def _container(self, cluster: ClusterSettings, name: str) -> dict[str, t.Any]:
        folder = f"{_MOUNT}/CalicoWindows"
        script = f"{folder}/confd/confd-service.ps1" if name == "confd" else f"{folder}/{name}-service.ps1"
        return {
            "name": name,
            "image": self._images(cluster)["node"],
            "args": [script],
            "workingDir": f"{folder}/",
            "env": self._environment(cluster),
            "securityContext": _SYSTEM,
            "volumeMounts": [
                {"name": "var-run-calico", "mountPath": "/var/run/calico"},
                {"name": "var-lib-calico", "mountPath": "/var/lib/calico"},
                {"name": "cni-log-dir", "mountPath": "/var/log/calico/cni"},
                {"name": "cni-net-dir", "mountPath": "/host/etc/cni/net.d"},
            ],
            **(self._probes(cluster) if name == "felix" else {}),
        }

    def _probes(self, cluster: ClusterSettings) -> dict[str, t.Any]:
        folder = f"{_MOUNT}/CalicoWindows"
        if network("calico").release(cluster.network_version).single_program:
            node = [f"{folder}/calico.exe", "component", "node"]
            live, ready = [*node, "health", "--felix-live"], [*node, "health", "--felix-ready"]
            shutdown = [*node, "shutdown"]
        else:
            node = [f"{folder}/calico-node.exe"]
            live, ready, shutdown = [*node, "-felix-live"], [*node, "-felix-ready"], [*node, "-shutdown"]
        times = {"periodSeconds": 10, "timeoutSeconds": 10}
        return {
            "livenessProbe": {
                "exec": {"command": live},
                "initialDelaySeconds": 10,
                "failureThreshold": 6,
                **times,
            },
            "readinessProbe": {"exec": {"command": ready}, **times},
            "lifecycle": {"preStop": {"exec": {"command": shutdown}}},
        }

    def _environment(self, cluster: ClusterSettings) -> list[dict[str, t.Any]]:
        """Return the environment variables of the node, felix and confd containers."""
        facts = cluster.linux
        typha = str(facts.get("typha") or "")
        namespace = str(facts.get("namespace") or _NAMESPACE)
        service = {"FELIX_TYPHAK8SNAMESPACE": namespace, "FELIX_TYPHAK8SSERVICENAME": typha} if typha else {}
        texts = {
            "CNI_PLUGIN_TYPE": "Calico",
            "DATASTORE_TYPE": "kubernetes",
            "WAIT_FOR_DATASTORE": "true",
            "CLUSTER_TYPE": f"{facts.get('cluster_type') or 'k8s'},windows",
            "CALICO_DISABLE_FILE_LOGGING": "false",
            "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT",
            "FELIX_HEALTHENABLED": "true",
            "VXLAN_VNI": str(self._vni(facts)),
            "VXLAN_ADAPTER": "",
            "CALICO_MANAGE_CNI": "true",
            "KUBE_NETWORK": "Calico.*",
            "CALICO_NETWORKING_BACKEND": _BACKENDS[self.settings.mode],
            "NO_DEFAULT_POOLS": "true",
            "IP": "autodetect",
            "IP_AUTODETECTION_METHOD": "kubernetes-internal-ip",
            "IP6": "none",
            "FELIX_IPV6SUPPORT": "false",
            **service,
            **_api_server(cluster),
        }
        fields = [_field("NODENAME", "spec.nodeName"), _field("NAMESPACE", "metadata.namespace")]
        return [*_texts(texts), *fields]


def _volumes(cluster: ClusterSettings) -> list[dict[str, t.Any]]:
    paths = {
        "var-run-calico": "/var/run/calico",
        "var-lib-calico": "/var/lib/calico",
        "cni-bin-dir": host_path(cluster.folders["bin_dir"]),
        "cni-net-dir": host_path(cluster.conf_dir),
        "cni-log-dir": "/var/log/calico/cni",
    }
    # The cni role creates the folder of CNI configurations, to which only administrators have access.
    return [
        {
            "name": name,
            "hostPath": {"path": path, **({} if name == "cni-net-dir" else {"type": "DirectoryOrCreate"})},
        }
        for name, path in paths.items()
    ]


def host_path(path: str) -> str:
    r"""Return a Windows path in the form that the Tigera operator uses: `/opt/cni/bin` for `C:\opt\cni\bin`.

    Args:
        path: Windows path, such as `C:\opt\cni\bin`.
    """
    slashes = path.replace("\\", "/")
    return slashes[2:] if slashes[:2].lower() == "c:" else slashes


def _api_server(cluster: ClusterSettings) -> dict[str, str]:
    host, _colon, port = cluster.api_server.rpartition(":")
    return {"KUBERNETES_SERVICE_HOST": host.strip("[]"), "KUBERNETES_SERVICE_PORT": port}


def _texts(values: t.Mapping[str, str]) -> list[dict[str, t.Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _field(name: str, path: str) -> dict[str, t.Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
