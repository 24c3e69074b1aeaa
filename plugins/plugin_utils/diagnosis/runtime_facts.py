# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Observe a node's container runtime: its named pipe, its state, its images and its running containers (no I/O).

Sources: kubernetes-sigs/cri-tools, docs/crictl.md; containerd, internal/cri/server/status.go for the output of `crictl
info`; containerd, cmd/ctr/commands/images for `list` and `check`.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import typing as t

from ..windows import node_paths
from ..wire.calls import query
from ..wire.messages import Call, CallResult

RUNTIME_SERVICES: t.Mapping[str, tuple[str, ...]] = {
    node_paths.CONTAINERD_PIPE: ("containerd",),
    node_paths.CRI_DOCKERD_PIPE: ("docker", "cri-dockerd"),
}
"""Maps each known endpoint of a container runtime to its Windows services, in the order in which they start."""
_TIMEOUT = 30.0
_LISTING = 1_000_000
_CONFIGURATION = "C:\\Program Files\\containerd\\config.toml"
_INFO: t.Mapping[str, str] = {"info": node_paths.CONTAINERD_PIPE, "docker-info": node_paths.CRI_DOCKERD_PIPE}
_PIPES: t.Mapping[str, str] = {"pipe": node_paths.CONTAINERD_PIPE, "docker-pipe": node_paths.CRI_DOCKERD_PIPE}
_BUILD = ("windows(10.0.", ")/")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeState:
    """The state that a container runtime reports with `crictl info`."""

    ready_problem: str = ""
    """Why the runtime is not ready, or an empty string if it is ready."""
    network_problem: str = ""
    """Why the runtime's network is not ready, or an empty string if it is ready."""
    load_problem: str = ""
    """Why the CNI configuration could not be loaded, or an empty string if it was loaded or no reason is reported."""
    conf_dir: str = ""
    bin_dirs: tuple[str, ...] = ()
    sandbox_image: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageState:
    """The state of a container image in containerd's store."""

    status: str
    """How complete the container image is in the store: `complete`, `incomplete`, or `unavailable` if the image
    has no manifest for the node's build of Windows."""
    builds: tuple[int, ...] = ()
    """Windows builds for which the image has manifests. Empty before containerd 2.0, which added this information."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuntimeFacts:
    """What was observed about the container runtime."""

    pipes: frozenset[str]
    """The endpoints in `RUNTIME_SERVICES` whose named pipe exists."""
    states: t.Mapping[str, RuntimeState]
    """Maps each endpoint to the state that the runtime behind the endpoint reports."""
    problems: t.Mapping[str, str]
    """Why the state of an endpoint's runtime could not be read, by endpoint."""
    sandbox_image: str
    """Name of the pause image, or an empty string if unknown."""
    images: t.Mapping[str, ImageState]
    """Maps the name of each image in containerd's store to its state."""
    containers: frozenset[str] | None
    """Names of the running containers, or None if unknown."""


def calls(crictl: str, ctr: str) -> tuple[Call, ...]:
    """Return the calls that observe the runtime.

    Args:
        crictl: crictl.exe, as a name on the PATH or as a path.
        ctr: ctr.exe, as a name on the PATH or as a path.
    """
    return (
        *(query(name, "Test-Path", {"LiteralPath": _windows_pipe(pipe)}) for name, pipe in _PIPES.items()),
        *(
            query(
                name,
                crictl,
                arguments=("--runtime-endpoint", pipe, "--image-endpoint", pipe, "info"),
                timeout=_TIMEOUT,
                output_limit=_LISTING,
            )
            for name, pipe in _INFO.items()
        ),
        # If the runtime hangs, wait only once.
        query(
            "containers",
            crictl,
            arguments=("--runtime-endpoint", node_paths.CONTAINERD_PIPE, "ps", "--output", "json"),
            timeout=_TIMEOUT,
            output_limit=_LISTING,
            needs=("info",),
        ),
        query(
            "docker-containers",
            crictl,
            arguments=("--runtime-endpoint", node_paths.CRI_DOCKERD_PIPE, "ps", "--output", "json"),
            timeout=_TIMEOUT,
            output_limit=_LISTING,
            needs=("docker-info",),
        ),
        *(
            query(
                f"images-{what}",
                ctr,
                arguments=("-n", "k8s.io", "images", what),
                timeout=_TIMEOUT,
                output_limit=_LISTING,
                needs=("info",),
            )
            for what in ("list", "check")
        ),
        query("runtime-configuration", "@read-file", {"paths": [_CONFIGURATION], "content": True}, private=True),
    )


