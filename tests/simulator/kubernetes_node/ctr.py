# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ctr.exe: images, containers, tasks, namespaces, plugins; flags by ../contracts/containerd.json.

It needs containerd's pipe. `images pull` fetches in ctr itself up to 1.7 (its --hosts-dir, its environment's proxies)
and, since 2.0, in containerd's transfer service unless --local is given (containerd cmd/ctr/commands/images/pull.go).
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from simulator.kubernetes_node import cli, contracts, oci
from simulator.kubernetes_node.image_store import K8S, Image
from simulator.kubernetes_node.kubelet_settings import drive
from simulator.kubernetes_node.puller import Puller, PullError, PullOptions, endpoints, pull
from simulator.kubernetes_node.registry_client import insecure
from simulator.kubernetes_node.runtime import Containerd, connect
from simulator.kubernetes_node.shims import settle
from simulator.machine.objects import Invocation, ProcessEndedError, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_ADDRESS = "\\\\.\\pipe\\containerd-containerd"


class CtrError(Exception):
    """A command that failed; the text follows `ctr: `."""


class _Run:
    """One run of ctr with its connection."""

    def __init__(self, machine: Machine, invocation: Invocation, line: cli.CommandLine, server: Containerd) -> None:
        self.machine, self.invocation, self.line, self.server = machine, invocation, line, server
        self.namespace = line.text("namespace") or invocation.variable("CONTAINERD_NAMESPACE") or "default"

    def argument(self, index: int, what: str) -> str:
        """Return an argument that must be there."""
        if len(self.line.arguments) <= index:
            raise CtrError(what)
        return self.line.arguments[index]

    def image(self, name: str) -> Image:
        """Return an image that must be there."""
        found = self.server.store.get(name, self.namespace)
        if found is None:
            raise CtrError(f'image "{name}": not found')
        return found


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """ctr.exe."""
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
        said = f"failed to dial {json.dumps(address)}: context deadline exceeded: connection error: desc = "
        said += '"transport: error while dialing: '
        return ProgramResult(1, "", f'ctr: {said}open {address}: The system cannot find the file specified."\n')
    try:
        return ProgramResult(0, handler(_Run(machine, invocation, line, server)))
    except (CtrError, PullError, oci.ReferenceFormatError) as error:
        return ProgramResult(1, "", f"ctr: {error}\n")
    except OSError as error:
        return ProgramResult(1, "", f"ctr: {error.strerror or error}\n")


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table as Go's tabwriter does: one blank after the widest entry of each column but the last."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    lines = [
        " ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    ]
    return "".join(f"{line}\n" for line in lines)


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.1f} {unit}"
        value /= 1024
    return ""


def _list(run: _Run) -> str:
    images = run.server.store.images(run.namespace)
    wanted = run.line.arguments
    if wanted:
        images = [image for image in images if any(_matches(image, text) for text in wanted)]
    if run.line.on("quiet"):
        return "".join(f"{image.name}\n" for image in images)
    new = contracts.at_least(run.server.version, "2.0")
    rows = [["REF", "TYPE", "DIGEST", "SIZE", "PLATFORMS", "LABELS"]]
    for image in images:
        found = run.server.store.platforms(image)
        texts = [oci.platform_text(item) if new else f"{item['os']}/{item['architecture']}" for item in found]
        labels = ",".join(f"{name}={value}" for name, value in sorted(image.labels.items())) or "-"
        size = run.server.store.size(image, run.server.build, run.server.exact)
        rows.append([image.name, str(image.target["mediaType"]), str(image.target["digest"]), _bytes(size),
                     ",".join(dict.fromkeys(texts)), labels])  # fmt: skip
    return _columns(rows)


def _matches(image: Image, text: str) -> bool:
    """Filters of containerd: `name==REF`, `name~=REGEX`, or a name alone."""
    for operator in ("==", "~="):
        if operator in text:
            field, _, value = text.partition(operator)
            value = value.strip('"')
            return field == "name" and (image.name == value if operator == "==" else value in image.name)
    return image.name == text


