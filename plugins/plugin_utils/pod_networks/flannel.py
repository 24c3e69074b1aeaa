# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The configuration of flannel and its CNI plugin, flannel's DaemonSet, and the service that runs flanneld."""

from __future__ import annotations

import json
import typing as t

from ..windows import node_paths
from . import kubeconfigs
from .manifests import (
    POD_VOLUME,
    cluster_role_binding,
    config_map,
    container,
    daemon_set,
    environment,
    host_process_pod,
    pod_kubeconfig,
    service_account,
    token_secret,
)
from .policies import access_list, flat, nested
from .rules import NetworkRules
from .settings import ClusterSettings, KubernetesObject, NetworkFile, NetworkService, NodeSettings, as_line

_ACCOUNT = "kube-flannel/flannel-windows"
_DAEMON_SET = "kube-flannel/kube-flannel-windows"
_LABELS = {"app": "flannel-windows"}
_KUBECONFIG = f"{node_paths.KUBERNETES}\\flannel.kubeconfig"
_NET_CONF = "C:\\etc\\kube-flannel\\net-conf.json"


class Flannel(NetworkRules):
    """flannel, which runs as a DaemonSet or as a service."""

    accounts: t.ClassVar[tuple[str, ...]] = (_ACCOUNT,)
    daemon_sets: t.ClassVar[tuple[str, ...]] = (_DAEMON_SET,)

    def net_conf(self) -> dict[str, t.Any]:
        """Return flannel's net-conf.json.

        Source: flannel Documentation/configuration.md and Documentation/backends.md.
        """
        mode = self.settings.known_mode
        backend: dict[str, t.Any] = {"Name": mode.hns_network, "Type": mode.flannel_backend}
        if mode.is_overlay:
            backend |= {"VNI": mode.fixed["vni"], "Port": mode.fixed["port"]}
        return {"Network": self.settings.pods_subnet, "Backend": backend}

    def cni_configuration(self, internal_ip: str = "") -> dict[str, t.Any]:  # noqa: ARG002  # for subclasses
        """Return the configuration of flannel's CNI plugin.

        Version 2 of the win-bridge and win-overlay plugins' API requires an HCN namespace, which Docker containers do
        not have. With Docker, the plugins therefore use version 1, and the policies have HNS's older format
        (containernetworking/plugins win-bridge/sample-v1.conf and win-overlay/sample.conf).

        The configuration does not contain the addresses of the cluster's DNS: the runtime passes on the addresses that
        the kubelet gives it (`dns` in the capabilities).

        Args:
            internal_ip: not used.
        """
        settings, form = self.settings, flat if self.settings.is_docker else nested
        local = [settings.pods_subnet, settings.services_subnet]
        service = {"DestinationPrefix": settings.services_subnet, "NeedEncap": True}
        nat, route = ("ExceptionList", "ROUTE") if settings.is_docker else ("Exceptions", "SDNROUTE")
        policies = [form("OutBoundNAT", {nat: local}), form(route, service)]
        policies += [form("ACL", one) for one in access_list(settings)]
        delegate = {"type": settings.known_mode.delegate, "apiVersion": 1 if settings.is_docker else 2}
        return self._configuration({**delegate, "policies": policies})

    def _configuration(self, delegate: t.Mapping[str, t.Any], version: str = "1.0.0") -> dict[str, t.Any]:
        """Return the configuration of flannel's CNI plugin, which calls another plugin for each pod."""
        return {
            "name": self.settings.known_mode.hns_network,
            "cniVersion": version,
            "type": "flannel",
            "capabilities": {"portMappings": True, "dns": True},
            "delegate": dict(delegate),
        }

    def cluster_objects(self, cluster: ClusterSettings) -> list[KubernetesObject]:
        """Return flannel's DaemonSet for Windows, and its ConfigMap, service account and namespace.

        Args:
            cluster: the cluster.
        """
        configuration = None if self.configured_on_node else self.cni_configuration()
        files = {
            **({} if configuration is None else {"cni-conf.json": json.dumps(configuration)}),
            "net-conf.json": json.dumps(self.net_conf()),
            "kubeconfig.conf": pod_kubeconfig(cluster.api_server),
        }
        read = [configuration, self.net_conf(), cluster.api_server]
        return [
            *_account(),
            config_map(_DAEMON_SET, files),
            daemon_set(_DAEMON_SET, _LABELS, self._pod(cluster), *read),
        ]

    @staticmethod
    def account_objects() -> list[KubernetesObject]:
        """Return flannel's service account and namespace, and the Secret that contains the account's token."""
        return [*_account(), token_secret(_ACCOUNT)]

    def files(self, node: NodeSettings) -> list[NetworkFile]:
        """Return the files that flanneld reads.

        Args:
            node: the node.
        """
        return [
            NetworkFile(path=_KUBECONFIG, content=kubeconfigs.of_service(node, _ACCOUNT), is_secret=True),
            NetworkFile(path=_NET_CONF, content=as_line(self.net_conf())),
        ]

    def services(self, node: NodeSettings) -> list[NetworkService]:
        """Return the service that runs flanneld.

        On an overlay, flanneld starts before kube-proxy, which needs the source address from flannel's network
        (kubernetes/kubernetes#78338; kubernetes-for-windows: "Networking with kube-proxy and flanneld services").

        Args:
            node: the node.
        """
        arguments = flanneld_arguments(node)
        read = (
            json.dumps(self.net_conf(), sort_keys=True),
            " ".join(arguments),
            node.api_server,
            node.tokens[_ACCOUNT],
        )
        return [
            NetworkService(
                name="flanneld",
                display_name="flannel",
                description="Network of the pods",
                program=f"{node.folders['flannel_dir']}\\flanneld.exe",
                arguments=tuple(arguments),
                environment={"NODE_NAME": node.name},
                log_dir=self.settings.known.files.service_logs[0],
                configuration="".join(read),
                cuts_connection=True,
                kube_proxy_first=not self.settings.known_mode.is_overlay,
            )
        ]

    def _pod(self, cluster: ClusterSettings) -> dict[str, t.Any]:
        """Return the pod of flannel's DaemonSet, which runs the node's flanneld.exe or the user's image."""
        image, known = cluster.images["host_process_image"], environment()
        own_image = cluster.images.get("flannel_image", "")
        program = {
            "command": [f"{cluster.folders['flannel_dir']}\\flanneld.exe"],
            "args": [
                "-kube-subnet-mgr",
                f"-kubeconfig-file={POD_VOLUME}\\kubeconfig.conf",
                f"-net-config-path={POD_VOLUME}\\net-conf.json",
                "-iface=$(HOST_IP)",
            ],
        }
        return host_process_pod(
            "flannel-windows",
            [container("kube-flannel", own_image or image, **({} if own_image else program), env=known)],
            config_map="kube-flannel-windows",
            init_containers=[] if self.configured_on_node else [self._install_cni(cluster)],
        )

    def _install_cni(self, cluster: ClusterSettings) -> dict[str, t.Any]:
        """Return the container that copies the CNI configuration from the ConfigMap to the node."""
        source = f"{POD_VOLUME}\\cni-conf.json"
        target = f"{cluster.conf_dir}\\{self.settings.known.files.configuration}"
        arguments = ["/c", "copy", "/Y", source, target]
        image = cluster.images["host_process_image"]
        return container("install-cni", image, command=["cmd.exe"], args=arguments, env=environment())


def flanneld_arguments(node: NodeSettings) -> list[str]:
    """Return the arguments of flanneld when it runs as a service.

    Args:
        node: the node.
    """
    interface = [f"-iface={node.internal_ip}"] if node.internal_ip else []
    paths = [f"-kubeconfig-file={_KUBECONFIG}", f"-net-config-path={_NET_CONF}"]
    return ["-kube-subnet-mgr", *paths, *interface]


def _account() -> list[KubernetesObject]:
    """Return flannel's namespace, its service account, and the objects that give the account flanneld's rights."""
    namespace, name = _ACCOUNT.split("/")
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    rights = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}},
        service_account(_ACCOUNT),
        {**rights, "rules": rules},
        cluster_role_binding(name, _ACCOUNT),
    ]
