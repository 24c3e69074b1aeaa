# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the part of a node's state that is collected together with the node's logs (no I/O).

It consists of the output of programs and cmdlets, and of the HNS objects.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hns.facts import node_facts as hns_facts
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Observation
from ..wire.scopes import Scope
from . import catalogue

_COMMANDS, _FACTS, _HNS = Scope("commands."), Scope("facts."), Scope("hns.")
_TIMEOUT = 60.0
"""Time limit of each program and cmdlet in seconds; a hang is reported as a problem."""
_OUTPUT = 256 * 1024
"""Maximum number of characters that are kept of each program's output, counted from its end."""
_UNKNOWN = ("CommandNotFoundException",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class State:
    """The state of a node that is collected with its logs."""

    commands: t.Mapping[str, str]
    """Output of programs, by name."""
    facts: t.Mapping[str, t.Any]
    """Output of cmdlets as plain data, by name."""
    hns: t.Mapping[str, t.Any] | None
    """The result of hns_info; None if it was not requested."""
    problems: tuple[str, ...]


def calls(requested: catalogue.RequestedLogs) -> tuple[Call, ...]:
    """Return the calls that read the requested state.

    The calls change nothing. If a call fails, the batch continues.
    """
    asked: list[Call] = []
    if catalogue.COMMANDS in requested.chosen:
        asked += [
            query(
                _COMMANDS.id(entry.name),
                entry.command,
                arguments=entry.arguments,
                timeout=_TIMEOUT,
                output_limit=_OUTPUT,
            )
            for entry in catalogue.sources().commands
        ]
    if catalogue.FACTS in requested.chosen:
        asked += [
            query(_FACTS.id(entry.name), entry.command, entry.parameters, select=entry.select, timeout=_TIMEOUT)
            for entry in catalogue.sources().facts
        ]
    if catalogue.HNS in requested.chosen:
        options = hns_facts.FactsOptions(hns_timeout=requested.hns_timeout)
        asked += [_HNS.call(call) for call in hns_facts.facts_calls(options)]
    return tuple(asked)


def read(seen: Observation) -> State:
    """Parse the state of a node from the results of `calls`."""
    problems: list[str] = []
    commands: dict[str, str] = {}
    # Use the catalogue's names, never names from the node, because they become file names.
    for name, result in _answers(seen, _COMMANDS, catalogue.sources().commands):
        if _is_unknown(result):
            continue
        commands[name] = _text(result)
        # A program that fails prints the reason. Without an exit code, the program did not run or did not end.
        if result.exit_code is None:
            problems.append(f"{name}: {result.error or 'failed'}")
    facts: dict[str, t.Any] = {}
    for name, result in _answers(seen, _FACTS, catalogue.sources().facts):
        if result.ok:
            facts[name] = list(result.output)
        elif not _is_unknown(result):
            problems.append(f"{name}: {result.error or 'failed'}")
    hns = _hns(seen)
    if hns is not None and hns["problem"] not in ("", hns_facts.NO_HNS):
        problems.append(f"HNS: {hns['problem']}")
    return State(commands=commands, facts=facts, hns=hns, problems=tuple(problems))


def _answers(
    seen: Observation, scope: Scope, entries: t.Iterable[catalogue.Command | catalogue.StateCmdlet]
) -> t.Iterator[tuple[str, CallResult]]:
    for entry in entries:
        result = seen.calls.get(scope.id(entry.name))
        if result is not None:
            yield entry.name, result


def _hns(seen: Observation) -> dict[str, t.Any] | None:
    scoped = _HNS.results(seen.calls)
    if not scoped:
        return None
    facts = hns_facts.to_result(hns_facts.read_facts(dataclasses.replace(seen, calls=scoped)))
    first = hns_facts.FIRST.results(scoped)
    kinds = ("networks", "endpoints", "policies", "namespaces")
    facts["listed"] = {kind: list(first[kind].output) for kind in kinds if kind in first}
    return facts


def counts(hns: t.Mapping[str, t.Any] | None) -> dict[str, int | None]:
    """Return the number of HNS objects of each kind, and of stale endpoints. A number is None if it is unknown."""
    answered = hns is not None and hns["answers"]
    numbers: dict[str, int | None] = {
        kind: len(hns[kind]) if hns is not None and answered else None
        for kind in ("networks", "endpoints", "policy_lists", "namespaces")
    }
    known = answered and hns is not None and hns["runtime"]["asked"]
    numbers["stale"] = sum(1 for item in hns["endpoints"] if item["state"] == "stale") if known and hns else None
    return numbers


def _is_unknown(result: CallResult) -> bool:
    """Return whether a call failed because its program or cmdlet is missing on the node."""
    return result.error is not None and result.error.id.startswith(_UNKNOWN)


def _text(result: CallResult) -> str:
    parts = [result.stdout]
    if result.stderr.strip():
        parts.append(f"--- standard error\n{result.stderr}")
    if result.exit_code != 0:
        known = f"exit code {result.exit_code}" if result.exit_code is not None else str(result.error or "failed")
        parts.append(f"--- {known}\n")
    return "\n".join(part for part in parts if part)
