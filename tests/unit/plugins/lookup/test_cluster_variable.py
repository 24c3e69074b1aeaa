# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What Windows hosts of a kubespray cluster read from its group_vars through the roles' defaults."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar, trust_as_template
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

ROOT = pathlib.Path(__file__).resolve().parents[4]
ROLES = ("windows_settings", "container_runtime", "kubernetes_node", "cni", "image_cache")
# As in kubespray's own sample: inventory/sample/inventory.ini and group_vars (kubernetes-sigs/kubespray).
HOSTS = """
[{control_plane}]
ubuntu01 ansible_host=10.3.0.1

[kube_node]
ubuntu02 ansible_host=10.3.0.2

[{cluster}:children]
{control_plane}
kube_node

[node_windows]
windows01 ansible_host=10.3.0.4
"""
CLUSTER = {
    "kube_version": "v1.36.3",
    "kube_pods_subnet": "10.233.64.0/18",
    "kube_service_addresses": "10.233.0.0/18",
    "kube_network_plugin": "flannel",
    "flannel_backend_type": "vxlan",
    "cluster_name": "example.local",
    "dns_domain": "{{ cluster_name }}",
    "http_proxy": "http://proxy.example.com:3128",
    "no_proxy": ".example.com",
}


def variables(folder: pathlib.Path, groups: tuple[str, str], **group_vars: object) -> Templar:
    """Return what templates on windows01 see: the roles' variables and those of an inventory.

    Args:
        folder: the folder for the inventory.
        groups: the names of the control plane's group and of the cluster's group.
        group_vars: the variables by group.
    """
    control_plane, cluster = groups
    (folder / "group_vars").mkdir()
    (folder / "hosts.ini").write_text(HOSTS.format(control_plane=control_plane, cluster=cluster), encoding="utf-8")
    for group, content in group_vars.items():
        name = cluster if group == "cluster" else group
        (folder / "group_vars" / f"{name}.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(folder / "hosts.ini")])
    manager = VariableManager(loader=loader, inventory=inventory)
    known: dict[str, t.Any] = {}
    for role in ROLES:
        for part in ("defaults", "vars"):
            path = ROOT / "roles" / role / part / "main.yml"
            known |= loader.load_from_file(str(path), trusted_as_template=True) or {}
    known |= manager.get_vars(host=inventory.get_host("windows01"))
    known["hostvars"] = HostVars(inventory, manager, loader)
    return Templar(loader=loader, variables=known)


def value(templar: Templar, name: str) -> t.Any:
    return templar.template(trust_as_template("{{ " + name + " }}"))


@pytest.mark.parametrize(
    "groups", [("kube_control_plane", "k8s_cluster"), ("kube-master", "k8s-cluster"), ("master-ubuntu", "k8s_cluster")]
)
def test_kubesprays_cluster_variables_apply_to_windows_hosts(tmp_path: pathlib.Path, groups: tuple[str, str]) -> None:
    templar = variables(tmp_path, groups, cluster=CLUSTER)
    names = {
        "kubernetes_node_version": "1.36.3",
        "cni_pods_subnet": "10.233.64.0/18",
        "cni_services_subnet": "10.233.0.0/18",
        "cni_plugin": "flannel",
        "cni_flannel_backend": "vxlan",
        "windows_settings_http_proxy": "http://proxy.example.com:3128",
        "container_runtime_https_proxy": "http://proxy.example.com:3128",
        "kubernetes_node_http_proxy": "http://proxy.example.com:3128",
        "cni_proxy": "http://proxy.example.com:3128",
        "image_cache_proxy": "http://proxy.example.com:3128",
    }
    assert {name: value(templar, name) for name in names} == names
    exceptions = value(templar, "kubernetes_node_no_proxy").split(",")
    requested = {".example.com", "10.233.64.0/18", "10.233.0.0/18", ".example.local", ".svc", "ubuntu01", "10.3.0.1"}
    assert requested | {"windows01", "10.3.0.4"} <= set(exceptions)


def test_a_hosts_own_variable_comes_first(tmp_path: pathlib.Path) -> None:
    # An empty value is also a value: these hosts need no proxy. Null is not.
    own = {"node_windows": {"kube_version": "1.35.4", "http_proxy": "", "kube_pods_subnet": None}}
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), cluster=CLUSTER, **own)
    assert value(templar, "kubernetes_node_version") == "1.35.4"
    assert value(templar, "windows_settings_http_proxy") == ""
    assert value(templar, "cni_pods_subnet") == "10.233.64.0/18"


def test_an_empty_proxy_keeps_the_clusters_from_windows_hosts(tmp_path: pathlib.Path) -> None:
    theirs = {"kube_control_plane": {"http_proxy": "http://proxy:3128", "https_proxy": "http://proxy:3129"}}
    none = {"node_windows": {"http_proxy": "", "https_proxy": ""}}
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), **theirs, **none)
    names = [f"{role}_{kind}_proxy" for role in ROLES[:3] for kind in ("http", "https")] + [
        "cni_proxy",
        "image_cache_proxy",
    ]
    assert {name: value(templar, name) for name in names} == dict.fromkeys(names, "")


