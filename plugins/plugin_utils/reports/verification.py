# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Show the results of verifying an image as a table, a JSON document and an HTML page."""

from __future__ import annotations

import dataclasses
import typing as t

import jinja2

from ..release_notes import verification
from ..values.text_table import text_table
from ..values.versions import DATA

SCHEMA_VERSION = 1
HEAD = ("SECTION", "STATUS", "ITEM", "EXPECTED", "ACTUAL")
_WIDEST = (18, 11, 60, 40)
_STATUSES: t.Mapping[str, tuple[str, str]] = {
    "failed": ("failed", "bad"),
    "not_checked": ("not checked", "warm"),
    "noted": ("noted", "warm"),
    "passed": ("passed", "good"),
}
"""Maps each status to its description and to its style on the HTML page. Rows are sorted by status in this order."""
_SHORT = 19
"""Length of a shortened digest: `sha256:` and 12 digits."""
_NAMED = 5
"""Maximum number of failed tests that a message names; any further tests are only counted."""

Entry = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verified:
    """The results of a run that verifies an image."""

    image: Entry
    """The fields `release`, `host`, `name` and `summary` from the result of image_verification_plan."""
    checks: t.Sequence[Entry]
    """The checks that image_verification returned; empty if the machine's contents could not be read."""
    stages: t.Sequence[Entry]
    """The stages of the run that can fail. Each has `name`, `failure` and, if it runs tests, the tests' results."""


def counts(verified: Verified) -> dict[str, int]:
    """Return the number of checks by status."""
    each = [one["status"] for one in verified.checks]
    return {status: each.count(status) for status in _STATUSES}


def ordered(checks: t.Iterable[Entry]) -> list[Entry]:
    """Return the checks sorted by status, failures first. Checks with the same status keep their order."""
    statuses = list(_STATUSES)
    return sorted(checks, key=lambda one: statuses.index(one["status"]))


def table(verified: Verified, *, every: bool = False, width: int = 170) -> list[str]:
    """Return the lines of a table of checks, or an empty list if it would have no rows.

    Args:
        verified: the results of the verification.
        every: whether checks that passed have a row, too.
        width: maximum line width; the last column is shortened, but keeps at least 60 characters.
    """
    shown = [one for one in ordered(verified.checks) if every or one["status"] != "passed"]
    rows = [
        (one["section"], _STATUSES[one["status"]][0], one["item"], _short(one["expected"]), _short(one["actual"]))
        for one in shown
    ]
    return text_table([HEAD, *rows], width=width, widest=_WIDEST) if rows else []


def _short(text: str) -> str:
    return text[:_SHORT] if text.startswith("sha256:") else text


def total(verified: Verified) -> str:
    """Return the line below the table: the image, the number of checks by status, and the results of tests."""
    parts = [f"{verified.image['release']} ({verified.image['host']}) on {verified.image['name']}"]
    parts.append(verification.summary(counts(verified)) if verified.checks else "the machine was not compared")
    parts += [
        f"{stage['name']}: {stage['passed']} passed, {len(stage['failed'])} failed, {stage['skipped']} skipped"
        for stage in verified.stages
        if "passed" in stage
    ]
    return "; ".join(parts)


def problem(verified: Verified) -> str:
    """Return why the image did not pass the verification, or an empty string if it passed."""
    failed = counts(verified)["failed"]
    problems = [f"{failed} check{'' if failed == 1 else 's'} failed"] if failed else []
    problems += [text for stage in verified.stages if (text := _stage_problem(stage))]
    if not verified.checks and not problems:
        problems.append("the machine was not compared with the release notes")
    return "; ".join(problems)


def _stage_problem(stage: Entry) -> str:
    """Return why a stage of the verification did not pass, or an empty string if it passed."""
    reasons = []
    if stage.get("failed"):
        names = [one["name"] for one in stage["failed"]]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        reasons.append(f"{len(names)} test{'' if len(names) == 1 else 's'} failed ({'; '.join(names[:_NAMED])}{more})")
    reasons += [text for text in (stage.get("problem"), stage["failure"]) if text]
    return f"{stage['name']}: {'. '.join(reasons)}" if reasons else ""


def document(verified: Verified, *, time: str) -> dict[str, t.Any]:
    """Return the JSON document with the results of the verification.

    Args:
        verified: the results of the verification.
        time: the time of writing, in ISO 8601 format.
    """
    why = problem(verified)
    return {
        "schema_version": SCHEMA_VERSION,
        "time": time,
        "ok": not why,
        "problem": why,
        "image": dict(verified.image),
        "counts": counts(verified),
        "checks": ordered(verified.checks),
        "stages": list(verified.stages),
    }


def page(verified: Verified, *, written: str) -> str:
    """Return a self-contained HTML page with the results of the verification.

    Args:
        verified: the results of the verification.
        written: the time of writing, as text.
    """
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    sections: dict[str, list[Entry]] = {}
    for one in verified.checks:
        sections.setdefault(one["section"], []).append(one)
    return environment.get_template("image_verification.html.j2").render(
        title=f"Verification of the image {verified.image['release']}",
        written=written,
        image=verified.image,
        problem=problem(verified),
        counts=[(_STATUSES[status], count) for status, count in counts(verified).items()],
        failures=[one for one in verified.checks if one["status"] == "failed"],
        sections={name: ordered(checks) for name, checks in sections.items()},
        stages=verified.stages,
        statuses=_STATUSES,
    )
