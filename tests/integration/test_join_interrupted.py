# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine that goes down during kubeadm still joins, and the next run removes the leftovers of kubeadm's batch."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client, config
from simulator_tests.waiting import wait_for
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.module_utils import bootstrap_tokens
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join as joining
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state
from ansible_collections.winkube.node.plugins.plugin_utils.node_config import kubeadm
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.node_join import leftovers
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.windows import node_paths
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Observation
from simulator.cluster import SimulatedCluster, start_cluster
from simulator.kubernetes_node.kubelet.bootstrap import usable
from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, Machine
from simulator.machine.objects import ProcessEndedError
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("join_interrupted")]

FLAGS = r"C:\var\lib\kubelet\kubeadm-flags.env"
SERVICES = {
    "containerd": r"C:\k\containerd.exe --run-service --config C:\k\config.toml",
    "kubelet": r"C:\k\kubelet.exe --windows-service --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--kubeconfig=C:\etc\kubernetes\kubelet.conf --config=C:\var\lib\kubelet\config.yaml "
    r"--cert-dir=C:\var\lib\kubelet\pki",
}


@pytest.fixture
def cluster() -> Iterator[SimulatedCluster]:
    with start_cluster("memory") as cluster:
        yield cluster


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    """Yield a prepared machine."""
    entry = {"name": "cut", "address": "127.0.0.12", "features": ["Containers"], "time_scale": 0.02}
    machine = Machine(MachineSettings.read({**entry, "reboot_seconds": 0.05}), tmp_path / "machine")
    machine.power_on()
    machine.files.make_directory("C:\\k")
    for program, version in {"containerd": "2.4.2", "ctr": "2.4.2", "kubelet": "1.37.1", "kubeadm": "1.37.1"}.items():
        machine.files.write_bytes(f"C:\\k\\{program}.exe", make(program, version))
    machine.files.write_text(r"C:\k\config.toml", "version = 3\n")
    path = str(machine.registry.data(ENVIRONMENT, "Path"))
    machine.registry.set(ENVIRONMENT, "Path", rf"{path};C:\k", "ExpandString")
    for name, line in SERVICES.items():
        machine.services.create(name, line, Start=2)
    machine.services.start("containerd")
    yield DirectNode(machine)
    machine.power.power_off()


def new_token(cluster: SimulatedCluster, group: str) -> str:
    token = bootstrap_tokens.new_token()
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        body = bootstrap_tokens.secret(token, "2099-01-01T00:00:00Z", "of a test", group)
        client.CoreV1Api(api).create_namespaced_secret("kube-system", body)
    return token


def join_calls(cluster: SimulatedCluster, token: str, seconds: float = 60) -> tuple[Call, ...]:
    join = kubeadm.Join(
        api_server=cluster.server.removeprefix("https://"),
        token=token,
        ca_cert_hashes=(cluster.ca_hash,),
        node_name="cut",
    )
    configuration = kubeadm.join_configuration("1.37.1", join)
    return joining.calls(joining.KubeadmJoin(configuration=configuration, kubeadm=r"C:\k\kubeadm.exe", timeout=seconds))


def holding(machine: Machine, text: str) -> set[str]:
    """Return the files of a machine that contain a text."""
    files = [entry.path for entry in machine.files.walk("C:\\") if not entry.is_directory]
    return {path for path in files if text.encode() in machine.files.read_bytes(path)}


def test_a_token_is_removed_from_a_machine_that_went_down_inside_kubeadm(
    node: DirectNode, cluster: SimulatedCluster
) -> None:
    machine = node.machine
    token = new_token(cluster, bootstrap_tokens.AUTO_APPROVED_GROUP)

    def cut() -> None:
        # The last file that kubeadm writes before it starts the kubelet.
        wait_for(lambda: machine.files.is_file(FLAGS), "kubeadm has written the kubelet's flags")
        machine.power.reset()

    button = threading.Thread(target=cut)
    button.start()
    with pytest.raises(ProcessEndedError):
        node.run(Batch(calls=join_calls(cluster, token)))
    button.join()
    wait_for(lambda: usable(machine, node_paths.KUBELET_CONF), "the kubelet has joined")

    # The next run finds a node, so it does not join again.
    found = NodeSession(node).observe(join_state.calls(), step="read whether it has joined")
    assert join_state.read(*found, datetime.datetime.now(datetime.UTC)).joined
    assert holding(machine, token) == {node_paths.JOIN_CONFIGURATION, node_paths.BOOTSTRAP_KUBELET_CONF}
    outcome = Convergence(NodeSession(node), load(leftovers())).run()
    assert outcome.failures == []
    assert holding(machine, token) == set()


def test_a_running_join_of_an_interrupted_run_is_stopped(node: DirectNode, cluster: SimulatedCluster) -> None:
    """The old request is no longer approved. The next run uses its own token and key."""
    machine = node.machine
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        rbac = client.RbacAuthorizationV1Api(api)
        for body in bootstrap_tokens.bindings(kube_proxy=True):
            if body["kind"] == "RoleBinding":
                rbac.create_namespaced_role_binding("kube-system", body)
            else:
                rbac.create_cluster_role_binding(body)
    calls = join_calls(cluster, new_token(cluster, bootstrap_tokens.GROUP), 600)
    former: list[Observation] = []
    thread = threading.Thread(target=lambda: former.append(node.run(Batch(calls=calls))))
    thread.start()
    key = r"C:\var\lib\kubelet\pki\kubelet-client.key.tmp"
    wait_for(lambda: machine.files.is_file(key), "the kubelet has a key for its certificate")
    assert machine.files.is_file(node_paths.JOIN_CONFIGURATION)

    token = new_token(cluster, bootstrap_tokens.AUTO_APPROVED_GROUP)
    seen = node.run(Batch(calls=join_calls(cluster, token)))

    assert joining.problem(seen) is None
    assert usable(machine, node_paths.KUBELET_CONF)
    assert holding(machine, token) == set()
    thread.join(30)
    assert not thread.is_alive()
    assert joining.problem(former[0])
