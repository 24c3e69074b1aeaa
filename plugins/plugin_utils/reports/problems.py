# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Report each problem of many hosts once, with all hosts that have it (no I/O)."""

from __future__ import annotations

import typing as t

_NAMED = 8
"""Maximum number of hosts that a line names. Further hosts are only counted."""


def shared(problems: t.Mapping[str, t.Sequence[str]]) -> dict[str, list[str]]:
    """Return each problem, in the order in which the problems were found, with the hosts that have it.

    Args:
        problems: maps each host of the play to its problems.
    """
    hosts_by_problem: dict[str, list[str]] = {}
    for host, sentences in problems.items():
        for sentence in dict.fromkeys(sentences):
            hosts_by_problem.setdefault(sentence, []).append(host)
    return hosts_by_problem


def lines(problems: t.Mapping[str, t.Sequence[str]]) -> list[str]:
    """Return a line for each problem, with the hosts that have it.

    Args:
        problems: maps each host of the play to its problems; includes hosts without problems.
    """
    return [f"- {_hosts(hosts, len(problems))}: {sentence}" for sentence, hosts in shared(problems).items()]


def summary(problems: t.Mapping[str, t.Sequence[str]]) -> str:
    """Return the message that no node was touched, with the number of problems and the hosts that have them."""
    count = len(shared(problems))
    hosts = [host for host, sentences in problems.items() if sentences]
    what = "a problem" if count == 1 else f"{count} problems"
    them = "it is" if count == 1 else "they are"
    where = _hosts(hosts, len(problems))
    return f"no node was touched, because of {what} in the variables of {where}; {them} listed above"


def _hosts(hosts: t.Sequence[str], total: int) -> str:
    if len(hosts) == total > 2:
        return f"all {total} hosts"
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    return ", ".join(hosts[:_NAMED]) + more
