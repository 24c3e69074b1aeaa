# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker.exe, with its commands for containers, networks, and system information. See image_commands.py for images.

Source: https://docs.docker.com/reference/cli/docker/container/ls/.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.kubernetes_node.docker import image_commands
from simulator.kubernetes_node.docker.command_line import (
    GLOBAL,
    DockerRun,
    DockerUsageError,
    command,
    flags_of,
    parse,
    render,
    rows,
)
from simulator.kubernetes_node.docker.dockerd import PIPE, DockerContainer, Dockerd, DockerError
from simulator.kubernetes_node.docker.images import familiar
from simulator.kubernetes_node.hns.service import HnsStore
from simulator.machine import listeners
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate docker.exe."""
    try:
        general, words = parse(list(invocation.argv), GLOBAL, anywhere=False)
    except DockerUsageError as error:
        return ProgramResult(125, "", f"{error}\nSee 'docker --help'.\n")
    if general.keys() & {"v", "version"}:
        return ProgramResult(0, f"Docker version {invocation.version}, build 0000000\n")
    if not words or "help" in general:
        return ProgramResult(0, "Usage:  docker [OPTIONS] COMMAND\n")
    name, words = command(words, _COMMANDS)
    if name not in _COMMANDS:
        return ProgramResult(1, "", f"the simulator does not model docker {name}\n")
    try:
        options, arguments = parse(words, flags_of(name))
    except DockerUsageError as error:
        return ProgramResult(125, "", f"{error}\n\nUsage:  docker {name} [OPTIONS]\n")
    host = (general.get("H") or general.get("host") or [invocation.variable("DOCKER_HOST") or PIPE])[-1]
    server = listeners.behind(machine, host)
    if not isinstance(server, Dockerd):
        return ProgramResult(1, "", _unreachable(host))
    asked = DockerRun(machine, invocation, server, options, arguments)
    home = invocation.variable("USERPROFILE", r"C:\Users\Administrator")
    asked.configuration = general.get("config", [invocation.variable("DOCKER_CONFIG") or f"{home}\\.docker"])[-1]
    try:
        printed = _COMMANDS[name](asked)
    except DockerError as error:
        asked.errors.append(f"Error response from daemon: {error}")
        printed = ""
    except DockerUsageError as error:
        asked.errors.append(str(error))
        printed = ""
    return ProgramResult(1 if asked.errors else 0, printed, "".join(f"{error}\n" for error in asked.errors))


def _unreachable(host: str) -> str:
    message = "error during connect: this error may indicate that the docker daemon is not running: Get "
    pipe = host.removeprefix("npipe:").lstrip("/")
    path = pipe.replace("/", "%2F")
    return (
        f'{message}"http://%2F%2F{path}/v1.51/containers/json": open //{pipe}: The system cannot find the file '
        f"specified.\n"
    )


def _row(item: DockerContainer, *, whole: bool) -> dict[str, object]:
    return {
        "Command": '"cmd /c app.exe"',
        "CreatedAt": f"{item.created:%Y-%m-%d %H:%M:%S} +0000 UTC",
        "ID": item.id if whole else item.id[:12],
        "Image": familiar(item.image),
        "Labels": ",".join(f"{key}={value}" for key, value in item.labels.items()),
        "LocalVolumes": "0",
        "Mounts": "",
        "Names": item.name,
        "Networks": item.network,
        "Ports": "",
        "RunningFor": "1 hour ago",
        "Size": "0B",
        "State": item.state,
        "Status": {"running": "Up 1 hour", "created": "Created"}.get(
            item.state, f"Exited ({item.exit_code}) 1 hour ago"
        ),
    }


def _ps(asked: DockerRun) -> str:
    found = [item for item in asked.server.containers() if asked.on("a", "all") or item.state == "running"]
    listed = [_row(item, whole=asked.on("no-trunc")) for item in found]
    head = ["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"]
    keys = ("ID", "Image", "Command", "RunningFor", "Status", "Ports", "Names")
    return rows(asked, listed, head, keys)


def _inspected(server: Dockerd, item: DockerContainer) -> dict[str, object]:
    endpoint = server.endpoint(item)
    network = {
        "EndpointID": (endpoint.id.lower() if endpoint else ""),
        "IPAddress": endpoint.address if endpoint else "",
        "MacAddress": endpoint.mac.replace("-", ":").lower() if endpoint else "",
        "IPAMConfig": {"IPv4Address": item.address} if item.address else None,
    }
    return {
        "Id": item.id,
        "Created": item.created.isoformat().replace("+00:00", "Z"),
        "Name": f"/{item.name}",
        "State": {
            "Status": item.state,
            "Running": item.state == "running",
            "ExitCode": item.exit_code,
            "Pid": item.process.id if item.process else 0,
        },
        "Config": {"Image": item.image, "Labels": dict(item.labels)},
        "Image": item.image_id,
        "HostConfig": {"NetworkMode": item.network, "Isolation": "process"},
        "NetworkSettings": {"Networks": {item.network: network}},
        "Platform": "windows",
    }


def _inspect(asked: DockerRun) -> str:
    found: list[dict[str, object]] = []
    for name in asked.arguments:
        try:
            found.append(_inspected(asked.server, asked.server.find(name)))
        except DockerError:
            asked.errors.append(f"Error: No such object: {name}")
    if asked.template:
        return "".join(f"{render(asked.template, item)}\n" for item in found)
    return json.dumps(found, indent=4) + "\n"


def _start(asked: DockerRun) -> str:
    done = asked.each(asked.server.start)
    failed = [name for name in asked.arguments if name not in done]
    if failed:
        asked.errors.append(f"Error: failed to start containers: {', '.join(failed)}")
    return "".join(f"{name}\n" for name in done)


def _stop(asked: DockerRun) -> str:
    return "".join(f"{name}\n" for name in asked.each(asked.server.stop))


def _remove(asked: DockerRun) -> str:
    force = asked.on("f", "force")
    return "".join(f"{name}\n" for name in asked.each(lambda item: asked.server.remove(item, force=force)))


def _networks(asked: DockerRun) -> str:
    found = HnsStore(asked.server.machine).networks()
    listed: list[dict[str, object]] = [
        {
            "ID": item.id.replace("-", "").lower()[: None if asked.on("no-trunc") else 12],
            "Name": item.name,
            "Driver": item.kind.lower(),
            "Scope": "local",
        }
        for item in found
    ]
    head = ["NETWORK ID", "NAME", "DRIVER", "SCOPE"]
    return rows(asked, listed, head, ("ID", "Name", "Driver", "Scope"))


def _version(asked: DockerRun) -> str:
    own, version = asked.invocation.version or asked.server.version, asked.server.version
    server = {"Version": version, "Os": "windows", "Arch": "amd64", "KernelVersion": _kernel(asked)}
    about = {"Client": {"Version": own, "Os": "windows", "Arch": "amd64"}, "Server": server}
    if asked.template:
        return render(asked.template, about) + "\n"
    return (
        f"Client:\n Version:           {own}\n OS/Arch:           windows/amd64\n\n"
        f"Server:\n Engine:\n  Version:          {version}\n  OS/Arch:          windows/amd64\n"
    )


def _kernel(asked: DockerRun) -> str:
    windows = asked.machine.windows
    return f"10.0 {windows.build} ({windows.full})"


def _info(asked: DockerRun) -> str:
    server = asked.server
    states = [item.state for item in server.containers()]
    hosts = [item.partition("/")[0] for item in server.config.insecure]
    about: dict[str, object] = {
        "ServerVersion": server.version,
        "Containers": len(states),
        "ContainersRunning": states.count("running"),
        "Images": len(server.images.all()),
        "Driver": "windowsfilter",
        "DockerRootDir": server.config.root,
        "Isolation": "process",
        "OSType": "windows",
        "OperatingSystem": asked.machine.windows.product,
        "OSVersion": asked.machine.windows.full,
        "Name": asked.machine.name,
        "HttpProxy": server.config.proxies.get("http_proxy", ""),
        "HttpsProxy": server.config.proxies.get("https_proxy", ""),
        "NoProxy": server.config.proxies.get("no_proxy", ""),
        "RegistryConfig": {"Mirrors": list(server.config.mirrors), "InsecureRegistryCIDRs": hosts},
        "LiveRestoreEnabled": False,
        "Labels": list(server.config.labels),
        "Debug": server.config.debug,
    }
    if asked.template:
        return render(asked.template, about) + "\n"
    plain = {key: value for key, value in about.items() if not isinstance(value, dict | list)}
    return "Server:\n" + "".join(f" {key}: {value}\n" for key, value in plain.items())


_COMMANDS: Mapping[str, Callable[[DockerRun], str]] = {
    "ps": _ps,
    "inspect": _inspect,
    "start": _start,
    "stop": _stop,
    "rm": _remove,
    "network ls": _networks,
    "version": _version,
    "info": _info,
    **image_commands.COMMANDS,
}
PROGRAMS: Mapping[str, Program] = {"docker": run}
