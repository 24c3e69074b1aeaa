# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Docker as a node's runtime: dockerd's configuration and service, cri-dockerd run by nssm, pods as containers."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.cri import interface as cri
from simulator.kubernetes_node.cri.interface import PodConfig, RuntimeFailure
from simulator.kubernetes_node.cri.shims import ContainerCommand
from simulator.kubernetes_node.docker import dockerd
from simulator.kubernetes_node.hns import fixtures
from simulator.kubernetes_node.nssm import program as nssm
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.objects import ProgramResult
from simulator.machine.services import ServiceError

from . import manifests
from .conftest import CONF_DIR, Admin, Node

pytestmark = pytest.mark.waits

DOCKER, JSON = r"C:\Program Files\docker", r"C:\ProgramData\docker\config\daemon.json"
PIPE = "npipe:////./pipe/cri-dockerd"
PAUSE = "registry.k8s.io/pause:3.10.2"


def install_docker(node: Node, registry: SimulatedRegistry, version: str = "28.5.1", **daemon: Any) -> None:
    """Install and start dockerd with --register-service, and pull the pause image from the registry."""
    for name in ("docker", "dockerd"):
        node.put(rf"{DOCKER}\{name}.exe", name, version)
    node.write(JSON, json.dumps(daemon))
    assert node.run(rf"{DOCKER}\dockerd.exe", "--register-service").exit_code == 0
    node.machine.services.start("docker")
    node.run(rf"{DOCKER}\docker.exe", "pull", f"{registry.address}:{registry.port}/pause:3.10.2")
    node.run(rf"{DOCKER}\docker.exe", "tag", f"{registry.address}:{registry.port}/pause:3.10.2", PAUSE)


def install_cri(node: Node, *more: str, version: str = "0.3.20") -> None:
    """Install cri-dockerd as a service of nssm, with nssm's commands."""
    node.put(r"C:\nssm\nssm.exe", "nssm", "2.24")
    node.put(r"C:\Program Files\cri-dockerd\cri-dockerd.exe", "cri-dockerd", version)
    arguments = [f"--pod-infra-container-image={PAUSE}", rf"--cni-conf-dir={CONF_DIR}", r"--cni-bin-dir=C:\opt\cni\bin"]
    path = r"C:\Program Files\cri-dockerd\cri-dockerd.exe"
    for words in (
        ["install", "cri-dockerd", path, *arguments, *more],
        ["set", "cri-dockerd", "DependOnService", "docker"],
        ["start", "cri-dockerd"],
    ):
        result = node.run(r"C:\nssm\nssm.exe", *words)
        assert result.exit_code == 0, result


@pytest.fixture
def docker_node(make_node: Callable[..., Node], registry: SimulatedRegistry) -> Node:
    """Return a Windows Server 2022 with dockerd, cri-dockerd, flannel's CNI configuration and network."""
    node = make_node()
    install_docker(node, registry)
    install_cri(node)
    node.install_cni(api=1)
    node.write(r"C:\run\flannel\subnet.env", manifests.SUBNET_ENV)
    fixtures.add_network(node.machine, "cbr0", "L2Bridge", "10.244.9.0/24", "10.244.9.1")
    wait_for(lambda: cri.connect(node.machine, PIPE), "cri-dockerd answers")
    return node


def runtime_of(node: Node) -> cri.CriRuntime:
    found = cri.connect(node.machine, PIPE)
    assert found is not None
    return found


def names(node: Node, *more: str) -> list[str]:
    result = node.run(rf"{DOCKER}\docker.exe", "ps", *more, "--format", "{{.Names}}")
    assert result.exit_code == 0, result
    return result.stdout.split()


def test_pods_are_containers_of_docker(docker_node: Node) -> None:
    node, runtime = docker_node, runtime_of(docker_node)
    sandbox = runtime.run_sandbox(PodConfig("web", "default", "u1"))
    image = runtime.image(PAUSE)
    assert image is not None
    container = runtime.run_container(sandbox, "app", image, ContainerCommand(("app.exe",)), attempt=0, log=r"C:\0.log")

    assert sorted(names(node)) == ["k8s_POD_web_default_u1_0", "k8s_app_web_default_u1_0"]
    (endpoint,) = hns.store(node.machine).endpoints_of(sandbox.id)
    assert (endpoint.address, endpoint.namespace, endpoint.shared) == (sandbox.address, "", [sandbox.id])
    assert sandbox.address == "10.244.9.2"
    assert container.alive

    assert node.run(rf"{DOCKER}\docker.exe", "rm", "-f", "k8s_app_web_default_u1_0").exit_code == 0
    assert runtime.containers() == []
    assert node.run(rf"{DOCKER}\docker.exe", "stop", "k8s_POD_web_default_u1_0").exit_code == 0
    assert [item.ready for item in runtime.sandboxes()] == [False]
    runtime.remove_sandbox(sandbox)
    assert names(node, "-a") == []
    assert hns.store(node.machine).endpoints_of(sandbox.id) == []