def _pull(run: _Run) -> str:
    name = run.argument(0, "please provide an image reference to pull")
    reference = oci.parse(name)
    line, server, version = run.line, run.server, run.server.version
    transfer = contracts.at_least(version, "2.0") and not line.on("local")
    folders = [drive(line.text("hosts-dir"))] if line.text("hosts-dir") else []
    if transfer and not folders:
        folders = server.config.transfer_config_path
    places = endpoints(run.machine, reference.host, folders, plain_http=line.on("plain-http"))
    if line.on("skip-verify"):
        places = insecure(places)
    labels = _pairs(line.flags.get("label", []))
    environment = server.environment if transfer else run.invocation.environment
    options = PullOptions(server.build, server.exact, labels=labels, namespace=run.namespace)

    def alive() -> None:
        if run.invocation.stop.is_set():
            raise ProcessEndedError

    puller = Puller(run.machine, environment)
    server.store.make_namespace(run.namespace)
    image, manifest = pull(server.store, puller, places, reference, options, alive)
    config = server.store.document(manifest["config"]["digest"])
    head = f"{name}: resolved       |++++++++++++++++++++++++++++++++++++++|\n"
    return f"{head}unpacking {oci.platform_text(config)} {image.target['digest']}...\ndone: 1.0s\n"


def _pairs(items: Sequence[str]) -> dict[str, str]:
    return {name: value for name, _, value in (item.partition("=") for item in items)}


def _tag(run: _Run) -> str:
    source = run.image(run.argument(0, "please provide an image reference to tag from"))
    run.argument(1, "please provide an image reference to tag to")
    said = ""
    for name in run.line.arguments[1:]:
        if run.server.store.get(name, run.namespace) and not run.line.on("force"):
            raise CtrError(f'image "{name}": already exists')
        run.server.store.put(Image(name, source.target, dict(source.labels)), run.namespace)
        said += f"{name}\n"
    return said


def _label(run: _Run) -> str:
    image = run.image(run.argument(0, "please specify an image"))
    pairs = _pairs(run.line.arguments[1:])
    labels = pairs if run.line.on("replace-all") else {**image.labels, **pairs}
    # A label set to nothing is removed.
    image.labels = {name: value for name, value in labels.items() if value}
    run.server.store.put(image, run.namespace)
    return ",".join(f"{name}={value}" for name, value in sorted(image.labels.items())) + "\n"


def _delete(run: _Run) -> str:
    said = ""
    for name in run.line.arguments:
        if not run.server.store.delete(name, run.namespace):
            raise CtrError(f'failed to delete "{name}": image "{name}": not found')
        said += f"{name}\n"
    return said


def _check(run: _Run) -> str:
    rows = [["REF", "TYPE", "DIGEST", "STATUS", "SIZE", "UNPACKED"]]
    for image in run.server.store.images(run.namespace):
        found = run.server.store.manifest(image, run.server.build, run.server.exact)
        state = "complete" if found else "incomplete"
        size = run.server.store.size(image, run.server.build, run.server.exact)
        unpacked = bool(found) and run.server.store.unpacked(found[1]) if found else False
        rows.append(
            [
                image.name,
                str(image.target["mediaType"]),
                str(image.target["digest"]),
                state,
                _bytes(size),
                str(unpacked).lower(),
            ]
        )
    return _columns(rows)


