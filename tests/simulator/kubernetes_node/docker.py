# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker.exe: ps, inspect, start, stop, rm, network ls, version; no more of Docker is modelled.

https://docs.docker.com/reference/cli/docker/container/ls/. Of Go's templates `--format` knows `{{json .}}` and
`{{.Field}}` with text around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node import dockerd
from simulator.kubernetes_node.crictl_views import table
from simulator.kubernetes_node.dockerd import DockerContainer, Dockerd, DockerError
from simulator.kubernetes_node.hns_store import Store
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

# Options of each command: True: with a value.
_OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "ps": {"a": False, "all": False, "q": False, "quiet": False, "no-trunc": False, "format": True},
    "inspect": {"f": True, "format": True, "type": True},
    "start": {},
    "stop": {"t": True, "time": True, "timeout": True},
    "rm": {"f": False, "force": False, "v": False, "volumes": False},
    "network ls": {"q": False, "quiet": False, "no-trunc": False, "format": True},
    "version": {"f": True, "format": True},
}


class _UsageError(Exception):
    pass


class _Run:
    """One run: its options, its arguments, the daemon."""

    def __init__(self, server: Dockerd, options: Mapping[str, str], arguments: Sequence[str]) -> None:
        self.server, self.options, self.arguments = server, options, arguments
        self.errors: list[str] = []

    def on(self, *names: str) -> bool:
        return any(name in self.options for name in names)

    @property
    def template(self) -> str:
        return self.options.get("format") or self.options.get("f") or ""

    def each(self, act: Callable[[DockerContainer], None]) -> list[str]:
        """Do something to every container that is named; returns the names for which it succeeded."""
        done: list[str] = []
        for name in self.arguments:
            try:
                act(self.server.find(name))
                done.append(name)
            except DockerError as error:
                self.errors.append(f"Error response from daemon: {error}")
        return done


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """docker.exe."""
    words = list(invocation.argv)
    if words[:1] == ["container"]:
        words = ["ps" if word == "ls" else word for word in words[1:]]
    name = " ".join(words[:2]) if words[:1] == ["network"] else "".join(words[:1])
    if name not in _OPTIONS:
        return ProgramResult(1, "", f"the simulator does not model docker {name}\n")
    try:
        options, arguments = _parse(words[len(name.split()) :], _OPTIONS[name])
    except _UsageError as error:
        return ProgramResult(125, "", f"{error}\n\nUsage:  docker {name} [OPTIONS]\n")
    server = dockerd.connect(machine)
    if server is None:
        said = "error during connect: this error may indicate that the docker daemon is not running: Get "
        url = '"http://%2F%2F.%2Fpipe%2Fdocker_engine/v1.51/containers/json": open //./pipe/docker_engine: The system '
        return ProgramResult(1, "", f"{said}{url}cannot find the file specified.\n")
    asked = _Run(server, options, arguments)
    printed = _COMMANDS[name](asked)
    return ProgramResult(1 if asked.errors else 0, printed, "".join(f"{error}\n" for error in asked.errors))


