# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The flags that a version of the kubelet accepts (data/kubelet_flags.json).

A kubelet does not start with an unknown flag, but an update of the kubelet does not change the file to which kubeadm
wrote the flags. For example, `kubeadm join` of 1.34 writes `--pod-infra-container-image`, which the kubelet of 1.35 no
longer has (kubernetes/kubernetes#133779).
"""

from __future__ import annotations

import functools
import json
import typing as t

from ..values.versions import DATA, Version, numbers, within
from ..windows.command_line import flags_of


class Flags(t.NamedTuple):
    """Flags that a kubelet accepts (`kept`), and flags that it does not accept (`dropped`)."""

    kept: list[str]
    dropped: list[str]


def part(flags: t.Sequence[str], version: str) -> Flags:
    """Return a command line's flags in two lists: those that a kubelet accepts, and those that would prevent its start.

    Args:
        flags: words of a command line, such as `--node-ip=10.0.0.5`, or `--node-ip` and `10.0.0.5`.
        version: version of Kubernetes, such as 1.36.2.

    Raises:
        ValueError: the version is malformed.
    """
    minor = Version.parse(version).minor_version
    separated = Flags([], [])
    accepted = True
    for word in flags:
        # A word without a hyphen is the value of the flag before it.
        if word.startswith("-"):
            accepted = _accepts(minor, word.lstrip("-").partition("=")[0])
        (separated.kept if accepted else separated.dropped).append(word)
    return separated


def of_file(content: str, variable: str, version: str | None) -> Flags:
    """Return the flags in an environment file that kubeadm wrote.

    Args:
        content: content of the file.
        variable: name of the variable that contains the flags.
        version: version of the kubelet, which determines the flags in `kept` and `dropped`; None to keep all flags.

    Raises:
        ValueError: the version is malformed.
    """
    flags = flags_of(content, variable)
    return Flags(flags, []) if version is None else part(flags, version)


def unknown(names: t.Iterable[str], version: str) -> list[str]:
    """Return which of the given flags a version of the kubelet does not have.

    Args:
        names: names of flags, without leading hyphens.
        version: version of Kubernetes, such as 1.36.2.

    Raises:
        ValueError: the version is malformed.
    """
    minor = Version.parse(version).minor_version
    return [name for name in names if not _accepts(minor, name)]


@functools.cache
def _data() -> t.Mapping[str, t.Any]:
    return t.cast("t.Mapping[str, t.Any]", json.loads((DATA / "kubelet_flags.json").read_text(encoding="utf-8")))


def _accepts(minor: str, name: str) -> bool:
    data = _data()
    # The kubelet reads underscores as hyphens (k8s.io/component-base/cli/flag, WordSepNormalizeFunc).
    name = name.replace("_", "-")
    if name in data["always"]:
        return True
    span = data["some"].get(name) or data["before"].get(name)
    measured = sorted(data["measured"], key=numbers)
    if span is None:
        # A kubelet that is newer than all recorded versions may have new flags, so accept unknown ones.
        return numbers(minor) > numbers(measured[-1])
    if minor in measured:
        return within(minor, span)
    if within(minor, span):
        return True
    # The flags of this version were not recorded: accept those of the next older and the next newer recorded version.
    lower = [other for other in measured if numbers(other) < numbers(minor)][-1:]
    upper = [other for other in measured if numbers(other) > numbers(minor)][:1]
    return any(within(neighbour, span) for neighbour in (*lower, *upper))
