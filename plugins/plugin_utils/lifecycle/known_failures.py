# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the known cause of a program's failure in its output or logs (no I/O).

The known causes are in the files `data/*_failures.yml`.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from ..specification.data_files import load_data


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """A known cause of a failure."""

    pattern: str
    """Regular expression for text that the program prints or logs. Case is ignored."""
    cause: str
    """Explanation of the failure. `{1}` is replaced by the text that matches the pattern's first group."""
    remedy: str
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _KnownFailures:
    failures: tuple[KnownFailure, ...]


@functools.cache
def load(name: str) -> tuple[KnownFailure, ...]:
    """Return the known causes in a data file, in the order in which they are tried.

    Args:
        name: name of the file, such as `kubeadm_failures.yml`.
    """
    return load_data(_KnownFailures, name).failures


def explain(name: str, text: str) -> str:
    """Return the first known cause whose pattern matches a text, with its remedy, or an empty string if none matches.

    Args:
        name: name of the data file.
        text: the program's output or log.
    """
    for failure in load(name):
        if match := re.search(failure.pattern, text, re.IGNORECASE):
            first = (match[1] or "") if match.re.groups else ""
            return f"{failure.cause.replace('{1}', first)}. {failure.remedy}"
    return ""
