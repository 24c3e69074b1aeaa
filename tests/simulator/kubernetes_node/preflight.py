# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm's checks before a join on Windows, and its way to print what they found.

kubernetes cmd/kubeadm/app/preflight/checks.go and checks_windows.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kubernetes_node import contracts, log_runner
from simulator.kubernetes_node.cri import connect
from simulator.kubernetes_node.join_configuration import Join
from simulator.kubernetes_node.programs import version_of
from simulator.machine.listeners import pipe_name

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KUBERNETES = r"C:\etc\kubernetes"
_FILES = ("kubelet.conf", "bootstrap-kubelet.conf", "pki\\ca.crt")


def check(machine: Machine, join: Join, version: str) -> tuple[list[str], list[str]]:
    """Return (warnings, errors): lines as kubeadm prints them."""
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    service = machine.services.get("kubelet")
    if service is None:
        warnings.append(("Service-kubelet", "kubelet service does not exist"))
    elif service.start != 2:
        warnings.append(
            (
                "Service-kubelet",
                "kubelet service is not enabled, please run 'Set-Service 'kubelet' -StartupType Automatic'",
            )
        )
    if connect(machine, join.cri_socket) is None:
        pipe = pipe_name(join.cri_socket).replace("\\", "\\\\")
        said = (
            f"could not connect to the container runtime: failed to create new CRI runtime service: validate service "
            f'connection: validate CRI v1 runtime API for endpoint "{join.cri_socket}": rpc error: code = Unavailable '
            f'desc = connection error: desc = "transport: Error while dialing: open {pipe}: The system cannot find the '
            f'file specified."'
        )
        errors.append(("CRI", said))
    manifests = f"{KUBERNETES}\\manifests"
    if machine.files.is_directory(manifests) and machine.files.listing(manifests):
        errors.append(("DirAvailable--etc-kubernetes-manifests", f"{manifests[2:]} is not empty"))
    for name in _FILES:
        if machine.files.exists(f"{KUBERNETES}\\{name}"):
            label = f"FileAvailable--etc-kubernetes-{name}".replace("\\", "-")
            errors.append((label, f"{KUBERNETES[2:]}\\{name} already exists"))
    if service is not None:
        if service.state == "Running":
            errors.append(("Port-10250", "Port 10250 is in use"))
        kubelet = version_of(machine, log_runner.command(service.argv)[0])
        if kubelet and contracts.number(contracts.minor_of(kubelet)) > contracts.number(contracts.minor_of(version)):
            errors.append(
                (
                    "KubeletVersion",
                    f"the kubelet version is higher than the control plane version. Kubelet version: {kubelet}",
                )
            )
    kept = [(name, text) for name, text in errors if not {"all", name.lower()} & join.ignored]
    warnings += [item for item in errors if item not in kept]
    return (
        [f"\t[WARNING {name}]: {text}" for name, text in warnings],
        [f"\t[ERROR {name}]: {text}" for name, text in kept],
    )


def fatal(errors: list[str]) -> str:
    """Return the message of a failed preflight."""
    listed = "\n".join(errors)
    return (
        f"[preflight] Some fatal errors occurred:\n{listed}\n[preflight] If you know what you are doing, you can "
        f"make a check "
        "non-fatal with `--ignore-preflight-errors=...`"
    )
