# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate the command lines and sockets of CSI drivers and csi-node-driver-registrar. Volumes are not modelled.

As on Linux, a Unix socket is a file on Windows. A program that listens on a socket creates the file, and fails if the
file's folder does not exist (Go's net.Listen).

Sources: kubernetes-csi/node-driver-registrar v2.17.0 cmd/csi-node-driver-registrar (main.go, node_register.go);
kubernetes-csi/csi-driver-smb v1.20.3 cmd/smbplugin/main.go;
kubernetes-sigs/azuredisk-csi-driver d983d613b6dd pkg/azuredisk/azuredisk_option.go;
kubernetes-sigs/azurefile-csi-driver 7b5ae18e74f0 pkg/azurefile/azurefile_options.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.addons.go_flags import GoUsageError, parse
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine.objects import Invocation, Program, ProgramResult
from simulator.machine.windows_paths import normalise

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_COMMON = {"v", "endpoint", "nodeid", "drivername", "metrics-address", "kubeconfig", "enable-windows-host-process"}
_AZURE = {"allow-empty-cloud-config", "kube-api-qps", "kube-api-burst", "use-win-cim-api"}
_DRIVERS: Mapping[str, tuple[str, frozenset[str]]] = {
    "smbplugin": ("smb.csi.k8s.io", frozenset({*_COMMON, "remove-smb-mapping-during-unmount", "working-mount-dir"})),
    "azurediskplugin": ("disk.csi.azure.com", frozenset({*_COMMON, *_AZURE, "pre-stop-hook", "volume-attach-limit"})),
    "azurefileplugin": ("file.csi.azure.com", frozenset({*_COMMON, *_AZURE, "enable-get-volume-stats"})),
}
_REGISTRAR = frozenset(
    {"v", "csi-address", "plugin-registration-path", "kubelet-registration-path", "timeout", "http-endpoint", "mode"}
)
_SOCKET = "SIMULATED-SOCKET "
_ENDPOINT = "unix://tmp/csi.sock"  # the default of all three drivers


def _path(address: str) -> str:
    return normalise(drive(address.removeprefix("unix://")))


def _listen(machine: Machine, invocation: Invocation, path: str, name: str) -> ProgramResult:
    """Simulate a CSI driver, which listens on a socket until it is stopped."""
    if not machine.files.is_directory(path.rpartition("\\")[0]):
        text = f"listen unix {path}: bind: A socket operation encountered a dead network.\n"
        return ProgramResult(1, "", text)
    machine.files.write_text(path, _SOCKET + name)
    invocation.stop.wait()
    if machine.files.is_file(path):
        machine.files.delete(path)
    return ProgramResult(0, "", "")


def _driver(program: str) -> Program:
    name, known = _DRIVERS[program]

    def run(machine: Machine, invocation: Invocation) -> ProgramResult:
        try:
            flags = parse(invocation.argv, known)
        except GoUsageError as error:
            return ProgramResult(2, "", f"{error}\n")
        return _listen(machine, invocation, _path(flags.get("endpoint", _ENDPOINT)), name)

    return run


def registrar(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate csi-node-driver-registrar.exe.

    It waits for the CSI driver's socket, and then creates the socket through which the kubelet registers the driver.
    """
    try:
        flags = parse(invocation.argv, _REGISTRAR)
    except GoUsageError as error:
        return ProgramResult(2, "", f"{error}\n")
    if not flags.get("kubelet-registration-path"):
        return ProgramResult(1, "", "kubelet-registration-path is a required parameter\n")
    socket = _path(flags.get("csi-address", "/run/csi/socket"))
    while not machine.files.is_file(socket):
        if invocation.stop.wait(0.1):
            return ProgramResult(0, "", "")
    name = machine.files.read_text(socket).removeprefix(_SOCKET)
    folder = _path(flags.get("plugin-registration-path", "/registration")).rstrip("\\")
    return _listen(machine, invocation, f"{folder}\\{name}-reg.sock", f"registration of {name}")


PROGRAMS: Mapping[str, Program] = {
    "csi-node-driver-registrar": registrar,
    **{program: _driver(program) for program in _DRIVERS},
}
