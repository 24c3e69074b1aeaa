# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the contents of a machine for the release notes of an image. All calls run in one remote command.

The release notes of AKS have similar contents. Source: Azure/AgentBaker,
vhdbuilder/packer/write-release-notes-windows.ps1.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..artifacts.locations import checked_folder
from ..engine.changes import is_missing
from ..image_stores.store import Store, StoredImage
from ..patches import observe as patches_observe
from ..patches import report as patches_report
from ..resources.container_image import ContainerImage
from ..values.image_reference import DIGEST
from ..values.versions import DATA
from ..windows import registry_fixes
from ..windows.node_paths import CACHED_VERSIONS_INDEX
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Input, Json, Observation
from . import cached_files, machine_identity
from .contents import (
    ImageContents,
    NotedComponent,
    NotedDisk,
    NotedFeature,
    NotedFix,
    NotedImage,
    NotedService,
    NotedUpdate,
    NotedWindows,
)

_CURRENT_VERSION = "HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
_ANY_IMAGE = "registry.k8s.io/pause:3.10.2"
"""Name of an arbitrary image, for a ContainerImage resource that is created only to find the runtime's image store."""
_EDITION = ("EditionID", "DisplayVersion")


class ContentsUnreadable(ValueError):
    """The machine did not report everything that it contains."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContentSources:
    """The container runtime and the artifact cache from which a machine's contents are read."""

    runtime: str
    store: Store
    cache_dir: str
    """Windows path of the artifact cache."""

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> ContentSources:
        """Return the runtime and the cache that are set in the options of the release_notes module.

        Raises:
            ResourceError: an option is invalid.
        """
        programs = {name: options[name] for name in ("ctr", "docker") if options[name]}
        store = ContainerImage(name=_ANY_IMAGE, runtime=options["runtime"], **programs).store
        cache_dir = checked_folder(options["cache_dir"], "cache_dir")
        return cls(runtime=options["runtime"], store=store, cache_dir=cache_dir)


@functools.cache
def service_names() -> tuple[str, ...]:
    """Return the names of the services that release notes list, from data/image_services.yml."""
    return tuple(yaml_load((DATA / "image_services.yml").read_text(encoding="utf-8"))["services"])


def calls(sources: ContentSources) -> tuple[Call, ...]:
    """Return the calls that read a machine's contents.

    If a call fails, the batch continues, and `read` reports the failure.
    """
    # Without SilentlyContinue, a single unknown name would hide the results for all known names.
    services: dict[str, Json] = {"Name": list(service_names()), "ErrorAction": "SilentlyContinue"}
    edition: list[Json] = [{"path": _CURRENT_VERSION, "name": name} for name in _EDITION]
    values: list[Json] = [{"path": path, "name": name} for path, name in _fix_values()]
    folder: dict[str, Json] = {"LiteralPath": sources.cache_dir, "Recurse": True, "File": True, "Force": True}
    manifests: list[Json] = [f"{sources.cache_dir}\\{part}\\*.manifest.json" for part in cached_files.FOLDERS]
    return (
        query("edition", "@read-registry", {"values": edition}),
        query("features", "Get-WindowsFeature", select=("Name", "DisplayName", "Installed")),
        *patches_observe.calls(()),
        query("services", "Get-Service", services, select=("Name", "Status", "StartType")),
        query("fixes", "@read-registry", {"values": values}),
        query("cache.files", "Get-ChildItem", folder, select=("FullName", "Length")),
        query(
            "cache.hashes",
            "Get-FileHash",
            {"Algorithm": "SHA256"},
            input=Input(calls=("cache.files",), parameter="LiteralPath", property="FullName"),
            needs=("cache.files",),
            select=("Path", "Hash"),
        ),
        query("components", "@read-file", {"paths": [CACHED_VERSIONS_INDEX], "content": True}, select=("content",)),
        query("cache.manifests", "Select-String", {"Path": manifests, "Pattern": "."}, select=("Path", "Line")),
        *machine_identity.calls(),
        *sources.store.list_calls(),
    )


def _fix_values() -> tuple[tuple[str, str], ...]:
    """Return the key and name of each registry value only once, even if several versions of Windows need this value."""
    return tuple(dict.fromkeys((str(entry["path"]), str(entry["name"])) for entry in registry_fixes.fixes()))


def read(
    seen: Observation, windows: WindowsInfo, sources: ContentSources, *, release: str, host: str, time: str
) -> ImageContents:
    """Return the contents of a machine from the results of `calls`.

    Args:
        seen: the observation with the results.
        windows: the version of Windows, which was read at the same time.
        sources: the same sources that `calls` received.
        release: name of the release.
        host: name of the machine in the inventory.
        time: the time of the observation, in ISO 8601 format.

    Raises:
        ContentsUnreadable: the machine did not report everything that it contains.
    """
    failures = _failures(seen)
    if failures:
        raise ContentsUnreadable("; ".join(failures))
    try:
        patches = patches_report.information(patches_observe.read(seen, windows).node)
    except patches_observe.PatchesUnreadable as error:
        raise ContentsUnreadable(str(error)) from error
    space = seen["space"].first or {}
    return ImageContents(
        release=release,
        host=host,
        time=time,
        windows=_windows(seen, windows, patches),
        features=tuple(
            NotedFeature(name=str(item.get("Name")), display_name=str(item.get("DisplayName") or ""))
            for item in seen["features"].output
            if item.get("Installed") is True
        ),
        updates=_updates(patches),
        services=_services(seen["services"]),
        registry_fixes=_fixes(seen["fixes"], windows),
        runtime=sources.runtime,
        artifacts=cached_files.artifacts(
            sources.cache_dir, seen["cache.files"], seen.calls.get("cache.hashes"), seen.calls.get("cache.manifests")
        ),
        container_images=_images(sources.store.read(seen.calls)),
        components=_components(seen["components"]),
        disk=NotedDisk(free=space.get("free"), total=space.get("total")),
        identity=machine_identity.read(seen, windows.active_computer_name),
    )


