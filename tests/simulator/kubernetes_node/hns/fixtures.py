# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Test helpers that turn a machine into a node in use, with services, HNS networks, pods, and leftovers of old pods.

`populate(machine, "flannel-host-gw", running=3, stale=2)` creates the same networks as the CNI plugins (`networks.py`).
The call takes milliseconds, and does not interrupt the machine's network connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cni import plugins as cni
from simulator.kubernetes_node.cri import shims
from simulator.kubernetes_node.cri.shims import Container, Sandbox
from simulator.kubernetes_node.hns import networks as hns_networks
from simulator.kubernetes_node.hns import ports
from simulator.kubernetes_node.hns.networks import SCENES, Plan
from simulator.kubernetes_node.hns.objects import CREATED, DETACHED, Endpoint, HnsState, Namespace, Network, PolicyList
from simulator.kubernetes_node.hns.service import HnsStore, new_id
from simulator.machine.executables import make

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

CONTAINERD = r"C:\Program Files\containerd\bin"
KUBERNETES = r"C:\k"
ENVIRONMENT = r"HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
CONFIG = r"""version = 2
[plugins.'io.containerd.grpc.v1.cri'.cni]
  bin_dir = 'C:\opt\cni\bin'
  conf_dir = 'C:\etc\cni\net.d'
"""


@dataclass
class Scene:
    """The HNS objects that were created on a machine: the names of the networks, and the ids of all other objects.

    Args:
        networks: the names of the networks.
        running: endpoints of running pods.
        stale: endpoints of pods that are gone.
        creating: endpoints of pods that are being created.
        remote: endpoints of pods on other nodes.
        host: endpoints of the host itself.
        policies: policy lists that contain only live endpoints.
        stale_policies: policy lists that contain only stale endpoints.
        mixed_policies: policy lists that contain live and stale endpoints.
        dangling_policies: policy lists whose endpoints no longer exist.
        orphans: namespaces with neither an owner nor endpoints.
    """

    networks: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    creating: list[str] = field(default_factory=list)
    remote: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    stale_policies: list[str] = field(default_factory=list)
    mixed_policies: list[str] = field(default_factory=list)
    dangling_policies: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


def install(machine: Machine, *, containerd: str = "2.2.5", kubernetes: str = "1.34.2", flanneld: bool = False) -> None:
    """Install containerd, kubelet, kube-proxy and optionally flanneld as running services.

    ctr and crictl are added to PATH. The kubelet runs without a cluster. The processes of kube-proxy and flanneld only
    wait until their services are stopped.
    """
    for folder, names, version in (
        (CONTAINERD, ("containerd", "ctr"), containerd),
        (KUBERNETES, ("kubelet", "kubeadm"), kubernetes),
        (KUBERNETES, ("crictl",), "1.34.0"),
        (KUBERNETES, ("kube-proxy", "flanneld"), ""),
    ):
        machine.files.make_directory(folder)
        for name in names:
            # The simulator treats a program that only waits as a host of services.
            machine.files.write_bytes(f"{folder}\\{name}.exe", make(name if version else "svchost", version or "1.0"))
    machine.files.write_text(r"C:\Program Files\containerd\config.toml", CONFIG)
    path = str(machine.registry.data(ENVIRONMENT, "Path", ""))
    if CONTAINERD not in path:
        machine.registry.set(ENVIRONMENT, "Path", f"{path};{CONTAINERD};{KUBERNETES}", "ExpandString")
    line = rf'"{CONTAINERD}\containerd.exe" --run-service --config "C:\Program Files\containerd\config.toml"'
    services: list[tuple[str, str, list[str]]] = [
        ("containerd", line, []),
        ("kubelet", rf"{KUBERNETES}\kubelet.exe --windows-service", ["containerd"]),
        ("kube-proxy", rf"{KUBERNETES}\kube-proxy.exe --windows-service", []),
    ]
    if flanneld:
        services.append(("flanneld", rf"{KUBERNETES}\flanneld.exe", []))
    for name, command, needs in services:
        if not machine.services.exists(name):
            entries: dict[str, object] = {"DependOnService": needs} if needs else {}
            machine.services.create(name, command, Start=2, **entries)
        machine.services.start(name)


def populate(
    machine: Machine,
    scene: str,
    *,
    running: int = 2,
    stale: int = 0,
    creating: int = 0,
    remote: int = 2,
    policies: int = 1,
    stale_policies: int | None = None,
    mixed_policies: int = 0,
    dangling_policies: int = 0,
    orphans: int = 0,
    isolated: bool = False,
    name: str = "",
) -> Scene:
    """Create a CNI plugin's networks on a machine, with pods and leftovers of pods.

    Args:
        machine: the machine on which to create the objects.
        scene: `flannel-host-gw`, `flannel-vxlan`, `calico`, `calico-bgp` or `azure`. For Docker, use
            `docker/fixtures.py`.
        running, stale, creating, remote: the number of endpoints of each kind.
        policies, mixed_policies, dangling_policies: the number of policy lists of each kind (see `Scene`).
        stale_policies: the number of stale policy lists; by default, one if there is a stale endpoint.
        orphans: the number of namespaces with neither an owner nor endpoints.
        isolated: whether pods use Hyper-V isolation, which leaves SharedContainers empty.
        name: the name of the network, such as `vxlan0`; by default, the name that the plugin chooses.

    Returns:
        The created objects.

    Raises:
        KeyError: the scene is unknown.
    """
    plan = SCENES[scene]
    if name:
        plan = replace(plan, network=name)
    builder = _Builder(machine, plan, isolated=isolated)
    builder.host()
    for number in range(running):
        builder.pod(f"web-{number}")
    for number in range(stale):
        builder.vanished(number)
    for _ in range(creating):
        builder.beginning()
    for number in range(remote):
        builder.elsewhere(number)
    found = builder.scene
    live = [*found.running, *found.remote]
    for _ in range(policies):
        found.policies.append(builder.policy(*live[:3]))
    for number in range(min(len(found.stale), 1) if stale_policies is None else stale_policies):
        found.stale_policies.append(builder.policy(found.stale[number % len(found.stale)]))
    for _ in range(mixed_policies):
        found.mixed_policies.append(builder.policy(found.stale[0], live[0]))
    for _ in range(dangling_policies):
        found.dangling_policies.append(builder.policy(new_id()))
    for _ in range(orphans):
        found.orphans.append(builder.orphan())
    hns_networks.write_files(machine, plan, builder.pods)
    return found


