# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Load the known causes of node problems from data/node_causes.yml, and sort the causes that were found on a node."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..specification.data_files import load_data
from ..values.errors import ResourceError
from ..values.text_table import shorten

Effect = t.Literal["not_ready", "pods", "risk"]
"""Effect of a cause: `not_ready` (the node is not Ready), `pods` (pods fail), or `risk` (the node may still work)."""

_LONGEST = 600
"""Maximum length in characters of each string in `evidence`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownCause:
    """A known reason why a node is not Ready, why its pods fail, or why it is at risk."""

    title: str
    effect: Effect
    explanation: str
    fix: str
    leads_to: tuple[str, ...]
    """Names of other causes. If they are found together with this cause, they are reported as its consequences."""
    source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownCauses:
    """The content of data/node_causes.yml."""

    causes: t.Mapping[str, KnownCause]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FoundCause:
    """A cause that was found on a node."""

    cause: str
    """Name of the cause in data/node_causes.yml."""
    evidence: tuple[str, ...]
    """What was observed, as strings that may quote the node's own messages."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedCause:
    """A cause that was found on a node, and the cause that led to it, if that was also found."""

    finding: FoundCause
    consequence_of: str
    """Name of the cause that led to this one, or an empty string if no such cause was found."""


@functools.cache
def known() -> t.Mapping[str, KnownCause]:
    """Return all known causes by name, in the order in which they are reported.

    Raises:
        ResourceError: data/node_causes.yml is invalid, or a cause leads to an unknown cause.
    """
    causes = load_data(KnownCauses, "node_causes.yml").causes
    for name, cause in causes.items():
        for other in cause.leads_to:
            if other not in causes:
                raise ResourceError(f"data/node_causes.yml: {name}.leads_to", other, "expected the name of a cause")
    return causes


def finding(cause: str, *evidence: str) -> FoundCause:
    """Return a found cause with its evidence.

    Args:
        cause: name of the cause in data/node_causes.yml.
        evidence: what was observed. Empty strings are left out, and long strings are shortened.
    """
    return FoundCause(cause=cause, evidence=tuple(shorten(one, _LONGEST) for one in evidence if one))


def ranked(findings: t.Iterable[FoundCause]) -> tuple[RankedCause, ...]:
    """Return the causes that were found, sorted for the report. A consequence names the cause that led to it.

    Independent causes come first, then consequences. Both groups have the order of data/node_causes.yml. If a cause was
    found several times, it is returned once, with all evidence.

    Args:
        findings: the causes that all checks found.
    """
    merged: dict[str, FoundCause] = {}
    for one in findings:
        earlier = merged[one.cause].evidence if one.cause in merged else ()
        merged[one.cause] = FoundCause(cause=one.cause, evidence=tuple(dict.fromkeys((*earlier, *one.evidence))))
    order = [name for name in known() if name in merged]
    entries = [
        RankedCause(finding=merged[name], consequence_of=next((up for up in order if _leads_to(up, name)), ""))
        for name in order
    ]
    return tuple(sorted(entries, key=lambda entry: bool(entry.consequence_of)))


def _leads_to(cause: str, other: str) -> bool:
    return other in known()[cause].leads_to
