# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands of docker.exe for container images, registries and disk usage.

Sources: https://docs.docker.com/reference/cli/docker/image/ and docker/cli cli/command/formatter/image.go (columns and
sizes).
"""

from __future__ import annotations

import fnmatch
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from typing import Any

from simulator.kubernetes_node.docker import archive as docker_archive
from simulator.kubernetes_node.docker import build
from simulator.kubernetes_node.docker import credentials as docker_credentials
from simulator.kubernetes_node.docker.command_line import DockerRun, DockerUsageError, render, rows
from simulator.kubernetes_node.docker.dockerd_config import at_least
from simulator.kubernetes_node.docker.images import DockerError, DockerImage, familiar, normal
from simulator.kubernetes_node.images import oci
from simulator.machine.files import DiskFullError
from simulator.machine.rights import check

_NONE = "<none>"
_FULL = "write: There is not enough space on the disk."


def size_text(size: int) -> str:
    """Return a size in Docker's format: three significant digits and a decimal unit (github.com/docker/go-units)."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}TB"


def _argument(run: DockerRun, name: str, count: int = 1) -> str:
    if len(run.arguments) < count:
        many = f"{count} argument{'s' if count > 1 else ''}"
        raise DockerUsageError(f"\"docker {name}\" requires at least {many}.\nSee 'docker {name} --help'.")
    return run.arguments[0]


def _reference(name: str) -> oci.ImageReference:
    try:
        return oci.parse(name, familiar=True)
    except oci.ReferenceFormatError as error:
        raise DockerUsageError("invalid reference format") from error


def _pull(run: DockerRun) -> str:
    name = _argument(run, "pull")
    reference = _reference(name)
    server = run.server
    pulled = server.pull(reference, docker_credentials.of(run, reference.host), run.invocation.stop)
    whole = familiar(normal(name))
    if run.on("q", "quiet"):
        return f"{whole}\n"
    message = [f"{reference.digest or reference.tag}: Pulling from {reference.path}"]
    for layer in pulled.layers:
        short = layer.removeprefix("sha256:")[:12]
        message += [f"{short}: {step}" for step in ("Pulling fs layer", "Download complete", "Pull complete")]
    status = "Downloaded newer image for" if pulled.fresh else "Image is up to date for"
    return "".join(f"{line}\n" for line in (*message, f"Digest: {pulled.digest}", f"Status: {status} {whole}", whole))


def _push(run: DockerRun) -> str:
    name = _argument(run, "push")
    reference = _reference(name)
    image = run.server.images.find(name)
    credentials = docker_credentials.of(run, reference.host)
    run.server.transfer(credentials, run.invocation.stop).push(run.server.images, image, reference)
    target = image.target
    message = f"The push refers to repository [{familiar(f'{reference.host}/{reference.path}')}]\n"
    return f"{message}{reference.tag}: digest: {target['digest']} size: {target.get('size', 0)}\n"


def _listed(run: DockerRun, image: DockerImage) -> list[dict[str, object]]:
    """Return the rows for an image, by default one for each tag.

    If digests are requested, each combination of a tag and a digest gets a row. Digests in repositories without a tag
    also get a row each. An image with neither tags nor digests gets one row.
    """
    about: dict[str, object] = {
        "Containers": "N/A",
        "CreatedAt": image.created,
        "CreatedSince": "1 hour ago",
        "ID": image.id if run.on("no-trunc") else image.id.removeprefix("sha256:")[:12],
        "SharedSize": "N/A",
        "Size": size_text(image.size),
        "UniqueSize": "N/A",
        "VirtualSize": size_text(image.size),
    }
    digests: dict[str, list[str]] = {}
    for name in image.digests:
        repository, _, digest = name.partition("@")
        digests.setdefault(familiar(repository), []).append(digest)
    show = run.on("digests") or ".Digest" in run.template
    found: list[dict[str, object]] = []
    seen: set[str] = set()
    for tag in image.tags:
        repository, _, name = tag.rpartition(":")
        seen.add(familiar(repository))
        shown = (digests.get(familiar(repository)) if show else None) or [_NONE]
        found += [{**about, "Digest": digest, "Repository": familiar(repository), "Tag": name} for digest in shown]
    for repository, values in digests.items():
        if repository not in seen:
            found += [{**about, "Digest": digest, "Repository": repository, "Tag": _NONE} for digest in values]
    return found or [{**about, "Digest": _NONE, "Repository": _NONE, "Tag": _NONE}]


