# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run the batch file of kube-proxy's pod on a simulated machine, as the pod's container does."""

from __future__ import annotations

import typing as t

from simulator.machine.machine import Machine
from simulator.machine.objects import ProgramResult

VOLUME = "C:\\var\\lib\\kubelet\\pods\\uid-1\\volumes\\kubernetes.io~projected\\access"


def run_batch(
    machine: Machine, files: t.Mapping[str, str], answer: str, name: str = "win1", address: str = "10.0.0.11"
) -> ProgramResult:
    """Put the ConfigMap's files into the pod's volume, and run the batch file.

    Args:
        machine: the machine.
        files: the files by name.
        answer: the command of a stand-in for kubectl.exe, such as `echo 10.244.3.0/24`.
        name: name of the node.
        address: its address.
    """
    machine.files.make_directory(VOLUME)
    for file, text in files.items():
        machine.files.write_bytes(f"{VOLUME}\\{file}", text.encode())
    machine.files.write_text("C:\\k\\answer.cmd", f"@{answer}\r\n")
    batch = files["configure.cmd"].replace('"C:\\k\\kubectl.exe"', "call C:\\k\\answer.cmd")
    machine.files.write_bytes(f"{VOLUME}\\configure.cmd", batch.encode())
    known = {**machine.environment(), "POD_UID": "uid-1", "NODE_NAME": name, "HOST_IP": address}
    return machine.programs.run("cmd.exe", ["/c", f"{VOLUME}\\configure.cmd"], environment=known)
