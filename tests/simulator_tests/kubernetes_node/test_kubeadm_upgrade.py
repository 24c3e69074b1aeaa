# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`kubeadm upgrade node` on a worker: the simulated kubeadm and a real one have the same effects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import yaml
from simulator_tests.waiting import wait_for

from simulator.cluster import start_cluster
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.kubernetes_node.registry.server import SimulatedRegistry
from simulator.machine.objects import ProgramResult

from .conftest import Admin, Node, administrator

pytestmark = pytest.mark.waits

PIPE = "npipe:////./pipe/containerd-containerd"
KUBELET = r"C:\var\lib\kubelet"
TEMPORARY = r"C:\etc\kubernetes\tmp"


@pytest.fixture(params=["simulated", "real"])
def kubeadm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let nodes use the simulated kubeadm or a real one, and yield `simulated` or `real`."""
    if request.param == "real" and kubeadm_real.find("1.36.3") is None:
        pytest.skip("KUBEBUILDER_ASSETS has no kubeadm 1.36.3")
    if request.param == "simulated":
        monkeypatch.setenv("KUBEBUILDER_ASSETS", "")
    kubeadm_real.find.cache_clear()
    yield str(request.param)
    kubeadm_real.find.cache_clear()


@pytest.fixture(scope="module", params=["1.37.1"])
def memory(request: pytest.FixtureRequest) -> Iterator[Admin]:
    with start_cluster(kind="memory", version=request.param) as found:
        yield Admin(found, administrator(found))


@dataclass(frozen=True)
class Member:
    """A node that can be upgraded."""

    node: Node
    cluster: Admin

    def upgrade(self, version: str) -> ProgramResult:
        """Run `kubeadm upgrade node` with a kubeadm of a version."""
        path = rf"C:\upgrade\{version}\kubeadm.exe"
        self.node.put(path, "kubeadm", version)
        return self.node.run(path, "upgrade", "node")

    def read(self, name: str) -> str:
        """Return the text of a file in the kubelet's folder."""
        return self.node.machine.files.read_text(rf"{KUBELET}\{name}")

    def flags(self) -> list[str]:
        """Return the flags that kubeadm wrote for the kubelet."""
        return self.read("kubeadm-flags.env").strip().partition("=")[2].strip('"').split()

    def copies(self) -> list[str]:
        """Return the names of the folders with kubeadm's copies of earlier files."""
        files = self.node.machine.files
        return [entry.name for entry in files.listing(TEMPORARY)] if files.is_directory(TEMPORARY) else []


def join(
    make_node: Callable[..., Node], registry: SimulatedRegistry, cluster: Admin, version: str, real: bool = False
) -> Member:
    """Return a node that joined with the simulated kubeadm, or with a real one, which waits for a second."""
    node = make_node(kubernetes=version, containerd="1.7.35")
    node.mirror(registry)
    node.start_containerd()
    node.install_kubernetes()
    node.install_cni()
    node.join_configuration(cluster.cluster, cluster.token())
    with pytest.MonkeyPatch.context() as patch:
        if not real:
            patch.setattr(kubeadm_real, "find", lambda dummy: None)
        result = node.join()
    assert result.exit_code == 0, result.stderr
    cluster.wait_ready(node.name, "True")
    return Member(node, cluster)