def _images(run: DockerRun) -> str:
    listed = [row for image in run.server.images.all() for row in _listed(run, image)]
    if run.arguments:
        requested, _, tag = run.arguments[0].rpartition(":") if ":" in run.arguments[0].rpartition("/")[2] else (
            run.arguments[0], "", "")  # fmt: skip
        listed = [row for row in listed if row["Repository"] == familiar(requested) and tag in ("", row["Tag"])]
    for text in run.several("filter", *(["f"] if "f" in run.options else [])):
        kind, _, value = text.partition("=")
        if kind == "dangling":
            listed = [row for row in listed if (row["Repository"] == _NONE) == (value in ("true", "1"))]
        elif kind == "reference":
            listed = [
                row
                for row in listed
                if fnmatch.fnmatch(str(row["Repository"]), value)
                or fnmatch.fnmatch(f"{row['Repository']}:{row['Tag']}", value)
            ]
        elif kind == "label":
            key, equals, requested = value.partition("=")
            labels = {
                image.id: (image.config.get("config") or {}).get("Labels") or {} for image in run.server.images.all()
            }
            having = {
                identity for identity, own in labels.items() if key in own and (not equals or own[key] == requested)
            }
            listed = [row for row in listed if any(found.startswith(str(row["ID"])) or found[7:].startswith(
                str(row["ID"])) for found in having)]  # fmt: skip
        else:
            raise DockerError(f"invalid filter '{kind}'")
    head = ["REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE"]
    keys = ["Repository", "Tag", "ID", "CreatedSince", "Size"]
    if run.on("digests"):
        head.insert(2, "DIGEST")
        keys.insert(2, "Digest")
    if run.on("q", "quiet"):
        listed = list({str(row["ID"]): row for row in listed}.values())
    return rows(run, listed, head, keys)


def _inspected(image: DockerImage) -> dict[str, object]:
    config = image.config
    return {
        "Id": image.id,
        "RepoTags": [familiar(tag) for tag in image.tags],
        "RepoDigests": [familiar(name) for name in image.digests],
        "Created": config.get("created") or image.created,
        "Config": config.get("config") or {},
        "Architecture": config.get("architecture", ""),
        "Os": config.get("os", ""),
        "OsVersion": config.get("os.version", ""),
        "Size": image.size,
        "GraphDriver": {"Name": "windowsfilter", "Data": {}},
        "RootFS": {"Type": "layers", "Layers": (config.get("rootfs") or {}).get("diff_ids") or []},
        "Metadata": {"LastTagTime": image.created},
    }


def _inspect(run: DockerRun) -> str:
    _argument(run, "image inspect")
    found: list[dict[str, object]] = []
    for name in run.arguments:
        try:
            found.append(_inspected(run.server.images.find(name)))
        except DockerError as error:
            run.errors.append(f"Error response from daemon: {error}")
    if run.template:
        return "".join(f"{render(run.template, item)}\n" for item in found)
    return json.dumps(found, indent=4) + "\n"


def _tag(run: DockerRun) -> str:
    source = _argument(run, "tag", 2)
    if not normal(run.arguments[1]):
        problem = "is not a valid repository/tag: invalid reference format"
        raise DockerUsageError(f'Error parsing reference: "{run.arguments[1]}" {problem}')
    run.server.images.tag(source, run.arguments[1])
    return ""


def _remove(run: DockerRun) -> str:
    _argument(run, "rmi")
    message: list[str] = []
    for name in run.arguments:
        try:
            message += run.server.images.remove(name, force=run.on("f", "force"), used=run.server.users())
        except DockerError as error:
            run.errors.append(f"Error response from daemon: {error}")
    return "".join(f"{line}\n" for line in message)


def _load(run: DockerRun) -> str:
    path = run.text("i", "input")
    files = run.machine.files
    if path and not files.is_file(run.path(path)):
        raise DockerUsageError(f"open {path}: The system cannot find the file specified.")
    if not path and not run.invocation.stdin:
        raise DockerUsageError("requested load from stdin, but stdin is empty")
    if path:
        files.require(run.path(path), check.READ_DATA)
    source = files.real(run.path(path)).open("rb") if path else io.BytesIO(run.invocation.stdin)
    try:
        with source as raw, tarfile.open(fileobj=raw, mode="r:*") as archive:
            message = docker_archive.load(run.server.images, archive)
    except (tarfile.TarError, EOFError) as error:
        raise DockerError("Error processing tar file(exit status 1): unexpected EOF") from error
    except DiskFullError as error:
        raise DockerError(f"Error processing tar file(exit status 1): {_FULL}") from error
    except ValueError as error:
        raise DockerError(f"Error processing tar file(exit status 1): {error}") from error
    return "".join(f"{line}\n" for line in message)


