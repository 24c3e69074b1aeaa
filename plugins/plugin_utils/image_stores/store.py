# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The interface of a container runtime's image store; containerd.py and docker.py implement it.

The stores of containerd and Docker share no images.
"""

from __future__ import annotations

import abc
import dataclasses
import re
import typing as t

from ..wire.messages import Call, CallResult, Results

LISTING = 4_000_000
"""Maximum number of characters in a listing, high enough that no listing is truncated."""

_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

UNPACKED = 2.5
"""Ratio of unpacked to compressed size of Windows layers. For ltsc2022, windows/servercore is about 2 GB in its
manifest and 5 GB in `docker image ls`; windows/nanoserver is 120 MB and 300 MB."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredImage:
    """An image in a store, under one of its names."""

    identity: str
    """The digest (containerd) or the id (Docker), which is the same for all names of an image."""
    digests: frozenset[str] = frozenset()
    """Digests of the image in registries. In Docker, images from archives or builds have none."""
    labels: frozenset[str] = frozenset()
    """Labels as `name=value`; each name of an image has its own labels (containerd only)."""
    size: int | None = None
    """Size in bytes, as the store reports it."""
    complete: bool = True
    """Whether the image is complete and unpacked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransferOptions:
    """Options for pulling, importing or pushing an image."""

    retries: int = 3
    delay: float = 10.0
    timeout: float = 3600.0
    parallel: int = 4


class Store(abc.ABC):
    """The image store of a container runtime. Its methods build calls and interpret their results (no I/O)."""

    path: str
    """A folder on the volume that stores the images."""

    @abc.abstractmethod
    def list_calls(self) -> tuple[Call, ...]:
        """Return the calls that list all images; the engine sends them once, because they do not depend on an image."""

    @abc.abstractmethod
    def read(self, seen: Results) -> dict[str, StoredImage]:
        """Return a map from references to stored images, empty if the runtime does not respond or is not installed."""

    @abc.abstractmethod
    def container_calls(self) -> tuple[Call, ...]:
        """Return the calls that list the images that containers use."""

    @abc.abstractmethod
    def in_use(self, seen: Results, images: t.Mapping[str, StoredImage]) -> frozenset[str] | None:
        """Return the identities of images that running or stopped containers use, or None if unknown."""

    @abc.abstractmethod
    def pull(self, reference: str, how: TransferOptions) -> Call:
        """Return the call that pulls an image; its id is `pull`."""

    @abc.abstractmethod
    def load(self, path: str, how: TransferOptions) -> tuple[Call, ...]:
        """Return the calls that import an archive that is on the node. The id of the last call is `load`."""

    @abc.abstractmethod
    def check(self, reference: str) -> tuple[Call, ...]:
        """Return the calls that check an image's name. The calls fail if the store does not contain this name."""

    @abc.abstractmethod
    def tag(self, call_id: str, reference: str, names: t.Sequence[str]) -> tuple[Call, ...]:
        """Return the calls that add names to an image, even if the names currently refer to other images."""

    @abc.abstractmethod
    def pin(self, reference: str) -> tuple[Call, ...]:
        """Return the calls that protect an image from the kubelet's garbage collection, if the runtime supports it."""

    def removable(self, names: t.Sequence[str], images: t.Mapping[str, StoredImage]) -> list[str]:
        """Return those of the names that must be passed to `remove`; the store then removes the other names, too."""
        return list(names)

    @abc.abstractmethod
    def remove(self, names: t.Sequence[str]) -> tuple[Call, ...]:
        """Return the calls that remove names, together with content that no other name uses."""

    @abc.abstractmethod
    def push(self, reference: str, how: TransferOptions) -> Call:
        """Return the call that pushes an image to its registry; its id is `push`."""

    @abc.abstractmethod
    def ask_size(self, reference: str) -> tuple[Call, ...]:
        """Return the calls that read the size of an image from its registry, without downloading layers."""

    @abc.abstractmethod
    def read_size(self, seen: t.Mapping[str, CallResult], build: int) -> int | None:
        """Return the number of bytes to download for an image, or None if unknown."""

    @abc.abstractmethod
    def read_layers(self, seen: t.Mapping[str, CallResult], build: int) -> t.Mapping[str, int]:
        """Return the layers of an image as a map from digests to sizes in bytes, empty if the layers are unknown."""


def names_of(identity: str, images: t.Mapping[str, StoredImage]) -> list[str]:
    """Return all names of an image."""
    return sorted(name for name, image in images.items() if image.identity == identity)


def size_of(number: str, unit: str) -> int | None:
    """Convert a number and a unit, such as `98.3` and `MiB`, to bytes. Return None if they are malformed."""
    try:
        return int(float(number) * _UNITS[unit])
    except (KeyError, ValueError):
        return None


# Patterns of the runtimes' error messages (containerd core/remotes/docker, moby distribution), and explanations.
_MEANINGS = (
    (
        r"no match for platform|no matching manifest|does not match the (specified|host) platform",
        "the registry has no image for this version of Windows; choose a tag that has one, such as …-ltsc2022",
    ),
    (
        r"\b429\b|too ?many ?requests",
        "the registry limits requests; set credentials or a mirror in `registries`",
    ),
    (
        r"\b401\b|\b403\b|unauthorized|authentication required|no basic auth credentials|pull access denied|denied:",
        "the registry rejected the credentials; set username and password, or headers, in `registries`",
    ),
    (
        r"x509|certificate (has expired|signed by unknown)|tls:",
        "the registry's certificate is not trusted; add a private CA to `ca` of the registry in `registries`",
    ),
    (r"not enough space|no space left|disk is full", "the disk is full"),
    (r"unexpected (commit )?digest|layer verification failed", "the downloaded content does not match its digest"),
    (r"no such host|actively refused|i/o timeout|connection refused", "the registry cannot be reached"),
    (r"manifest unknown|not found: manifest|: not found|name unknown|does not exist", "the registry has no such tag"),
)  # fmt: skip


def meaning(message: str) -> str | None:
    """Explain a runtime's error message in one sentence; return None for an unknown message."""
    return next((text for pattern, text in _MEANINGS if re.search(pattern, message, re.IGNORECASE)), None)
