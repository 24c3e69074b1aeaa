# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Reset a simulated node with a real kubeadm.

kubeadm runs on a copy of the node's file tree. Afterwards, the files that it removed are also removed from the node.

kubeadm for Linux also unmounts everything that is mounted below /var/lib/kubelet, so the copy has an empty
/proc/mounts. kubeadm finds neither a service manager nor a container runtime in the copy, so the simulator stops the
kubelet and removes the pods.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.kubernetes_node.kubeadm import join as kubeadm_join
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE
from simulator.kubernetes_node.kubeadm.reset import NodeCleaner, ResetConfiguration
from simulator.machine.objects import Invocation, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_LINUX_ONLY = re.compile(
    r"Usage of CRI endpoints without URL scheme|kubelet service could not be stopped|ensure kubelet is stopped manually"
    r"|Failed to remove containers"
)
_SOCKET = re.compile(r"npipe:[^\s\"']+")
_SECONDS = 60


def reset(
    machine: Machine, program: Path, words: list[str], config: str | None, invocation: Invocation
) -> ProgramResult:
    """Run `kubeadm reset` on a copy of the machine's files. Then remove from the machine what it removed from the copy.

    Args:
        machine: the machine to reset.
        program: the path of the real kubeadm.
        words: the arguments of the reset, without --config.
        config: the contents of the configuration file.
        invocation: the simulated run of kubeadm.exe.
    """
    socket = _SOCKET.search(" ".join([*words, config or ""]))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        copied = _copy(machine, root)
        if config is not None:
            (root / "reset.yaml").write_text(config, encoding="utf-8")
            words = [*words, "--config", "/reset.yaml"]
        done = _run(program, root, words, invocation)
        gone = [path for path, real in copied.items() if not os.path.lexists(real)]
    stdout, stderr = done.stdout, _windows(done.stderr)
    if done.returncode == 0 and "[reset] Deleting contents" in stdout:
        settings = ResetConfiguration(socket[0] if socket else PIPE, True, False, False)
        cleanup = NodeCleaner(machine, settings)
        cleanup.stop()
        stderr += "".join(f"{line}\n" for line in cleanup.complained)
        for path in gone:
            # The folders come first, so their content is gone, too.
            if machine.files.exists(path) or machine.files.real(path).is_symlink():
                machine.files.delete(path)
    return ProgramResult(done.returncode, stdout, stderr)


def _copy(machine: Machine, root: Path) -> dict[str, Path]:
    r"""Copy the trees of C:\etc\kubernetes and C:\var\lib\kubelet with empty files, and add an empty /proc/mounts.

    Return a dictionary that maps each Windows path to the path of its copy.
    """
    copied: dict[str, Path] = {}
    (root / "proc").mkdir()
    (root / "proc" / "mounts").touch()
    for folder in (kubeadm_join.KUBERNETES, kubeadm_join.KUBELET):
        if not machine.files.is_directory(folder):
            continue
        (root / folder[3:].replace("\\", "/")).mkdir(parents=True)
        for entry in machine.files.walk(folder):
            path = root / entry.path[3:].replace("\\", "/")
            if entry.is_directory:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            copied[entry.path] = path
    return copied


def _run(program: Path, root: Path, words: list[str], invocation: Invocation) -> subprocess.CompletedProcess[str]:
    command = [str(program), "reset", "--rootfs", str(root), *words]
    if os.geteuid() != 0:
        command = ["unshare", "-r", *command]
    return subprocess.run(
        command,
        input=invocation.stdin.decode("utf-8", "replace"),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        env={"PATH": os.environ.get("PATH", ""), "HOME": "/"},
    )


def _windows(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not _LINUX_ONLY.search(line))