_PARTS: t.Mapping[str, str] = {
    "edition": "the edition of Windows",
    "features": "the features of Windows",
    "hotfixes": "the installed updates",
    "packages": "the installed packages",
    "services": "the services",
    "fixes": "the registry fixes",
    "space": "the free space",
    "cache.files": "the artifact cache",
    "cache.hashes": "the hashes of cached artifacts",
    "cache.manifests": "the manifests of cached artifacts",
    "images": "the container images",
    "components": "the versions that a machine may choose",
}
"""Maps the id of each call that must succeed to a description of the data that it reads, for messages. Other calls may
fail. For example, the call that checks the container images fails if a single image cannot be checked."""


def _failures(seen: Observation) -> list[str]:
    """Return a message for each part of the contents that could not be read. A missing cache counts as empty."""
    optional = ("cache.files", "cache.manifests")
    failures = []
    for call_id, part in _PARTS.items():
        result = seen.calls.get(call_id, CallResult(ok=False))
        if call_id == "cache.hashes" and is_missing(seen.calls.get("cache.files")):
            continue
        if not result.ok and not (call_id in optional and is_missing(result)):
            failures.append(f"{part} could not be read: {result.error or result.stderr or 'no answer'}")
    return failures


def _windows(seen: Observation, windows: WindowsInfo, patches: t.Mapping[str, t.Any]) -> NotedWindows:
    edition, display = (str(item.get("value") or "") for item in seen["edition"].output)
    return NotedWindows(
        product=windows.product,
        version=windows.nearest_version,
        build=f"{windows.build}.{windows.ubr}",
        edition=edition,
        installation=windows.installation,
        display_version=display,
        test_signing=patches["test_signing"],
        secure_boot=patches["secure_boot"],
    )


def _updates(patches: t.Mapping[str, t.Any]) -> tuple[NotedUpdate, ...]:
    listed = [
        NotedUpdate(id=fix["id"], description=fix["description"], installed_on=fix["installed_on"])
        for fix in patches["installed_qfes"]
    ]
    # Most packages have their KB number in their name. Cumulative updates do not.
    known = [one.id.upper() for one in listed]
    packages = [
        NotedUpdate(id=item["name"], description=item["release_type"])
        for item in patches["installed_packages"]
        if not any(f"{kb}~" in item["name"].upper() or f"{kb}_" in item["name"].upper() for kb in known)
    ]
    return (*listed, *packages)


def _services(result: CallResult) -> tuple[NotedService, ...]:
    services = [
        NotedService(name=str(item.get("Name")), state=str(item.get("Status")), start_mode=str(item.get("StartType")))
        for item in result.output
    ]
    return tuple(sorted(services, key=lambda service: service.name.casefold()))


def _fixes(result: CallResult, windows: WindowsInfo) -> tuple[NotedFix, ...]:
    actual = dict(zip(_fix_values(), (item.get("value") for item in result.output), strict=True))
    return tuple(
        NotedFix(
            path=str(entry["path"]),
            value_name=str(entry["name"]),
            expected=int(entry["value"]),
            actual=_plain(actual[str(entry["path"]), str(entry["name"])]),
            why=str(entry.get("why") or ""),
        )
        for entry in registry_fixes.fixes()
        if entry["os"] in ("*", windows.nearest_version)
    )


def _components(result: CallResult) -> tuple[NotedComponent, ...]:
    """Return the components in the index of the cached versions, or an empty tuple if the machine has no index."""
    content = result.first.get("content")
    if not content:
        return ()
    try:
        return tuple(
            NotedComponent(
                **{name: str(one[name]) for name in ("name", "title", "parameter", "image")},
                versions=tuple(str(version["version"]) for version in one["versions"]),
            )
            for one in json.loads(content)["components"]
        )
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ContentsUnreadable(f"{CACHED_VERSIONS_INDEX} is not an index of cached versions") from error


def _plain(value: t.Any) -> int | str | None:
    return value if value is None or (isinstance(value, int) and not isinstance(value, bool)) else str(value)


def _images(images: t.Mapping[str, StoredImage]) -> tuple[NotedImage, ...]:
    """Return each image once, with its tagged names, or else its names with a digest, or else its digest alone."""
    names: dict[str, list[str]] = {}
    for name, image in images.items():
        names.setdefault(image.identity, []).append(name)
    noted = []
    for identity, own in names.items():
        image = images[own[0]]
        # containerd names each image by its configuration's digest, too.
        tagged = sorted(name for name in own if "@" not in name and not DIGEST.fullmatch(name))
        whole = sorted(name for name in own if not DIGEST.fullmatch(name))
        digest = identity if identity in image.digests else min(image.digests, default="")
        noted.append(NotedImage(names=tuple(tagged or whole or own), digest=digest, size=image.size))
    return tuple(sorted(noted, key=lambda image: image.names))
