# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Explain why kubeadm failed, from its output (no I/O). The known causes are in data/kubeadm_failures.yml."""

from __future__ import annotations

import dataclasses
import functools
import re

from ..specification.data_files import load_data


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubeadmFailure:
    """A known cause of a failure."""

    pattern: str
    """Regular expression of a text in kubeadm's output. Case is ignored."""
    cause: str
    remedy: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _KubeadmFailures:
    failures: tuple[KubeadmFailure, ...]


@functools.cache
def known() -> tuple[KubeadmFailure, ...]:
    """Return the known causes, in the order in which they are tried."""
    return load_data(_KubeadmFailures, "kubeadm_failures.yml").failures


def message(output: str, exit_code: int | None) -> str:
    """Return a message about a kubeadm that failed: the cause and the remedy if they are known, and its output.

    Args:
        output: the output, without secrets.
        exit_code: the exit code; None if kubeadm did not end by itself.
    """
    reported = f"exit code {exit_code}: {output}" if exit_code else output
    for failure in known():
        if re.search(failure.pattern, output, re.IGNORECASE):
            return f"{failure.cause}. {failure.remedy}. kubeadm reports: {reported}"
    return reported
