# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse and compare versions of Kubernetes, containerd and Docker, and check their compatibility."""

from __future__ import annotations

import functools
import json
import pathlib
import re
import typing as t

EXPECTED = "expected MAJOR.MINOR.PATCH such as 1.37.1"
DATA = pathlib.Path(__file__).parents[1] / "data"

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)((?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)")


class Version(t.NamedTuple):
    """A release, or a pre-release such as `1.37.2-rc.0.12+abcdef`."""

    major: int
    minor: int
    patch: int
    suffix: str = ""
    """What follows the patch number, such as `-rc.0.12+abcdef`; empty for a release."""

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse `1.37.1`, `v1.37.1` or `1.38.0-alpha.1`.

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
        """The major and minor version, such as `1.34`."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{self.suffix}"


@functools.cache
def supported() -> t.Mapping[str, t.Any]:
    """Return the table of known versions from `data/supported_versions.json`."""
    return t.cast("t.Mapping[str, t.Any]", json.loads((DATA / "supported_versions.json").read_text(encoding="utf-8")))


def within(minor: str, span: t.Mapping[str, t.Any]) -> bool:
    """Return whether a span contains a minor version such as `1.37`. A span without `newest` has no upper limit."""
    return numbers(span["oldest"]) <= numbers(minor) and (
        "newest" not in span or numbers(minor) <= numbers(span["newest"])
    )


def numbers(minor: str) -> tuple[int, ...]:
    """Return the numbers of a minor version such as `1.37`, so that minor versions can be compared."""
    return tuple(int(part) for part in minor.split("."))


def containerd_line(version: Version) -> t.Mapping[str, t.Any] | None:
    """Return the row for a containerd version in the table of known versions, or None if the version is unknown."""
    for line in supported()["containerd"]:
        if version.minor_version in line["minors"]:
            return t.cast("t.Mapping[str, t.Any]", line)
    return None


def nearest_containerd_line(version: Version) -> t.Mapping[str, t.Any]:
    """Return the row for a containerd version in the table of known versions.

    An unknown version gets the row of the nearest older version, or the first row if all rows are newer.
    """
    lines = supported()["containerd"]
    older = [line for line in lines if numbers(line["minors"][0]) <= numbers(version.minor_version)]
    return t.cast("t.Mapping[str, t.Any]", older[-1] if older else lines[0])


def skew_problem(kubelet: Version, server: Version) -> str | None:
    """Return an error message if Kubernetes' version skew policy forbids the kubelet's version, or None if it does not.

    The message says which versions the policy allows. The policy ignores patch releases.

    Args:
        kubelet: version of Kubernetes on the node.
        server: version of the API server.
    """
    if kubelet.major == server.major and 0 <= server.minor - kubelet.minor <= _older_minors(kubelet.minor_version):
        return None
    minors = (f"{server.major}.{minor}" for minor in range(max(0, server.minor - 3), server.minor + 1))
    oldest = next(minor for minor in minors if server.minor - numbers(minor)[1] <= _older_minors(minor))
    newest = server.minor_version
    return f"expected {oldest} to {newest} for an API server of version {server} (kubernetes.io: Version Skew Policy)"


def _older_minors(kubelet: str) -> int:
    """Return how many minor versions a kubelet of the given minor version may lag behind the API server."""
    return next(int(rule["older_minors"]) for rule in supported()["kubelet_skew"]["rules"] if within(kubelet, rule))


def kubeadm_api(kubernetes: Version) -> str:
    """Return the version of kubeadm's configuration API for a version of Kubernetes (v1beta4 since 1.31).

    A version that is older or newer than all versions in the table gets the nearest API version.
    """
    rows = supported()["kubeadm_api"]
    older = [row for row in rows if numbers(row["oldest"]) <= numbers(kubernetes.minor_version)]
    return str((older[-1] if older else rows[0])["version"])
