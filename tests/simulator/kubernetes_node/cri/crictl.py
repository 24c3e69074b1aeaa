# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""crictl.exe, which manages images, pods and containers and shows the state of the container runtime, over CRI.

crictl reads `.crictl.yaml` in the user's profile. Source for the flags: kubernetes-sigs/cri-tools docs/crictl.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import yaml

from simulator.kubernetes_node.cni.plugins import CniError
from simulator.kubernetes_node.cri import crictl_views
from simulator.kubernetes_node.cri.crictl_flags import ALIASES, FLAGS, GLOBAL, CrictlError, take
from simulator.kubernetes_node.cri.interface import CriRuntime, RuntimeFailure, connect, rpc_error
from simulator.kubernetes_node.cri.shims import Sandbox
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import PullError
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE
from simulator.kubernetes_node.programs import contracts
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


class _Run:
    def __init__(self, server: CriRuntime, flags: dict[str, str], arguments: list[str], version: str = "") -> None:
        self.server, self.flags, self.arguments, self.version = server, flags, arguments, version

    def on(self, *names: str) -> bool:
        return any(self.flags.get(name) == "true" for name in names)

    @property
    def output(self) -> str:
        return self.flags.get("output", self.flags.get("o", "table"))

    def argument(self) -> str:
        if not self.arguments:
            raise CrictlError("ID cannot be empty")
        return self.arguments[0]


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate crictl.exe."""
    try:
        general, words = take(list(invocation.argv), GLOBAL)
        if general.keys() & {"version", "v"}:
            return ProgramResult(0, f"crictl version v{invocation.version}\n")
        if not words or general.keys() & {"help", "h"}:
            return ProgramResult(0, "NAME:\n   crictl - client for CRI\n")
        name = ALIASES.get(words[0], words[0])
        if name not in FLAGS:
            return ProgramResult(1, "", f"No help topic for '{words[0]}'\n")
        flags, arguments = take(words[1:], FLAGS[name], anywhere=True)
        server = _connect(machine, invocation, general)
        return ProgramResult(0, _COMMANDS[name](_Run(server, flags, arguments, invocation.version)))
    except (CrictlError, RuntimeFailure) as error:
        return ProgramResult(1, "", f'time="2026-11-21T00:00:00Z" level=fatal msg={json.dumps(str(error))}\n')


def _connect(machine: Machine, invocation: Invocation, general: Mapping[str, str]) -> CriRuntime:
    path = (
        general.get("config")
        or general.get("c")
        or invocation.variable("USERPROFILE", r"C:\Users\Administrator") + r"\.crictl.yaml"
    )
    configured: dict[str, Any] = {}
    if machine.files.is_file(path):
        configured = yaml.safe_load(machine.files.read_text(path)) or {}
    endpoint = (
        general.get("runtime-endpoint")
        or general.get("r")
        or invocation.variable("CONTAINER_RUNTIME_ENDPOINT")
        or str(configured.get("runtime-endpoint") or "")
        or PIPE
    )
    server = connect(machine, endpoint)
    if server is None:
        message = f'validate service connection: validate CRI v1 runtime API for endpoint "{endpoint}": rpc error: '
        raise CrictlError(
            message + 'code = Unavailable desc = connection error: desc = "transport: Error while dialing: open : The '
            "system cannot "
            'find the file specified."'
        )
    return server


def _find_image(server: CriRuntime, name: str) -> dict[str, Any]:
    exact = server.image(name)
    for item in crictl_views.all_images(server):
        if (exact and server.image_id(exact) == item["id"]) or item["id"].removeprefix("sha256:").startswith(
            name.removeprefix("sha256:")
        ):
            return item
    raise CrictlError(f'no such image "{name}" present')


def _images(run: _Run) -> str:
    found = crictl_views.all_images(run.server)
    if run.arguments:
        found = [item for item in found if any(run.arguments[0] in name for name in item["repoTags"])]
    if run.on("quiet", "q"):
        return "".join(f"{item['id']}\n" for item in found)
    if run.output == "json":
        return json.dumps({"images": found}, indent=2) + "\n"
    rows = [["IMAGE", "TAG", "IMAGE ID", "SIZE"]]
    for item in found:
        for name in item["repoTags"] or ["<none>:<none>"]:
            repository, _, tag = name.rpartition(":")
            rows.append([repository, tag, item["id"].removeprefix("sha256:")[:13], f"{int(item['size']) / 1000:.4g}kB"])
    return crictl_views.table(rows)


def _inspect_image(run: _Run) -> str:
    return json.dumps({"status": _find_image(run.server, run.argument())}, indent=2) + "\n"


def _pull(run: _Run) -> str:
    name = run.argument()
    try:
        image = run.server.pull(name, _credentials(run))
    except oci.ReferenceFormatError as error:
        message = f'rpc error: code = Unknown desc = failed to parse image reference "{name}": invalid reference format'
        raise CrictlError(f"pulling image: {message}") from error
    except (PullError, OSError) as error:
        raise CrictlError(f"pulling image: {rpc_error(error)}") from error
    return f"Image is up to date for {run.server.image_id(image)}\n"


def _credentials(run: _Run) -> str:
    return run.flags.get("creds") or run.flags.get("username") or run.flags.get("u") or ""


def _remove_image(run: _Run) -> str:
    message = ""
    requested = [item["id"] for item in crictl_views.all_images(run.server)] if run.on("all", "a") else run.arguments
    if run.on("prune"):
        used = {item.image_id for item in run.server.containers()}
        requested = [
            item["id"] for item in crictl_views.all_images(run.server) if item["id"] not in used and not item["pinned"]
        ]
    for name in requested:
        found = _find_image(run.server, name)
        for image in [item for item in run.server.store.images() if run.server.image_id(item) == found["id"]]:
            try:
                run.server.remove_image(image.name)
            except RuntimeFailure as error:
                raise CrictlError(
                    f'error of removing image "{name}": rpc error: code = Unknown desc = {error}'
                ) from error
        message += "".join(f"Deleted: {tag}\n" for tag in found["repoTags"])
    return message


def _filtered(run: _Run, found: list[Sandbox]) -> list[Sandbox]:
    for flag, name in (("id", "id"), ("name", "pod"), ("namespace", "namespace")):
        if run.flags.get(flag):
            found = [item for item in found if str(getattr(item, name)).startswith(run.flags[flag])]
    state = run.flags.get("state") or run.flags.get("s")
    if state:
        found = [item for item in found if item.ready == (state.lower() == "ready")]
    return found


def _pods(run: _Run) -> str:
    found = _filtered(run, run.server.sandboxes())
    if run.on("quiet", "q"):
        return "".join(f"{item.id}\n" for item in found)
    if run.output == "json":
        return json.dumps({"items": [crictl_views.sandbox_view(item) for item in found]}, indent=2) + "\n"
    rows = [["POD ID", "CREATED", "STATE", "NAME", "NAMESPACE", "ATTEMPT", "RUNTIME"]]
    rows += [
        [
            item.id[:13],
            "now",
            "Ready" if item.ready else "NotReady",
            item.pod,
            item.namespace,
            str(item.attempt),
            "(default)",
        ]
        for item in found
    ]
    return crictl_views.table(rows)


def _ps(run: _Run) -> str:
    pods = {item.id: item for item in run.server.sandboxes()}
    found = run.server.containers()
    state = (run.flags.get("state") or run.flags.get("s") or "").lower()
    if state:
        found = [item for item in found if ("running" if item.alive else item.state.lower()) == state]
    elif not run.on("all", "a"):
        found = [item for item in found if item.alive]
    for flags, attribute in ((("name",), "name"), (("pod", "p"), "sandbox"), (("id",), "id")):
        requested = next((run.flags[flag] for flag in flags if run.flags.get(flag)), "")
        if requested:
            found = [item for item in found if requested in str(getattr(item, attribute))]
    if run.on("quiet", "q"):
        return "".join(f"{item.id}\n" for item in found)
    if run.output == "json":
        return (
            json.dumps(
                {"containers": [crictl_views.container_view(item, pods.get(item.sandbox)) for item in found]}, indent=2
            )
            + "\n"
        )
    rows = [["CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD"]]
    for item in found:
        pod = pods[item.sandbox].pod if item.sandbox in pods else "unknown"
        rows.append(
            [
                item.id[:13],
                item.image_id[7:20],
                "now",
                "Running" if item.alive else "Exited",
                item.name,
                str(item.attempt),
                item.sandbox[:13],
                pod,
            ]
        )
    return crictl_views.table(rows)


def _one(run: _Run, items: list[Any], what: str) -> Any:
    requested = run.argument()
    found = [item for item in items if item.id.startswith(requested)]
    if not found:
        raise CrictlError(
            f'rpc error: code = NotFound desc = an error occurred when try to find {what} "{requested}": not found'
        )
    return found[0]


def _chosen(run: _Run, items: list[Any], what: str) -> list[Any]:
    if run.on("all", "a"):
        return items
    return [_one(_Run(run.server, {}, [requested]), items, what) for requested in run.arguments]


def _inspect(run: _Run) -> str:
    item = _one(run, run.server.containers(), "container")
    about = crictl_views.container_view(
        item, next((pod for pod in run.server.sandboxes() if pod.id == item.sandbox), None)
    )
    about |= {
        "startedAt": crictl_views.nanos(item.started),
        "finishedAt": crictl_views.nanos(item.finished),
        "exitCode": item.exit_code,
        "reason": item.reason,
        "message": item.message,
        "logPath": item.log,
    }
    return (
        json.dumps(
            {"status": about, "info": {"pid": item.process.id if item.alive else 0, "sandboxID": item.sandbox}},
            indent=2,
        )
        + "\n"
    )


def _inspect_pod(run: _Run) -> str:
    """Return the output of `crictl inspectp`.

    Since version 1.31, `crictl inspectp` without ids shows all pods that match the filters
    (kubernetes-sigs/cri-tools#1553).
    """
    sandboxes = run.server.sandboxes()
    if run.arguments:
        found = [_one(_Run(run.server, {}, [requested]), sandboxes, "sandbox") for requested in run.arguments]
    elif contracts.at_least(run.version, "1.31"):
        found = _filtered(run, sandboxes)
    else:
        raise CrictlError("ID cannot be empty")
    views = [crictl_views.sandbox_status(item) for item in found]
    return json.dumps(views[0] if len(views) == 1 else views, indent=2) + "\n"


def _info(run: _Run) -> str:
    problem = run.server.problem()
    why = "DockerDaemonNotReady" if problem else ""
    conditions = [{"message": problem, "reason": why, "status": not problem, "type": "RuntimeReady"}]
    try:
        run.server.network()
        conditions.append({"message": "", "reason": "", "status": True, "type": "NetworkReady"})
    except CniError as error:
        text = run.server.network_problem(error)
        conditions.append({"message": text, "reason": "NetworkPluginNotReady", "status": False, "type": "NetworkReady"})
    loaded = run.server.load_status()
    more = {"lastCNILoadStatus": loaded, "lastCNILoadStatus.default": loaded} if loaded else {}
    return json.dumps({"status": {"conditions": conditions}, "config": run.server.info(), **more}, indent=2) + "\n"


def _image_file_systems(run: _Run) -> str:
    folder = run.server.image_folder
    used = sum(entry.size for entry in run.server.machine.files.walk(folder) if not entry.is_directory)
    found = {"timestamp": crictl_views.nanos(datetime.now(UTC)), "fsId": {"mountpoint": folder},
             "usedBytes": {"value": str(used)}, "inodesUsed": {"value": "0"}}  # fmt: skip
    return json.dumps({"status": {"imageFilesystems": [found], "containerFilesystems": []}}, indent=2) + "\n"


def _version(run: _Run) -> str:
    name = run.server.kind
    version = f"v{run.server.version}" if name == "containerd" else run.server.version
    return f"Version:  0.1.0\nRuntimeName:  {name}\nRuntimeVersion:  {version}\nRuntimeApiVersion:  v1\n"


def _stop(run: _Run) -> str:
    message = ""
    for requested in run.arguments:
        item = _one(_Run(run.server, run.flags, [requested]), run.server.containers(), "container")
        run.server.stop_container(item)
        message += f"{requested}\n"
    return message


def _remove(run: _Run) -> str:
    chosen = _chosen(run, run.server.containers(), "container")
    for item in chosen:
        if item.alive and not run.on("force", "f"):
            raise CrictlError(f'removing the container "{item.id}": container is running, please stop it first')
        run.server.remove_container(item)
    return "".join(f"{item.id}\n" for item in chosen)


def _stop_pod(run: _Run) -> str:
    message = ""
    for requested in run.arguments:
        item = _one(_Run(run.server, {}, [requested]), run.server.sandboxes(), "sandbox")
        try:
            run.server.stop_sandbox(item)
        except RuntimeFailure as error:
            raise CrictlError(f'stopping the pod sandbox "{item.id}": rpc error: {error}') from error
        message += f"Stopped sandbox {requested}\n"
    return message


def _remove_pod(run: _Run) -> str:
    chosen = _chosen(run, run.server.sandboxes(), "sandbox")
    for item in chosen:
        if item.ready and not run.on("force", "f"):
            raise CrictlError(f'removing the pod sandbox "{item.id}": sandbox is ready, please stop it first')
        try:
            run.server.remove_sandbox(item)
        except RuntimeFailure as error:
            raise CrictlError(f'removing the pod sandbox "{item.id}": rpc error: {error}') from error
    return "".join(f"Removed sandbox {item.id}\n" for item in chosen)


_COMMANDS: Mapping[str, Callable[[_Run], str]] = {
    "images": _images,
    "inspecti": _inspect_image,
    "pull": _pull,
    "rmi": _remove_image,
    "pods": _pods,
    "ps": _ps,
    "inspect": _inspect,
    "inspectp": _inspect_pod,
    "info": _info,
    "imagefsinfo": _image_file_systems,
    "version": _version,
    "stop": _stop,
    "rm": _remove,
    "stopp": _stop_pod,
    "rmp": _remove_pod,
}
PROGRAMS: Mapping[str, Program] = {"crictl": run}