def _export(run: _Run) -> str:
    path = run.argument(0, "please provide both an output filename and an image reference to export")
    store = run.server.store
    blobs: dict[str, bytes] = {}
    entries = []
    for name in run.line.arguments[1:]:
        image = run.image(name)
        found = store.manifest(image, run.server.build, run.server.exact)
        if found is None:
            raise CtrError(f'failed to export "{name}": content not found')
        parts = [str(image.target["digest"]), found[0], str(found[1]["config"]["digest"])]
        parts += [str(layer["digest"]) for layer in found[1].get("layers", [])]
        for digest in parts:
            if not store.has(digest):
                raise CtrError(f"failed to get reader: content digest {digest}: not found")
            blobs[digest] = store.read(digest)
        entries.append(
            {
                **image.target,
                "annotations": {
                    "io.containerd.image.name": name,
                    "org.opencontainers.image.ref.name": name.rpartition(":")[2],
                },
            }
        )
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        _member(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _member(archive, "index.json", oci.encode({"schemaVersion": 2, "manifests": entries}))
        for digest, data in sorted(blobs.items()):
            _member(archive, f"blobs/sha256/{digest.partition(':')[2]}", data)
    run.machine.files.write_bytes(drive(path), raw.getvalue())
    return ""


def _member(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(data)
    archive.addfile(header, io.BytesIO(data))


def _import(run: _Run) -> str:
    path = drive(run.argument(0, "please provide a file to import"))
    store, said = run.server.store, ""
    try:
        with tarfile.open(fileobj=io.BytesIO(run.machine.files.read_bytes(path))) as archive:
            blobs = {item.name: (archive.extractfile(item) or io.BytesIO()).read() for item in archive if item.isfile()}
    except FileNotFoundError as error:
        raise CtrError(f"open {path}: The system cannot find the file specified.") from error
    except tarfile.TarError as error:
        raise CtrError("unrecognized image format") from error
    index = json.loads(blobs.get("index.json", b"{}"))
    for name, data in blobs.items():
        if name.startswith("blobs/sha256/"):
            store.write(oci.digest_of(data), data)
    store.make_namespace(run.namespace)
    for entry in index.get("manifests", []):
        name = (entry.get("annotations") or {}).get("io.containerd.image.name", "")
        image = Image(name, {key: entry[key] for key in ("mediaType", "digest", "size")})
        found = store.manifest(image, run.server.build, run.server.exact)
        if found is None and not run.line.on("all-platforms"):
            raise CtrError(f"no match for platform in manifest {entry['digest']}: not found")
        store.put(image, run.namespace)
        if found and not run.line.on("no-unpack"):
            store.unpack(found[1], False)
        said += f"unpacking {name} ({entry['digest']})...done\n"
    return said


def _containers(run: _Run) -> str:
    if run.namespace != K8S:
        return "" if run.line.on("quiet") else "CONTAINER    IMAGE    RUNTIME    \n"
    found = [(item.id, item.image) for item in run.server.containers()]
    found += [(item.id, run.server.config.sandbox_image) for item in run.server.sandboxes()]
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity, _ in found)
    return _columns(
        [["CONTAINER", "IMAGE", "RUNTIME", ""], *([*item, "io.containerd.runhcs.v1", ""] for item in found)]
    )


def _tasks(run: _Run) -> str:
    found: list[tuple[str, int]] = []
    if run.namespace == K8S:
        found = [
            (item.id, item.process.id) for item in run.server.containers() if item.process is not None and item.alive
        ]
        # A sandbox is a task, too: its pause container.
        found += [(item.id, 4000 + 4 * place) for place, item in enumerate(run.server.sandboxes()) if item.ready]
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity, _ in found)
    return _columns([["TASK", "PID", "STATUS", ""], *([name, str(pid), "RUNNING", ""] for name, pid in found)])


def _leases(run: _Run) -> str:
    found = sorted(settle(run.machine).leases) if run.namespace == K8S else []
    if run.line.on("quiet"):
        return "".join(f"{identity}\n" for identity in found)
    return _columns([["ID", "CREATED AT", "LABELS"], *([name, "2026-11-21T00:00:00Z", "-"] for name in found)])


def _namespaces(run: _Run) -> str:
    names = run.server.store.namespaces()
    if run.line.on("quiet"):
        return "".join(f"{name}\n" for name in names)
    return _columns([["NAME", "LABELS"], *([name, ""] for name in names)])


def _make_namespace(run: _Run) -> str:
    run.server.store.make_namespace(run.argument(0, "please specify a namespace"))
    return ""


def _version(run: _Run) -> str:
    own, server = run.invocation.version, run.server.version
    return (
        f"Client:\n  Version:  v{own}\n  Revision: \n  Go version: go1.26.8\n\nServer:\n  Version:  v{server}\n  "
        f"Revision: \n"
        f"  UUID: 00000000-0000-0000-0000-000000000000\n"
    )


def _plugins(run: _Run) -> str:
    names = [name.split(".v1.") for name in run.server.config.tables.get("plugins", {}) if ".v1." in name]
    rows = [[f"{kind}.v1", name, "windows/amd64", "ok"] for kind, name in names]
    return _columns([["TYPE", "ID", "PLATFORMS", "STATUS"], *rows])


_COMMANDS: Mapping[str, Callable[[_Run], str]] = {
    "images list": _list,
    "images pull": _pull,
    "images tag": _tag,
    "images label": _label,
    "images delete": _delete,
    "images check": _check,
    "images export": _export,
    "images import": _import,
    "containers list": _containers,
    "tasks list": _tasks,
    "leases list": _leases,
    "namespaces list": _namespaces,
    "namespaces create": _make_namespace,
    "version": _version,
    "plugins list": _plugins,
}
PROGRAMS: Mapping[str, Program] = {"ctr": run}
