# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate BuildKit with containerd: buildkitd.exe as a service, and `buildctl.exe build` with a Dockerfile.

On Windows, buildkitd reads %ProgramData%\buildkitd\buildkitd.toml. It supports only containerd, uses the containerd
namespace `buildkit` by default, and does not read containerd's hosts.toml. buildkitd uses the credentials in the
client's configuration (DOCKER_CONFIG).

Sources: moby/buildkit docs/windows.md, docs/buildkitd.toml.md and cmd/buildkitd/service_windows.go.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.containerd import buildkit_dockerfile, runtime
from simulator.kubernetes_node.containerd.buildkit_dockerfile import BuildError, BuildSources, Built
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import Puller, PullError, PullOptions, pull
from simulator.kubernetes_node.images.registry_hosts import RegistryEndpoint
from simulator.kubernetes_node.images.store import StoredImage
from simulator.kubernetes_node.kubelet.settings import drive
from simulator.machine import listeners
from simulator.machine.objects import Invocation, Program, ProgramResult, RunningService, ServiceProgram
from simulator.machine.services import Service, ServiceError

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

PIPE = "npipe:////./pipe/buildkitd"
CONFIG = r"C:\ProgramData\buildkitd\buildkitd.toml"
_CONTAINERD = r"\\.\pipe\containerd-containerd"
_FLAGS = {"run-service", "debug"}
_VALUES = {"service-name", "log-file", "config", "containerd-worker-namespace", "addr", "root",
           "containerd-cni-config-path", "containerd-cni-binary-dir"}  # fmt: skip


class Buildkitd:
    """A running buildkitd."""

    def __init__(self, machine: Machine, config: Mapping[str, Any], namespace: str, environment: Mapping[str, str]):
        self.machine, self.config, self.environment = machine, config, dict(environment)
        self.namespace = namespace or str(config.get("worker", {}).get("containerd", {}).get("namespace", "buildkit"))

    def places(self, host: str) -> list[RegistryEndpoint]:
        """Return the endpoints from which buildkitd pulls a registry's images: first the mirrors, then the registry."""
        tables = self.config.get("registry", {})

        def place(name: str, *, mirror: bool) -> RegistryEndpoint:
            about = tables.get(name.partition("/")[0], {})
            scheme = "http" if about.get("http") else "https"
            return RegistryEndpoint(
                f"{scheme}://{name}", mirror, bool(about.get("insecure")), tuple(about.get("ca", ()))
            )

        mirrors = [place(name, mirror=True) for name in tables.get(host, {}).get("mirrors", ())]
        return [*mirrors, place(host, mirror=False)]


