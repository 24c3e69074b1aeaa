# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compare the calls and plans of a test's resources with a golden file, completely.

`tests/golden/changes` contains a file for each test file, with a section for each test.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
from collections.abc import Iterable

from golden import comparison
from unit import outcomes

from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, Resource, SpaceRequirement
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call

FOLDER = "changes"
_SECTION = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.MULTILINE)
_SHOWN = {"why", "before", "after", "calls"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a resource. `outcome` is the error if planning or loading failed."""

    resource: Resource | None
    outcome: Change | Exception | None


def sections(text: str) -> dict[str, str]:
    """Return the sections of a golden file, by the names of their tests."""
    return dict(_SECTION.findall(text))


def check(module: str, test: str, plans: Iterable[Plan]) -> None:
    """Compare the plans of a test with its section of the golden file.

    With WINKUBE_GOLDEN=update the section is written instead, which only one process may do at a time (`-n 0`).

    Args:
        module: the test file, such as `resources/test_service`.
        test: the test with its parameters.
        plans: the plans of its resources.
    """
    name = f"{FOLDER}/{module}.txt"
    file = comparison.path(name)
    known = sections(file.read_text(encoding="utf-8")) if file.is_file() else {}
    ours = "".join(f"{line}\n" for line in _lines(plans))
    difference = comparison.compare(
        {name: "".join(f"## {section}\n{text}" for section, text in sorted({**known, test: ours}.items()))}
    )
    assert not difference, difference


def _lines(plans: Iterable[Plan]) -> t.Iterator[str]:
    """Yield the plans as text, without repetitions."""
    asked, planned = set[str](), set[str]()
    for plan in plans:
        resource = plan.resource
        if resource is None:
            yield f"refused: {plan.outcome}"
            continue
        more = {name: getattr(resource, name) for name in ("brings", "private") if getattr(resource, name)}
        title = f"{resource.title}{_rest(more)}"
        questions = "\n".join([title, *(f"  ask {_call(call)}" for call in resource.observe())])
        outcome = plan.outcome
        what = "\n".join(_change(outcome)) if isinstance(outcome, Change) else f"  {outcome or 'nothing to do'}"
        if f"{questions}\n{what}" in planned:
            continue
        planned.add(f"{questions}\n{what}")
        yield title if questions in asked else questions
        asked.add(questions)
        yield what


def _change(change: Change) -> t.Iterator[str]:
    fields = [field for field in dataclasses.fields(change) if field.name not in _SHOWN]
    values = {field.name: getattr(change, field.name) for field in fields}
    yield f"  {change.why}{_rest({**values, 'space': tuple(_space(one) for one in change.space)}, change)}"
    yield f"    - {_json(change.before)}"
    yield f"    + {_json(change.after)}"
    yield from (f"    {_call(call)}" for call in change.calls)


def _rest(values: t.Mapping[str, t.Any], change: Change | None = None) -> str:
    """Return the values that differ from the defaults, as JSON."""
    defaults = {field.name: field.default for field in dataclasses.fields(change)} if change else {}
    found = {name: value for name, value in values.items() if value != defaults.get(name)}
    return f" {_json(found)}" if found else ""


def _space(required: SpaceRequirement) -> dict[str, t.Any]:
    probe = required.probe
    asked = {"calls": [_call(call) for call in probe.calls], "later": probe.later} if probe else None
    shown = {"path": required.path, "size": required.size, "unpacks": required.unpacks, "probe": asked}
    return {name: value for name, value in shown.items() if value is not None}


def _call(call: Call) -> str:
    wire = call.to_wire() | {name: True for name in ("private", "long") if getattr(call, name)}
    parameters = wire.pop("parameters", {})
    more = {name: value for name, value in wire.items() if name not in ("id", "command")}
    return " ".join([f"{call.id}: {call.command}", *(_json(part) for part in (parameters, more) if part)])


def _json(value: object) -> str:
    return json.dumps(outcomes.plain(value), ensure_ascii=False)
