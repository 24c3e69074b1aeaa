# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the windows_settings role which hosts to reach without the proxy, and what to add to the hosts file."""

from __future__ import annotations

import pathlib
import re
import types
import typing as t
import urllib.parse

from ansible.module_utils.common.yaml import yaml_load

from ..node_config.no_proxy import no_proxy
from ..node_resources.variables import Variables

_PORT = re.compile(r":[0-9]+$")
CLUSTER_VARIABLES = (
    *("kube_pods_subnet", "kube_service_addresses", "dns_domain", "cluster_name"),
    *("loadbalancer_apiserver", "apiserver_loadbalancer_domain_name"),
)
"""Variables of kubespray's inventory that these decisions read."""
_LOCAL = ("localhost", "127.0.0.1")


def hosts_file(name: str, address: str) -> dict[str, str]:
    """Return the hosts file's entry for the control plane's load balancer, which kubespray also writes on Linux nodes.

    Args:
        name: name of the load balancer; empty if there is none.
        address: address of the load balancer; empty if unknown.
    """
    name = name.lower()
    return {name: address} if name and address and name not in (address, "localhost") else {}


def machines(hosts: t.Iterable[str], address: t.Callable[[str], str]) -> list[str]:
    """Return the names of the cluster's machines, followed by their addresses.

    Args:
        hosts: names of the cluster's hosts in the inventory. Duplicates are allowed.
        address: function that returns a host's address in the inventory, or an empty string if the host has none.
    """
    names = list(dict.fromkeys(hosts))
    return [*names, *(known_address for name in names if (known_address := address(name)))]


def kubeconfig_servers(kubeconfig: t.Mapping[str, t.Any]) -> list[str]:
    """Return the names or addresses of the API servers that a kubeconfig lists.

    Args:
        kubeconfig: the parsed content of the file.
    """
    servers = [str(entry.get("cluster", {}).get("server", "")) for entry in kubeconfig.get("clusters", [])]
    return [host for server in servers if (host := urllib.parse.urlsplit(server).hostname)]


def endpoint_host(endpoint: str) -> str:
    """Return the host name or address of an endpoint, without port and brackets.

    >>> endpoint_host("[fd00::1]:6443")
    'fd00::1'

    Args:
        endpoint: `host:port` or `host`.
    """
    return re.sub(r"[][]", "", _PORT.sub("", endpoint))


def _load_balancer(host: Variables) -> tuple[str, str]:
    """Return the name and the address of the control plane's load balancer from kubespray's variables."""
    name = str(host.templates.of_cluster("apiserver_loadbalancer_domain_name"))
    balancer = host.templates.of_cluster("loadbalancer_apiserver", {})
    return name, str(balancer.get("address", "")) if isinstance(balancer, t.Mapping) else ""


def _machines(host: Variables) -> list[str]:
    groups = host.value("windows_settings_cluster_groups")
    hosts = [name for group in groups for name in host.part("groups", group, default=[])]
    return machines(hosts, lambda name: str(host.of_host(name, "ansible_host")))


def _kubeconfig_servers(host: Variables) -> list[str]:
    path = pathlib.Path(str(host.value("windows_settings_kubeconfig")))
    return kubeconfig_servers(yaml_load(path.read_text(encoding="utf-8"))) if path.is_file() else []


def _no_proxy(host: Variables) -> str:
    """Return the hosts, domains and networks that the node reaches without its proxy, separated by commas.

    The result is empty if there is no proxy. The kubeconfig and the addresses of other hosts are then not read.
    """
    if not (host.value("windows_settings_http_proxy") or host.value("windows_settings_https_proxy")):
        return ""
    of_cluster = host.templates.of_cluster
    domain = of_cluster("dns_domain") or of_cluster("cluster_name", "cluster.local")
    name, address = _load_balancer(host)
    endpoints = [host.optional("winkube_api_server"), host.part("winkube_cluster", "api_server", default="")]
    return no_proxy(
        host.value("windows_settings_no_proxy"),
        _LOCAL,
        of_cluster("kube_pods_subnet") or host.part("winkube_cluster", "pod_subnet", default=""),
        of_cluster("kube_service_addresses") or host.part("winkube_cluster", "service_subnet", default=""),
        address,
        name,
        _kubeconfig_servers(host),
        [endpoint_host(str(endpoint)) for endpoint in endpoints],
        host.value("windows_settings_cluster_machines"),
        [".svc", f".{domain}"],
        host.value("windows_settings_cluster_addresses"),
    )


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "windows_settings_hosts": lambda host: hosts_file(*_load_balancer(host)),
        "windows_settings_cluster_machines": _machines,
        "winkube_no_proxy": _no_proxy,
    }
)
