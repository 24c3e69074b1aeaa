# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The commands of `ctr images`, which list, pull, push, tag, label, check and delete images.

Up to 1.7, ctr itself downloads images for `images pull`, with its own --hosts-dir flag and the proxies in its own
environment. From 2.0 on, containerd's transfer service downloads them, unless --local is given.

Source: containerd cmd/ctr/commands/images/pull.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.kubernetes_node.containerd.ctr_run import Command, CtrError, CtrRun, columns, pairs, parse, size_text
from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.puller import PullOptions, RegistryAccess, pull
from simulator.kubernetes_node.images.pusher import push
from simulator.kubernetes_node.images.registry_client import RegistryClient
from simulator.kubernetes_node.images.store import K8S, StoredImage
from simulator.kubernetes_node.programs import contracts


def _list(run: CtrRun) -> str:
    images = run.server.store.images(run.namespace)
    requested = run.line.arguments
    if requested:
        images = [image for image in images if any(_matches(image, text) for text in requested)]
    if run.line.on("quiet"):
        return "".join(f"{image.name}\n" for image in images)
    new = contracts.at_least(run.server.version, "2.0")
    rows = [["REF", "TYPE", "DIGEST", "SIZE", "PLATFORMS", "LABELS"]]
    for image in images:
        found = run.server.store.platforms(image)
        texts = [oci.platform_text(item) if new else f"{item['os']}/{item['architecture']}" for item in found]
        labels = ",".join(f"{name}={value}" for name, value in sorted(image.labels.items())) or "-"
        size = run.server.store.size(image, run.server.build, run.server.exact)
        rows.append([image.name, str(image.target["mediaType"]), str(image.target["digest"]), size_text(size),
                     ",".join(dict.fromkeys(texts)), labels])  # fmt: skip
    return columns(rows)


def _matches(image: StoredImage, text: str) -> bool:
    """Return whether an image matches a filter: `name==REF`, `name~=TEXT` (plain text, not a regex), or a name."""
    for operator in ("==", "~="):
        if operator in text:
            field, _, value = text.partition(operator)
            value = value.strip('"')
            return field == "name" and (image.name == value if operator == "==" else value in image.name)
    return image.name == text


def _pull(run: CtrRun) -> str:
    name = run.argument(0, "please provide an image reference to pull")
    reference, server = parse(name), run.server
    if run.line.on("all-platforms"):
        raise CtrError("the simulator does not model ctr images pull --all-platforms")
    labels = pairs(run.line.flags.get("label", []))
    options = PullOptions(build_of(run), server.exact, labels=labels, namespace=run.namespace)
    server.store.make_namespace(run.namespace)
    image, manifest = pull(server.store, run.puller(), run.places(reference), reference, options, run.alive)
    config = server.store.document(manifest["config"]["digest"])
    head = f"{name}: resolved       |++++++++++++++++++++++++++++++++++++++|\n"
    return f"{head}unpacking {oci.platform_text(config)} {image.target['digest']}...\ndone: 1.0s\n"


def build_of(run: CtrRun) -> int:
    """Return the Windows build number in --platform, or this machine's build number if --platform does not contain one.

    From containerd 2.0 on, --platform may contain a build number: `windows(10.0.17763)/amd64`.

    Raises:
        CtrError: --platform is invalid, or is not modelled.
    """
    requested = run.line.text("platform")
    found = re.fullmatch(r"windows(?:\(10\.0\.(\d+)(?:\.\d+)?\))?(?:/amd64)?", requested)
    if requested and not found:
        raise CtrError(f"the simulator does not model --platform {requested}")
    if found and found[1]:
        if not contracts.at_least(run.server.version, "2.0"):
            raise CtrError(
                f'"{requested}" is an invalid component of "{requested}": platform specifier component must match'
            )
        return int(found[1])
    return run.server.build


def _push(run: CtrRun) -> str:
    name = run.argument(0, "please provide a remote image reference to push")
    reference, store = parse(name), run.server.store
    local = run.line.arguments[1] if len(run.line.arguments) > 1 else name
    image = store.get(local, run.namespace)
    if image is None:
        raise CtrError(f'unable to resolve image to manifest: image "{local}": not found')
    target = image.target
    if run.line.text("platform"):
        found = store.manifest(image, build_of(run), run.server.exact)
        if found is None:
            raise CtrError(f"no match for platform in manifest {target['digest']}: not found")
        digest, document = found
        target = {"mediaType": document.get("mediaType", oci.MANIFEST), "digest": digest}
    environment = run.server.environment if run.transfers else run.invocation.environment
    client = RegistryClient(run.machine, environment, RegistryAccess(run.line.text("user")), run.invocation.stop)
    push(store, client, run.places(reference), reference, target)
    return f"{name}: done           |++++++++++++++++++++++++++++++++++++++|\n"


