# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module drift_report: see plugins/modules/drift_report.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.reports import cluster_findings, drift, drift_table, files
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Prints the results of a drift check for all hosts, and writes them to a JSON file. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "path": {"type": "path", "required": True},
        "results_var": {"type": "str", "required": True},
        "earlier_vars": {"type": "list", "elements": "str", "default": []},
        "join_compared": {"type": "bool", "default": True},
        "findings_var": {"type": "str", "default": ""},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        before = [registered(variables, name) for name in options["earlier_vars"]]
        nodes = {
            host: drift.node_entry(result, [step[host] for step in before])
            for host, result in registered(variables, options["results_var"]).items()
        }
        join_compared = options["join_compared"]
        for line in drift_table.table(nodes, join_compared=join_compared):
            show(line)
        checked = registered(variables, options["findings_var"]) if options["findings_var"] else {}
        findings = cluster_findings.shared(checked)
        for line in cluster_findings.table(findings, len(nodes)):
            show(line)
        path = pathlib.Path(options["path"])
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = drift.document(nodes, time=now, join_compared=join_compared, findings=findings)
        files.write_json(path, document)
        return {
            "changed": False,
            "nodes": nodes,
            "path": str(path),
            "cluster_findings": findings,
            **drift.counts(nodes),
        }
