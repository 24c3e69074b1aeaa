# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find out whether the collection supports a version of Kubernetes or of a runtime, and if not, why not.

Users may allow an unsupported version. The rules of the nearest known version then apply to it.
"""

from __future__ import annotations

import typing as t

from .versions import Version, containerd_line, nearest_containerd_line, supported, within

Subject = t.Literal["kubernetes", "containerd", "docker"]
"""The software whose version is not supported."""


class UnsupportedRelease(t.NamedTuple):
    """A version that is not supported."""

    subject: Subject
    expected: str
    """The versions to use instead."""
    why: str = ""
    """Why the version is not supported, in complete sentences; may be empty."""
    nearest: str = ""
    """The version whose rules apply if the user allows the unsupported version; empty if it cannot be allowed."""


def pair_problems(kubernetes: Version, containerd: Version) -> list[UnsupportedRelease]:
    """Return a list with the reason why each unsupported version of Kubernetes or containerd is rejected."""
    problems = kubernetes_problems(kubernetes)
    line = containerd_line(containerd)
    nearest = nearest_containerd_line(containerd)
    like = f"containerd {nearest['minors'][-1]}"
    if line is None or containerd.suffix:
        known = ", ".join(minor for row in supported()["containerd"] for minor in row["minors"])
        oldest = supported()["host_process"]["containerd"]
        older = not within(containerd.minor_version, {"oldest": oldest})
        why = f"HostProcess containers, which the pods of the network use, need containerd {oldest}." if older else ""
        expected = f"expected a release of one of the containerd versions {known}"
        return [*problems, UnsupportedRelease("containerd", expected, why, like)]
    span = line["kubernetes"]
    if not within(kubernetes.minor_version, span):
        until = f"to {span['newest']}" if "newest" in span else "or newer"
        expected = f"expected Kubernetes {span['oldest']} {until} with containerd {containerd}"
        problems.append(UnsupportedRelease("containerd", expected, "", like))
    return problems


def docker_problems(kubernetes: Version, engine: Version, adapter: Version) -> list[UnsupportedRelease]:
    """Return a list with the reason why each unsupported version of Kubernetes, Docker or cri-dockerd is rejected."""
    table = supported()
    dockershim = {"oldest": "1.0", "newest": table["dockershim"]["newest"]}
    if within(kubernetes.minor_version, dockershim):
        expected = f"{_expected()}, which runs on Docker through cri-dockerd"
        return [UnsupportedRelease("kubernetes", expected, explanation(kubernetes))]
    problems = kubernetes_problems(kubernetes)
    for name, version in (("docker", engine), ("cri-dockerd", adapter)):
        oldest = Version.parse(table[name]["oldest"])
        if version[:3] < oldest[:3]:
            problems.append(UnsupportedRelease("docker", f"expected {name} {oldest} or newer"))
    return problems


def kubernetes_problems(version: Version) -> list[UnsupportedRelease]:
    """Return a list with the reason why a Kubernetes version is not supported, or an empty list if it is supported."""
    if within(version.minor_version, supported()["kubernetes"]) and not version.suffix:
        return []
    return [UnsupportedRelease("kubernetes", _expected(), explanation(version), f"Kubernetes {nearest_minor(version)}")]


def explanation(version: Version) -> str:
    """Return the reasons why a version of Kubernetes is not supported, in complete sentences."""
    minor, span = version.minor_version, supported()["kubernetes"]
    sentences = []
    if version.suffix:
        sentences.append(f"{version} is not a release.")
    if not within(minor, {"oldest": span["oldest"]}):
        rules = "; ".join(rule["rule"] for rule in older_rules(version))
        sentences.append(f"{minor} is older than {span['oldest']}{f': {rules}' if rules else ''}.")
    elif not within(minor, span):
        sentences.append(
            f"{minor} is newer than this release of winkube.node, and may lack features that winkube.node uses."
        )
    return " ".join(sentences)


def older_rules(version: Version) -> list[t.Mapping[str, t.Any]]:
    """Return how a version of Kubernetes that is older than all supported versions differs from them.

    The result is an empty list for all other versions.
    """
    return [rule for rule in supported()["older_kubernetes"]["rules"] if within(version.minor_version, rule)]


def reads_dropins(version: Version) -> bool:
    """Return whether a version of the kubelet reads the configuration files in the folder that `--config-dir` names."""
    return all(rule.get("dropins", True) for rule in older_rules(version))


def required_gates(version: Version) -> list[str]:
    """Return the feature gates that a version of Kubernetes needs to run HostProcess containers."""
    return [gate for rule in older_rules(version) for gate in rule.get("gates", ())]


def nearest_minor(version: Version) -> str:
    """Return the known minor version that is nearest to a version of Kubernetes, and whose rules therefore apply."""
    span, older = supported()["kubernetes"], supported()["older_kubernetes"]["oldest"]
    if within(version.minor_version, span):
        return version.minor_version
    newer = within(version.minor_version, {"oldest": span["newest"]})
    known = version.minor_version if within(version.minor_version, {"oldest": older}) else older
    return str(span["newest"] if newer else known)


def _expected() -> str:
    span = supported()["kubernetes"]
    return f"expected Kubernetes {span['oldest']} to {span['newest']}"
