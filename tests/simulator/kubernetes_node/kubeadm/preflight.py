# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""kubeadm's preflight checks before a join on Windows, and the format of their results.

Sources: kubernetes cmd/kubeadm/app/preflight/checks.go and checks_windows.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.cri.interface import connect
from simulator.kubernetes_node.kubeadm.join_configuration import JoinConfiguration
from simulator.kubernetes_node.nssm import program as nssm
from simulator.kubernetes_node.programs import contracts
from simulator.kubernetes_node.programs.versions import version_of
from simulator.machine.listeners import pipe_name

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

KUBERNETES = r"C:\etc\kubernetes"
_KUBELET_OLDER = 3
"""The maximum number of minor versions by which a kubelet may be older than kubeadm (MinimumKubeletVersion)."""
_FILES = ("kubelet.conf", "bootstrap-kubelet.conf", "pki\\ca.crt")


def check(
    machine: Machine, join: JoinConfiguration, version: str, environment: Mapping[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """Return the warnings and the errors of the preflight checks, as the lines that kubeadm prints.

    The labels and messages that depend on the version are those of kubeadm 1.30.4, 1.34.4, 1.35.4 and 1.37.1 on Linux.

    Args:
        machine: the machine that joins.
        join: the settings of the join.
        version: the version of kubeadm.
        environment: kubeadm's environment variables; by default, the variables of the machine.
    """
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    service = machine.services.get("kubelet")
    label = "Service-kubelet" if contracts.at_least(version, "1.35") else "Service-Kubelet"
    if service is None:
        warnings.append((label, "kubelet service does not exist"))
    elif service.start != 2:
        message = "kubelet service is not enabled, please run 'Set-Service 'kubelet' -StartupType Automatic'"
        warnings.append((label, message))
    fatal_problem, warning = _runtime(machine, join, version, environment)
    if fatal_problem:
        errors.append(("CRI", fatal_problem))
    manifests = f"{KUBERNETES}\\manifests"
    if machine.files.is_directory(manifests) and machine.files.listing(manifests):
        errors.append(("DirAvailable--etc-kubernetes-manifests", f"{manifests[2:]} is not empty"))
    for name in _FILES:
        if machine.files.exists(f"{KUBERNETES}\\{name}"):
            label = f"FileAvailable--etc-kubernetes-{name}".replace("\\", "-")
            errors.append((label, f"{KUBERNETES[2:]}\\{name} already exists"))
    if wrong := _kubelet_version(machine, version, environment):
        errors.append(("KubeletVersion", wrong))
    if service is not None and service.state == "Running" and _is_kubelet(machine):
        errors.append(("Port-10250", "Port 10250 is in use"))
    kept = [(name, text) for name, text in errors if not {"all", name.lower()} & join.ignored]
    warnings += [item for item in errors if item not in kept]
    return (
        [*([warning] if warning else []), *(f"\t[WARNING {name}]: {text}" for name, text in warnings)],
        [f"\t[ERROR {name}]: {text}" for name, text in kept],
    )


def _runtime(
    machine: Machine, join: JoinConfiguration, version: str, environment: Mapping[str, str] | None
) -> tuple[str, str]:
    """Return an error message and a warning line about the container runtime. Either may be an empty string.

    If the runtime does not respond, kubeadm 1.35 and newer report an error, and 1.31 to 1.34 only warn.
    1.30 runs crictl and reports an error if crictl fails, but only warns if crictl is not found.
    """
    if connect(machine, join.cri_socket) is not None:
        return "", ""
    pipe = pipe_name(join.cri_socket).replace("\\", "\\\\")
    message = (
        f'validate service connection: validate CRI v1 runtime API for endpoint "{join.cri_socket}": rpc error: code = '
        f'Unavailable desc = connection error: desc = "transport: Error while dialing: open {pipe}: The system cannot '
        'find the file specified."'
    )
    if contracts.at_least(version, "1.35"):
        return f"could not connect to the container runtime: failed to create new CRI runtime service: {message}", ""
    reason = f"failed to create new CRI runtime service: {message}"
    if not contracts.at_least(version, "1.31"):
        if machine.programs.locate("crictl", environment) is not None:
            return f"container runtime is not running: output: {message}\n, error: exit status 1", ""
        reason = "crictl is required by the container runtime: executable file not found in %PATH%"
    head = "[preflight] WARNING: Couldn't create the interface used for talking to the container runtime"
    return "", f"W1121 00:00:00.000000    1000 checks.go:1046] {head}: {reason}"


def _kubelet_version(machine: Machine, version: str, environment: Mapping[str, str] | None) -> str:
    """Return the problem with the kubelet on PATH (KubeletVersionCheck), or an empty string if there is none.

    The version of the control plane is not known at this point, so a kubelet that is newer than kubeadm is accepted.
    """
    path = machine.programs.locate("kubelet", environment)
    if path is None:
        message = "cannot execute 'kubelet --version': executable file not found in %PATH%"
        return f"couldn't get kubelet version: {message}"
    kubelet = version_of(machine, path)
    major, minor = contracts.number(contracts.minor_of(version))
    oldest = (major, minor - _KUBELET_OLDER, 0)
    numbers, _, before = kubelet.partition("-")
    found = tuple(int(part) for part in numbers.split("."))
    if found < oldest or (found == oldest and before):
        return f'Kubelet version "{kubelet}" is lower than kubeadm can support. Please upgrade kubelet'
    return ""


def _is_kubelet(machine: Machine) -> bool:
    """Return whether the kubelet service runs kubelet.exe directly, or runs a script that has started kubelet.exe."""
    application = nssm.executable(machine, "kubelet").casefold()
    script = application.endswith("powershell.exe")
    return not script or any(process.name == "kubelet.exe" for process in machine.processes.all())


def control_plane_problem(cluster: Mapping[str, Any], version: str) -> str:
    """Return why kubeadm rejects a cluster with this ClusterConfiguration, or an empty string if it does not.

    kubeadm must support the API version of the configuration. The control plane may be at most one minor version older
    than kubeadm (constants.go: MinimumControlPlaneVersion). A newer control plane is accepted.
    """
    api, kind = str(cluster.get("apiVersion")), str(cluster.get("kind"))
    if f"{api} {kind}" not in contracts.kinds(version):
        message = f'no kind "{kind}" is registered for version "{api}" in scheme "pkg/runtime/scheme.go:111"'
        return f"failed to decode cluster configuration data: {message}"
    found = str(cluster.get("kubernetesVersion"))
    major, minor = contracts.number(contracts.minor_of(version))
    if contracts.number(contracts.minor_of(found)) < (major, minor - 1):
        return (
            "this version of kubeadm only supports deploying clusters with the control plane version >= "
            f"{major}.{minor - 1}.0. Current version: {found}"
        )
    return ""


def fatal(errors: list[str]) -> str:
    """Return kubeadm's message that preflight checks have failed, which lists the errors."""
    listed = "\n".join(errors)
    return (
        f"[preflight] Some fatal errors occurred:\n{listed}\n[preflight] If you know what you are doing, you can "
        f"make a check "
        "non-fatal with `--ignore-preflight-errors=...`"
    )