def _parse(words: list[str], known: Mapping[str, bool]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    arguments: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            arguments.append(word)
            continue
        names = [word[2:]] if word.startswith("--") else [word[1:]]
        name, given, value = names[0].partition("=")
        if not word.startswith("--") and name not in known and all(letter in known for letter in name):
            options |= dict.fromkeys(name, "true")
            continue
        if name not in known:
            raise _UsageError(f"unknown flag: {word}" if word.startswith("--") else f"unknown shorthand flag: {word}")
        if known[name] and not given:
            if not words:
                raise _UsageError(f"flag needs an argument: {word}")
            value = words.pop(0)
        options[name] = value or "true"
    return options, arguments


def _render(template: str, fields: Mapping[str, object]) -> str:
    if template in ("json", "{{json .}}"):
        return json.dumps(fields)

    def field(match: re.Match[str]) -> str:
        value: object = fields
        for part in match[1].split("."):
            value = value.get(part, "<no value>") if isinstance(value, Mapping) else "<no value>"
        # Go prints true and false as JSON does.
        return json.dumps(value) if isinstance(value, bool) or match[0].startswith("{{json") else str(value)

    return re.sub(r"\{\{\s*(?:json\s+)?\.([\w.]+)\s*\}\}", field, template)


def _row(item: DockerContainer, *, whole: bool) -> dict[str, object]:
    return {
        "Command": '"cmd /c app.exe"',
        "CreatedAt": f"{item.created:%Y-%m-%d %H:%M:%S} +0000 UTC",
        "ID": item.id if whole else item.id[:12],
        "Image": item.image,
        "Labels": "",
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


def _ps(asked: _Run) -> str:
    found = [item for item in asked.server.containers() if asked.on("a", "all") or item.state == "running"]
    rows = [_row(item, whole=asked.on("no-trunc")) for item in found]
    if asked.on("q", "quiet"):
        return "".join(f"{row['ID']}\n" for row in rows)
    if asked.template:
        return "".join(f"{_render(asked.template, row)}\n" for row in rows)
    head = ["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"]
    keys = ("ID", "Image", "Command", "RunningFor", "Status", "Ports", "Names")
    return table([head, *([str(row[key]) for key in keys] for row in rows)])


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
        "Config": {"Image": item.image, "Labels": {}},
        "HostConfig": {"NetworkMode": item.network, "Isolation": "process"},
        "NetworkSettings": {"Networks": {item.network: network}},
        "Platform": "windows",
    }


def _inspect(asked: _Run) -> str:
    found: list[dict[str, object]] = []
    for name in asked.arguments:
        try:
            found.append(_inspected(asked.server, asked.server.find(name)))
        except DockerError:
            asked.errors.append(f"Error: No such object: {name}")
    if asked.template:
        return "".join(f"{_render(asked.template, item)}\n" for item in found)
    return json.dumps(found, indent=4) + "\n"


def _start(asked: _Run) -> str:
    done = asked.each(asked.server.start)
    failed = [name for name in asked.arguments if name not in done]
    if failed:
        asked.errors.append(f"Error: failed to start containers: {', '.join(failed)}")
    return "".join(f"{name}\n" for name in done)


def _stop(asked: _Run) -> str:
    return "".join(f"{name}\n" for name in asked.each(asked.server.stop))


def _remove(asked: _Run) -> str:
    force = asked.on("f", "force")
    return "".join(f"{name}\n" for name in asked.each(lambda item: asked.server.remove(item, force=force)))


def _networks(asked: _Run) -> str:
    found = Store(asked.server.machine).networks()
    rows: list[dict[str, object]] = [
        {
            "ID": item.id.replace("-", "").lower()[: None if asked.on("no-trunc") else 12],
            "Name": item.name,
            "Driver": item.kind.lower(),
            "Scope": "local",
        }
        for item in found
    ]
    if asked.on("q", "quiet"):
        return "".join(f"{row['ID']}\n" for row in rows)
    if asked.template:
        return "".join(f"{_render(asked.template, row)}\n" for row in rows)
    head = ["NETWORK ID", "NAME", "DRIVER", "SCOPE"]
    return table([head, *([str(value) for value in row.values()] for row in rows)])


def _version(asked: _Run) -> str:
    about = {"Client": {"Version": asked.server.version}, "Server": {"Version": asked.server.version}}
    if asked.template:
        return _render(asked.template, about) + "\n"
    return (
        f"Client:\n Version:           {asked.server.version}\n\nServer:\n Version:          {asked.server.version}\n"
    )


_COMMANDS: Mapping[str, Callable[[_Run], str]] = {
    "ps": _ps,
    "inspect": _inspect,
    "start": _start,
    "stop": _stop,
    "rm": _remove,
    "network ls": _networks,
    "version": _version,
}
PROGRAMS: Mapping[str, Program] = {"docker": run}
