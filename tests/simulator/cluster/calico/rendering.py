# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Render the calico-node-windows DaemonSet and its ConfigMap as the Tigera operator does (pkg/render/windows.go).

The result is what tigera/operator v1.40.8 renders for the Calico CNI plugin with Calico's IPAM. For another version of
Calico, it is what the operator of that version renders. Image sets, pull secrets and overrides of the DaemonSet are not
modelled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .client import Object

NAMESPACE = "calico-system"
NAME = "calico-node-windows"
_ROOT = "$env:CONTAINER_SANDBOX_MOUNT_POINT"


@dataclass(frozen=True)
class Rendered:
    """The values from which the DaemonSet and its ConfigMap are rendered.

    Args:
        version: the version of Calico that the operator installs.
        spec: the spec of the Installation.
        host, port: the API server's endpoint in the kubernetes-services-endpoint ConfigMap.
        dns: the DNS service's addresses.
        vni: the FelixConfiguration's vxlanVNI.
    """

    version: str
    spec: Mapping[str, Any]
    host: str
    port: str
    dns: tuple[str, ...]
    vni: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version of Calico, as numbers."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def has_bgp(self) -> bool:
        """Whether BGP is enabled."""
        return (self.spec.get("calicoNetwork") or {}).get("bgp") != "Disabled"

    @property
    def single_binary(self) -> bool:
        """Whether the images contain calico.exe as their only program, which is so from Calico 3.33 on."""
        return self.numbers >= (3, 33)

    @property
    def names_plugin_type(self) -> bool:
        """Whether the operator sets CNI_PLUGIN_TYPE (added in operator 1.38.12, 1.40.7 and 1.42.0)."""
        minimum = {30: 7, 31: 4}.get(self.numbers[1], 0)
        return self.numbers[1] >= 30 and self.numbers[2] >= minimum

    @property
    def registry(self) -> str:
        """The registry of the images, with a trailing slash; by default quay.io/.

        Up to operator 1.38.0, the default was docker.io/ (pkg/components/images.go).
        """
        given = str(self.spec.get("registry") or "")
        default = "quay.io/" if self.numbers >= (3, 30, 1) else "docker.io/"
        return default if given in ("", "UseDefault") else given.rstrip("/") + "/"


def _variable(name: str, value: str) -> Object:
    return {"name": name, "value": value}


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _endpoint(about: Rendered) -> list[Object]:
    return [_variable("KUBERNETES_SERVICE_HOST", about.host), _variable("KUBERNETES_SERVICE_PORT", about.port)]


def config_map(about: Rendered) -> Object:
    """Return the ConfigMap cni-config-windows."""
    services = list(about.spec.get("serviceCIDRs") or [])
    routes = [{"Type": "SDNROUTE", "DestinationPrefix": cidr, "NeedEncap": True} for cidr in services]
    policies = [{"Type": "OutBoundNAT", "ExceptionList": services}, *routes]
    directory = "c:" + str((about.spec.get("windowsNodes") or {}).get("cniConfigDir") or "/etc/cni/net.d")
    plugin = {
        "type": "calico",
        "name": "Calico",
        "windows_use_single_network": True,
        "mode": "windows-bgp" if about.has_bgp else "vxlan",
        "vxlan_mac_prefix": "0E-2A",
        "vxlan_vni": about.vni,
        "mtu": int((about.spec.get("calicoNetwork") or {}).get("mtu") or 0),
        "policy": {"type": "k8s"},
        "log_file_path": "c:/var/log/calico/cni/cni.log",
        "windows_loopback_DSR": "__DSR_SUPPORT__",
        "capabilities": {"dns": True},
        "nodename": "__KUBERNETES_NODE_NAME__",
        "nodename_file": "__NODENAME_FILE__",
        "nodename_file_optional": True,
        "datastore_type": "kubernetes",
        "ipam": {"type": "calico-ipam", "subnet": "usePodCidr"},
        "kubernetes": {
            "kubeconfig": f"{directory}/calico-kubeconfig",
            "k8s_api_root": f"https://{about.host}:{about.port}",
        },
        "DNS": {"Nameservers": list(about.dns), "Search": ["svc.cluster.local"]},
        "policies": [{"Name": "EndpointPolicy", "Value": value} for value in policies],
    }
    version = "1.0.0" if about.numbers >= (3, 31, 7) and about.numbers not in ((3, 32, 0), (3, 32, 1)) else "0.3.1"
    config = json.dumps({"name": "Calico", "cniVersion": version, "plugins": [plugin]})
    metadata = {"name": "cni-config-windows", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"config": config}}


