# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Checks labels, annotations and taints of nodes, and which labels a kubelet may set (data/kubelet_labels.yml)."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ..specification.data_files import load_data

_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
KEY = "expected NAME or PREFIX/NAME, with at most 63 letters, digits, -, _ and . in NAME, not -, _ or . at its ends"
VALUE = "expected at most 63 letters, digits, -, _ and ., with a letter or digit at both ends"


@dataclasses.dataclass(frozen=True, kw_only=True)
class _KubeletLabels:
    domains: tuple[str, ...]
    allowed: tuple[str, ...]
    allowed_domains: tuple[str, ...]
    own: tuple[str, ...]
    own_domains: tuple[str, ...]


@functools.cache
def _data() -> _KubeletLabels:
    return load_data(_KubeletLabels, "kubelet_labels.yml")


def is_allowed_to_kubelets(key: str) -> bool:
    """Return whether a kubelet may set a label on its own node.

    Args:
        key: key of the label.
    """
    data, domain = _data(), key.partition("/")[0] if "/" in key else ""
    if not _is_in(domain, data.domains):
        return True
    return key in data.allowed or _is_in(domain, data.allowed_domains)


def is_reserved(key: str) -> bool:
    """Return whether the kubelet or this collection sets a label itself. Users cannot choose the value of such a label.

    Args:
        key: key of the label.
    """
    data = _data()
    return key in data.own or _is_in(key.partition("/")[0] if "/" in key else "", data.own_domains)


def is_key(text: str) -> bool:
    """Return whether a string is a valid key of a label, annotation or taint.

    Source: kubernetes.io (Labels and Selectors).

    Args:
        text: the string.
    """
    prefix, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (bool(_PREFIX.fullmatch(prefix)) if slash else True)


def is_value(text: str) -> bool:
    """Return whether a string is a valid value of a label or taint.

    Args:
        text: the string.
    """
    return not text or bool(_NAME.fullmatch(text))


def _is_in(domain: str, domains: t.Iterable[str]) -> bool:
    return any(domain == one or domain.endswith(f".{one}") for one in domains)
