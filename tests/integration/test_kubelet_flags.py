# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A kubelet starts despite flags from kubeadm that it does not know: in an image, after a re-join, after an update."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.executables import make
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("kubelet_flags")]

OLD, NEW = "1.34.4", "1.36.3"
FLAGS = r"C:\var\lib\kubelet\kubeadm-flags.env"
# As kubeadm 1.34 writes it. The kubelet of 1.35 does not have the flag (kubernetes/kubernetes#133779).
LEFT = 'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=registry.k8s.io/pause:3.10.1 --node-ip=127.0.0.12"\n'


@pytest.fixture
def node(tmp_path: Path) -> Iterator[DirectNode]:
    """Yield a machine with a kubelet of 1.34 that runs with the flags from kubeadm."""
    entry = {"name": "flags", "address": "127.0.0.12", "features": ["Containers"], "time_scale": 0.02}
    machine = Machine(MachineSettings.read({**entry, "reboot_seconds": 0.05}), tmp_path / "machine")
    machine.power_on()
    for folder in (r"C:\k", r"C:\var\lib\kubelet"):
        machine.files.make_directory(folder)
    for program, version in {"containerd": "2.4.2", "kubelet": OLD}.items():
        machine.files.write_bytes(rf"C:\k\{program}.exe", make(program, version))
    machine.files.write_text(r"C:\k\config.toml", "version = 3\n")
    machine.files.write_text(FLAGS, LEFT)
    machine.services.create("containerd", r"C:\k\containerd.exe --run-service --config C:\k\config.toml", Start=2)
    machine.services.start("containerd")
    yield DirectNode(machine)
    machine.power.power_off()


def service(version: str, **more: Any) -> dict[str, Any]:
    """Return the kubelet's service as in the role kubernetes_node."""
    return {
        "type": "Service",
        "name": "kubelet",
        "path": r"C:\k\kubelet.exe",
        # Without a kubeconfig it runs stand-alone.
        "arguments": ["--windows-service"],
        "arguments_from_file": FLAGS,
        "arguments_for_kubelet": version,
        "start_mode": "auto",
        **more,
    }


def converge(node: DirectNode, resources: Sequence[Mapping[str, Any]]) -> ConvergenceOutcome:
    outcome = Convergence(NodeSession(node), load(resources)).run()
    assert outcome.failures == []
    return outcome


def running(node: DirectNode) -> list[str]:
    """Return the command line of the running kubelet."""
    kubelet = node.machine.services.get("kubelet")
    assert kubelet is not None
    assert kubelet.state == "Running"
    return list(kubelet.argv)


def test_a_newer_kubelet_that_was_put_there_starts(node: DirectNode) -> None:
    """Test an image, or a machine that was reset and joins again: the kubelet does not run while it is replaced."""
    node.machine.files.write_bytes(r"C:\k\kubelet.exe", make("kubelet", NEW))
    outcome = converge(node, [service(NEW, state="running")])
    assert "--node-ip=127.0.0.12" in running(node)
    (warning,) = outcome.warnings
    assert "--pod-infra-container-image=registry.k8s.io/pause:3.10.1" in warning
    assert [done.planned.why for done in converge(node, [service(NEW, state="running")]).changes] == []


def test_a_kubelet_that_runs_is_replaced_by_a_newer_one(node: DirectNode) -> None:
    converge(node, [service(OLD, state="running")])
    assert any(word.startswith("--pod-infra-container-image") for word in running(node))
    archive, program = io.BytesIO(), make("kubelet", NEW)
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("kubernetes/node/bin/kubelet.exe")
        member.size = len(program)
        tar.addfile(member, io.BytesIO(program))
    node.machine.files.write_bytes(r"C:\kubernetes.tar.gz", archive.getvalue())
    resources = [
        {
            "type": "Archive",
            "name": r"C:\k",
            "path": r"C:\kubernetes.tar.gz",
            "members": ["kubernetes/node/bin/kubelet.exe"],
            "strip_components": 3,
            "check": ["kubelet.exe"],
            "stops": ["kubelet"],
        },
        service(NEW),
    ]
    converge(node, resources)
    assert not any(word.startswith("--pod-infra-container-image") for word in running(node))
    assert [done.planned.why for done in converge(node, resources).changes] == []
