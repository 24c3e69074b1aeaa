# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A live node goes from flannel to Calico, to Azure CNI, and back to flannel: it ends as it was when it was new.

So does the cluster: what a network needs there is compared, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from integration.conftest import SiteFactory
from integration.fault_lives import differences
from integration.network_traces import Traces, mentions, traces_at_rest
from integration.playbooks import PlayRun, Site, cluster_api, cluster_nodes, node_name
from integration.test_azure_and_sdn_networks import ARCHIVE
from kubernetes import client

from simulator.artifacts import catalog
from simulator.cluster.cluster import real_unavailable

# The fixture runs site.yml seven times.
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1500)]

HOST = "vm1"
CHAIN = ("calico", "azure", "flannel")
PODS = 8
AZURE = {
    "subnet": "10.244.0.0/16",
    "primary": "10.244.0.4",
    "secondary": [f"10.244.0.{number}" for number in range(5, 5 + PODS)],
}
# flanneld.exe stays in its own folder, because Windows cannot remove a program that runs. Linux nodes may have flannel
# in the same namespace, in which Kubernetes creates the rest.
STAYS = "|".join(
    [
        r"C:\\opt\\flannel",
        "namespaces kube-flannel$",
        "service_accounts kube-flannel/default$",
        "config_maps kube-flannel/kube-root-ca.crt$",
    ]
)
# Calico's install-cni also copies CNI plugins of others.
OF_CALICO = r"|cni\\bin\\flannel\.exe$"


@dataclass(frozen=True)
class Kind:
    """A kind of chain: the cluster, how its Calico works, and how the other networks run on the node."""

    cluster: str = "memory"
    calico: Mapping[str, object] = field(default_factory=dict)
    run_as: str = "daemonset"


NO_REAL_CLUSTER = real_unavailable()
BGP = {"backend": "bird", "vxlan_mode": "Never"}
KINDS = {
    "vxlan": (Kind(), [pytest.mark.variant]),
    # These repeat the first one: on a real control plane; with BGP; and with BGP, and services in place of pods.
    "real": (
        Kind(cluster="real"),
        [
            pytest.mark.variant,
            pytest.mark.control_plane,
            pytest.mark.skipif(bool(NO_REAL_CLUSTER), reason=NO_REAL_CLUSTER),
        ],
    ),
    "bgp": (Kind(calico=BGP), [pytest.mark.variant]),
    "services": (Kind(calico=BGP, run_as="service"), [pytest.mark.variant]),
}


@dataclass(frozen=True)
class Step:
    """One change of the network: its run, another run, and what was on the node afterwards."""

    run: PlayRun
    again: PlayRun
    commands: int
    """The number of remote commands of the second run."""
    traces: Traces
    ready: bool


@dataclass(frozen=True)
class Chain:
    """The node when it was new, and each step."""

    kind: Kind
    fresh: Traces
    steps: dict[str, Step]


def deploy_workload(site: Site) -> None:
    """Run a DaemonSet on the node. A drain leaves its pod there."""
    labels = {"app": "web"}
    container = {"name": "web", "image": "mcr.microsoft.com/oss/kubernetes/pause:3.10.2"}
    selector, tolerations = {"kubernetes.io/os": "windows"}, [{"operator": "Exists"}]
    spec = {"containers": [container], "nodeSelector": selector, "tolerations": tolerations}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    client.AppsV1Api(cluster_api(site)).create_namespaced_daemon_set("default", body)


def step(site: Site, network: str, run_as: str) -> Step:
    """Change the node's network. Calico always runs as pods."""
    site.variables |= {"kube_network_plugin": network, "cni_run_as": "daemonset" if network == "calico" else run_as}
    run = site.run("site.yml").expect()
    traces_at_rest(site, HOST, node_name(HOST))
    again = site.run("site.yml").expect()
    commands = site.counters(HOST)["remote_commands"]
    found = traces_at_rest(site, HOST, node_name(HOST))
    return Step(run, again, commands, found, cluster_nodes(site)[node_name(HOST)]["ready"])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, id=name, marks=[pytest.mark.xdist_group(f"network_chain-{name}"), *marks])
        for name, (kind, marks) in KINDS.items()
    ],
)
def chain(start_site: SiteFactory, request: pytest.FixtureRequest) -> Chain:
    kind: Kind = request.param
    calico = {"install": "kubespray", "strict_affinity": True, **kind.calico}
    site = start_site(
        {"name": HOST, "windows": "2022", "azure": AZURE, "link_drop_seconds": 0.2, "time_scale": 0.02},
        cluster={"kind": kind.cluster, "calico": calico},
        kube_network_plugin="flannel",
        flannel_backend_type="vxlan",
        cni_run_as=kind.run_as,
        cni_azure_vnet_sha256=hashlib.sha256(catalog.content(ARCHIVE) or b"").hexdigest(),
        kubernetes_node_kubelet_configuration={"maxPods": PODS},
        node_maintenance_hns_grace=0.5,
    )
    assert site.world.registry is not None
    mirror = {"mirrors": [site.world.registry.url]}
    names = ("registry.k8s.io", "mcr.microsoft.com", "quay.io")
    site.variables["container_runtime_registries"] = dict.fromkeys(names, mirror)
    site.run("site.yml").expect()
    deploy_workload(site)
    fresh = traces_at_rest(site, HOST, node_name(HOST))
    return Chain(kind, fresh, {network: step(site, network, kind.run_as) for network in CHAIN})


