# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A machine that goes down inside kubeadm joins without it: what kubeadm's batch could not remove is removed later."""

from __future__ import annotations

import datetime
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from integration.playbooks import ROOT
from kubernetes import client, config
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils import join_state, kubeadm
from ansible_collections.winkube.node.plugins.plugin_utils.calls import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.resources._load import load
from simulator.cluster import Cluster, start_cluster
from simulator.kubernetes_node.bootstrap import usable
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.objects import ProcessEndedError
from simulator.machine.settings import Settings

pytestmark = [pytest.mark.waits, pytest.mark.integration, pytest.mark.xdist_group("join_interrupted")]

FLAGS = r"C:\var\lib\kubelet\kubeadm-flags.env"
SERVICES = {
    "containerd": r"C:\k\containerd.exe --run-service --config C:\k\config.toml",
    "kubelet": r"C:\k\kubelet.exe --windows-service --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--kubeconfig=C:\etc\kubernetes\kubelet.conf --config=C:\var\lib\kubelet\config.yaml "
    r"--cert-dir=C:\var\lib\kubelet\pki",
}


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with start_cluster("memory") as cluster:
        yield cluster


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    """A prepared machine."""
    entry = {"name": "cut", "address": "127.0.0.12", "features": ["Containers"], "time_scale": 0.02}
    machine = Machine(Settings.read({**entry, "reboot_seconds": 0.05}), tmp_path / "machine")
    machine.power_on()
    machine.files.make_directory("C:\\k")
    for program, version in {"containerd": "2.4.2", "ctr": "2.4.2", "kubelet": "1.37.1", "kubeadm": "1.37.1"}.items():
        machine.files.write_bytes(f"C:\\k\\{program}.exe", make(program, version))
    machine.files.write_text(r"C:\k\config.toml", "version = 3\n")
    for name, line in SERVICES.items():
        machine.services.create(name, line, Start=2)
    machine.services.start("containerd")
    yield DirectNode(machine)
    machine.power.power_off()


@pytest.fixture
def token(cluster: Cluster) -> str:
    name, secret = uuid.uuid4().hex[:6], uuid.uuid4().hex[:16]
    data = {"token-id": name, "token-secret": secret, "usage-bootstrap-authentication": "true"}
    data |= {"usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        client.CoreV1Api(api).create_namespaced_secret(
            "kube-system",
            client.V1Secret(
                metadata=client.V1ObjectMeta(name=f"bootstrap-token-{name}"),
                type="bootstrap.kubernetes.io/token",
                string_data=data,
            ),
        )
    return f"{name}.{secret}"


def holding(machine: Machine, text: str) -> set[str]:
    """Return the files of a machine in which a text stands."""
    files = [entry.path for entry in machine.files.walk("C:\\") if not entry.is_directory]
    return {path for path in files if text.encode() in machine.files.read_bytes(path)}


def test_a_token_is_removed_from_a_machine_that_went_down_inside_kubeadm(
    node: DirectNode, cluster: Cluster, token: str
) -> None:
    machine = node.machine

    def cut() -> None:
        # The last that kubeadm writes before it starts the kubelet.
        wait_for(lambda: machine.files.is_file(FLAGS), "kubeadm never came so far")
        machine.power.reset()

    join = kubeadm.Join(
        api_server=cluster.server.removeprefix("https://"),
        token=token,
        ca_cert_hashes=(cluster.ca_hash,),
        node_name="cut",
    )
    calls = kubeadm.join_calls(kubeadm.join_configuration("1.37.1", join), r"C:\k\kubeadm.exe", 60)
    button = threading.Thread(target=cut)
    button.start()
    with pytest.raises(ProcessEndedError):
        node.run(Batch(calls=calls))
    button.join()
    wait_for(lambda: usable(machine, join_state.KUBELET_CONF), "the kubelet did not join by itself")

    # The next run finds a node, and has nothing to join.
    assert join_state.read(node.observe(join_state.calls()), datetime.datetime.now(datetime.UTC)).joined
    assert holding(machine, token) == set(kubeadm.LEFTOVERS)
    role = yaml.safe_load((ROOT / "roles/node_join/vars/main.yml").read_text(encoding="utf-8"))
    outcome = Convergence(node, load(role["node_join_leftover_resources"])).run()
    assert outcome.failures == []
    assert holding(machine, token) == set()
