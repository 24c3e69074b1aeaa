# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Record what each run of a playbook changed, as a JSON document, and show it as an HTML page."""

from __future__ import annotations

import dataclasses
import typing as t

import jinja2

from ..values.versions import DATA


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """The result of one task on one node."""

    name: str
    status: str
    """ok, failed, ignored or unreachable."""
    seconds: float
    changed: bool
    remote_commands: int
    rebooted: bool
    message: str
    """The reason for a failure; empty if the task did not fail."""
    changes: t.Sequence[t.Mapping[str, str]]
    """The `type`, `name`, `action` and `why` of each changed resource."""

    @property
    def count(self) -> int:
        """Number of changed resources; 1 if the task changed something but lists no resources."""
        return len(self.changes) or int(self.changed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a playbook."""

    playbook: str
    seconds: float
    nodes: t.Mapping[str, t.Sequence[Task]]

    def to_document(self) -> dict[str, t.Any]:
        """Return the run as the JSON document that `from_document` reads."""
        return dataclasses.asdict(self)

    @classmethod
    def from_document(cls, document: t.Mapping[str, t.Any]) -> Run:
        """Return the run that a JSON document from `to_document` describes."""
        nodes = {name: [Task(**task) for task in tasks] for name, tasks in document["nodes"].items()}
        return cls(playbook=document["playbook"], seconds=document["seconds"], nodes=nodes)

    def summary(self) -> list[dict[str, t.Any]]:
        """Return one row for each node, with its totals, its failed tasks and the tasks that a report lists."""
        return [
            {
                "node": name,
                "changes": sum(task.count for task in tasks),
                "remote_commands": sum(task.remote_commands for task in tasks),
                "seconds": round(sum(task.seconds for task in tasks), 1),
                "rebooted": any(task.rebooted for task in tasks),
                "failed": [task for task in tasks if task.status in ("failed", "unreachable")],
                "tasks": [task for task in tasks if task.count or task.remote_commands or task.status != "ok"],
            }
            for name, tasks in sorted(self.nodes.items())
        ]


def page(title: str, runs: t.Sequence[Run], tables: t.Sequence[t.Mapping[str, t.Any]] = ()) -> str:
    """Return a self-contained HTML page that shows the changes of one or more runs.

    Args:
        title: the heading of the page.
        runs: the runs, in the order in which they are shown.
        tables: further tables, which come before the runs. Each has `title`, `head` (list of str) and `rows` (lists of
            values).
    """
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    return environment.get_template("report.html.j2").render(title=title, runs=runs, tables=tables)