def _install_environment(about: Rendered) -> list[Object]:
    directory = str((about.spec.get("windowsNodes") or {}).get("cniConfigDir") or "/etc/cni/net.d")
    reference = {"name": "cni-config-windows", "key": "config"}
    plugin_type = [_variable("CNI_PLUGIN_TYPE", "Calico")] if about.names_plugin_type else []
    return [
        _variable("SLEEP", "false"),
        *plugin_type,
        _variable("CNI_BIN_DIR", "/host/opt/cni/bin"),
        _variable("CNI_CONF_NAME", "10-calico.conflist"),
        _variable("CNI_NET_DIR", directory.removeprefix("c:")),
        _variable("KUBERNETES_DNS_SERVERS", ",".join(about.dns)),
        _variable("KUBERNETES_SERVICE_CIDRS", ",".join(about.spec.get("serviceCIDRs") or [])),
        _variable("VXLAN_VNI", str(about.vni)),
        _field("KUBERNETES_NODE_NAME", "spec.nodeName"),
        {"name": "CNI_NETWORK_CONFIG", "valueFrom": {"configMapKeyRef": reference}},
        *_endpoint(about),
    ]


def _node_environment(about: Rendered) -> list[Object]:
    cluster_type = "k8s,operator" + (",bgp" if about.has_bgp else "") + ",windows"
    plugin_type = [_variable("CNI_PLUGIN_TYPE", "Calico")] if about.names_plugin_type else []
    fips = [_variable("FIPS_MODE_ENABLED", "false")] if about.numbers < (3, 30) else []
    mtu = (about.spec.get("calicoNetwork") or {}).get("mtu")
    sizes = [_variable(name, str(mtu)) for name in ("FELIX_VXLANMTU", "FELIX_WIREGUARDMTU")] if mtu else []
    return [
        *plugin_type,
        _variable("DATASTORE_TYPE", "kubernetes"),
        _variable("WAIT_FOR_DATASTORE", "true"),
        _variable("CLUSTER_TYPE", cluster_type),
        _variable("CALICO_DISABLE_FILE_LOGGING", "false"),
        _variable("FELIX_DEFAULTENDPOINTTOHOSTACTION", "ACCEPT"),
        _variable("FELIX_HEALTHENABLED", "true"),
        _field("NODENAME", "spec.nodeName"),
        _field("NAMESPACE", "metadata.namespace"),
        _variable("FELIX_TYPHAK8SNAMESPACE", NAMESPACE),
        _variable("FELIX_TYPHAK8SSERVICENAME", "calico-typha"),
        _variable("FELIX_TYPHACAFILE", "c:/etc/pki/tls/certs/tigera-ca-bundle.crt"),
        _variable("FELIX_TYPHACERTFILE", "c:/node-certs/tls.crt"),
        _variable("FELIX_TYPHAKEYFILE", "c:/node-certs/tls.key"),
        *fips,
        _variable("VXLAN_VNI", str(about.vni)),
        _variable("VXLAN_ADAPTER", str((about.spec.get("windowsNodes") or {}).get("vxlanAdapter") or "")),
        _variable("FELIX_TYPHACN", "typha-server"),
        _variable("CALICO_MANAGE_CNI", "true"),
        _variable("KUBE_NETWORK", "Calico.*"),
        *sizes,
        _variable("CALICO_NETWORKING_BACKEND", "windows-bgp" if about.has_bgp else "vxlan"),
        _variable("IP", "autodetect"),
        _variable("IP_AUTODETECTION_METHOD", "first-found"),
        _variable("IP6", "none"),
        _variable("FELIX_IPV6SUPPORT", "false"),
        *_endpoint(about),
    ]


def _mounts(*pairs: str) -> list[Object]:
    found = []
    for pair in pairs:
        name, _, path = pair.partition("=")
        found.append({"name": name, "mountPath": path, **({"readOnly": True} if path.startswith("c:") else {})})
    return found