@pytest.mark.parametrize(("network", "name"), [("calico", "Calico"), ("azure", "azure"), ("flannel", "flannel.4096")])
def test_pods_are_on_the_new_network(chain: Chain, network: str, name: str) -> None:
    found = chain.steps[network].traces["hns"]
    assert name in [one["name"] for one in found["networks"]]
    # The pod of the DaemonSet, which was there before the change.
    (endpoint,) = [one for one in found["endpoints"] if one["container"]]
    assert (endpoint["network"], endpoint["state"]) == (name, "3")


@pytest.mark.parametrize("network", CHAIN)
def test_the_node_is_ready_and_a_second_run_changes_nothing(chain: Chain, network: str) -> None:
    done = chain.steps[network]
    assert done.ready
    assert done.traces["spec"]["unschedulable"] is None
    assert done.again.recap[HOST]["changed"] == 0, done.again.changed_tasks(HOST)
    assert done.commands <= 3


ORDER = (
    "Cordon and drain",
    "Remove the node's label and annotations of the former network",
    "Remove the DaemonSets of a former network",
    "Remove the network of the former CNI plugin",
    "Remove what else the former network left, and record the node's network",
    "Let the pods of the new network run on the node",
    "Delete pods of the network and kube-proxy that are out of date",
    "Uncordon",
)
ALWAYS = {ORDER[0], *ORDER[3:5], *ORDER[6:]}
"""Azure CNI needs neither a label of the node nor a DaemonSet of its own."""
REPLACED = ORDER[6]
"""A node whose network runs as services has no such pods."""


@pytest.mark.parametrize("network", CHAIN)
def test_each_change_is_made_in_order(chain: Chain, network: str) -> None:
    tasks = [name.partition(" : ")[2] for name in chain.steps[network].run.changed_tasks(HOST)]
    made = [name for name in tasks if name in ORDER]
    assert made == [name for name in ORDER if name in made]
    assert set(made) >= ALWAYS - ({REPLACED} if chain.kind.run_as == "service" else set())


@pytest.mark.parametrize(
    ("network", "former"),
    [
        ("calico", "flannel"),
        ("azure", "flannel"),
        ("azure", "calico"),
        ("azure", "tigera"),
        ("flannel", "calico"),
        ("flannel", "azure"),
    ],
)
def test_no_name_of_a_former_network_is_left(chain: Chain, network: str, former: str) -> None:
    ignored = STAYS + (OF_CALICO if network == "calico" else "")
    # Linux nodes have Calico, and the rule of machines in Azure does not depend on the network.
    others = [] if former == "flannel" else mentions(chain.fresh, former)
    assert [name for name in mentions(chain.steps[network].traces, former, ignored) if name not in others] == []


GROUPS = r"/windows/features/RSAT(-Role-Tools|-RemoteAccess)?:"
"""Empty groups of features, which stay when Windows removes the last feature in them."""
OF_PODS = "|".join(
    [
        # Calico needs kube-proxy as a pod. Other nodes may still need its DaemonSet.
        r"/(config_maps|daemon_sets)/kube-system/kube-proxy-windows:",
        r"/files/C:\\k\\kube-proxy\\generated\.yaml:",
        # flannel's account was removed and created again, so its token differs, and so do the logs.
        r"/files/C:\\etc\\kubernetes\\flannel\.kubeconfig: \(",
        r"/files/C:\\var\\log\\(flannel|kube-proxy)\\[\w.-]+\.log: \(",
        r"/(registry|services)/.*flanneld",
    ]
)
"""What differs if the other networks run as services."""


def test_at_the_end_the_node_is_as_it_was_when_it_was_new(chain: Chain) -> None:
    ignored = GROUPS + (f"|{OF_PODS}" if chain.kind.run_as == "service" else "")
    found = differences(chain.steps["flannel"].traces, chain.fresh)
    left = [one for one in found if not (chain.kind.calico and re.match(ignored, one))]
    assert left == [], "\n".join(left)