def test_crictl_speaks_to_cri_dockerd(docker_node: Node) -> None:
    node = docker_node
    node.put(r"C:\k\crictl.exe", "crictl", "1.34.0")

    def crictl(*words: str) -> Any:
        return json.loads(node.run(r"C:\k\crictl.exe", "-r", PIPE, *words, "-o", "json").stdout)

    runtime_of(node).run_sandbox(PodConfig("web", "default", "u1"))
    (pod,) = crictl("pods")["items"]
    assert (pod["metadata"]["name"], pod["state"]) == ("web", "SANDBOX_READY")
    info = crictl("info")
    assert [item["status"] for item in info["status"]["conditions"]] == [True, True]
    assert info["config"]["sandboxImage"] == PAUSE
    assert any(PAUSE in item["repoTags"] for item in crictl("images")["images"])
    assert "RuntimeName:  docker" in node.run(r"C:\k\crictl.exe", "-r", PIPE, "version").stdout
    assert node.run(r"C:\k\crictl.exe", "-r", dockerd.PIPE, "pods").exit_code == 1, "dockerd's own pipe speaks no CRI"

    node.machine.services.configure("cri-dockerd", DependOnService=None)
    node.machine.services.stop("docker")
    result = node.run(r"C:\k\crictl.exe", "-r", PIPE, "pods")
    assert (result.exit_code, "Is the docker daemon running?" in result.stderr) == (1, True)
    assert [item["reason"] for item in crictl("info")["status"]["conditions"]] == ["DockerDaemonNotReady", ""]


def test_images_that_cannot_be_built_or_pulled_under_docker(docker_node: Node) -> None:
    """HostProcess pods use the host's network, and plugins of apiVersion 2 need an HNS namespace, so both fail."""
    node, runtime = docker_node, runtime_of(docker_node)
    with pytest.raises(RuntimeFailure, match="Error response from daemon: network host not found"):
        runtime.run_sandbox(PodConfig("proxy", "kube-system", "u2", host_network=True, host_process=True))
    document = json.loads(node.machine.files.read_text(rf"{CONF_DIR}\10-flannel.conf"))
    document["delegate"]["apiVersion"] = 2
    node.write(rf"{CONF_DIR}\10-flannel.conf", json.dumps(document))
    with pytest.raises(RuntimeFailure, match="networkPlugin cni failed to set up pod"):
        runtime.run_sandbox(PodConfig("web", "default", "u3"))
    assert names(node, "-a") == []
    node.machine.files.delete(rf"{CONF_DIR}\10-flannel.conf")
    with pytest.raises(RuntimeFailure, match="cni"):
        runtime.run_sandbox(PodConfig("web", "default", "u3"))


def test_created_objects_can_be_listed(docker_node: Node) -> None:
    """Pods continue to run during a restart of cri-dockerd. A reboot of the machine ends them."""
    node = docker_node
    made = runtime_of(node).run_sandbox(PodConfig("web", "default", "u1"))
    assert node.run(r"C:\nssm\nssm.exe", "restart", "cri-dockerd").exit_code == 0
    wait_for(lambda: cri.connect(node.machine, PIPE), "cri-dockerd answers again")
    (found,) = runtime_of(node).sandboxes()
    assert (found.id, found.ready, found.address, found.network) == (made.id, True, made.address, "cbr0")

    node.machine.power.reset()
    wait_for(lambda: cri.connect(node.machine, PIPE), "cri-dockerd answers after the boot")
    assert [item.ready for item in runtime_of(node).sandboxes()] == [False]
    assert runtime_of(node).image(PAUSE) is not None


