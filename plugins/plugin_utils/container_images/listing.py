# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Turn users' lists of container images into resources, and report the result for each image."""

from __future__ import annotations

import functools
import json
import re
import typing as t

from ..engine.outcome import ConvergenceOutcome
from ..engine.resource import Resource
from ..image_stores.store import Store, StoredImage
from ..node_config import registries
from ..resources.container_image import ContainerImage
from ..resources.load import load
from ..values.errors import ResourceError
from ..values.image_reference import ImageReference, is_whole
from ..values.versions import DATA
from ..windows.node_paths import CONTAINERD_REGISTRIES

_KEYS = ("name", "digest", "aliases", "pinned", "archive", "archives", "size", "likely_size", "windows", "state")
_PASSED = (
    "runtime", "environment", "ctr", "crictl", "cri_endpoint", "docker", "docker_config", "store_dir", "parallel",
    "retries", "delay", "timeout",
)  # fmt: skip
"""Options of the container_images module that apply to all images."""
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.-]+)?")

Resources = list[dict[str, t.Any]]


def resources(
    images: t.Sequence[t.Any],
    defaults: t.Mapping[str, t.Any],
    *,
    pinned: bool = False,
    bundle: t.Mapping[str, t.Any] | None = None,
) -> Resources:
    """Return the ContainerImage resources for a list of images.

    Args:
        images: references, or mappings with `name` and further keys.
        defaults: properties of all images, such as the runtime.
        pinned: the value of `pinned` for images that do not set it.
        bundle: archives of images in a bundle, by image reference.

    Raises:
        ResourceError: `images` is not a list, or an item is neither a reference nor a valid mapping.
    """
    if isinstance(images, (str, bytes)) or not isinstance(images, t.Sequence):
        raise ResourceError("images", images, "expected a list of references, or of mappings with a name key")
    docker = defaults.get("runtime") == "docker"
    made: dict[str, dict[str, t.Any]] = {}
    for number, item in enumerate(images):
        given = {"name": item} if isinstance(item, str) else item
        if not isinstance(given, t.Mapping) or not isinstance(given.get("name"), str):
            raise ResourceError(f"images[{number}]", item, "expected a reference, or a mapping with a name key")
        unknown = [key for key in given if key not in _KEYS]
        if unknown:
            raise ResourceError(f"images[{number}]", unknown[0], f"expected only the keys {', '.join(_KEYS)}")
        own = {**_likely(given["name"]), **defaults, **given, "type": "ContainerImage"}
        # Docker cannot pin images.
        own["pinned"] = bool(given.get("pinned", pinned)) and not docker
        if bundle and given["name"] in bundle and "archive" not in given:
            own["archives"] = bundle[given["name"]]
        earlier = made.get(given["name"])
        made[given["name"]] = (
            own if earlier is None else {**earlier, **own, "pinned": earlier["pinned"] or own["pinned"]}
        )
    return list(made.values())


def _likely(name: str) -> dict[str, int]:
    """Return the `likely_size` property of an image, or an empty dict if its approximate size is not known.

    With this property, the first run need not ask a registry for the size. A copy in a mirror is as large as the
    original, so the image is looked up only by the end of its repository's path.
    """
    repository = f"/{ImageReference.parse(name).repository}" if is_whole(name) else ""
    sizes = (size for end, size in _data()["likely_sizes"].items() if repository.endswith(f"/{end}"))
    size = next(sizes, None)
    return {} if size is None else {"likely_size": size}


@functools.cache
def _data() -> t.Mapping[str, t.Any]:
    return t.cast("t.Mapping[str, t.Any]", json.loads((DATA / "container_images.json").read_text(encoding="utf-8")))


def base_images(names: t.Sequence[str]) -> Resources:
    """Return the references of Microsoft's base images, each with the version of Windows Server that it is for.

    Args:
        names: names of base images, as in data/container_images.json.

    Raises:
        ResourceError: a name is unknown.
    """
    known = _data()["base"]
    images: Resources = []
    for name in names:
        if name not in known:
            raise ResourceError("base image", name, f"expected one of {', '.join(known)}")
        about = known[name]
        size = {"likely_size": about["size"]} if "size" in about else {}
        images += [
            {"name": f"{about['repository']}:{tag}", "windows": [version], **size}
            for version, tag in about["tags"].items()
        ]
    return images