def _tag(run: CtrRun) -> str:
    source = run.image(run.argument(0, "please provide an image reference to tag from"))
    run.argument(1, "please provide an image reference to tag to")
    message = ""
    for name in run.line.arguments[1:]:
        if run.server.store.get(name, run.namespace) and not run.line.on("force"):
            raise CtrError(f'image "{name}": already exists')
        run.server.store.put(StoredImage(name, source.target, dict(source.labels)), run.namespace)
        message += f"{name}\n"
    return message


def _label(run: CtrRun) -> str:
    image = run.image(run.argument(0, "please specify an image"))
    given = pairs(run.line.arguments[1:])
    labels = given if run.line.on("replace-all") else {**image.labels, **given}
    # A label with an empty value is removed.
    image.labels = {name: value for name, value in labels.items() if value}
    run.server.store.put(image, run.namespace)
    return ",".join(f"{name}={value}" for name, value in sorted(image.labels.items())) + "\n"


def _delete(run: CtrRun) -> str:
    """Remove image names, and return the removed names. A missing name only causes a warning (images/images.go)."""
    message = ""
    for name in run.line.arguments:
        if run.server.store.delete(name, run.namespace, collect=run.line.on("sync")):
            message += f"{name}\n"
        else:
            run.warnings.append(f"{name}: image not found")
    return message


def _check(run: CtrRun) -> str:
    """Return a table that shows how many of each image's blobs are in the store.

    Sources: containerd cmd/ctr/commands/images/images.go, core/images Check.
    """
    server, rows = run.server, [["REF", "TYPE", "DIGEST", "STATUS", "SIZE", "UNPACKED"]]
    requested = run.line.arguments
    for image in server.store.images(run.namespace):
        if requested and not any(_matches(image, text) for text in requested):
            continue
        found = server.store.manifest(image, server.build, server.exact)
        status, size, unpacked = "unavailable (0/?)", "0.0 B/?", False
        if found:
            required = [found[1]["config"], *found[1].get("layers", [])]
            present = [part for part in required if server.store.has(part["digest"])]
            state = "complete" if len(present) == len(required) else "incomplete"
            status = f"{state} ({len(present)}/{len(required)})"
            size = "/".join(size_text(sum(int(part["size"]) for part in parts)) for parts in (present, required))
            unpacked = server.store.unpacked(found[1])
        about = [image.name, str(image.target["mediaType"]), str(image.target["digest"])]
        rows.append([*about, status, size, str(unpacked).lower()])
    if run.line.on("quiet"):
        return "".join(f"{row[0]}\n" for row in rows[1:] if row[3].startswith("complete"))
    return columns(rows) if len(rows) > 1 else ""


def _inspect(run: CtrRun) -> str:
    """Return the tree of an image's blobs (cmd/ctr/commands/images/inspect.go, since 2.0).

    If an index or manifest is not in the store, the line below it says so.

    Source: containerd pkg/display/manifest_printer.go.
    """
    image = run.image(run.argument(0, "please provide an image reference"))
    lines = [image.name, "│    Created: 2026-11-21 00:00:00 +0000 UTC", "│    Updated: 2026-11-21 00:00:00 +0000 UTC"]
    return "\n".join([*lines, *_below(run, image.target, "└── ", "    ")]) + "\n"


def _below(run: CtrRun, target: Mapping[str, Any], prefix: str, indent: str) -> list[str]:
    store, platform = run.server.store, target.get("platform")
    lines = [_part(target, prefix)]
    if platform and platform.get("architecture"):
        lines.append(f"{indent}│    Platform: {oci.platform_text(platform)}")
    if not store.has(target["digest"]):
        return [*lines, f"{indent}└──  Content does not exist locally, skipping"]
    found = store.document(target["digest"])
    if "manifests" in found:
        for number, entry in enumerate(found["manifests"], 1):
            here, under = ("└── ", "    ") if number == len(found["manifests"]) else ("├── ", "│   ")
            lines += _below(run, entry, indent + here, indent + under)
        return lines
    parts = [found["config"], *found.get("layers", [])]
    return [*lines, *(_part(part, f"{indent}{'└── ' if part is parts[-1] else '├── '}") for part in parts)]


def _part(descriptor: Mapping[str, Any], prefix: str) -> str:
    return f"{prefix}{descriptor['mediaType']} @{descriptor['digest']} ({descriptor['size']} bytes)"


def _prune(run: CtrRun) -> str:
    """Remove the images that no container uses, and return their names. Requires the flag --all (images/images.go)."""
    if not run.line.on("all"):
        raise CtrError("--all must be specified to prune unused images")
    used = {item.image for item in run.server.containers()} if run.namespace == K8S else set()
    message = ""
    for image in run.server.store.images(run.namespace):
        if image.name not in used:
            run.server.store.delete(image.name, run.namespace)
            message += f"{image.name}\n"
    return message


COMMANDS: Mapping[str, Command] = {
    "images list": _list,
    "images pull": _pull,
    "images push": _push,
    "images tag": _tag,
    "images label": _label,
    "images delete": _delete,
    "images check": _check,
    "images inspect": _inspect,
    "images prune": _prune,
}