def add_network(machine: Machine, name: str, kind: str, subnet: str = "", gateway: str = "") -> Network:
    """Create a network on a machine as an operator would, for example `add_network(machine, "lab", "Transparent")`."""
    return hns_networks.place(machine, Network(new_id(), name, kind, subnet, gateway))


class _Builder:
    """A builder that creates HNS networks, pods, and leftovers of pods on a machine."""

    def __init__(self, machine: Machine, plan: Plan, *, isolated: bool) -> None:
        self._machine, self._plan, self._isolated = machine, plan, isolated
        self._store = HnsStore(machine)
        self._store.wake()
        self._state = machine.part(HnsState)
        self._shims = shims.settle(machine)
        self._networks = hns_networks.place_all(machine, plan)
        self._network = self._networks[-1]
        self._addresses = hns_networks.addresses(plan.subnet)
        self._ports = 30000 + len(self._state.policies)
        self.scene = Scene(networks=[item.name for item in self._networks])
        self.pods: list[tuple[str, str, str]] = []

    def host(self) -> None:
        """Create the endpoints that the CNI plugin or kube-proxy creates for the host itself."""
        for name in self._plan.host_endpoints:
            self.scene.host.append(self._endpoint(name).id)

    def pod(self, name: str) -> None:
        """Create a running pod."""
        endpoint = self._owned(shims.new_id())
        sandbox = Sandbox(endpoint.container, name, "default", new_id().lower(), endpoint.address, self._plan.config)
        sandbox.netns = endpoint.namespace
        self._shims.sandboxes[sandbox.id] = sandbox
        self._shims.leases.add(sandbox.id)
        container = Container(shims.new_id(), "app", sandbox.id, "registry.example/app:1", "sha256:" + "a" * 64)
        self._shims.containers[container.id] = container
        container.process = self._machine.processes.begin("app.exe", "ContainerAdministrator")
        container.state, container.started = "RUNNING", shims.now()
        self._state.namespaces[endpoint.namespace].containers.append(container.id)
        self.scene.running.append(endpoint.id)

    def vanished(self, number: int) -> None:
        """Create the leftovers of a removed pod. `number` selects one of three variants with different leftovers."""
        endpoint = self._owned(shims.new_id())
        namespace = self._state.namespaces[endpoint.namespace]
        if number % 3:
            endpoint.state, endpoint.shared, namespace.containers = DETACHED, [], []
        if number % 3 == 2:
            endpoint.state = CREATED
            del self._state.namespaces[endpoint.namespace]
        self.scene.stale.append(endpoint.id)

    def beginning(self) -> None:
        """Create a starting pod: it has a lease, an HNS namespace and an endpoint, but CRI does not list it yet."""
        identity = shims.new_id()
        self._shims.leases.add(identity)
        self.scene.creating.append(self._owned(identity).id)

    def elsewhere(self, number: int) -> None:
        """Create kube-proxy's endpoint for a pod on another node."""
        address = f"10.244.{200 + number // 250}.{1 + number % 250}"
        self.scene.remote.append(self._endpoint("Ethernet", address, remote=True).id)

    def policy(self, *endpoints: str) -> str:
        """Create a load balancer for endpoints, and return its id."""
        self._ports += 1
        vip = f"10.96.{self._ports // 250 % 250}.{1 + self._ports % 250}"
        dsr = self._network.kind == "Overlay"
        item = PolicyList(new_id(), vip, self._ports, 6, 8080, endpoints, dsr=dsr)
        self._state.policies[item.id] = item
        if not dsr:
            ports.reserve(self._machine, item.id)
        return item.id

    def orphan(self) -> str:
        """Create a namespace that contains nothing, and return its id."""
        item = Namespace(new_id())
        self._state.namespaces[item.id] = item
        return item.id

    def _owned(self, container: str) -> Endpoint:
        name = cni.endpoint_name(self._plan.plugin, self._plan.network, container)
        endpoint = self._endpoint(name, container=container, namespace=new_id())
        endpoint.policies = [{"ExceptionList": ["10.96.0.0/12"], "Type": "OutBoundNAT"}]
        if self._isolated:
            endpoint.shared = []
        self.pods.append((container, endpoint.address, endpoint.id))
        return endpoint

    def _endpoint(
        self, name: str, address: str = "", *, container: str = "", namespace: str = "", remote: bool = False
    ) -> Endpoint:
        return self._store.add_endpoint(
            name,
            self._network.id,
            address or next(self._addresses),
            container=container,
            namespace=namespace,
            remote=remote,
        )
