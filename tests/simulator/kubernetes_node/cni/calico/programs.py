# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate calico-node.exe, calico.exe, install.exe, and the scripts in the calico/node-windows image.

Since 3.33, calico.exe also contains the other executables: `calico.exe component cni install` works like install.exe,
and `calico.exe component node …` works like calico-node.exe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.cni.calico import confd, felix, install, node_service
from simulator.kubernetes_node.cni.calico.environment import CalicoError, Logs, Output, StoppedError
from simulator.kubernetes_node.cni.calico.plugin import VERSIONS
from simulator.kubernetes_node.cni.calico.releases import CalicoRelease
from simulator.kubernetes_node.cni.calico.startup import Startup
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REFUSED = "connectex: No connection could be made because the target machine actively refused it."


def calico_node(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate calico-node.exe."""
    words = {word.lstrip("-") for word in run.argv}
    if "v" in words:
        return ProgramResult(0, f"v{run.version}\n")
    if checks := words & {"felix-live", "felix-ready"}:
        return _health(machine, checks)
    if "startup" in words:
        return _startup(machine, run, complete="complete-startup" in words)
    if "shutdown" in words:
        return ProgramResult(0)
    if "felix" in words:
        output = Output(machine, run, "felix")
        try:
            return ProgramResult(felix.serve(machine, run, output), output.text())
        except StoppedError:
            return ProgramResult(0xC000013A)
    return ProgramResult(1, "No valid options provided. Usage:\n")


def _startup(machine: Machine, run: Invocation, *, complete: bool) -> ProgramResult:
    output = Output(machine, run, "node")
    try:
        Startup(machine, run, output, complete=complete).start()
    except CalicoError:
        return ProgramResult(1, output.text())
    except StoppedError:
        return ProgramResult(0xC000013A)
    return ProgramResult(0, output.text())


def _health(machine: Machine, checks: set[str]) -> ProgramResult:
    """Simulate how calico-node.exe queries Felix's health endpoint.

    Source: node/pkg/health.
    """
    state = machine.part(felix.FelixState)
    for check, good in (("felix-live", state.live), ("felix-ready", state.live and state.ready)):
        if check not in checks or good:
            continue
        what, path = ("Felix is not live", "liveness") if check == "felix-live" else ("felix is not ready", "readiness")
        reason = "readiness probe reporting 503" if state.live else f'Get "http://localhost:9099/{path}": {_REFUSED}'
        return ProgramResult(1, f"calico/node is not ready: {what}: {reason}\n")
    return ProgramResult(0)


def calico(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate calico.exe, which handles manual calls of the CNI plugin and, since 3.33, contains all components."""
    if run.argv[:1] == ["component"] and CalicoRelease(run.version).has("single_binary"):
        if run.argv[1:3] == ["cni", "install"]:
            return install.run(machine, run)
        if run.argv[1:2] == ["node"]:
            run.argv[:] = [word if word.startswith("-") else f"-{word}" for word in run.argv[2:] if word != "health"]
            return calico_node(machine, run)
    if run.argv[:1] == ["-v"]:
        return ProgramResult(0, f"v{run.version}\n")
    command = run.variable("CNI_COMMAND")
    if command == "VERSION":
        return ProgramResult(0, json.dumps({"cniVersion": VERSIONS[-1], "supportedVersions": list(VERSIONS)}))
    if not command:
        about = f"CNI plugin v{run.version}\nCNI protocol versions supported: {', '.join(VERSIONS)}\n"
        return ProgramResult(0, "", about)
    missing = "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing"
    return ProgramResult(1, json.dumps({"code": 4, "msg": missing}))


def _status(machine: Machine) -> object:
    """Return the last lines of output of each Calico program, and Felix's state."""
    state = machine.part(felix.FelixState)
    about = {"running": state.running, "ready": state.ready, "problem": state.problem}
    return {"logs": {name: list(lines) for name, lines in machine.part(Logs).lines.items()}, "felix": about}


PROGRAMS: Mapping[str, Program] = {
    "calico": calico,
    "calico-node": calico_node,
    "calico-cni-install": install.run,
    "calico-node-service": node_service.node_service,
    "calico-felix-service": node_service.felix_service,
    "calico-confd-service": confd.confd_service,
    "calico-uninstall": node_service.uninstall,
}
STATUS: Mapping[str, Callable[[Machine], object]] = {"calico": _status}