def _container(about: Rendered, name: str, image: str, **more: Any) -> Object:
    options = {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\system"}
    return {
        "name": name,
        "image": f"{about.registry}calico/{image}:v{about.version}",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"windowsOptions": options},
        **more,
    }


def _initial(about: Rendered) -> list[Object]:
    mounts = _mounts("cni-bin-dir=/host/opt/cni/bin", "cni-net-dir=/host/etc/cni/net.d")
    environment = _install_environment(about)
    program = ["calico.exe", "component", "cni", "install"] if about.single_binary else ["install.exe"]
    uninstall = ("SLEEP", "CNI_PLUGIN_TYPE", "CNI_BIN_DIR", "CNI_CONF_NAME")
    kept = [item for item in environment if item["name"] in uninstall]
    kept.append(_variable("CNI_NET_DIR", "/host/etc/cni/net.d"))
    script = [f"{_ROOT}/uninstall-calico.ps1"]
    command = [f"{_ROOT}/opt/cni/bin/{program[0]}", *program[1:]]
    return [
        _container(about, "uninstall-calico", "node-windows", args=script, env=kept, volumeMounts=mounts),
        _container(about, "install-cni", "cni-windows", command=command, env=environment, volumeMounts=mounts),
    ]


def _probe(about: Rendered, check: str, **more: int) -> Object:
    words = ["calico.exe", "component", "node", "health", f"--{check}"] if about.single_binary else []
    program, *rest = words or ["calico-node.exe", f"-{check}"]
    command = [f"{_ROOT}/CalicoWindows/{program}", *rest]
    return {"exec": {"command": command}, "periodSeconds": 10, "timeoutSeconds": 10, **more}


def _long_running(about: Rendered) -> list[Object]:
    common: dict[str, Any] = {
        "workingDir": f"{_ROOT}/CalicoWindows/",
        "env": _node_environment(about),
        "volumeMounts": _mounts(
            "var-run-calico=/var/run/calico",
            "var-lib-calico=/var/lib/calico",
            "cni-log-dir=/var/log/calico/cni",
            "cni-net-dir=/host/etc/cni/net.d",
            "tigera-ca-bundle=c:/etc/pki/tls/certs",
            "node-certs=c:/node-certs",
        ),
    }
    probes = {
        "livenessProbe": _probe(about, "felix-live", initialDelaySeconds=10, failureThreshold=6),
        "readinessProbe": _probe(about, "felix-ready"),
    }
    scripts = {"felix": "felix-service.ps1", "node": "node-service.ps1", "confd": "confd/confd-service.ps1"}
    found = []
    for name, script in scripts.items():
        if name != "confd" or about.has_bgp:
            more = probes if name == "felix" else {}
            args = [f"{_ROOT}/CalicoWindows/{script}"]
            found.append(_container(about, name, "node-windows", args=args, **common, **more))
    return found


def _volumes(about: Rendered) -> list[Object]:
    nodes = about.spec.get("windowsNodes") or {}
    paths = {
        "var-run-calico": ("/var/run/calico", "DirectoryOrCreate"),
        "var-lib-calico": ("/var/lib/calico", "DirectoryOrCreate"),
        "cni-bin-dir": (nodes.get("cniBinDir") or "/opt/cni/bin", "DirectoryOrCreate"),
        "cni-net-dir": (nodes.get("cniConfigDir") or "/etc/cni/net.d", ""),
        "cni-log-dir": (nodes.get("cniLogDir") or "/var/log/calico/cni", "DirectoryOrCreate"),
    }
    found: list[Object] = []
    for name, (path, kind) in paths.items():
        found.append({"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}})
    found.append({"name": "tigera-ca-bundle", "configMap": {"name": "tigera-ca-bundle"}})
    found.append({"name": "node-certs", "secret": {"secretName": "node-certs"}})
    return found


def daemon_set(about: Rendered) -> Object:
    """Return the DaemonSet calico-node-windows."""
    labels = {"k8s-app": NAME}
    spec = {
        "serviceAccountName": "calico-node",
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "terminationGracePeriodSeconds": 5,
        "priorityClassName": "system-node-critical",
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute"},
        ],
        "initContainers": _initial(about),
        "containers": _long_running(about),
        "volumes": _volumes(about),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