@pytest.mark.usefixtures("kubeadm")
def test_the_files_of_the_kubelet_follow_its_version(
    make_node: Callable[..., Node], registry: SimulatedRegistry, memory: Admin
) -> None:
    member = join(make_node, registry, memory, "1.34.4", real=True)
    before = member.flags()
    assert [flag for flag in before if flag.startswith("--pod-infra-container-image=")]
    result = member.upgrade("1.35.4")
    assert result.exit_code == 0, result.stderr
    for line in (
        "[upgrade/preflight] Running pre-flight checks",
        "[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!",
        "[upgrade/addon] Skipping the addon/kube-proxy phase. Not a control plane node.",
    ):
        assert line in result.stdout.splitlines()
    # 1.35 removes the flag that its kubelet no longer has, and no other.
    assert member.flags() == [flag for flag in before if not flag.startswith("--pod-infra-container-image=")]
    settings = yaml.safe_load(member.read("config.yaml"))
    assert (settings["containerRuntimeEndpoint"], settings["resolvConf"]) == (PIPE, "")
    assert settings["staticPodPath"] == r"C:\etc\kubernetes\manifests"
    assert sorted(name[:18] for name in member.copies()) == ["kubeadm-kubelet-co", "kubeadm-kubelet-en"]
    # The kubelet is not restarted.
    info = memory.client.get(f"/api/v1/nodes/{member.node.name}")["status"]["nodeInfo"]
    assert info["kubeletVersion"] == "v1.34.4"


@pytest.mark.usefixtures("kubeadm")
def test_the_runtimes_endpoint_moves_from_the_flags_to_a_file(
    make_node: Callable[..., Node], registry: SimulatedRegistry
) -> None:
    with start_cluster(kind="memory", version="1.33.2") as found:
        cluster = Admin(found, administrator(found))
        member = join(make_node, registry, cluster, "1.30.4", real=True)
        assert f"--container-runtime-endpoint={PIPE}" in member.read("kubeadm-flags.env")
        result = member.upgrade("1.34.4")
        assert result.exit_code == 0, result.stderr
        assert "container-runtime-endpoint" not in member.read("kubeadm-flags.env")
        assert yaml.safe_load(member.read("instance-config.yaml"))["containerRuntimeEndpoint"] == PIPE
        assert yaml.safe_load(member.read("config.yaml"))["containerRuntimeEndpoint"] == PIPE
        # A control plane may be one minor version older than kubeadm.
        result = member.upgrade("1.36.3")
        assert result.exit_code == 1
        assert "only supports deploying clusters with the control plane version >= 1.35.0" in result.stderr


@pytest.mark.usefixtures("kubeadm")
def test_two_upgrades_in_one_second_collide(
    make_node: Callable[..., Node], registry: SimulatedRegistry, memory: Admin
) -> None:
    member = join(make_node, registry, memory, "1.34.4")
    second = int(time.time()) + 1
    for ahead in range(5):
        moment = time.strftime("-%Y-%m-%d-%H-%M-%S", time.gmtime(second + ahead))
        member.node.machine.files.make_directory(rf"{TEMPORARY}\kubeadm-kubelet-config{moment}")
    time.sleep(max(0.0, second - time.time()))
    result = member.upgrade("1.36.3")
    assert result.exit_code == 1
    assert "could not create timestamp directory" in result.stderr


@pytest.mark.usefixtures("kubeadm")
@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (rf"{KUBELET}\config.yaml", "error backing up the kubelet config file"),
        (r"C:\etc\kubernetes\kubelet.conf", "couldn't create a Kubernetes client from file"),
    ],
)
def test_a_node_that_lacks_a_file_is_refused(
    make_node: Callable[..., Node], registry: SimulatedRegistry, memory: Admin, missing: str, message: str
) -> None:
    member = join(make_node, registry, memory, "1.34.4")
    member.node.machine.files.delete(missing)
    result = member.upgrade("1.35.4")
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_kubelet_reports_its_version_after_a_restart(
    make_node: Callable[..., Node], registry: SimulatedRegistry, memory: Admin
) -> None:
    member = join(make_node, registry, memory, "1.34.4")
    node = member.node
    assert member.upgrade("1.35.4").exit_code == 0
    node.machine.services.stop("kubelet", force=True)
    node.put(r"C:\k\kubelet.exe", "kubelet", "1.35.4")
    node.machine.services.start("kubelet")
    path = f"/api/v1/nodes/{node.name}"
    wait_for(
        lambda: memory.client.get(path)["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.4",
        "the kubelet reports its version",
    )
