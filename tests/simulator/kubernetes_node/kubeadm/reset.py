# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`kubeadm reset` on Windows: kubernetes cmd/kubeadm/app/cmd/phases/reset/cleanupnode.go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kubernetes_node.cri.interface import RuntimeFailure, connect
from simulator.kubernetes_node.kubeadm import join
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE
from simulator.kubernetes_node.programs.flags import CommandFlags
from simulator.machine.objects import ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_FILES = (
    "admin.conf",
    "super-admin.conf",
    "kubelet.conf",
    "bootstrap-kubelet.conf",
    "controller-manager.conf",
    "scheduler.conf",
)


def reset(machine: Machine, flags: CommandFlags, stdin: bytes) -> ProgramResult:
    """Undo a join: stop the kubelet, remove its pods, their folder and Kubernetes' files. Keep CNI and HNS."""
    printed: list[str] = []
    if not flags.on("force"):
        printed.append(
            "W1121 00:00:00.000000    1000 preflight.go:56] [reset] WARNING: Changes made to this host by 'kubeadm "
            "init' or "
            "'kubeadm join' will be reverted."
        )
        if stdin.strip().lower() not in (b"y", b"yes"):
            message = "error execution phase preflight: aborted reset operation\n"
            return ProgramResult(1, "\n".join(printed) + "\n[reset] Are you sure you want to proceed? [y/N]: ", message)
    printed.append("[preflight] Running pre-flight checks")
    printed.append("[reset] Stopping the kubelet service")
    join.stop_kubelet(machine)
    runtime = connect(machine, flags.text("cri-socket") or PIPE)
    if runtime is None:
        printed.append(
            "W1121 00:00:00.000000    1000 cleanupnode.go:95] [reset] Failed to remove containers: container runtime "
            "is down"
        )
    else:
        for sandbox in runtime.sandboxes():
            try:
                runtime.remove_sandbox(sandbox)
            except RuntimeFailure as error:
                printed.append(f"W1121 00:00:00.000000    1000 cleanupnode.go:99] [reset] Failed to remove: {error}")
    folders = [f"{join.KUBERNETES}\\manifests", f"{join.KUBERNETES}\\pki", join.KUBELET]
    printed.append(f"[reset] Deleting contents of directories: [{' '.join(folder[2:] for folder in folders)}]")
    for folder in folders:
        if machine.files.is_directory(folder):
            for entry in machine.files.listing(folder):
                machine.files.delete(entry.path)
    files = [f"{join.KUBERNETES}\\{name}" for name in _FILES]
    printed.append(f"[reset] Deleting files: [{' '.join(name[2:] for name in files)}]")
    for name in files:
        if machine.files.exists(name):
            machine.files.delete(name)
    printed.append(
        "\nThe reset process does not perform cleanup of CNI plugin configuration,\nnetwork filtering rules and "
        "kubeconfig files.\n"
    )
    return ProgramResult(0, "\n".join(printed) + "\n")