def test_the_default_applies_if_neither_inventory_nor_cluster_has_a_value(tmp_path: pathlib.Path) -> None:
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"))
    assert value(templar, "cni_flannel_backend") == "host-gw"
    assert value(templar, "winkube_no_proxy") == ""
    assert value(templar, "cni_pods_subnet") == "10.244.0.0/16"
    # The cluster's own value takes precedence over a default.
    known = {**templar.available_variables, "winkube_cluster": {"pod_subnet": "10.9.0.0/16", "service_subnet": ""}}
    templar = Templar(loader=DataLoader(), variables=known)
    assert value(templar, "cni_pods_subnet") == "10.9.0.0/16"
    assert value(templar, "cni_services_subnet") == "10.96.0.0/12"


QUERIED = {
    "node_version": "1.34.4",
    "pod_subnet": "10.9.0.0/16,fd00::/56",
    "service_subnet": "10.8.0.0/16",
    "api_server": "10.3.0.99:6443",
}


def asked(templar: Templar, cluster: dict[str, str], **more: str) -> Templar:
    """Return what templates see after the cluster was queried."""
    known = {**templar.available_variables, "winkube_cluster": cluster, **more}
    return Templar(loader=DataLoader(), variables=known)


def test_the_clusters_version_applies_if_the_inventory_has_none(tmp_path: pathlib.Path) -> None:
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"))
    assert value(templar, "kubernetes_node_version") == ""
    assert value(asked(templar, QUERIED), "kubernetes_node_version") == "1.34.4"
    # A check that was skipped is registered, too.
    assert value(asked(templar, {"skipped": True}), "kubernetes_node_version") == ""  # type: ignore[dict-item]
    assert value(asked(templar, QUERIED, kube_version="v1.33.1"), "kubernetes_node_version") == "1.33.1"


@pytest.mark.parametrize("role", ["winkube_no_proxy", "kubernetes_node_no_proxy", "container_runtime_no_proxy"])
def test_networks_that_the_inventory_does_not_name_are_reached_without_the_proxy(
    tmp_path: pathlib.Path, role: str
) -> None:
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), cluster={"http_proxy": "http://proxy:3128"})
    exceptions = set(value(asked(templar, QUERIED, winkube_api_server="k8s.example.com:6443"), role).split(","))
    assert {"10.9.0.0/16", "fd00::/56", "10.8.0.0/16", "10.3.0.99", "k8s.example.com"} <= exceptions
    named = asked(templar, QUERIED, kube_pods_subnet="10.1.0.0/16", kube_service_addresses="10.2.0.0/16")
    exceptions = set(value(named, role).split(","))
    assert {"10.1.0.0/16", "10.2.0.0/16"} <= exceptions
    assert not {"10.9.0.0/16", "10.8.0.0/16"} & exceptions


def test_dockers_configuration_contains_the_proxies(tmp_path: pathlib.Path) -> None:
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), cluster={"http_proxy": "http://proxy:3128"})
    listed = value(asked(templar, QUERIED, container_runtime="moby"), "container_runtime_resources")
    (file,) = [one for one in listed if str(one.get("name")).endswith("daemon.json")]
    configuration = json.loads(file["content"])
    assert {"10.9.0.0/16", "10.8.0.0/16"} <= set(configuration["proxies"]["no-proxy"].split(","))


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (
            {"apiserver_loadbalancer_domain_name": "LB.example.com", "loadbalancer_apiserver": {"address": "10.3.0.9"}},
            {"lb.example.com": "10.3.0.9"},
        ),
        # kubespray's default, and one that is not a valid name.
        ({"apiserver_loadbalancer_domain_name": "localhost", "loadbalancer_apiserver": {"address": "10.3.0.9"}}, {}),
        ({"apiserver_loadbalancer_domain_name": "10.3.0.9", "loadbalancer_apiserver": {"address": "10.3.0.9"}}, {}),
        ({"apiserver_loadbalancer_domain_name": "lb.example.com"}, {}),
        ({}, {}),
    ],
)
def test_the_load_balancers_name_is_written_to_the_hosts_file(
    tmp_path: pathlib.Path, cluster: dict[str, t.Any], expected: dict[str, str]
) -> None:
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), cluster=cluster)
    assert value(templar, "windows_settings_hosts") == expected


def test_an_unreadable_variable_is_an_error_not_a_default(tmp_path: pathlib.Path) -> None:
    broken = {"kube_version": "{{ nothing_of_the_sort }}"}
    templar = variables(tmp_path, ("kube_control_plane", "k8s_cluster"), cluster=broken)
    with pytest.raises(AnsibleError, match="nothing_of_the_sort"):
        value(templar, "kubernetes_node_version")
