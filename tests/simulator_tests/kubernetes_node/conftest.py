# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines prepared as nodes, a registry of container images, and clusters; without WinRM."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from simulator_tests.waiting import wait_for

from simulator.cluster import SimulatedCluster, real_unavailable, start_cluster
from simulator.kubernetes_node.api.client import Client, read_kubeconfig
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine import families
from simulator.machine.clock import WallClock
from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.objects import ProgramResult
from simulator.machine.settings import MachineSettings

CONTAINERD = r"C:\containerd"
CONF_DIR, BIN_DIR = r"C:\etc\cni\net.d", r"C:\opt\cni\bin"
CONFIG_V2 = r"""version = 2
[plugins.'io.containerd.grpc.v1.cri']
  sandbox_image = 'registry.k8s.io/pause:3.10.2'
  [plugins.'io.containerd.grpc.v1.cri'.cni]
    bin_dir = 'C:\opt\cni\bin'
    conf_dir = 'C:\etc\cni\net.d'
  [plugins.'io.containerd.grpc.v1.cri'.registry]
    config_path = 'C:\certs.d'
"""
KUBELET = (
    r"C:\k\kubelet.exe --windows-service --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--kubeconfig=C:\etc\kubernetes\kubelet.conf --config=C:\var\lib\kubelet\config.yaml "
    r"--cert-dir=C:\var\lib\kubelet\pki"
)


def own_families() -> families.Families:
    """Return the families of kubernetes_node, and the families of Windows that they need."""
    expected = (
        "core.hosts",
        "core.cmd",
        "core.sc",
        "core.services",
        "windows.software.features",
        "windows.networking.network",
        "windows.networking.remote_access",
        "kubernetes_node",
    )
    known = families.names()
    assert [part for part in expected if not any(part in name for name in known)] == []
    return families.load(name for name in known if any(part in name for part in expected))


@dataclass
class Node:
    """A machine, and methods that install and run the programs of a node on it."""

    machine: Machine
    kubernetes: str = "1.37.1"
    containerd: str = "2.4.2"
    installed: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The node's name in the cluster."""
        return self.machine.name.lower()

    def put(self, path: str, program: str, version: str) -> None:
        """Write the executable of a simulated program to a path."""
        self.machine.files.make_directory(path.rpartition("\\")[0])
        self.machine.files.write_bytes(path, make(program, version))

    def write(self, path: str, text: str) -> None:
        """Write a file and its folders."""
        self.machine.files.make_directory(path.rpartition("\\")[0])
        self.machine.files.write_text(path, text)

    def run(self, program: str, *arguments: str, **options: Any) -> ProgramResult:
        """Run a program by its path."""
        return self.machine.programs.run(program, list(arguments), **options)

    def ctr(self, *arguments: str, **options: Any) -> ProgramResult:
        """Run ctr in the namespace k8s.io."""
        return self.run(f"{CONTAINERD}\\ctr.exe", "-n", "k8s.io", *arguments, **options)

    def start_containerd(self, config: str = CONFIG_V2) -> None:
        """Install containerd and start it as a service."""
        for program in ("containerd", "ctr"):
            self.put(f"{CONTAINERD}\\{program}.exe", program, self.containerd)
        self.write(f"{CONTAINERD}\\config.toml", config)
        self.machine.services.create(
            "containerd", rf"{CONTAINERD}\containerd.exe --run-service --config {CONTAINERD}\config.toml", Start=2
        )
        self.machine.services.start("containerd")

    def mirror(self, registry: SimulatedRegistry) -> None:
        """Configure a registry as the mirror of registry.k8s.io and mcr.microsoft.com."""
        for host in ("registry.k8s.io", "mcr.microsoft.com"):
            text = f"server = 'https://{host}'\n[host.'{registry.url}']\n  capabilities = ['pull', 'resolve']\n"
            self.write(rf"C:\certs.d\{host}\hosts.toml", text)

    def install_kubernetes(self, service: str = KUBELET, after: str = "containerd") -> None:
        r"""Install kubelet, kubeadm and kube-proxy in C:\k, add it to PATH, and create the kubelet's service.

        Args:
            service: the command line of the service, which is not started.
            after: the service that it depends on.
        """
        path = str(self.machine.registry.data(ENVIRONMENT, "Path", ""))
        self.machine.registry.set(ENVIRONMENT, "Path", rf"{path};C:\k", "ExpandString")
        for program in ("kubelet", "kubeadm", "kube-proxy"):
            self.put(rf"C:\k\{program}.exe", program, self.kubernetes)
        self.machine.services.create("kubelet", service, Start=2, DependOnService=[after])

    def install_cni(self, conf: str = CONF_DIR, binaries: str = BIN_DIR, api: int = 2) -> None:
        """Write flannel's CNI configuration and the plugins to the given folders."""
        for program in ("flannel", "win-bridge", "win-overlay", "host-local"):
            self.put(rf"{binaries}\{program}.exe", program, "1.9.0")
        delegate = {"type": "win-bridge", "apiVersion": api}
        document = {"name": "cbr0", "cniVersion": "1.0.0", "type": "flannel", "delegate": delegate}
        self.write(rf"{conf}\10-flannel.conf", json.dumps(document))

    def join_configuration(
        self, cluster: SimulatedCluster, token: str, discovery_timeout: str = "5s", **changes: Any
    ) -> None:
        r"""Write C:\join.yaml.

        Args:
            cluster: the cluster to join.
            token: the bootstrap token.
            discovery_timeout: the time limit of the discovery.
            changes: keys of `discovery.bootstrapToken` that replace these settings.
        """
        api = "v1beta3" if self.kubernetes.startswith("1.30") else "v1beta4"
        bootstrap = {
            "apiServerEndpoint": cluster.server.removeprefix("https://"),
            "token": token,
            "caCertHashes": [cluster.ca_hash],
        }
        document: dict[str, Any] = {
            "apiVersion": f"kubeadm.k8s.io/{api}",
            "kind": "JoinConfiguration",
            "discovery": {"bootstrapToken": {**bootstrap, **changes}},
            "nodeRegistration": {
                "name": self.name,
                "criSocket": "npipe:////./pipe/containerd-containerd",
                "taints": [],
            },
        }
        if api == "v1beta3":
            document["discovery"]["timeout"] = discovery_timeout
        else:
            document["timeouts"] = {
                "discovery": discovery_timeout,
                "kubeletHealthCheck": "8s",
                "tlsBootstrap": "15s",
            }
        self.write(r"C:\join.yaml", json.dumps(document))

    def join(self) -> ProgramResult:
        """Run kubeadm join."""
        return self.run(r"C:\k\kubeadm.exe", "join", "--config", r"C:\join.yaml")


