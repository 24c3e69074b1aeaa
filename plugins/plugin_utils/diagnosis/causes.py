# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The known causes (data/node_causes.yml), which of them were found on a node, and their order."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..specification.data_files import load_data
from ..values.errors import ResourceError
from ..values.text_table import shorten

Effect = t.Literal["not_ready", "pods", "risk"]
"""`not_ready`: the node is not Ready; `pods`: its pods fail; `risk`: the node may work."""

_LONGEST = 600
"""Maximum length of one text in `evidence`, in characters."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownCause:
    """A reason why a node is not Ready, or why its pods fail."""

    title: str
    effect: Effect
    explanation: str
    fix: str
    leads_to: tuple[str, ...]
    """Causes to report as consequences of this cause if both are found."""
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
    """What was observed. Each text may quote what the node reported."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedCause:
    """A finding, with the cause that it follows from."""

    finding: FoundCause
    consequence_of: str
    """Name of the first found cause that leads to this cause; empty if this cause is independent."""


@functools.cache
def known() -> t.Mapping[str, KnownCause]:
    """Return all causes by name, in the order in which they are reported.

    Raises:
        ResourceError: the file is invalid, or a cause leads to an unknown cause.
    """
    causes = load_data(KnownCauses, "node_causes.yml").causes
    for name, cause in causes.items():
        for other in cause.leads_to:
            if other not in causes:
                raise ResourceError(f"data/node_causes.yml: {name}.leads_to", other, "expected the name of a cause")
    return causes


def finding(cause: str, *evidence: str) -> FoundCause:
    """Return a finding.

    Args:
        cause: name of the cause.
        evidence: what was observed; empty texts are left out, and long texts are shortened.
    """
    return FoundCause(cause=cause, evidence=tuple(shorten(one, _LONGEST) for one in evidence if one))


def ranked(findings: t.Iterable[FoundCause]) -> tuple[RankedCause, ...]:
    """Return findings in their order: independent causes first, then consequences, each in the order of the data file.

    Findings of the same cause are merged into one finding with all their evidence.

    Args:
        findings: the findings of all checks.
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
