# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An OCI image in containerd's store."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..calls import Call, CallResult
from ._base import Change, Resource, ResourceError, Results
from ._state import create, remove, update

_PINNED = "io.cri-containerd.pinned=pinned"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REFERENCE = re.compile(
    r"(?P<name>[a-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)+)(?P<tag>:[\w.-]+)?(?P<digest>@sha256:[0-9a-f]{64})?"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ContainerImage(Resource):
    """An OCI image in containerd's store, in the kubelet's namespace, unpacked for this node's Windows."""

    type: t.ClassVar[str] = "ContainerImage"
    independent: t.ClassVar[bool] = True
    name: str = dataclasses.field(metadata={"help": "Its whole reference: `registry/repository:tag`, or `…@sha256:…`."})
    digest: str | None = dataclasses.field(
        default=None, metadata={"help": "What the tag has to name (`sha256:…`); pulled again where it names another."}
    )
    aliases: tuple[str, ...] = dataclasses.field(default=(), metadata={"help": "Further references to the same image."})
    pinned: bool = dataclasses.field(
        default=False, metadata={"help": "The kubelet's garbage collection never removes it."}
    )
    hosts_dir: str | None = dataclasses.field(
        default=None, metadata={"help": "Folder with a `hosts.toml` per registry (mirrors)."}
    )
    environment: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "For the pull, such as `HTTPS_PROXY`."}
    )
    ctr: str = dataclasses.field(
        default="C:\\Program Files\\containerd\\bin\\ctr.exe", metadata={"help": "containerd's client on the node."}
    )
    timeout: int = dataclasses.field(default=3600, metadata={"help": "Seconds for one attempt."})
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether it is in the store."}
    )

    def __post_init__(self) -> None:
        for place, reference in (("name", self.name), *(("aliases", alias) for alias in self.aliases)):
            match = _REFERENCE.fullmatch(reference)
            host = reference.partition("/")[0]
            if (
                not match
                or not (match["tag"] or match["digest"])
                or not ("." in host or ":" in host or host == "localhost")
            ):
                raise ResourceError(place, reference, "wanted a whole reference: registry/repository:tag")
        if self.digest is not None and not _DIGEST.fullmatch(self.digest):
            raise ResourceError("digest", self.digest, "wanted sha256: and 64 hexadecimal digits")
        if not self.ctr.lower().endswith(".exe"):
            raise ResourceError("ctr", self.ctr, "wanted the path of ctr.exe")

    def observe(self) -> tuple[Call, ...]:
        """The same question for all images: the engine asks it once."""
        return (
            Call(
                id="images",
                command=self.ctr,
                arguments=("-n", "k8s.io", "images", "list"),
                output_limit=400_000,
                timeout=60,
                on_error="continue",
            ),
        )

    def plan(self, seen: Results) -> Change | None:
        images = listed(seen.get("images"))
        found = images.get(self.name)
        if self.state == "absent":
            here = [reference for reference in (self.name, *self.aliases) if reference in images]
            calls = [self._ctr("remove", "images", "remove", *here)]
            return remove(self, {"references": here}, calls) if here else None
        after = {"digest": self.digest, "aliases": sorted(self.aliases), "pinned": self.pinned or None}
        wanted = {key: value for key, value in after.items() if value}
        if found is None:
            return create(self, wanted, [*self._pull(), *self._tag(), *self._pin()], why="is not in the store")
        pull = self.digest is not None and found.digest != self.digest
        tagged = sorted(alias for alias in self.aliases if alias in images and images[alias].digest == found.digest)
        before = {"digest": found.digest, "aliases": tagged, "pinned": _PINNED in found.labels}
        calls = [*self._pull()] if pull else []
        calls += self._tag() if pull or tagged != sorted(self.aliases) else ()
        calls += self._pin() if pull or not before["pinned"] else ()
        return update(self, before, wanted, calls)

    def _pull(self) -> t.Iterator[Call]:
        # By digest where one is wanted: the registry's tag may have moved on.
        by_digest = f"{self.name.partition('@')[0].rpartition(':')[0]}@{self.digest}"
        reference = self.name if self.digest is None or "@" in self.name else by_digest
        hosts = ["--hosts-dir", self.hosts_dir] if self.hosts_dir else []
        yield dataclasses.replace(
            self._ctr("pull", "images", "pull", *hosts, reference),
            environment=dict(self.environment),
            timeout=self.timeout,
            retries=2,
            delay=10,
            output_limit=4096,
            long=True,
        )
        if reference != self.name:
            yield self._ctr("tag", "images", "tag", "--force", reference, self.name)

    def _tag(self) -> t.Iterator[Call]:
        if self.aliases:
            yield self._ctr("aliases", "images", "tag", "--force", self.name, *self.aliases)

    def _pin(self) -> t.Iterator[Call]:
        if self.pinned:
            yield self._ctr("pin", "images", "label", self.name, _PINNED)

    def _ctr(self, call_id: str, *arguments: str) -> Call:
        return Call(id=call_id, command=self.ctr, arguments=("-n", "k8s.io", *arguments), timeout=300)


@dataclasses.dataclass(frozen=True)
class Listed:
    """One line of `ctr images list`."""

    digest: str
    labels: frozenset[str]


def listed(result: CallResult | None) -> dict[str, Listed]:
    """The images by reference; none where containerd does not answer, or does not exist yet."""
    if result is None or not result.ok:
        return {}
    images: dict[str, Listed] = {}
    for line in result.stdout.splitlines():
        words = line.split()
        digest = next((word for word in words if _DIGEST.fullmatch(word)), None)
        if digest is not None and words[0] != digest:
            images[words[0]] = Listed(digest, frozenset(words[-1].split(",")))
    return images
