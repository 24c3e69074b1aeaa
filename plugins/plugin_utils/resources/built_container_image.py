# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build a container image on the node.

For example, an Insider build of Windows needs a pause image that is based on the same build, and no registry has one.

Sources: moby/buildkit docs/windows.md (buildctl, the buildkitd service, containerd as its worker) and
cmd/buildkitd/main_containerd_worker.go (--containerd-worker-namespace: the namespace in which the kubelet finds
images); docs.docker.com/reference/cli/docker/image/build.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing as t

from ..engine.changes import create, update
from ..engine.resource import Change
from ..image_stores.containerd import PINNED
from ..image_stores.store import StoredImage
from ..values.errors import ResourceError
from ..values.image_reference import ImageReference
from ..windows.node_paths import TRUSTED_FOLDER
from ..windows.path_calls import remove_path
from ..windows.registry_calls import make_key, remove_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Results
from .container_image import InStore

FOLDER = f"{TRUSTED_FOLDER}\\builds"
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL = "winkube.node.built-from"
PUSHED = "HKLM:\\SOFTWARE\\winkube\\pushed"
"""Registry key with one value per pushed image name: the source digest of the image that was pushed. A label cannot
record that an image was pushed, because Docker's labels are part of the image and must exist before the push."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuiltContainerImage(InStore):
    """A container image that is built on the node, and rebuilt when `dockerfile`, `build_args` or `context` changes."""

    type: t.ClassVar[str] = "BuiltContainerImage"
    independent: t.ClassVar[bool] = True
    name: str = dataclasses.field(metadata={"help": "The image's tag: `registry/repository:tag`."})
    dockerfile: str = dataclasses.field(metadata={"help": "The text of the Dockerfile."})
    build_args: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "Values of the Dockerfile's ARGs. Do not use them for secrets."}
    )
    context: str | None = dataclasses.field(
        default=None,
        metadata={"help": "Folder on the node from which COPY takes files. The default contains only the Dockerfile."},
    )
    pinned: bool = dataclasses.field(
        default=False,
        metadata={"help": "Whether the kubelet's garbage collection must never remove the image (containerd only)."},
    )
    push: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to push the image to its registry after each build."}
    )
    buildctl: str = dataclasses.field(
        default="C:\\Program Files\\buildkit\\buildctl.exe",
        metadata={
            "help": "Path of BuildKit's client, which builds images for containerd. Images for Docker are"
            " built with `docker`."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if ImageReference.parse(self.name, "name").digest:
            raise ResourceError("name", self.name, "expected registry/repository:tag without a digest")
        if not re.search(r"^\s*FROM\s", self.dockerfile, re.IGNORECASE | re.MULTILINE):
            expected = "expected the text of a Dockerfile with a FROM instruction"
            raise ResourceError("dockerfile", self.dockerfile[:60], expected)
        for key in self.build_args:
            if not _ARGUMENT.fullmatch(key):
                raise ResourceError("build_args", key, "expected an ARG name of letters, digits and underscores")
        if self.pinned and self.runtime == "docker":
            raise ResourceError("pinned", True, "expected false", "Only containerd supports pinned images.")
        if not self.buildctl.lower().endswith(".exe"):
            raise ResourceError("buildctl", self.buildctl, "expected the path of buildctl.exe")

    @property
    def source(self) -> str:
        """A digest of the Dockerfile, the build arguments and the context's path, but not of the context's files."""
        parts = [self.dockerfile.replace("\r\n", "\n"), sorted(self.build_args.items()), self.context]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @property
    def _mark(self) -> str:
        return f"{_LABEL}={self.source}"

    def observe(self) -> tuple[Call, ...]:
        calls = self.store.list_calls()
        if self.runtime == "docker":
            # `docker image ls` does not print labels, but can filter by them.
            (listing,) = calls
            arguments = (*listing.arguments[:2], "--filter", f"label={self._mark}", *listing.arguments[2:])
            calls += (dataclasses.replace(listing, id="marked", arguments=arguments),)
        if self.push:
            values = [{"path": PUSHED, "name": self._note}]
            calls += (query("pushed", "@read-registry", {"values": values}),)
        return calls

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        image = self.store.read(seen).get(self.name)
        note = _noted(seen)
        after: dict[str, t.Any] = {"built_from": self.source}
        after |= {"pinned": True} if self.pinned else {}
        after |= {"pushed": True} if self.push else {}
        if image is None or not image.complete:
            calls = [*self._built(note), *self._kept(), *self._pushed()]
            return _fetching(create(self, after, calls, why="has not been built on this node yet"))
        built = self._is_built(image, seen)
        before = {
            "built_from": self.source if built else "other sources",
            "pinned": PINNED in image.labels,
            "pushed": built and note == self.source,
        }
        calls = [] if built else [*self._built(note)]
        calls += self._kept() if not built or not before["pinned"] else ()
        calls += self._pushed() if not before["pushed"] else ()
        change = update(self, before, after, calls)
        return change if built or change is None else _fetching(change)

    def _is_built(self, image: StoredImage, seen: Results) -> bool:
        if self.runtime == "docker":
            return self.name in self.store.read({"images": seen["marked"]} if "marked" in seen else {})
        return self._mark in image.labels

    @property
    def _note(self) -> str:
        return f"{self.runtime} {self.name}"

    def _built(self, note: str) -> t.Iterator[Call]:
        """Yield the calls that build the image."""
        if note:
            # Remove the record before the build. Otherwise, the next run would not repeat a failed push.
            yield remove_value("forget", PUSHED, self._note)
        folder = f"{FOLDER}\\{hashlib.sha256(self.name.encode()).hexdigest()[:24]}"
        file = {"path": f"{folder}\\Dockerfile", "content": self.dockerfile}
        yield action("dockerfile", "@write-file", dict(file))
        yield self._build(folder, self.context or folder)
        if self.runtime == "containerd":
            label = ("-n", "k8s.io", "images", "label", self.name, self._mark)
            yield action("mark", self.ctr, arguments=label, timeout=300)
        yield dataclasses.replace(remove_path(folder, "discard"), always=True, on_error="continue")

    def _kept(self) -> t.Iterator[Call]:
        if self.pinned:
            yield from self.store.pin(self.name)

    def _pushed(self) -> t.Iterator[Call]:
        if self.push:
            yield self.store.push(self.name, self.how)
            yield from make_key(PUSHED)
            yield set_value("note", PUSHED, self._note, "String", self.source)

    def _build(self, folder: str, context: str) -> Call:
        values = sorted(self.build_args.items())
        if self.runtime == "docker":
            config = ("--config", self.docker_config) if self.docker_config else ()
            given = [word for key, value in values for word in ("--build-arg", f"{key}={value}")]
            command, arguments = self.docker, (
                *config, "build", "--tag", self.name, "--label", self._mark, *given,
                "--file", f"{folder}\\Dockerfile", context,
            )  # fmt: skip
        else:
            given = [word for key, value in values for word in ("--opt", f"build-arg:{key}={value}")]
            command, arguments = self.buildctl, (
                "build", "--progress", "plain", "--frontend", "dockerfile.v0",
                "--local", f"context={context}", "--local", f"dockerfile={folder}", *given,
                "--output", f"type=image,name={self.name},unpack=true",
            )  # fmt: skip
        return action(
            "build",
            command,
            arguments=arguments,
            # buildctl has no option for the folder of Docker's configuration.
            environment={"DOCKER_CONFIG": self.docker_config} if self.docker_config else {},
            retries=self.retries,
            delay=self.delay,
            timeout=self.timeout,
            output_limit=8192,
            long=True,
        )


def _fetching(change: Change) -> Change:
    return dataclasses.replace(change, downloads="the images on which its Dockerfile is based")


def _noted(seen: Results) -> str:
    """Return the source digest that is recorded for the pushed image, or an empty string if none can be read."""
    result = seen.get("pushed")
    value = result.first if result is not None and result.ok else None
    return str(value.get("value") or "") if isinstance(value, t.Mapping) else ""