def read(seen: t.Mapping[str, CallResult]) -> RuntimeFacts:
    """Return the state of the container runtime from the results of the calls that `calls` returned."""
    states: dict[str, RuntimeState] = {}
    problems: dict[str, str] = {}
    for name, endpoint in _INFO.items():
        result = seen.get(name)
        state = _state(result.stdout) if result is not None and result.ok else None
        if state is not None:
            states[endpoint] = state
        elif result is not None and not (result.error is not None and result.error.id.startswith("CommandNotFound")):
            problems[endpoint] = _last_line(result)
    named = (state.sandbox_image for state in states.values())
    return RuntimeFacts(
        pipes=frozenset(pipe for name, pipe in _PIPES.items() if seen[name].first is True),
        states=states,
        problems=problems,
        sandbox_image=next(filter(None, named), "") or _configured_image(seen.get("runtime-configuration")),
        images=_images(seen.get("images-list"), seen.get("images-check")),
        containers=_containers(seen.get("containers"), seen.get("docker-containers")),
    )


def _windows_pipe(endpoint: str) -> str:
    return endpoint.removeprefix("npipe:").replace("/", "\\").replace("\\\\\\\\", "\\\\", 1)


def _last_line(result: CallResult) -> str:
    lines = (result.stderr or result.stdout).strip().splitlines()
    return lines[-1] if lines else str(result.error)


def _state(text: str) -> RuntimeState | None:
    """Return the state that the output of `crictl info` describes, or None if the output is malformed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    conditions = {str(one.get("type")): one for one in _list(_part(document, "status").get("conditions"))}
    config = _part(document, "config")
    cni = _part(config, "cni")
    folders = cni.get("binDirs") or [cni.get("binDir")]
    load = str(document.get("lastCNILoadStatus") or "")
    return RuntimeState(
        ready_problem=_condition(conditions.get("RuntimeReady")),
        network_problem=_condition(conditions.get("NetworkReady")),
        load_problem="" if load == "OK" else load,
        conf_dir=str(cni.get("confDir") or ""),
        bin_dirs=tuple(str(one) for one in folders if one) if isinstance(folders, list) else (),
        sandbox_image=str(config.get("sandboxImage") or ""),
    )


def _part(value: object, name: str) -> dict[str, t.Any]:
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


def _list(value: object) -> list[dict[str, t.Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _condition(condition: t.Mapping[str, t.Any] | None) -> str:
    if condition is None or condition.get("status"):
        return ""
    return str(condition.get("message") or condition.get("reason") or "not ready")


def _configured_image(result: CallResult | None) -> str:
    """Return the pause image in containerd's configuration, or an empty string if it is not set there.

    The name of the setting depends on the version: `sandbox_image` until containerd 1.7, `pinned_images.sandbox` since
    2.0. Source: containerd, docs/cri/config.md.
    """
    file = result.first if result is not None and result.ok else None
    try:
        document = tomllib.loads((file or {}).get("content") or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    plugins = _part(document, "plugins")
    for plugin in plugins.values():
        name = _part(plugin, "pinned_images").get("sandbox") or (
            plugin.get("sandbox_image") if isinstance(plugin, dict) else None
        )
        if name:
            return str(name)
    return ""


def _images(listed: CallResult | None, checked: CallResult | None) -> dict[str, ImageState]:
    """Return the states of the images that `ctr images check` lists, with their Windows builds from `ctr images list`.

    The output of `check` is used even if the command fails, because it prints the whole table before it fails.
    """
    builds = {columns[0]: _builds(line) for line, columns in _rows(listed)}
    return {
        columns[0]: ImageState(
            status=next((word for word in ("complete", "incomplete", "unavailable") if word in columns), ""),
            builds=builds.get(columns[0], ()),
        )
        for _line, columns in _rows(checked)
        if columns[-1] in ("true", "false")
    }


def _rows(result: CallResult | None) -> t.Iterator[tuple[str, list[str]]]:
    for line in result.stdout.splitlines()[1:] if result is not None else ():
        if columns := line.split():
            yield line, columns


def _builds(line: str) -> tuple[int, ...]:
    """Return the Windows builds in a line that lists platforms such as `windows(10.0.17763.8146)/amd64`."""
    head, tail = _BUILD
    texts = (part.partition(tail)[0].partition(".")[0] for part in line.split(head)[1:])
    return tuple(dict.fromkeys(int(text) for text in texts if text.isdigit() and len(text) < 10))


def _containers(*results: CallResult | None) -> frozenset[str] | None:
    names: set[str] | None = None
    for result in results:
        if result is None or not result.ok or result.skipped is not None:
            continue
        try:
            document = json.loads(result.stdout or "{}")
        except (ValueError, RecursionError):
            continue
        if not isinstance(document, dict):
            continue
        listed = _list(document.get("containers"))
        names = (names or set()) | {str(_part(item, "metadata").get("name")) for item in listed}
    return None if names is None else frozenset(names)
