# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Machines on which the kubelet's launcher runs the kubelet, as on a machine from an image, without a playbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integration.imaging import put
from integration.joined_nodes import KUBERNETES, make_token, ready_nodes
from integration.playbooks import Site
from simulator_tests.waiting import wait_for
from unit.direct_node import DirectNode
from unit.plugins.plugin_utils.node_resources import samples

from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import kubernetes_node
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.executables import make
from simulator.machine.machine import Machine

_KINDS = ("File", "Directory", "Registry", "Service")


def install_launcher(
    machine: Machine, labels: Mapping[str, str], others: Sequence[Mapping[str, Any]] = (), programs: Sequence[str] = ()
) -> None:
    """Replace the kubelet's service on a prepared machine with the launcher's.

    Args:
        machine: the machine, after `joined_nodes.prepare`.
        labels: the network's labels of the node.
        others: resources that are applied as well.
        programs: programs that are put next to the kubelet, such as `kubectl`.
    """
    machine.services.delete("kubelet")
    put(machine, r"C:\nssm\win64\nssm.exe", make("nssm", KUBERNETES))
    for program in programs:
        put(machine, rf"C:\k\{program}.exe", make(program, KUBERNETES))
    settings = samples.kubernetes(
        version=KUBERNETES,
        kubelet_service="launcher",
        nssm_dir=r"C:\nssm",
        kubelet_log_file="",
        network_labels=dict(labels),
    )
    kubelet = [one for one in kubernetes_node.resources(settings) if one["type"] in _KINDS]
    outcome = Convergence(NodeSession(DirectNode(machine)), load([*kubelet, *others])).run()
    assert outcome.failures == []


def join_alone(site: Site, machine: Machine) -> str:
    """Run nothing but `kubeadm join`, wait until the node is Ready, and return its name."""
    cluster = site.world.cluster
    assert cluster is not None
    machine.services.start("kubelet")
    pin = ["--token", make_token(site), "--discovery-token-ca-cert-hash", cluster.ca_hash]
    result = machine.programs.run(r"C:\k\kubeadm.exe", ["join", cluster.server.removeprefix("https://"), *pin])
    assert result.exit_code == 0, result.stderr
    name = machine.host_name.lower()
    wait_for(lambda: name in ready_nodes(site), "the node is ready", 60)
    return name
