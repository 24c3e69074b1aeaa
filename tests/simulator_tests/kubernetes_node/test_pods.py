# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Pods run: images for the build, HostProcess containers on the host, flannel and kube-proxy with their HNS objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.registry.server import SimulatedRegistry

from . import manifests
from .conftest import CONFIG_V2, Admin, Node

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("simulated_kubeadm")]

NANO = "mcr.microsoft.com/windows/nanoserver:ltsc2022"


def join(node: Node, cluster: Admin) -> Node:
    node.install_kubernetes()
    node.join_configuration(cluster.cluster, cluster.token())
    result = node.join()
    assert result.exit_code == 0, result.stderr
    return node


def create(cluster: Admin, document: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Create an object, and return a function that reads it."""
    kind = {"Pod": "pods", "ConfigMap": "configmaps"}[document["kind"]]
    path = f"/api/v1/namespaces/default/{kind}"
    cluster.client.create(path, document)
    return lambda: cluster.client.get(f"{path}/{document['metadata']['name']}")


def statuses(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return list((pod.get("status") or {}).get("containerStatuses") or [])


def waiting(read: Callable[[], dict[str, Any]], reason: str) -> str:
    """Wait until a container waits for a reason, and return its message."""

    def message() -> Any:
        for item in statuses(read()):
            about = item["state"].get("waiting") or {}
            if about.get("reason") == reason:
                return about.get("message") or " "
        return None

    return str(wait_for(message, f"{reason}; it is {statuses(read())}"))


def running(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    def running_pod() -> dict[str, Any] | None:
        pod = read()
        states = statuses(pod)
        return pod if states and all("running" in item["state"] for item in states) else None

    return dict(wait_for(running_pod, f"running; it is {read().get('status')}"))


def service(cluster: Admin, name: str, address: str) -> None:
    """Create a Service with one endpoint."""
    ports = [{"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"}]
    document = {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": ports}}
    cluster.client.create("/api/v1/namespaces/default/services", document)
    endpoints = [{"addresses": ["10.244.200.9"], "conditions": {"ready": True}}]
    labels = {"kubernetes.io/service-name": name}
    cluster.client.create(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {
            "metadata": {"name": f"{name}-1", "labels": labels},
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}],
        },
    )


def allow_accounts(cluster: Admin, name: str) -> None:
    """Give the default service account the role cluster-admin, for flannel and kube-proxy."""
    cluster.client.create(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
        },
    )


def with_flannel(node: Node, cluster: Admin, backend: str = "host-gw") -> Callable[[], dict[str, Any]]:
    """Install flannel's programs on the node, create its pod, and return a function that reads the pod."""
    node.put(r"C:\opt\flannel\flanneld.exe", "flanneld", "0.28.0")
    for program in ("flannel", "win-bridge", "win-overlay", "host-local"):
        node.put(rf"C:\opt\cni\bin\{program}.exe", program, "1.9.0")
    node.machine.files.make_directory(r"C:\etc\cni\net.d")
    name = f"flannel-{node.name}"
    allow_accounts(cluster, name)
    create(cluster, manifests.flannel_config(name, cluster.cluster.server, backend))
    return create(cluster, manifests.flannel(node.name, name))


def test_flannel_brings_the_network_and_the_node_is_ready(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    assert hns.store(node.machine).networks() == []
    cluster.wait_ready(node.name, "False", "cni plugin not initialized")

    pod = running(with_flannel(node, cluster))

    assert pod["status"]["podIP"] == node.machine.address
    cluster.wait_ready(node.name, "True")
    (network,) = wait_for(lambda: hns.store(node.machine).networks(), "an HNS network")
    found = cluster.client.get(f"/api/v1/nodes/{node.name}")
    assert (network.name, network.kind, network.subnet) == ("cbr0", "L2Bridge", found["spec"]["podCIDR"])
    wait_for(lambda: node.machine.network.drops == 1, "the new switch dropped the link once")
    subnet = wait_for(lambda: node.machine.files.exists(r"C:\run\flannel\subnet.env"), "the subnet file")
    assert subnet
    text = node.machine.files.read_text(r"C:\run\flannel\subnet.env")
    assert text.startswith("FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=")
    annotations = cluster.client.get(f"/api/v1/nodes/{node.name}")["metadata"]["annotations"]
    assert annotations["flannel.alpha.coreos.com/backend-type"] == "host-gw"
    assert annotations["flannel.alpha.coreos.com/public-ip"] == node.machine.address


def test_an_ordinary_pod_gets_and_releases_an_endpoint(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    with_flannel(node, cluster)
    cluster.wait_ready(node.name, "True")
    wait_for(lambda: node.machine.files.exists(r"C:\run\flannel\subnet.env"), "the subnet file")
    name = f"web-{node.name}"

    pod = running(create(cluster, manifests.pod(name, node.name, [{"name": "web", "image": NANO}])))

    address = pod["status"]["podIP"]
    network = hns.store(node.machine).networks()[0]
    assert address.rpartition(".")[0] == network.subnet.rpartition(".")[0]
    (endpoint,) = [item for item in hns.store(node.machine).endpoints() if item.address == address]
    assert endpoint.container
    assert node.machine.files.exists(rf"C:\var\lib\cni\networks\cbr0\{address}")
    cluster.client.delete(f"/api/v1/namespaces/default/pods/{name}")
    wait_for(lambda: cluster.client.find(f"/api/v1/namespaces/default/pods/{name}") is None, "the pod is gone")
    assert not [item for item in hns.store(node.machine).endpoints() if item.container]
    assert not node.machine.files.exists(rf"C:\var\lib\cni\networks\cbr0\{address}")


def test_vxlan_makes_an_overlay(node: Node, cluster: Admin) -> None:
    join(node, cluster)

    running(with_flannel(node, cluster, "vxlan"))

    (network,) = wait_for(lambda: hns.store(node.machine).networks(), "an HNS network")
    assert (network.name, network.kind, network.vni) == ("flannel.4096", "Overlay", 4096)


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ({"Type": "vxlan", "VNI": 1}, "config. VNI [1] must be greater than or equal to 4096 on Windows"),
        ({"Type": "vxlan", "VNI": 4096, "Port": 8472}, "config. Port [8472] is not supported on Windows. Omit the"),
        ({"Type": "wireguard"}, "unknown backend type: wireguard"),
    ],
)
def test_flanneld_refuses_invalid_backends(node: Node, cluster: Admin, backend: dict[str, Any], message: str) -> None:
    join(node, cluster)
    node.put(r"C:\flanneld.exe", "flanneld", "0.28.0")
    node.write(r"C:\net-conf.json", json.dumps({"Network": "10.244.0.0/16", "Backend": backend}))
    arguments = (
        "-kube-subnet-mgr",
        r"-kubeconfig-file=C:\etc\kubernetes\kubelet.conf",
        r"-net-config-path=C:\net-conf.json",
    )
    wait_for(lambda: cluster.client.find(f"/api/v1/nodes/{node.name}"), "the node registers")

    result = node.run(r"C:\flanneld.exe", *arguments, environment={"NODE_NAME": node.name})

    assert result.exit_code == 1
    assert message in result.stderr


def test_kube_proxy_waits_for_the_network_and_makes_load_balancers(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    name = f"proxy-{node.name}"
    allow_accounts(cluster, name)
    data = {"kubeconfig.conf": manifests.kubeconfig(cluster.cluster.server)}
    create(
        cluster,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data},
    )
    node.write(
        r"C:\k\kube-proxy\config.yaml",
        json.dumps(
            {
                "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
                "kind": "KubeProxyConfiguration",
                "mode": "kernelspace",
                "clientConnection": {"kubeconfig": r"C:\var\run\access\kubeconfig.conf"},
                "winkernel": {"networkName": "cbr0"},
            }
        ),
    )
    container = {
        "name": "kube-proxy",
        "image": manifests.BASE,
        "command": [r"C:\k\kube-proxy.exe"],
        "args": [r"--config=C:\k\kube-proxy\config.yaml"],
        "volumeMounts": manifests.MOUNTS,
    }

    running(create(cluster, manifests.host_process(name, node.name, [container], volumes=[manifests.access(name)])))

    assert hns.store(node.machine).policies() == []
    with_flannel(node, cluster)
    service(cluster, name, "10.96.7.7")
    wait_for(lambda: any(item.vip == "10.96.7.7" for item in hns.store(node.machine).policies()), "a load balancer")
    (policy,) = [item for item in hns.store(node.machine).policies() if item.vip == "10.96.7.7"]
    (endpoint,) = [item for item in hns.store(node.machine).endpoints() if item.id in policy.endpoints]
    assert (policy.port, policy.target_port, endpoint.address, endpoint.remote) == (80, 8080, "10.244.200.9", True)


def test_an_image_without_the_build_is_not_pulled(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin
) -> None:
    node = make_node("2019")
    node.mirror(registry)
    node.start_containerd()
    node.install_cni()
    join(node, cluster)
    container = {"name": "web", "image": NANO, "imagePullPolicy": "IfNotPresent"}

    read = create(cluster, manifests.host_process(f"wrong-{node.name}", node.name, [container]))

    message = waiting(read, "ErrImagePull")
    assert "rpc error: code = NotFound desc = " in message
    assert "no match for platform in manifest" in message
    waiting(read, "ImagePullBackOff")


def test_an_image_that_does_not_exist(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    container = {"name": "web", "image": "registry.k8s.io/nothing:1"}

    read = create(cluster, manifests.host_process(f"missing-{node.name}", node.name, [container]))

    image = 'image "registry.k8s.io/nothing:1"'
    message = waiting(read, "ErrImagePull")
    assert message.startswith(f"rpc error: code = Unknown desc = failed to pull and unpack {image}: failed to resolve")


def test_without_the_sandbox_image_no_pod_begins(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin
) -> None:
    node = make_node()
    node.mirror(registry)
    node.start_containerd(CONFIG_V2.replace("pause:3.10.2", "pause:0.0"))
    join(node, cluster)

    read = create(
        cluster,
        manifests.host_process(
            f"sandbox-{node.name}", node.name, [{"name": "c", "image": manifests.BASE, "command": ["x"]}]
        ),
    )

    wait_for(
        lambda: 'failed to get sandbox image "registry.k8s.io/pause:0.0"' in str(read()["status"].get("message")),
        "the pod says why",
    )
    waiting(read, "ContainerCreating")


@pytest.mark.parametrize(
    ("program", "why"),
    [(r"C:\no\such.exe", "cannot find the file specified"), ("robocopy", "does not model the program robocopy")],
)
def test_a_program_that_cannot_be_started(node: Node, cluster: Admin, program: str, why: str) -> None:
    join(node, cluster)
    container = {"name": "c", "image": manifests.BASE, "command": [program]}

    read = create(cluster, manifests.host_process(f"crash-{node.name}", node.name, [container]))

    message = waiting(read, "CrashLoopBackOff")
    assert f"0s restarting failed container=c pod=crash-{node.name}_default(" in message
    state = statuses(read())[0]
    assert state["restartCount"] >= 1
    ended = state["lastState"]["terminated"]
    assert (ended["reason"], why in ended["message"]) == ("StartError", True)


def test_a_kubelet_with_a_resolv_conf_makes_no_pod(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    node.write(r"C:\drop\10.conf", json.dumps({**head, "resolvConf": "/etc/resolv.conf"}))
    from .conftest import KUBELET

    node.machine.services.configure("kubelet", ImagePath=KUBELET + r" --config-dir=C:\drop")
    node.machine.services.stop("kubelet")
    node.machine.services.start("kubelet")

    read = create(
        cluster,
        manifests.host_process(
            f"dns-{node.name}", node.name, [{"name": "c", "image": manifests.BASE, "command": ["x"]}]
        ),
    )

    message = 'Failed to create pod sandbox: Unexpected resolver config value: "/etc/resolv.conf".'
    wait_for(lambda: message in str((read().get("status") or {}).get("message")), "the pod says why")


def test_volumes_are_where_the_container_sees_them(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    name = f"mount-{node.name}"
    create(
        cluster,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"},
            "data": {"a.txt": "hello"},
        },
    )
    container = {
        "name": "c",
        "image": manifests.BASE,
        "command": ["cmd.exe"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "args": [
            "/c",
            r"copy C:\data\a.txt C:\direct.txt & copy %CONTAINER_SANDBOX_MOUNT_POINT%\data\a.txt C:\below.txt",
        ],
    }
    volumes = [{"name": "data", "configMap": {"name": name}}]

    read = create(cluster, manifests.host_process(name, node.name, [container], volumes=volumes, restartPolicy="Never"))

    wait_for(
        lambda: (read().get("status") or {}).get("phase") == "Succeeded", f"the pod succeeds; {read().get('status')}"
    )
    assert node.machine.files.read_text(r"C:\direct.txt") == node.machine.files.read_text(r"C:\below.txt") == "hello"
    assert not node.machine.files.exists(r"C:\data")


def test_a_pod_links_its_volume_again_each_time(node: Node, cluster: Admin) -> None:
    join(node, cluster)
    node.machine.files.make_directory(r"C:\k\kube-proxy")
    volume = {"name": "access", "emptyDir": {}}
    folder = r"cd /d C:\k\kube-proxy"
    line = rf"{folder}&& rmdir access & {folder}&& mklink /J access C:\var\lib\kubelet\pods\$(POD_UID)\volumes"
    container = {
        "name": "c",
        "image": manifests.BASE,
        "command": ["cmd.exe"],
        "args": ["/c", line],
        "env": manifests.ENVIRONMENT,
    }
    for number in (1, 2):
        name = f"link-{number}-{node.name}"
        document = manifests.host_process(name, node.name, [container], volumes=[volume], restartPolicy="Never")
        read = create(cluster, document)

        wait_for(lambda: (read().get("status") or {}).get("phase") == "Succeeded", "the pod succeeds")  # noqa: B023

        assert node.machine.files.is_directory(r"C:\k\kube-proxy\access\kubernetes.io~empty-dir")
        cluster.client.delete(f"/api/v1/namespaces/default/pods/{name}")
        wait_for(lambda: not node.machine.files.exists(r"C:\k\kube-proxy\access"), "the pod's folder is gone")


def test_volumes_lie_below_the_root_only_under_containerd_1_6(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin
) -> None:
    node = make_node("2019", containerd="1.6.36")
    node.mirror(registry)
    node.start_containerd()
    join(node, cluster)
    name = f"old-{node.name}"
    config = {"metadata": {"name": name, "namespace": "default"}, "data": {"a.txt": "hello"}}
    create(cluster, {"apiVersion": "v1", "kind": "ConfigMap", **config})
    line = r"copy %CONTAINER_SANDBOX_MOUNT_POINT%\data\a.txt C:\below.txt & copy C:\data\a.txt C:\direct.txt"
    container = {
        "name": "c",
        "image": manifests.BASE,
        "command": ["cmd.exe"],
        "args": ["/c", line],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [{"name": "data", "configMap": {"name": name}}]

    read = create(cluster, manifests.host_process(name, node.name, [container], volumes=volumes, restartPolicy="Never"))

    wait_for(lambda: (read().get("status") or {}).get("phase") == "Failed", f"the pod ends; {read().get('status')}")
    assert node.machine.files.read_text(r"C:\below.txt") == "hello"
    assert not node.machine.files.exists(r"C:\direct.txt")
