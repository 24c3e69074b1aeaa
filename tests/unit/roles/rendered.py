# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The files that the roles write, rendered from their variables: by version, network mode and container runtime."""

from __future__ import annotations

import json
import typing as t

import yaml
from ansible.template import Templar
from unit import calico_facts
from unit.roles.templates import task, templar, value

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubeadm
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths

CONTAINERD = ("1.6.36", "1.7.35", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2")
BACKENDS = ("host-gw", "vxlan")
RUNTIMES = ("containerd", "docker")
OF_A_NODE = ("windows_settings", "container_runtime", "cni", "kubernetes_node", "node_join")
CLUSTER = {
    "api_server": "lb-apiserver.kubernetes.local:6443",
    "node_version": "1.36.3",
    "ca_certificate": "a certificate",
    "ca_cert_hash": "sha256:" + 64 * "0",
    "pod_subnet": "10.244.0.0/16",
    "service_subnet": "10.96.0.0/12",
    "nodes": {"win1": {"pod_cidr": "10.244.3.0/24", "internal_ip": "10.0.0.11"}},
}
PRIVATE = {**CLUSTER, "cluster_info_public": False}
"""A cluster whose ConfigMap cluster-info cannot be read without credentials."""
LABELS = {"site": "a", "node.kubernetes.io/pool": "b", "node-role.kubernetes.io/windows": "", "gone": None}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nQSBjZXJ0aWZpY2F0ZQ==\n-----END CERTIFICATE-----\n"
REGISTRIES = {
    "docker.io": {"mirrors": ["https://mirror.example", "http://10.0.0.9:5000"]},
    "registry.example:5000": {"ca": CERTIFICATE, "username": "reader", "password": "s3cret"},
    "plain.example": {"server": "http://plain.example"},
}
PROXY = {"http_proxy": "http://proxy.example:3128", "no_proxy": "localhost,10.0.0.0/8"}


def node(runtime: str = "containerd", **variables: t.Any) -> Templar:
    """Return what templates see on the host `win1`, which is going to join as the node with that name."""
    return templar(
        OF_A_NODE,
        {
            "inventory_hostname": "win1",
            "ansible_host": "10.0.0.11",
            "groups": {"all": ["win1"]},
            "hostvars": {"win1": {}},
            "ansible_play_hosts": ["win1"],
            "ansible_play_hosts_all": ["win1"],
            "container_runtime": runtime,
            "node_join_cluster": CLUSTER,
            "node_join_info": {"computer_name": "WIN1", "joined": False, "cni": {}},
            "node_join_tokens": {"tokens": {"win1": "abcdef.0123456789abcdef"}},
            "cni_tokens": {"kube-system/kube-proxy-windows": "token 1", "kube-flannel/flannel-windows": "token 2"},
            **variables,
        },
    )


def resources(found: Templar, expression: str) -> list[dict[str, t.Any]]:
    """Return the resources in an expression, without Ansible's own marks."""
    listed: list[dict[str, t.Any]] = json.loads(json.dumps(value(found, expression)))
    return listed


def content(found: Templar, variable: str, name: str) -> str:
    """Return the contents of a file by the end of its path, from the resources in a role's variable."""
    files = [one for one in resources(found, variable) if one["type"] == "File" and one["name"].endswith(name)]
    (text,) = [one["content"] for one in files]
    return str(text)


def of_role(found: Templar, role: str, name: str) -> dict[str, t.Any]:
    """Return a role's resource with this name."""
    (one,) = [one for one in resources(found, f"{role}_resources") if one.get("name") == name]
    return one


def runtimes() -> dict[str, str]:
    """Return the files that the container runtimes read."""
    found = {
        f"containerd/{version}.toml": content(
            node(container_runtime_containerd_version=version), "container_runtime_resources", "config.toml"
        )
        for version in CONTAINERD
    }
    keeps = node(container_runtime_discard_unpacked_layers=False)
    found["containerd/layers-kept.toml"] = content(keeps, "container_runtime_resources", "config.toml")
    registries = node(container_runtime_registries=REGISTRIES)
    for one in resources(registries, "container_runtime_resources"):
        if one["type"] == "File" and one["name"].endswith("\\hosts.toml") and "content" in one:
            found[f"registries/{one['name'].split(chr(92))[-2]}/hosts.toml"] = one["content"]
    for kind, more in (
        ("plain", {}),
        ("proxy", {"windows_settings_http_proxy": PROXY["http_proxy"], **PROXY}),
        ("registries", {"container_runtime_registries": REGISTRIES}),
    ):
        known = node("moby", **more)
        found[f"docker/{kind}/daemon.json"] = content(known, "container_runtime_resources", "daemon.json")
    found["docker/cri-dockerd.txt"] = _nssm_arguments(node("moby"), "container_runtime_resources", "cri-dockerd")
    return found


def kubelet() -> dict[str, str]:
    """Return the kubelet's drop-in and its command line."""
    found = {
        f"kubelet/{runtime}/50-windows.conf": content(node(runtime), "kubernetes_node_resources", "50-windows.conf")
        for runtime in RUNTIMES
    }
    reserved = node(
        kubernetes_node_kube_reserved={"cpu": "250m", "memory": "1Gi"},
        kubernetes_node_system_reserved={"cpu": "500m", "memory": "2Gi", "ephemeral-storage": "10Gi"},
        kubernetes_node_eviction_hard={"nodefs.available": "15%", "imagefs.available": "15%"},
    )
    found["kubelet/reserved/50-windows.conf"] = content(reserved, "kubernetes_node_resources", "50-windows.conf")
    started = resources(node(kubernetes_node_kubelet_service="nssm"), "kubernetes_node_resources")
    (nssm,) = [one for one in started if one["type"] == "NssmArguments"]
    found["kubelet/flags/nssm.txt"] = _lines(["kubelet.exe", *nssm["arguments"]])
    for name, more in (
        ("1.30-to-1.33", {"kubernetes_node_version": "1.33.8"}),
        ("1.34-and-later", {"kubernetes_node_version": "1.34.4"}),
        ("without-log", {"kubernetes_node_kubelet_log_file": "", "kubernetes_node_version": "1.37.1"}),
        ("cloud-provider", {"kubernetes_node_cloud_provider": "azure", "kubernetes_node_version": "1.37.1"}),
        ("own-flags", {"kubernetes_node_kubelet_arguments": {"node-ip": "10.0.0.11"}}),
    ):
        service = of_role(node(**more), "kubernetes_node", "kubelet")
        found[f"kubelet/flags/{name}.txt"] = _lines([service["path"], *service["arguments"]])
    return found


def _lines(lines: t.Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _nssm_arguments(found: Templar, variable: str, service: str) -> str:
    """Return the command line of a program that nssm runs."""
    (line,) = [
        one["value"]
        for one in resources(found, variable)
        if one.get("value_name") == "AppParameters" and f"\\{service}\\" in one["key"]
    ]
    return _lines(line.split(" "))


def network() -> dict[str, str]:
    """Return the files of kube-proxy, flannel and the CNI plugins, by mode and runtime."""
    found = {}
    for backend in BACKENDS:
        for runtime in RUNTIMES:
            known = node(runtime, cni_flannel_backend=backend)
            folder = f"network/{backend}/{runtime}"
            found[f"{folder}/10-flannel.conf"] = (
                value(known, "cni_pod_network.cni_conf | to_nice_json(indent=2)") + "\n"
            )
            found[f"{folder}/kube-proxy.yaml"] = content(known, "node_join_resources", "config.yaml")
            if runtime == "docker":
                for name in ("kube-proxy.kubeconfig", "flannel.kubeconfig"):
                    found[f"{folder}/{name}"] = content(known, "node_join_resources", name)
                found[f"{folder}/flanneld.txt"] = _nssm_arguments(known, "node_join_resources", "flanneld")
        objects = resources(node(cni_flannel_backend=backend), "cni_cluster_objects")
        (text,) = [one["data"]["net-conf.json"] for one in objects if "net-conf.json" in one.get("data", {})]
        found[f"network/{backend}/net-conf.json"] = json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    found |= _networks_of_one_mode()
    known = node(cni_flannel_backend="vxlan")
    (reserved,) = [one for one in resources(known, "node_join_resources") if "\\networks\\" in str(one.get("name"))]
    # As JSON, which shows the file's line endings.
    found["network/vxlan/reserved-address.json"] = json.dumps(reserved, indent=2) + "\n"
    return found


def _networks_of_one_mode() -> dict[str, str]:
    """Return the files of the networks that have one mode and need containerd, and all access lists for Azure.

    The CNI configuration is the same on all builds of Windows.
    """
    found = {}
    more: dict[str, t.Any] = {
        "cni_azure_vnet_subnets": ["10.0.0.0/8", "10.0.0.0/16"],
        "cni_block_imds": True,
        "node_join_info": {"computer_name": "WIN1", "joined": False, "cni": {}, "azure": True},
    }
    for plugin in ("azure", "sdnbridge", "sdnoverlay"):
        for folder, given in ((f"network/{plugin}", {}), (f"network/{plugin}/in-azure", more)):
            known = node(cni_plugin=plugin, **given)
            path = value(known, "cni_pod_network.conf_file")
            found[f"{folder}/{path}"] = _pretty(content(known, "node_join_resources", path))
        found[f"network/{plugin}/kube-proxy.yaml"] = content(known, "node_join_resources", "config.yaml")
    for backend in BACKENDS:
        for runtime in RUNTIMES:
            known = node(runtime, cni_flannel_backend=backend, **more)
            rendered = json.dumps(value(known, "cni_pod_network.cni_conf"))
            found[f"network/{backend}/{runtime}/in-azure/10-flannel.conf"] = _pretty(rendered)
    return found


def _pretty(text: str) -> str:
    return json.dumps(json.loads(text), indent=2) + "\n"


def manifests() -> dict[str, str]:
    """Return what the role cni applies in the cluster."""
    found = {}
    images = {
        "cni_flannel_image": "registry.example/flannel:1",
        "cni_kube_proxy_image": "registry.example/kube-proxy:1",
    }
    for name, more in (
        ("host-gw", {"cni_flannel_backend": "host-gw"}),
        ("vxlan", {"cni_flannel_backend": "vxlan"}),
        ("own-images", images),
        ("azure", {"cni_plugin": "azure"}),
        ("sdnbridge", {"cni_plugin": "sdnbridge"}),
        ("sdnoverlay", {"cni_plugin": "sdnoverlay"}),
    ):
        applied = task("cni", "cluster.yml")["kubernetes.core.k8s"]["definition"]
        found[f"manifests/{name}.yaml.txt"] = _manifests(node(**more), applied)
    for name, facts in _calico().items():
        applied = task("cni", "cluster.yml")["kubernetes.core.k8s"]["definition"]
        networks = {"pod_subnet": "10.233.64.0/18", "service_subnet": "10.233.0.0/18", "cluster_dns": ["10.233.0.3"]}
        known = node(cni_plugin="calico", node_join_cluster={**CLUSTER, **networks, "calico": facts})
        found[f"manifests/{name}.yaml.txt"] = _manifests(known, applied)
    made = task("cni", "services.yml")["kubernetes.core.k8s"]["definition"]
    found["manifests/docker.yaml.txt"] = _manifests(node("docker"), made)
    return found | _cluster_support()


def _cluster_support() -> dict[str, str]:
    """Return what the role cluster_support applies, by component."""
    off = {
        f"cluster_support_{name}": False
        for name in ("restrict_linux_daemon_sets", "kube_proxy_account", "runtime_classes")
    }
    outputs = [{"name": "forward", "host": "logs.example", "port": 24224, "shared_key": "s3cret"}]
    found = {}
    for name, more in (
        ("defaults", {}),
        ("monitoring", {**off, "cluster_support_windows_exporter": True, "cluster_support_prometheus_rules": True,
                        "cluster_support_namespace": "monitoring"}),
        ("logs", {**off, "cluster_support_log_shipper": True, "cluster_support_log_outputs": outputs}),
        ("csi-smb", {**off, "cluster_support_csi_drivers": ["smb"]}),
        ("azure", {**off, "cluster_support_cloud_provider": "azure"}),
        ("demo", {**off, "cluster_support_demo": True,
                  "cluster_support_demo_builds": ["windows-2019", "windows-2025"]}),
    ):  # fmt: skip
        known = templar(
            ("cluster_support",),
            {
                "inventory_hostname": "localhost",
                "groups": {},
                "hostvars": {},
                "cluster_support_cluster": CLUSTER,
                **more,
            },
        )
        both = "cluster_support_objects + cluster_support_secret_objects"
        found[f"manifests/cluster-support-{name}.yaml.txt"] = _manifests(known, f"{{{{ {both} }}}}")
    return found


def _calico() -> dict[str, dict[str, t.Any]]:
    """Return clusters with Calico, one for each form of its DaemonSet."""
    return {
        "calico-vxlan-3.31": calico_facts.facts(version="v3.31.5"),
        "calico-bgp-3.29": calico_facts.bgp(version="v3.29.7"),
        "calico-vxlan-3.33": calico_facts.facts(version="v3.33.1", typha="calico-typha"),
        "calico-operator": calico_facts.facts(installation=calico_facts.installation()),
    }


def _manifests(found: Templar, definition: str) -> str:
    objects = json.loads(json.dumps(list(value(found, definition.strip()[2:-2]))))
    return yaml.safe_dump_all([one for one in objects if one], sort_keys=False)


def joins() -> dict[str, str]:
    """Return kubeadm's JoinConfiguration and ResetConfiguration, and the kubeconfig that can lead to the cluster."""
    found = {}
    full = {
        "node_join_node_taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}],
        "node_join_kubelet_arguments": {"node-labels": "site=a", "node-ip": "10.0.0.11"},
        "node_join_ignore_preflight_errors": ["Service-Docker"],
    }
    for api, version in (("v1beta3", "1.30.4"), ("v1beta4", "1.36.3")):
        for name, runtime, more in (
            ("containerd", "containerd", {}),
            ("docker", "docker", {}),
            ("full", "containerd", full),
            ("own-endpoint", "containerd", {"node_join_api_server": "10.3.0.1:6443"}),
            ("labels", "containerd", {"node_join_node_labels": LABELS}),
            ("private", "containerd", {"node_join_cluster": PRIVATE}),
        ):
            known = node(runtime, kubernetes_node_version=version, **more)
            found[f"kubeadm/{api}/{name}.yaml"] = value(known, "node_join_configuration")
    found["kubeadm/v1beta4/reset.yaml"] = kubeadm.reset_configuration("1.36.3", node_paths.CONTAINERD_PIPE)
    own = node(node_join_api_server="10.3.0.1:6443")
    found["kubeadm/discovery.json"] = value(own, "node_join_discovery")
    found["kubeadm/discovery-token.json"] = value(node(node_join_cluster=PRIVATE), "node_join_discovery")
    return found
