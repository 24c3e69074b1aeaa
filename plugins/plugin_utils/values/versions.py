# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Versions of Kubernetes, containerd and Docker, and their compatibility (data/supported_versions.json)."""

from __future__ import annotations

import functools
import json
import pathlib
import re
import typing as t

EXPECTED = "expected MAJOR.MINOR.PATCH such as 1.37.1"
DATA = pathlib.Path(__file__).parents[1] / "data"

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")


class Version(t.NamedTuple):
    """A release version."""

    major: int
    minor: int
    patch: int
    suffix: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse `1.37.1` or `v1.37.1`.

        Raises:
            ValueError: the text is not a full version.
        """
        match = _VERSION.fullmatch(str(text).strip())
        if not match:
            raise ValueError(f"{EXPECTED}, got {text!r}")
        major, minor, patch, suffix = match.groups()
        return cls(int(major), int(minor), int(patch), suffix or "")

    @property
    def minor_version(self) -> str:
        """Major and minor, such as `1.34`."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{self.suffix}"


@functools.cache
def supported() -> t.Mapping[str, t.Any]:
    """Return the table of known versions."""
    return t.cast("t.Mapping[str, t.Any]", json.loads((DATA / "supported_versions.json").read_text(encoding="utf-8")))


def within(minor: str, span: t.Mapping[str, str]) -> bool:
    """Return whether a minor version such as `1.37` is between `oldest` and `newest` (inclusive)."""

    def key(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split("."))

    return key(span["oldest"]) <= key(minor) <= key(span["newest"])


def containerd_line(version: Version) -> t.Mapping[str, t.Any] | None:
    """Return the row of the table for a containerd version, or None if the table does not have this version."""
    for line in supported()["containerd"]:
        if version.minor_version in line["minors"]:
            return t.cast("t.Mapping[str, t.Any]", line)
    return None


def pair_problem(kubernetes: Version, containerd: Version) -> str | None:
    """Return what to use instead of an unsupported combination; None if the combination is supported."""
    table = supported()
    if not within(kubernetes.minor_version, table["kubernetes"]):
        span = table["kubernetes"]
        return f"expected Kubernetes {span['oldest']} to {span['newest']}"
    line = containerd_line(containerd)
    known = ", ".join(minor for row in table["containerd"] for minor in row["minors"])
    if line is None:
        return f"expected one of the containerd versions {known}"
    if not within(kubernetes.minor_version, line["kubernetes"]):
        span = line["kubernetes"]
        return f"expected Kubernetes {span['oldest']} to {span['newest']} with containerd {containerd}"
    return None


def docker_problem(kubernetes: Version, engine: Version, adapter: Version) -> str | None:
    """Return what to use instead of an unsupported combination; None if the combination is supported."""
    table = supported()
    span = table["kubernetes"]
    if (kubernetes.major, kubernetes.minor) < (1, 24):
        return f"expected Kubernetes {span['oldest']} to {span['newest']}, which runs on Docker through cri-dockerd"
    if not within(kubernetes.minor_version, span):
        return f"expected Kubernetes {span['oldest']} to {span['newest']}"
    for name, version in (("docker", engine), ("cri-dockerd", adapter)):
        oldest = Version.parse(table[name]["oldest"])
        if version[:3] < oldest[:3]:
            return f"expected {name} {oldest} or newer"
    return None


def skew_problem(kubelet: Version, server: Version) -> str | None:
    """Return which kubelet versions Kubernetes' version skew policy allows; None if it allows the given one.

    The policy ignores patch releases.

    Args:
        kubelet: version of Kubernetes on the node.
        server: version of the API server.
    """
    older = int(supported()["kubelet_skew"]["older_minors"])
    newest, oldest = server.minor_version, f"{server.major}.{max(0, server.minor - older)}"
    if within(kubelet.minor_version, {"oldest": oldest, "newest": newest}):
        return None
    return f"expected {oldest} to {newest} for an API server of version {server} (kubernetes.io: Version Skew Policy)"


def kubeadm_api(kubernetes: Version) -> str:
    """Return the version of kubeadm's configuration API for a version of Kubernetes (v1beta4 since 1.31).

    Raises:
        ValueError: no known API version matches.
    """
    for row in supported()["kubeadm_api"]:
        if within(kubernetes.minor_version, row):
            return str(row["version"])
    raise ValueError(f"no kubeadm configuration API is known for Kubernetes {kubernetes}")
