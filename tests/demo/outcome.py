# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The results of the demo: a table, summary.json, and report.html."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible.plugins.loader import init_plugin_loader
from ansible.utils.collection_loader import AnsibleCollectionConfig

from demo.controller import Ran


@dataclass(frozen=True, kw_only=True)
class NodeOutcome:
    """One server of the demo."""

    name: str
    key: str
    """The name in the fleet file."""
    os: str
    joined_version: str
    """The version of the kubelet after the first runs; empty if the cluster did not have the node."""
    version: str
    """The version of the kubelet at the end; empty if the cluster does not have the node."""
    ready: bool
    runs: Mapping[str, Ran]
    """The runs by name: first, second, plan, and upgrade if the node was upgraded."""

    def summary(self) -> dict[str, Any]:
        """Return the entry for summary.json. Changes and seconds are those in the report of each run."""
        runs = {}
        for name, ran in self.runs.items():
            rows = {row["node"]: row for row in _run(ran).summary()}
            row = rows.get(self.name, {"changes": 0, "seconds": 0.0})
            runs[name] = {"changes": row["changes"], **asdict(ran.nodes[self.key]), "seconds": row["seconds"]}
        versions = {"joined_version": self.joined_version, "version": self.version}
        return {"name": self.name, "os": self.os, **versions, "ready": self.ready, **runs}

    def versions(self) -> str:
        """Return the version of the node, and before it the one with which it joined if they differ."""
        found = [version for version in (self.joined_version, self.version) if version]
        return " -> ".join(dict.fromkeys(found)) or "-"


CAPTION = "Nodes: first run / second run / plan / upgrade"
"""The order of the figures in the table; `-` means that a node was not upgraded."""
HEAD = ("NODE", "VERSION", "READY", "CHANGES", "REMOTE COMMANDS", "SECONDS")


def rows(nodes: Sequence[NodeOutcome]) -> list[tuple[str, str, str, str, str, str]]:
    """Return a row for each node, with the figures of its runs in order, and `-` for runs that it was not part of."""
    result = []
    names = list(dict.fromkeys(name for node in nodes for name in node.runs))
    for node in nodes:
        summary = node.summary()
        figures = [
            " / ".join(str(summary[name][key]) if name in summary else "-" for name in names)
            for key in ("changes", "commands", "seconds")
        ]
        result.append((f"{node.name} ({node.os})", node.versions(), "yes" if node.ready else "no", *figures))
    return result


def table(nodes: Sequence[NodeOutcome]) -> str:
    """Return the table that the demo prints."""
    lines = [HEAD, *rows(nodes)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _report() -> Any:
    """Return the collection's module for reports, which can be imported after Ansible has set up its import hook."""
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    return importlib.import_module("ansible_collections.winkube.node.plugins.plugin_utils.reports.run")


def _run(ran: Ran) -> Any:
    """Return a run in the form of the collection's reports."""
    document = {"playbook": "", "seconds": ran.seconds, **ran.report}
    return _report().Run.from_document({**document, "playbook": f"{ran.name}: {document['playbook']}"})


def write(build: Path, nodes: Sequence[NodeOutcome], image: Mapping[str, Any], runs: Sequence[Ran]) -> None:
    """Write summary.json and report.html to the build folder."""
    document = {"nodes": [node.summary() for node in nodes], "image": dict(image)}
    (build / "summary.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    overview = {
        "title": CAPTION,
        "head": [word.capitalize() for word in HEAD],
        "rows": [list(row) for row in rows(nodes)],
    }
    golden = {
        "title": "Golden image",
        "head": ["Generalized", "Started as a new machine", "Ready"],
        "rows": [[image["generalized"], image["started_as_new_machine"], image["ready"]]],
    }
    pages = [_run(ran) for ran in runs if ran.report["nodes"]]
    page = _report().page("winkube.node: from plain Windows Servers to cluster nodes", pages, [overview, golden])
    (build / "report.html").write_text(page, encoding="utf-8")
