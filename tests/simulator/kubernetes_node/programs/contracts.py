# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read which flags and settings each version of the Kubernetes programs and of containerd accepts.

They are listed in contracts/kubernetes.json and contracts/containerd.json, which were made from output of the programs.
The `about` key of each file describes how the file was made.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "contracts"


@functools.cache
def load(name: str) -> Mapping[str, Any]:
    """Return the contents of a file in the contracts folder, given its name without `.json`, such as `kubernetes`."""
    found: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def minor_of(version: str) -> str:
    """Return a version without its patch number, such as `1.37` for `1.37.1`."""
    return ".".join(version.removeprefix("v").split(".")[:2])


def number(minor: str) -> tuple[int, int]:
    """Return a minor version as a pair of numbers, for comparisons."""
    major, _, rest = minor.partition(".")
    digits = "".join(char for char in rest.split(".")[0] if char.isdigit())
    return int(major or 0), int(digits or 0)


def at_least(version: str, minor: str) -> bool:
    """Return whether a version is equal to or later than a minor version."""
    return number(minor_of(version)) >= number(minor)


def nearest(contract: str, version: str) -> str:
    """Return the minor version in a contract file that best matches a version.

    If the file does not contain the version's own minor version, return the latest earlier one. If no earlier one
    exists, return the earliest one in the file.
    """
    known = sorted(load(contract)["versions"], key=number)
    requested = number(minor_of(version))
    before = [minor for minor in known if number(minor) <= requested]
    return str(before[-1] if before else known[0])


def includes(span: str, minor: str) -> bool:
    """Return whether ranges of minor versions (`all`, `1.30-1.33`, `1.7-2.0,2.2-2.4`) include a minor version."""
    if span == "all":
        return True
    requested = number(minor)
    for part in span.split(","):
        first, _, last = part.strip().partition("-")
        if number(first) <= requested <= number(last or first):
            return True
    return False


def flags(program: str, version: str, command: str | None = None) -> dict[str, Mapping[str, Any]]:
    """Return the flags that a version of the kubelet, of kube-proxy or of a kubeadm command accepts.

    Each name, without dashes, is mapped to the flag's entry in contracts/kubernetes.json, such as
    `{"type": "bool", "minors": "all"}`.
    """
    table = load("kubernetes")[program]
    if command is not None:
        table = table.get(command, {})
    minor = nearest("kubernetes", version)
    return {name: about for name, about in table.items() if includes(about["minors"], minor)}


def commands(version: str) -> set[str]:
    """Return the commands of a version of kubeadm, such as `join phase preflight`."""
    table = load("kubernetes")["kubeadm"]
    minor = nearest("kubernetes", version)
    return {name for name, known in table.items() if any(includes(about["minors"], minor) for about in known.values())}


def feature_gates(version: str) -> dict[str, tuple[bool, bool]]:
    """Return, by name, each feature gate's default in a version of Kubernetes, and whether the gate is locked to it."""
    minor = nearest("kubernetes", version)
    found: dict[str, tuple[bool, bool]] = {}
    for name, stages in load("kubernetes")["feature_gates"].items():
        for span, _stage, default, *rest in stages:
            if includes(span, minor):
                found[name] = (default == "on", "locked" in rest)
    return found


def kinds(version: str) -> dict[str, str]:
    """Return the configuration kinds (`apiVersion Kind`) that a version of Kubernetes accepts.

    Each kind is mapped to `experimental` or `yes`.
    """
    minor = nearest("kubernetes", version)
    found: dict[str, str] = {}
    for name, about in load("kubernetes")["configuration"].items():
        if includes(about["minors"], minor):
            experimental = includes(str(about.get("experimental", "")) or "0.0", minor)
            found[name] = "experimental" if experimental else "yes"
    return found


def fields(kind: str, version: str) -> dict[str, str]:
    """Return the types of a configuration's fields in a version of Kubernetes, by the path of each field.

    Args:
        kind: the configuration's kind, as `apiVersion Kind`.
        version: the version of Kubernetes.
    """
    minor = nearest("kubernetes", version)
    found: dict[str, str] = {}
    for path, about in load("kubernetes")["configuration"][kind]["fields"].items():
        span = "all" if isinstance(about, str) else about[1]
        if includes(span, minor):
            found[path] = about if isinstance(about, str) else about[0]
    return found
