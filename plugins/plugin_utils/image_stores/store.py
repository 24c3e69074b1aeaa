# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a runtime's store of container images is asked and told: containerd's and Docker's are two such stores.

The two share nothing: what one pulled, the other does not see.
"""

from __future__ import annotations

import abc
import dataclasses
import re
import typing as t

from ..wire.messages import Call, CallResult, Results

REFERENCE = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9._-]+)+)(?::(?P<tag>[\w][\w.-]{0,127}))?(?P<digest>@sha256:[0-9a-f]{64})?"
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
LISTING = 4_000_000
"""Characters: a listing that is cut is no listing."""

_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

UNPACKED = 2.5
"""How many bytes a compressed byte of a Windows layer takes when it is unpacked: of ltsc2022, windows/servercore is
about 2 GB in its manifest and 5 GB in `docker image ls`, windows/nanoserver 120 MB and 300 MB."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredImage:
    """One name in a store."""

    identity: str
    """What all names of one container image share: the digest that they mean (containerd), an id (Docker)."""
    digests: frozenset[str] = frozenset()
    """Digests that registries know it by; empty if it came from an archive or a build into Docker."""
    labels: frozenset[str] = frozenset()
    """`name=value`, of the name (containerd)."""
    size: int | None = None
    """Bytes, as the store tells it."""
    complete: bool = True
    """Whether all of it is there and unpacked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransferOptions:
    """How something is pulled or pushed."""

    retries: int = 3
    delay: float = 10.0
    timeout: float = 3600.0
    parallel: int = 4


class Store(abc.ABC):
    """A runtime's store of container images. Pure: it makes calls and reads their results."""

    path: str
    """A folder on the volume that fills."""

    @abc.abstractmethod
    def look(self) -> tuple[Call, ...]:
        """The calls that list what is there: the same for all container images, so that the engine asks once."""

    @abc.abstractmethod
    def read(self, seen: Results) -> dict[str, StoredImage]:
        """The names in the store, by reference; none where the runtime does not answer, or does not exist yet."""

    @abc.abstractmethod
    def look_for_use(self) -> tuple[Call, ...]:
        """The calls that tell what containers use."""

    @abc.abstractmethod
    def in_use(self, seen: Results, images: t.Mapping[str, StoredImage]) -> frozenset[str] | None:
        """Identities that containers use, running or not; None where that could not be found out."""

    @abc.abstractmethod
    def pull(self, reference: str, how: TransferOptions) -> Call:
        """Call `pull`."""

    @abc.abstractmethod
    def load(self, path: str, how: TransferOptions) -> tuple[Call, ...]:
        """Calls that bring an archive on the node into the store; the last one is `load`."""

    @abc.abstractmethod
    def check(self, reference: str) -> tuple[Call, ...]:
        """Calls that fail unless the store has this name."""

    @abc.abstractmethod
    def tag(self, call_id: str, reference: str, names: t.Sequence[str]) -> tuple[Call, ...]:
        """Calls that give further names, also where these meant something else."""

    @abc.abstractmethod
    def pin(self, reference: str) -> tuple[Call, ...]:
        """Calls that keep it from the kubelet's garbage collection; none where the runtime has no such thing."""

    def removable(self, names: t.Sequence[str], images: t.Mapping[str, StoredImage]) -> list[str]:  # noqa: ARG002 - for Docker
        """Which of the names have to be taken away so that all of them go."""
        return list(names)

    @abc.abstractmethod
    def remove(self, names: t.Sequence[str]) -> tuple[Call, ...]:
        """Calls that take names away, and what nobody else needs with them."""

    @abc.abstractmethod
    def push(self, reference: str, how: TransferOptions) -> Call:
        """Call `push`."""

    @abc.abstractmethod
    def ask_size(self, reference: str) -> tuple[Call, ...]:
        """Calls that ask the registry how large a container image is, without fetching its layers."""

    @abc.abstractmethod
    def read_size(self, seen: t.Mapping[str, CallResult], build: int | None) -> int | None:
        """Bytes to download, or None where the registry did not say."""

    @abc.abstractmethod
    def read_layers(self, seen: t.Mapping[str, CallResult], build: int | None) -> t.Mapping[str, int]:
        """The same, layer by layer: bytes by digest; empty where only the whole is known, or nothing."""


def names_of(identity: str, images: t.Mapping[str, StoredImage]) -> list[str]:
    """All names of one container image."""
    return sorted(name for name, held in images.items() if held.identity == identity)


def is_whole(reference: str) -> bool:
    """Whether it is a reference with registry, repository, and tag or digest."""
    match = REFERENCE.fullmatch(reference)
    host = reference.partition("/")[0]
    return bool(match and (match["tag"] or match["digest"]) and ("." in host or ":" in host or host == "localhost"))


def repository(reference: str) -> str:
    """A reference without tag and digest."""
    match = REFERENCE.fullmatch(reference)
    return match["name"] if match else reference


def size_of(number: str, unit: str) -> int | None:
    """Bytes of `98.3`, `MiB`, as the runtimes print sizes."""
    try:
        return int(float(number) * _UNITS[unit])
    except (KeyError, ValueError):
        return None


# What runtimes say, and what it means for whoever wrote the list: containerd core/remotes/docker, moby distribution.
_MEANINGS = (
    (
        r"no match for platform|no matching manifest|does not match the (specified|host) platform",
        "the registry has no build of it for this version of Windows; choose a tag that has one, such as …-ltsc2022",
    ),
    (
        r"\b429\b|too ?many ?requests",
        "the registry limits requests; credentials or a mirror in `registries` help",
    ),
    (
        r"\b401\b|\b403\b|unauthorized|authentication required|no basic auth credentials|pull access denied|denied:",
        "the registry wants other credentials: username and password, or headers, in `registries`",
    ),
    (
        r"x509|certificate (has expired|signed by unknown)|tls:",
        "the registry's certificate is not trusted: a private authority belongs in `ca` of its entry in `registries`",
    ),
    (r"not enough space|no space left|disk is full", "the disk is full"),
    (r"unexpected (commit )?digest|layer verification failed", "what came is not what its digest says"),
    (r"no such host|actively refused|i/o timeout|connection refused", "no registry that has it can be reached"),
    (r"manifest unknown|not found: manifest|: not found|name unknown|does not exist", "the registry has no such tag"),
)  # fmt: skip


def meaning(said: str) -> str | None:
    """What a runtime's message means, in one plain sentence; None where that is not known."""
    return next((text for pattern, text in _MEANINGS if re.search(pattern, said, re.IGNORECASE)), None)