@pytest.fixture
def simulated_kubeadm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Join with the simulated kubeadm; the real one waits for a second. test_join.py joins with both."""
    monkeypatch.setattr(kubeadm_real, "find", lambda dummy: None)


@pytest.fixture(scope="session")
def registry() -> Iterator[SimulatedRegistry]:
    """Start a registry with the images of the upstream registries."""
    with SimulatedRegistry() as found:
        yield found


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Yield a function that starts a machine with the feature Containers: `make_node("2019", containerd="1.7.35")`."""
    numbers = itertools.count(21)
    nodes: list[Node] = []

    def make(windows: str = "2022", *, kubernetes: str = "1.37.1", containerd: str = "2.4.2", **entry: object) -> Node:
        number = next(numbers)
        name = f"WIN-{uuid.uuid4().hex[:6]}".upper()  # tests share clusters, so each name is unique
        known: dict[str, object] = {
            "name": name,
            "address": f"127.0.9.{number}",
            "windows": windows,
            "features": ["Containers"],
            "link_drop_seconds": 0.1,
            "reboot_seconds": 0.05,
            "time_scale": 0.01,
            "watch_seconds": 0.1,
        }
        machine = Machine(MachineSettings.read({**known, **entry}), tmp_path / name, own_families())
        machine.power_on()
        nodes.append(Node(machine, kubernetes, containerd))
        return nodes[-1]

    yield make
    for node in nodes:
        node.machine.power.power_off()


@pytest.fixture
def node(make_node: Callable[..., Node], registry: SimulatedRegistry) -> Node:
    """Return a Windows Server 2022 on which containerd runs and pulls images from the registry."""
    found = make_node()
    found.mirror(registry)
    found.start_containerd()
    return found


@dataclass
class Admin:
    """A cluster and the connection of its administrator."""

    cluster: SimulatedCluster
    client: Client

    def token(self) -> str:
        """Create a bootstrap token, wait until cluster-info is signed with it, and return it."""
        name, secret = uuid.uuid4().hex[:6], uuid.uuid4().hex[:16]
        self.client.create(
            "/api/v1/namespaces/kube-system/secrets",
            {
                "metadata": {"name": f"bootstrap-token-{name}"},
                "type": "bootstrap.kubernetes.io/token",
                "stringData": {
                    "token-id": name,
                    "token-secret": secret,
                    "usage-bootstrap-authentication": "true",
                    "usage-bootstrap-signing": "true",
                    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
                },
            },
        )
        self._wait_signed(name)
        return f"{name}.{secret}"

    def _wait_signed(self, name: str, seconds: float = 60.0) -> None:
        """Wait until the controller has signed cluster-info; until then, `kubeadm join` waits and retries."""

        def is_signed() -> bool:
            found = self.client.find("/api/v1/namespaces/kube-public/configmaps/cluster-info") or {}
            return f"jws-kubeconfig-{name}" in (found.get("data") or {})

        wait_for(is_signed, f"cluster-info is signed with token {name}", seconds)

    def ready(self, name: str) -> tuple[str, str]:
        """Return the (status, message) of a node's condition Ready; empty strings without the node or the condition."""
        found = self.client.find(f"/api/v1/nodes/{name}")
        for condition in ((found or {}).get("status") or {}).get("conditions") or []:
            if condition["type"] == "Ready":
                return condition["status"], condition["message"]
        return "", ""

    def wait_ready(self, name: str, status: str, message: str = "") -> None:
        """Wait until a node's condition Ready has a status, and a message that contains a text."""
        wait_for(
            lambda: self.ready(name)[0] == status and message in self.ready(name)[1],
            f"Ready={status} ({message}); it is {self.ready(name)}",
        )


# The tests of playbooks use a real control plane as well.
@pytest.fixture(scope="session", params=["memory", pytest.param("real", marks=pytest.mark.variant)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Admin]:
    """Start a cluster of each kind."""
    if request.param == "real" and (reason := real_unavailable()):
        pytest.skip(reason)
    with start_cluster(kind=request.param) as found:
        yield Admin(found, administrator(found))


def administrator(cluster: SimulatedCluster) -> Client:
    """Return a connection of the cluster's administrator from this host."""
    # A connection uses these parts of a machine: the link, the files and the clock. Here they are this host's.
    files = SimpleNamespace(is_file=lambda path: Path(path).is_file(), read_text=lambda path: Path(path).read_text())
    host: Any = SimpleNamespace(network=SimpleNamespace(is_up=True), files=files, clock=WallClock())
    return Client(host, read_kubeconfig(host, str(cluster.kubeconfig)))
