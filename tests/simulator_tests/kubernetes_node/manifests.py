# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Objects for the API: HostProcess pods of flannel and kube-proxy, and ordinary ones."""

from __future__ import annotations

import json
from typing import Any

BASE = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0"
VOLUME = r"C:\var\lib\kubelet\pods\$(POD_UID)\volumes\kubernetes.io~projected\access"
SUBNET_ENV = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.9.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"
NETWORKS = {
    "host-gw": {"Network": "10.244.0.0/16", "Backend": {"Name": "cbr0", "Type": "host-gw"}},
    "vxlan": {
        "Network": "10.244.0.0/16",
        "Backend": {"Name": "flannel.4096", "Type": "vxlan", "VNI": 4096, "Port": 4789},
    },
}


def pod(name: str, node: str, containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """Return a pod in the namespace default that is bound to a node."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": containers, "tolerations": [{"operator": "Exists"}], **spec},
    }


def host_process(name: str, node: str, containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """Return a HostProcess pod."""
    options = {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}
    return pod(name, node, containers, hostNetwork=True, securityContext={"windowsOptions": options}, **spec)


def field(name: str, path: str) -> dict[str, Any]:
    """Return an environment variable with the value of a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


ENVIRONMENT = [field("POD_UID", "metadata.uid"), field("NODE_NAME", "spec.nodeName"), field("HOST_IP", "status.hostIP")]
MOUNTS = [{"name": "access", "mountPath": "/var/run/access", "readOnly": True}]


def kubeconfig(server: str) -> str:
    """Return a kubeconfig that refers to the token and the CA as files in its own folder."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "default",
            "clusters": [{"name": "default", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
            "users": [{"name": "default", "user": {"tokenFile": "token"}}],
        }
    )


def access(config_map: str) -> dict[str, Any]:
    """Return the volume `access`: a token, the cluster's CA, and a ConfigMap's files."""
    return {
        "name": "access",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"configMap": {"name": config_map}},
            ]
        },
    }


def flannel(node: str, config_map: str, conf_dir: str = r"C:\etc\cni\net.d") -> dict[str, Any]:
    """Return flannel's pod: an init container copies the CNI configuration, and flanneld runs from the node's disk."""
    install = {
        "name": "install-cni",
        "image": BASE,
        "command": ["cmd.exe"],
        "env": ENVIRONMENT,
        "volumeMounts": MOUNTS,
        "args": ["/c", "copy", "/Y", rf"{VOLUME}\cni-conf.json", rf"{conf_dir}\10-flannel.conf"],
    }
    run = {
        "name": "kube-flannel",
        "image": BASE,
        "command": [r"C:\opt\flannel\flanneld.exe"],
        "env": ENVIRONMENT,
        "volumeMounts": MOUNTS,
        "args": [
            "-kube-subnet-mgr",
            rf"-kubeconfig-file={VOLUME}\kubeconfig.conf",
            rf"-net-config-path={VOLUME}\net-conf.json",
            "-iface=$(HOST_IP)",
        ],
    }
    return host_process(f"flannel-{node}", node, [run], initContainers=[install], volumes=[access(config_map)])


def flannel_config(name: str, server: str, backend: str) -> dict[str, Any]:
    """Return flannel's ConfigMap for a backend: "host-gw" or "vxlan"."""
    network = NETWORKS[backend]
    delegate = {"type": "win-bridge" if backend == "host-gw" else "win-overlay", "apiVersion": 2}
    conf = {"name": network["Backend"]["Name"], "cniVersion": "1.0.0", "type": "flannel", "delegate": delegate}  # type: ignore[index]
    data = {
        "cni-conf.json": json.dumps(conf),
        "net-conf.json": json.dumps(network),
        "kubeconfig.conf": kubeconfig(server),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}