def _save(run: DockerRun) -> str:
    _argument(run, "save")
    path = run.text("o", "output")
    if not path:
        raise DockerUsageError("cowardly refusing to save to a terminal. Use the -o flag or redirect")
    requested: dict[str, tuple[DockerImage, list[str]]] = {}
    for name in run.arguments:
        image = run.server.images.find(name)
        tags = [tag for tag in image.tags if tag == normal(name)]
        requested.setdefault(image.id, (image, []))[1].extend(tags)
    data = docker_archive.save(run.server.images, requested.values(), layout=at_least(run.server.version, "25"))
    run.machine.files.write_bytes(run.path(path), data)
    return ""


def _prune(run: DockerRun) -> str:
    if not run.on("f", "force") and run.invocation.stdin.strip().lower() not in (b"y", b"yes"):
        return "WARNING! This will remove all dangling images.\nAre you sure you want to continue? [y/N] "
    message, won = run.server.images.prune(everything=run.on("a", "all"), used=run.server.users())
    listed = "".join(f"{line}\n" for line in ("Deleted Images:", *message, "")) if message else ""
    return f"{listed}Total reclaimed space: {size_text(won)}\n"


def _build(run: DockerRun) -> str:
    try:
        return build.build(run)
    except DiskFullError as error:
        raise DockerError(_FULL) from error


def _login(run: DockerRun) -> str:
    host = run.arguments[0] if run.arguments else "docker.io"
    password = run.invocation.stdin.decode().rstrip("\r\n") if run.on("password-stdin") else run.text("p", "password")
    user = run.text("u", "username")
    if not user or not password:
        raise DockerUsageError("Error: Cannot perform an interactive login from a non TTY device")
    credentials = f"{user}:{password}"
    run.server.transfer(credentials, run.invocation.stop).login(host)
    docker_credentials.write(run, host, credentials)
    return "Login Succeeded\n"


def _logout(run: DockerRun) -> str:
    host = run.arguments[0] if run.arguments else "docker.io"
    docker_credentials.write(run, host, "")
    return f"Removing login credentials for {host}\n"


def _disk(run: DockerRun) -> str:
    images, used = run.server.images.all(), run.server.users()
    total = sum(image.size for image in images)
    free = sum(image.size for image in images if image.id not in used)
    containers = run.server.containers()
    active = sum(item.state == "running" for item in containers)
    listed: list[dict[str, object]] = [
        {"Type": "Images", "TotalCount": str(len(images)), "Active": str(len(images) - sum(
            image.id not in used for image in images)), "Size": size_text(total),
         "Reclaimable": f"{size_text(free)} ({100 * free // total if total else 0}%)"},
        {"Type": "Containers", "TotalCount": str(len(containers)), "Active": str(active), "Size": "0B",
         "Reclaimable": "0B"},
        {"Type": "Local Volumes", "TotalCount": "0", "Active": "0", "Size": "0B", "Reclaimable": "0B"},
        {"Type": "Build Cache", "TotalCount": "0", "Active": "0", "Size": "0B", "Reclaimable": "0B"},
    ]  # fmt: skip
    head = ["TYPE", "TOTAL", "ACTIVE", "SIZE", "RECLAIMABLE"]
    return rows(run, listed, head, ["Type", "TotalCount", "Active", "Size", "Reclaimable"])


def _manifest(run: DockerRun) -> str:
    name = _argument(run, "manifest inspect")
    reference = _reference(name)
    try:
        document, manifests = run.server.transfer(docker_credentials.of(run, reference.host)).manifests(reference)
    except DockerError as error:
        message = f"no such manifest: {familiar(str(reference))}" if "not found" in str(error) else str(error)
        raise DockerUsageError(message) from error
    if not run.on("v", "verbose"):
        return json.dumps({key: value for key, value in document.items() if key != "digest"}, indent=3) + "\n"
    entries: list[dict[str, Any]] = list(document.get("manifests") or [])
    whole = [
        {
            "Ref": f"{familiar(str(reference))}@{digest}" if entries else familiar(str(reference)),
            "Descriptor": next((item for item in entries if item["digest"] == digest), {"digest": digest}),
            "OCIManifest" if "oci" in str(found.get("mediaType", oci.MANIFEST)) else "SchemaV2Manifest": found,
        }
        for digest, found in manifests.items()
    ]
    return json.dumps(whole if entries else whole[0], indent=3) + "\n"


COMMANDS: Mapping[str, Callable[[DockerRun], str]] = {
    "pull": _pull,
    "push": _push,
    "images": _images,
    "image inspect": _inspect,
    "tag": _tag,
    "rmi": _remove,
    "load": _load,
    "save": _save,
    "image prune": _prune,
    "build": _build,
    "login": _login,
    "logout": _logout,
    "system df": _disk,
    "manifest inspect": _manifest,
}
