# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ctr.exe with its commands for images, content, containers, tasks, leases, namespaces and plugins.

The flags of ctr are in contracts/containerd.json. ctr fails if containerd does not listen on its pipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.containerd import ctr_archives, ctr_content, ctr_images
from simulator.kubernetes_node.containerd.ctr_run import Command, CtrError, CtrRun, columns
from simulator.kubernetes_node.containerd.runtime import connect
from simulator.kubernetes_node.cri.shims import settle
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import PullError
from simulator.kubernetes_node.images.store import K8S
from simulator.kubernetes_node.programs import cli, contracts
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ADDRESS = "\\\\.\\pipe\\containerd-containerd"


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate ctr.exe."""
    try:
        line = cli.read("ctr", invocation.argv, invocation.version)
    except cli.UsageError as error:
        return ProgramResult(1, error.printed, f"{error}\n")
    if line.on("version") and not line.command:
        module = "github.com/containerd/containerd" + ("/v2" if contracts.at_least(invocation.version, "2.0") else "")
        return ProgramResult(0, f"ctr {module} v{invocation.version}\n")
    if line.on("help") or not line.command:
        return ProgramResult(
            0, "NAME:\n   ctr - \n\nUSAGE:\n   ctr [global options] command [command options] [arguments...]\n"
        )
    handler = _COMMANDS.get(line.command)
    if handler is None:
        return ProgramResult(1, "", f"ctr: the simulator does not model ctr {line.command}\n")
    address = line.text("address") or invocation.variable("CONTAINERD_ADDRESS") or _ADDRESS
    server = connect(machine, address)
    if server is None:
        message = f"failed to dial {json.dumps(address)}: context deadline exceeded: connection error: desc = "
        message += '"transport: error while dialing: '
        return ProgramResult(1, "", f'ctr: {message}open {address}: The system cannot find the file specified."\n')
    try:
        found = CtrRun(machine, invocation, line, server)
        printed = handler(found)
        warnings = "".join(
            f'time="2026-11-21T00:00:00Z" level=warning msg={json.dumps(message)}\n' for message in found.warnings
        )
        return ProgramResult(0, printed, warnings)
    except (CtrError, PullError, oci.ReferenceFormatError) as error:
        return ProgramResult(1, "", f"ctr: {error}\n")
    except OSError as error:
        return ProgramResult(1, "", f"ctr: {error.strerror or error}\n")


def _containers(run: CtrRun) -> str:
    found = [(identity, "-") for identity in settle(run.machine).elsewhere.get(run.namespace, ())]
    if run.namespace == K8S:
        found += [(item.id, item.image) for item in run.server.containers()]
        found += [(item.id, run.server.config.sandbox_image) for item in run.server.sandboxes()]
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity, _ in found)
    return columns([["CONTAINER", "IMAGE", "RUNTIME", ""], *([*item, "io.containerd.runhcs.v1", ""] for item in found)])


def _tasks(run: CtrRun) -> str:
    found: list[tuple[str, int]] = []
    if run.namespace == K8S:
        found = [
            (item.id, item.process.id) for item in run.server.containers() if item.process is not None and item.alive
        ]
        # A sandbox is also a task, because of its pause container.
        found += [(item.id, 4000 + 4 * place) for place, item in enumerate(run.server.sandboxes()) if item.ready]
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity, _ in found)
    return columns([["TASK", "PID", "STATUS", ""], *([name, str(pid), "RUNNING", ""] for name, pid in found)])


def _leases(run: CtrRun) -> str:
    found = sorted(settle(run.machine).leases) if run.namespace == K8S else []
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity in found)
    return columns([["ID", "CREATED AT", "LABELS"], *([name, "2026-11-21T00:00:00Z", "-"] for name in found)])


def _namespaces(run: CtrRun) -> str:
    names = sorted({*run.server.store.namespaces(), *settle(run.machine).elsewhere})
    if run.line.on("quiet"):
        return "".join(f"{name}\n" for name in names)
    return columns([["NAME", "LABELS"], *([name, ""] for name in names)])


def _make_namespace(run: CtrRun) -> str:
    run.server.store.make_namespace(run.argument(0, "please specify a namespace"))
    return ""


def _remove_namespace(run: CtrRun) -> str:
    message = ""
    for name in run.line.arguments:
        try:
            if not run.server.store.remove_namespace(name):
                raise CtrError(f'unable to delete {name}: namespace "{name}": not found')
        except ValueError as error:
            raise CtrError(f"unable to delete {name}: {error}") from error
        message += f"{name}\n"
    return message


def _version(run: CtrRun) -> str:
    own, server = run.invocation.version, run.server.version
    return (
        f"Client:\n  Version:  v{own}\n  Revision: \n  Go version: go1.26.8\n\nServer:\n  Version:  v{server}\n  "
        f"Revision: \n"
        f"  UUID: 00000000-0000-0000-0000-000000000000\n"
    )


def _plugins(run: CtrRun) -> str:
    names = [name.split(".v1.") for name in run.server.config.tables.get("plugins", {}) if ".v1." in name]
    rows = [[f"{kind}.v1", name, "windows/amd64", "ok"] for kind, name in names]
    return columns([["TYPE", "ID", "PLATFORMS", "STATUS"], *rows])


_COMMANDS: Mapping[str, Command] = {
    **ctr_images.COMMANDS,
    **ctr_archives.COMMANDS,
    **ctr_content.COMMANDS,
    "containers list": _containers,
    "tasks list": _tasks,
    "leases list": _leases,
    "namespaces list": _namespaces,
    "namespaces create": _make_namespace,
    "namespaces remove": _remove_namespace,
    "version": _version,
    "plugins list": _plugins,
}
PROGRAMS: Mapping[str, Program] = {"ctr": run}
