# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Docker's image store, which is accessed through docker.exe.

Sources: docs.docker.com/reference/cli/docker/image/ls, …/image/pull, …/manifest/inspect.
Docker cannot pin images: the kubelet's garbage collection keeps only the kubelet's own pause image.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..values.image_reference import DIGEST, with_registry
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Results
from .store import LISTING, Store, StoredImage, TransferOptions, size_of

_NONE = "<none>"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DockerStore(Store):
    """Docker's image store."""

    docker: str
    path: str
    config_dir: str | None = None
    """Folder of the `config.json` that contains registry credentials."""

    def list_calls(self) -> tuple[Call, ...]:
        return (self._question("images", "image", "ls", "--digests", "--no-trunc", "--format", "{{json .}}"),)

    def read(self, seen: Results) -> dict[str, StoredImage]:
        rows = [row for row in _rows(seen.get("images")) or () if row.get("Repository", _NONE) != _NONE]
        digests: dict[str, set[str]] = {}
        for row in rows:
            digests.setdefault(str(row.get("ID")), set()).add(str(row.get("Digest")))
        images: dict[str, StoredImage] = {}
        for row in rows:
            repository, identity, digest = (str(row.get(key) or _NONE) for key in ("Repository", "ID", "Digest"))
            image = StoredImage(
                identity=identity,
                digests=frozenset(each for each in digests[identity] if DIGEST.fullmatch(each)),
                size=_size(str(row.get("Size") or "")),
            )
            whole = with_registry(repository)
            if row.get("Tag", _NONE) != _NONE:
                images[f"{whole}:{row['Tag']}"] = image
            if DIGEST.fullmatch(digest):
                images[f"{whole}@{digest}"] = image
        return images

    def container_calls(self) -> tuple[Call, ...]:
        return (self._question("containers", "ps", "--all", "--no-trunc", "--format", "{{json .}}"),)

    def in_use(self, seen: Results, images: t.Mapping[str, StoredImage]) -> frozenset[str] | None:
        rows = _rows(seen.get("containers"))
        if rows is None:
            return None
        names = {str(row.get("Image")) for row in rows}
        names |= {with_registry(name) for name in names} | {f"{with_registry(name)}:latest" for name in names}
        return frozenset(
            image.identity for name, image in images.items() if names & {name, image.identity, image.identity[7:]}
        )

    def pull(self, reference: str, how: TransferOptions) -> Call:
        return self._retried("pull", how, "pull", reference)

    def load(self, path: str, how: TransferOptions) -> tuple[Call, ...]:
        return (dataclasses.replace(self._retried("load", how, "load", "--input", path), retries=0),)

    def check(self, reference: str) -> tuple[Call, ...]:
        return (self._docker("check", "image", "inspect", "--format", "{{.Id}}", reference),)

    def tag(self, call_id: str, reference: str, names: t.Sequence[str]) -> tuple[Call, ...]:
        # `docker tag` accepts only one name.
        return tuple(
            self._docker(call_id if len(names) == 1 else f"{call_id}-{number}", "tag", reference, name)
            for number, name in enumerate(names)
        )

    def pin(self, reference: str) -> tuple[Call, ...]:
        return ()

    def removable(self, names: t.Sequence[str], images: t.Mapping[str, StoredImage]) -> list[str]:
        # Docker removes names that contain a digest together with the last tag, so removing them again would fail.
        tagged = {images[name].identity for name in names if "@" not in name}
        return [name for name in names if "@" not in name or images[name].identity not in tagged]

    def remove(self, names: t.Sequence[str]) -> tuple[Call, ...]:
        # Without --force, Docker refuses to remove images that containers use.
        return (self._docker("remove", "rmi", *names),)

    def push(self, reference: str, how: TransferOptions) -> Call:
        return self._retried("push", how, "push", reference)

    def ask_size(self, reference: str) -> tuple[Call, ...]:
        return (self._question("size", *self._config, "manifest", "inspect", "--verbose", reference),)

    def read_size(self, seen: t.Mapping[str, CallResult], build: int) -> int | None:
        return sum(self.read_layers(seen, build).values()) or None

    def read_layers(self, seen: t.Mapping[str, CallResult], build: int) -> dict[str, int]:
        result = seen.get("size")
        try:
            parsed = json.loads(result.stdout) if result is not None and result.ok else []
            all_layers = [
                (_build(entry), {str(layer["digest"]): int(layer["size"]) for layer in manifest.get("layers") or ()})
                for entry in (parsed if isinstance(parsed, list) else [parsed])
                if (manifest := entry.get("OCIManifest") or entry.get("SchemaV2Manifest"))
                and _system(entry) in ("windows", "")
            ]
        except (ValueError, AttributeError, KeyError, TypeError):
            return {}
        own = [layers for its_build, layers in all_layers if its_build == build]
        return max(own or [layers for dummy, layers in all_layers], key=lambda layers: sum(layers.values()), default={})

    @property
    def _config(self) -> tuple[str, ...]:
        return ("--config", self.config_dir) if self.config_dir else ()

    def _question(self, call_id: str, *arguments: str) -> Call:
        return query(call_id, self.docker, arguments=arguments, output_limit=LISTING, timeout=60)

    def _docker(self, call_id: str, *arguments: str) -> Call:
        return action(call_id, self.docker, arguments=arguments, timeout=300)

    def _retried(self, call_id: str, how: TransferOptions, *arguments: str) -> Call:
        return dataclasses.replace(
            self._docker(call_id, *self._config, *arguments),
            retries=how.retries,
            delay=how.delay,
            timeout=how.timeout,
            output_limit=4096,
            long=True,
            parallel=how.parallel,
        )


def _rows(result: CallResult | None) -> list[dict[str, t.Any]] | None:
    """Return one JSON object for each line that Docker printed, or None if Docker did not respond."""
    if result is None or not result.ok:
        return None
    rows = []
    for line in result.stdout.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _size(text: str) -> int | None:
    match = re.fullmatch(r"([0-9.]+)\s*([kKMGT]?i?B)(?:\s.*)?", text)
    return size_of(match[1], match[2]) if match else None


def _system(entry: t.Mapping[str, t.Any]) -> str:
    platform = (entry.get("Descriptor") or {}).get("platform") or {}
    return str(platform.get("os") or "")


def _build(entry: t.Mapping[str, t.Any]) -> int | None:
    platform = (entry.get("Descriptor") or {}).get("platform") or {}
    parts = str(platform.get("os.version") or "").split(".")
    return int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else None