def _start(machine: Machine, argv: list[str], environment: Mapping[str, str]) -> Buildkitd:
    """Return a buildkitd with the settings from its command line and its configuration file.

    Raises:
        ServiceError: buildkitd rejects the command line or the configuration, or containerd is not running. The error
            code is 1053.
    """
    given: dict[str, str] = {}
    words = list(argv)
    while words:
        name, equals, value = words.pop(0).lstrip("-").partition("=")
        if name not in _FLAGS | _VALUES:
            raise ServiceError(1053, f"flag provided but not defined: -{name}")
        given[name] = value if equals or name in _FLAGS else words.pop(0) if words else ""
    path = given.get("config") or CONFIG
    config: dict[str, Any] = {}
    if machine.files.is_file(path):
        try:
            config = tomllib.loads(machine.files.read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise ServiceError(1053, f"failed to parse config: {error}") from error
    if runtime.connect(machine, _CONTAINERD) is None:
        raise ServiceError(1053, "no worker found, rebuild the buildkit daemon?")
    return Buildkitd(machine, config, given.get("containerd-worker-namespace", ""), environment)


class _RunningBuildkit:
    def __init__(self, machine: Machine, server: Buildkitd) -> None:
        self._machine, self._server = machine, server
        self.alive, self.exit_code = True, 0
        listeners.open_pipe(machine, PIPE, server)

    def stop(self) -> None:
        """End the process."""
        self.alive = False
        listeners.close_pipe(self._machine, PIPE, self._server)


class _BuildkitService:
    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start buildkitd as a service. buildkitd detects by itself that it runs as a service."""
        environment = {**machine.environment(), **service.environment}
        return _RunningBuildkit(machine, _start(machine, list(service.argv[1:]), environment))


def _buildctl(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate buildctl.exe. Only `build` of a Dockerfile into an image is modelled."""
    argv = list(invocation.argv)
    if argv == ["--version"]:
        return ProgramResult(0, f"buildctl github.com/moby/buildkit v{invocation.version}\n")
    if argv[:1] != ["build"]:
        return ProgramResult(1, "", f"the simulator does not model buildctl {' '.join(argv[:1])}\n")
    server = listeners.behind(machine, PIPE)
    if not isinstance(server, Buildkitd):
        message = 'open //./pipe/buildkitd: The system cannot find the file specified."'
        return ProgramResult(1, "", f'error: listing workers: connection error: desc = "transport: {message}\n')
    options: dict[str, dict[str, str]] = {"local": {}, "opt": {}, "output": {}}
    flat: dict[str, str] = {}
    while argv[1:]:
        name, equals, value = argv.pop(1).lstrip("-").partition("=")
        value = value if equals else argv.pop(1) if argv[1:] else ""
        if name == "output":
            options["output"] = dict(item.partition("=")[::2] for item in value.split(","))
        elif name in options:
            key, _, own = value.partition("=")
            options[name][key] = own
        elif name in ("frontend", "progress"):
            flat[name] = value
        else:
            return ProgramResult(1, "", f"Incorrect Usage: flag provided but not defined: -{name}\n")
    if flat.get("frontend") != "dockerfile.v0" or options["output"].get("type") != "image":
        return ProgramResult(1, "", "the simulator models only buildctl build of a Dockerfile into an image\n")
    try:
        message = _build(server, invocation, options)
    except (BuildError, PullError, oci.ReferenceFormatError, FileNotFoundError) as error:
        return ProgramResult(1, "", f"error: failed to solve: {error}\n")
    except OSError as error:
        return ProgramResult(1, "", f"error: failed to solve: {error.strerror or error}\n")
    return ProgramResult(0, "", message)


def _build(server: Buildkitd, invocation: Invocation, options: Mapping[str, Mapping[str, str]]) -> str:
    machine = server.machine
    containerd = runtime.connect(machine, _CONTAINERD)
    if containerd is None:
        raise BuildError("failed to dial containerd")
    store = containerd.store
    store.make_namespace(server.namespace)

    def base(name: str) -> tuple[dict[str, Any], list[bytes]]:
        reference = oci.parse(name, familiar=True)
        known = store.get(str(reference), server.namespace)
        puller = Puller(machine, server.environment, _credentials(invocation, machine, reference.host), invocation.stop)
        choice = PullOptions(containerd.build, containerd.exact, namespace=server.namespace, unpack=False)
        _, manifest = pull(store, puller, server.places(reference.host), reference, choice)
        config = store.document(manifest["config"]["digest"])
        layers = [store.read(layer["digest"]) for layer in manifest.get("layers", [])]
        if known is None:
            # Base images are stored as content without a name.
            store.delete(str(reference), server.namespace, collect=False)
        return config, layers

    local = {name: drive(path) for name, path in options["local"].items()}
    arguments = {
        key.removeprefix("build-arg:"): value for key, value in options["opt"].items() if key.startswith("build-arg:")
    }
    text = machine.files.read_text(f"{local.get('dockerfile', '')}\\{options['opt'].get('filename', 'Dockerfile')}")
    built = buildkit_dockerfile.build(text, arguments, BuildSources(base, machine.files, local.get("context", "")))
    name = options["output"].get("name", "")
    digest = _keep(store, server.namespace, str(oci.parse(name)), built)
    return f"#1 exporting to image\n#1 exporting manifest {digest} done\n#1 naming to {name} done\n"


def _keep(store: Any, namespace: str, name: str, built: Built) -> str:
    """Write a built image to containerd's store, unpack the image, and return the digest of its manifest."""

    def put(media_type: str, data: bytes) -> dict[str, Any]:
        described = oci.descriptor(media_type, data)
        store.write(described["digest"], data)
        return described

    with store.lease():
        layers = [put(oci.LAYER, data) for data in built.layers]
        document = {"schemaVersion": 2, "mediaType": oci.MANIFEST, "config": put(oci.CONFIG, oci.encode(built.config)),
                    "layers": layers}  # fmt: skip
        target = put(oci.MANIFEST, oci.encode(document))
        store.put(StoredImage(name, target), namespace)
        store.unpack(document, False)
    return str(target["digest"])


def _credentials(invocation: Invocation, machine: Machine, host: str) -> str:
    """Return the `user:password` for a registry from the client's config.json, or an empty string if there is none."""
    path = f"{invocation.variable('DOCKER_CONFIG')}\\config.json"
    if not machine.files.is_file(path):
        return ""
    found = json.loads(machine.files.read_text(path)).get("auths", {}).get(host, {}).get("auth", "")
    return base64.b64decode(found).decode()


PROGRAMS: Mapping[str, Program] = {"buildctl": _buildctl}
SERVICES: Mapping[str, ServiceProgram] = {"buildkitd": _BuildkitService()}