def core_dns(versions: t.Sequence[t.Any], repository: str) -> list[str]:
    """Return the references of CoreDNS images.

    Args:
        versions: versions such as 1.12.1, with or without a leading `v`.
        repository: the user's own repository of CoreDNS images for Windows. Upstream publishes images for Linux only.

    Raises:
        ResourceError: a version is not valid, or there are versions but no repository.
    """
    about = _data()["coredns"]
    references = []
    if versions and not repository:
        expected = "expected a repository whose CoreDNS images run on Windows"
        raise ResourceError("image_cache_core_dns_repository", None, expected)
    for version in versions:
        bare = str(version).removeprefix("v")
        if not _VERSION.fullmatch(bare):
            raise ResourceError("core_dns_versions", version, "expected a version such as 1.12.1")
        references.append(f"{repository}:{about['tag'].format(version=bare)}")
    return references


def results(
    images: t.Sequence[ContainerImage],
    before: t.Mapping[str, StoredImage],
    after: t.Mapping[str, StoredImage],
    outcome: ConvergenceOutcome,
    version: str | None,
) -> list[dict[str, t.Any]]:
    """Return the result for each container image.

    Args:
        images: the requested images.
        before: the first observation of the store.
        after: the last observation of the store.
        outcome: outcome of the convergence.
        version: the node's version of Windows Server, or None if unknown. Images that are only for other versions are
            left out.

    Returns:
        Mappings with `reference`, `status`, `digest`, `size` and `msg`.
    """
    done = {change.planned.resource.title: change.planned for change in outcome.changes}
    pending = {planned.resource.title: planned for planned in outcome.pending}
    rows = []
    for image in images:
        if image.windows and version is not None and version not in image.windows:
            continue
        stored = after.get(image.name)
        # The failure message names the resource and describes the last attempt.
        message = next((text for text in outcome.failures if f" {image.title}:" in text), "")
        status = "absent" if image.state == "absent" else "present"
        if image.title in done:
            status = _done(image, before.get(image.name))
        elif image.title in pending or message:
            status = "failed"
        rows.append(
            {
                "reference": image.name,
                "status": status,
                "digest": _digest(image, stored),
                "size": stored.size if stored else None,
                "msg": message,
            }
        )
    return rows


def _done(image: ContainerImage, before: StoredImage | None) -> str:
    if image.state == "absent":
        return "removed"
    if before is not None and before.complete and (image.digest is None or image.digest in before.digests):
        return "updated"
    return "imported" if image.archive or image.archives else "pulled"


def _digest(image: ContainerImage, stored: StoredImage | None) -> str | None:
    if stored is None:
        return None
    digests = sorted(stored.digests)
    return image.digest if image.digest in digests else digests[0] if digests else None


def check(images: t.Sequence[ContainerImage]) -> None:
    """Check that no two images in a list have the same name or alias.

    Raises:
        ResourceError: a name or alias refers to two images.
    """
    owner: dict[str, str] = {}
    for image in images:
        if image.state == "absent":
            continue
        for name in (image.name, *image.aliases):
            if owner.setdefault(name, image.name) != image.name:
                hint = f"{owner[name]} already has this name."
                raise ResourceError("images", name, "expected a name or alias that no other image has", hint)


def kept(images: t.Sequence[ContainerImage], more: t.Sequence[str] = ()) -> tuple[str, ...]:
    """Return the image names to keep: names and aliases of images in the state `present`, and the names in `more`."""
    names = [name for image in images if image.state == "present" for name in (image.name, *image.aliases)]
    return tuple(dict.fromkeys([*names, *more]))


def load_options(options: t.Mapping[str, t.Any]) -> list[Resource]:
    """Return the resources that the options of the container_images module request.

    These are the container images, the removal of unused images, and files that configure image registries.

    Raises:
        ResourceError: an option is invalid.
    """
    defaults = {name: options[name] for name in _PASSED if options[name] is not None}
    files: Resources
    listed = resources(options["images"], defaults, pinned=options["pinned"])
    parsed = registries.read(options["registries"])
    if options["runtime"] == "docker":
        folder = options["docker_config"] or registries.DOCKER_CONFIG
        files = registries.docker_files(parsed, folder)
        if any(registry.secret for registry in parsed):
            defaults["docker_config"] = folder
    else:
        defaults["hosts_dir"] = options["registry_config_dir"] or CONTAINERD_REGISTRIES
        files = registries.containerd_files(parsed, defaults["hosts_dir"])
    images = [image for image in load([{**defaults, **item} for item in listed]) if isinstance(image, ContainerImage)]
    check(images)
    if options["prune"]:
        keep = list(kept(images, options["keep"]))
        files = [*files, {**defaults, "type": "UnusedContainerImages", "name": options["runtime"], "keep": keep}]
    return [*load(files), *images]


def store_of(options: t.Mapping[str, t.Any]) -> Store:
    """Return the image store that the options of the container_images module select."""
    given = {name: options[name] for name in _PASSED if options[name] is not None}
    return ContainerImage(name="registry.k8s.io/pause:3.10.2", **given).store
