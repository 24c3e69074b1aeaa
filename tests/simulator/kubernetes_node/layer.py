# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""List the modules that simulate Kubernetes programs. The simulator finds the list by its entry point, `kubernetes`."""

from __future__ import annotations

from simulator.machine.families import Layer

LAYER = Layer(
    (
        "simulator.kubernetes_node.containerd.program",
        "simulator.kubernetes_node.kubelet.program",
        "simulator.kubernetes_node.kubelet.log_runner",
        "simulator.kubernetes_node.kubeadm.program",
        "simulator.kubernetes_node.programs.kubectl",
        "simulator.kubernetes_node.cni.kube_proxy",
        "simulator.kubernetes_node.cni.flannel",
        "simulator.kubernetes_node.cni.plugins",
        "simulator.kubernetes_node.cni.calico.programs",
        "simulator.kubernetes_node.hns.cmdlets",
        "simulator.kubernetes_node.hns.scenes",
        "simulator.kubernetes_node.hns.adapters",
        "simulator.kubernetes_node.containerd.ctr",
        "simulator.kubernetes_node.cri.crictl",
        "simulator.kubernetes_node.kubelet.image_gc",
        "simulator.kubernetes_node.containerd.buildkit",
        "simulator.kubernetes_node.docker.dockerd_service",
        "simulator.kubernetes_node.docker.program",
        "simulator.kubernetes_node.docker.cri_dockerd",
        "simulator.kubernetes_node.nssm.program",
        "simulator.kubernetes_node.nssm.commands",
        "simulator.kubernetes_node.kubelet.pods",
        "simulator.kubernetes_node.addons.exporter",
        "simulator.kubernetes_node.addons.fluent_bit",
        "simulator.kubernetes_node.addons.csi",
        "simulator.kubernetes_node.addons.cloud_node_manager",
    ),
    needs=("core", "windows"),
)
