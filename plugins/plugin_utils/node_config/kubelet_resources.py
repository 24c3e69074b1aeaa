# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks reserved resources and eviction thresholds of a kubelet on Windows (data/kubelet_on_windows.yml).

A kubelet does not start with a malformed quantity, an unknown eviction signal, or a soft threshold without a grace
period. It starts with signals that exist only on Linux, but never acts on them.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ..specification.data_files import load_data
from ..values.versions import Version
from .configuration_fields import DURATION, Objection

_QUANTITY = re.compile(r"(\d+(\.\d*)?|\.\d+)(m|[kMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
"""Pattern of a Kubernetes quantity that is not negative. Source: kubernetes.io (Quantity)."""
_PERCENTAGE = re.compile(r"(100|\d{1,2})(\.\d+)?%")
_LIMITS = ("evictionHard", "evictionSoft", "evictionMinimumReclaim")
_RESERVED = ("kubeReserved", "systemReserved")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Signal:
    """An eviction signal, such as `memory.available`, to which the kubelet reacts on Windows."""

    since: str = ""
    """The first minor version of Kubernetes whose kubelet reacts to the signal; empty if every kubelet does."""
    default: str = ""
    """The hard threshold that the kubelet uses if the configuration sets no hard threshold at all."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _WindowsKubelet:
    signals: t.Mapping[str, Signal]
    linux_signals: tuple[str, ...]
    reserved: tuple[str, ...]
    linux_reserved: tuple[str, ...]


@functools.cache
def _data() -> _WindowsKubelet:
    return load_data(_WindowsKubelet, "kubelet_on_windows.yml")


def hard_thresholds(given: t.Mapping[str, str], version: str) -> dict[str, str]:
    """Return hard eviction thresholds together with the kubelet's defaults for the signals that are not set.

    If a configuration sets any hard threshold, the kubelet disables its defaults for all other signals.

    Args:
        given: thresholds by signal. If there are none, the result is empty, and the kubelet's own defaults apply.
        version: version of Kubernetes.

    Raises:
        ValueError: the version is malformed.
    """
    if not given:
        return {}
    defaults = {name: one.default for name, one in _data().signals.items() if one.default and _acts(one, version)}
    return {**defaults, **given}


def objections(configuration: t.Mapping[str, t.Any], version: str) -> list[Objection]:
    """Return objections to reserved resources and eviction thresholds that a kubelet on Windows does not accept.

    Args:
        configuration: fields of KubeletConfiguration. Values of the wrong type are ignored.
        version: version of Kubernetes.

    Raises:
        ValueError: the version is malformed.
    """
    refused: list[Objection] = []
    for field in (*_LIMITS, "evictionSoftGracePeriod"):
        values = _texts(configuration.get(field))
        for signal, value in values.items():
            refused += _signal_objections(f"{field}.{signal}", signal, value, version)
            if field in _LIMITS and not (_QUANTITY.fullmatch(value) or _PERCENTAGE.fullmatch(value)):
                expected = "expected a quantity such as 500Mi, or a percentage such as 10%"
                refused.append(Objection(f"{field}.{signal}", value, expected))
            elif field not in _LIMITS and not DURATION.fullmatch(value):
                refused.append(Objection(f"{field}.{signal}", value, "expected a duration such as 1m30s"))
    periods = _texts(configuration.get("evictionSoftGracePeriod"))
    for signal in _texts(configuration.get("evictionSoft")):
        if signal not in periods:
            hint = "The kubelet does not start with a soft threshold that has no grace period."
            refused.append(
                Objection(f"evictionSoftGracePeriod.{signal}", None, "expected a duration such as 1m30s", hint)
            )
    for field in _RESERVED:
        for resource, value in _texts(configuration.get(field)).items():
            refused += _reserved_objections(f"{field}.{resource}", resource, value)
    return refused


def _signal_objections(path: str, signal: str, value: str, version: str) -> t.Iterator[Objection]:
    data, expected = _data(), f"expected one of the signals {', '.join(_data().signals)}"
    known = data.signals.get(signal)
    if signal in data.linux_signals:
        yield Objection(path, value, expected, f"{signal} exists only on Linux.")
    elif known is None:
        yield Objection(path, value, expected)
    elif not _acts(known, version):
        hint = (
            f"The kubelet does not act on {signal} on Windows before {known.since}. Reserve memory with "
            "kubernetes_node_system_reserved."
        )
        yield Objection(path, value, f"expected Kubernetes {known.since} or newer", hint)


def _reserved_objections(path: str, resource: str, value: str) -> t.Iterator[Objection]:
    data = _data()
    if resource not in data.reserved:
        hint = f"{resource} exists only on Linux." if resource in data.linux_reserved else ""
        yield Objection(path, value, f"expected one of the resources {', '.join(data.reserved)}", hint)
    elif not _QUANTITY.fullmatch(value):
        yield Objection(path, value, "expected a quantity such as 500m (of a processor) or 2Gi")


def _texts(value: object) -> dict[str, str]:
    """Return those entries of a mapping that are strings, or an empty dictionary if the argument is not a mapping."""
    entries = value.items() if isinstance(value, t.Mapping) else ()
    return {str(name): text for name, text in entries if isinstance(text, str)}


def _acts(signal: Signal, version: str) -> bool:
    return not signal.since or Version.parse(version)[:2] >= Version.parse(f"{signal.since}.0")[:2]