def test_cri_dockerd_needs_dockerd_and_knows_its_flags(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    node = make_node()
    node.put(r"C:\cri\cri-dockerd.exe", "cri-dockerd", "0.3.20")
    result = node.run(r"C:\cri\cri-dockerd.exe")
    assert (result.exit_code, "Is the docker daemon running?" in result.stderr) == (1, True)
    install_docker(node, registry)
    for words, message in (
        (["--windows-service"], "unknown flag: --windows-service"),
        (["--network-plugin=calico"], "didn't find compatible CNI plugin"),
        (["run"], "Unknown command: run"),
    ):
        result = node.run(r"C:\cri\cri-dockerd.exe", *words)
        assert (result.exit_code, message in result.stderr) == (1, True), result
    assert "cri-dockerd 0.3.20" in node.run(r"C:\cri\cri-dockerd.exe", "--version").stdout
    node.machine.services.create("cri-dockerd", r"C:\cri\cri-dockerd.exe", Start=2)
    with pytest.raises(ServiceError) as raised:
        node.machine.services.start("cri-dockerd")
    assert raised.value.code == 1053, "it speaks to no service manager"


def test_nssm_starts_its_application_again_and_writes_its_log(make_node: Callable[..., Node]) -> None:
    node = make_node(time_scale=0.001)
    node.put(r"C:\nssm\nssm.exe", "nssm", "2.24")
    node.put(r"C:\cri\cri-dockerd.exe", "cri-dockerd", "0.3.20")
    node.machine.files.make_directory(r"C:\logs")
    node.machine.services.create("cri-dockerd", r"C:\nssm\nssm.exe", Start=2)
    key, registry = nssm.parameters("cri-dockerd"), node.machine.registry
    with pytest.raises(ServiceError):
        node.machine.services.start("cri-dockerd")
    registry.set(key, "Application", r"C:\cri\cri-dockerd.exe", "ExpandString")
    registry.set(key, "AppStderr", r"C:\logs\cri.log", "ExpandString")

    node.machine.services.start("cri-dockerd")

    log = r"C:\logs\cri.log"
    wait_for(lambda: node.machine.files.is_file(log) and node.machine.files.read_text(log).count("fatal") > 1, "twice")
    assert node.machine.services.get("cri-dockerd").state == "Running"  # type: ignore[union-attr]
    node.machine.services.stop("cri-dockerd")
    registry.set(f"{key}\\AppExit", "", "Exit", "ExpandString")
    node.machine.services.start("cri-dockerd")
    wait_for(lambda: node.machine.services.get("cri-dockerd").state == "Stopped", "nssm ends with it")  # type: ignore[union-attr]


def test_nssm_commands(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.put(r"C:\nssm\nssm.exe", "nssm", "2.24")
    node.put(r"C:\my apps\app.exe", "flanneld", "0.28.0")

    def run(*words: str, code: int = 0) -> str:
        result = node.run(r"C:\nssm\nssm.exe", *words)
        assert result.exit_code == code, result
        return (result.stdout + result.stderr).replace("\0", "").strip()

    assert "installed successfully" in run("install", "app", r"C:\my apps\app.exe", "-a", "b c")
    assert run("get", "app", "AppParameters") == '-a "b c"'
    assert run("get", "app", "AppDirectory") == r"C:\my apps"
    assert run("set", "app", "AppEnvironmentExtra", "NODE_NAME=n", "X=1").startswith("Set parameter")
    assert run("get", "app", "AppEnvironmentExtra") == "NODE_NAME=n\r\nX=1"
    assert run("get", "app", "AppEnvironmentExtra", "X") == "1"
    run("set", "app", "Start", "SERVICE_DEMAND_START")
    assert run("get", "app", "Start") == "SERVICE_DEMAND_START"
    assert run("status", "app") == "SERVICE_STOPPED"
    run("set", "app", "AppExit", "Default", "Exit")
    assert run("get", "app", "AppExit") == "Exit"
    assert "Invalid parameter" in run("set", "app", "AppFoo", "1", code=1)
    assert "Invalid number" in run("set", "app", "AppThrottle", "soon", code=1)
    assert "already exists" in run("install", "app", r"C:\my apps\app.exe", code=5)
    assert "does not exist" in run("status", "none", code=3)
    assert run("remove", "app", "confirm").endswith("removed successfully!")
    assert not node.machine.services.exists("app")


def join(node: Node, cluster: Admin) -> None:
    """Install Kubernetes and join with cri-dockerd's pipe as criSocket."""
    node.install_kubernetes(after="cri-dockerd")
    node.join_configuration(cluster.cluster, cluster.token())
    document = json.loads(node.machine.files.read_text(r"C:\join.yaml"))
    document["nodeRegistration"]["criSocket"] = PIPE
    node.write(r"C:\join.yaml", json.dumps(document))
    result = node.join()
    assert result.exit_code == 0, result.stderr


def wrap(node: Node, name: str, program: str, *arguments: str, **environment: str) -> None:
    """Create and start a service of nssm by writing its values to the registry before the service exists."""
    key, registry = nssm.parameters(name), node.machine.registry
    registry.set(key, "Application", program, "ExpandString")
    registry.set(key, "AppParameters", " ".join(arguments), "ExpandString")
    registry.set(key, "AppEnvironmentExtra", [f"{key}={value}" for key, value in environment.items()], "MultiString")
    registry.set(key, "AppStderr", rf"C:\logs\{name}.log", "ExpandString")
    assert not node.machine.services.exists(name), "a key without ImagePath is no service"
    node.machine.services.create(name, r"C:\nssm\nssm.exe", Start=2)
    node.machine.services.start(name)


def test_a_node_with_docker_joins_and_its_network_comes_from_services(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin
) -> None:
    """flanneld as a service of nssm and kube-proxy as a native service replace the HostProcess pods."""
    node = make_node()
    node.machine.files.make_directory(r"C:\logs")
    install_docker(node, registry)
    install_cri(node)
    node.install_cni(api=1)
    join(node, cluster)
    cluster.wait_ready(node.name, "True")
    found = cluster.client.get(f"/api/v1/nodes/{node.name}")
    assert found["status"]["nodeInfo"]["containerRuntimeVersion"] == "docker://28.5.1"
    subnet = ipaddress.ip_network(found["spec"]["podCIDR"])

    node.put(r"C:\flannel\flanneld.exe", "flanneld", "0.28.0")
    node.write(r"C:\flannel\net-conf.json", json.dumps(manifests.NETWORKS["host-gw"]))
    node.write(r"C:\admin.conf", cluster.cluster.kubeconfig.read_text())
    arguments = ["-kube-subnet-mgr", r"-kubeconfig-file=C:\admin.conf", r"-net-config-path=C:\flannel\net-conf.json"]
    wrap(node, "flanneld", r"C:\flannel\flanneld.exe", *arguments, NODE_NAME=node.name)
    proxy = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "kernelspace",
             "clientConnection": {"kubeconfig": r"C:\admin.conf"}, "winkernel": {"networkName": "cbr0"}}  # fmt: skip
    node.write(r"C:\k\kube-proxy.yaml", json.dumps(proxy))
    line = r"C:\k\kube-proxy.exe --windows-service --config=C:\k\kube-proxy.yaml"
    node.machine.services.create("kube-proxy", line, Start=2)
    node.machine.services.start("kube-proxy")

    store = hns.store(node.machine)
    wait_for(lambda: store.network_named("cbr0"), "flanneld makes its network")
    path = "/api/v1/namespaces/default/pods"
    cluster.client.create(path, manifests.pod("web", node.name, [{"name": "app", "image": PAUSE}]))
    wait_for(lambda: sum("_web_default_" in name for name in names(node)) == 2, "a sandbox and a container")
    wait_for(lambda: store.policies(), "kube-proxy makes load balancers")
    wait_for(lambda: (cluster.client.get(f"{path}/web").get("status") or {}).get("phase") == "Running", "the pod runs")
    assert cluster.client.get(f"{path}/web")["status"]["podIP"].startswith(str(subnet[0]).rpartition(".")[0])
    document = manifests.host_process("proxy", node.name, [{"name": "app", "image": PAUSE}])
    cluster.client.create(path, document)
    node.machine.services.stop("kubelet")
    node.machine.services.start("kubelet")
    wait_for(lambda: "proxy" in str(cluster.client.get(f"{path}/proxy").get("status")), "kubelet looks at it")
    assert cluster.client.get(f"{path}/proxy")["status"]["phase"] == "Pending"
    assert sum("_web_default_" in name for name in names(node)) == 2, "a new kubelet finds what the old one made"

    for name in ("web", "proxy"):
        cluster.client.delete(f"{path}/{name}", {"gracePeriodSeconds": 0})
    wait_for(lambda: names(node, "-a") == [], "their containers go")
    for service in ("cri-dockerd", "kubelet"):
        node.machine.services.configure(service, DependOnService=None)
    node.machine.services.stop("docker")
    cluster.wait_ready(node.name, "False", "RuntimeReady=false reason:DockerDaemonNotReady")
    node.machine.services.start("docker")
    cluster.wait_ready(node.name, "True")


def test_a_kubelet_exits_if_the_cri_does_not_respond(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    """Since 1.24, Docker without cri-dockerd is not a runtime for the kubelet."""
    node = make_node()
    install_docker(node, registry)
    node.put(r"C:\k\kubelet.exe", "kubelet", "1.34.4")

    def kubelet(pipe: str) -> ProgramResult:
        return node.run(r"C:\k\kubelet.exe", f"--container-runtime-endpoint={pipe}", timeout=5)

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(kubelet, (PIPE, dockerd.PIPE)))
    for result in results:
        assert (result.exit_code, "validate CRI v1 runtime API" in result.stderr) == (1, True), result
