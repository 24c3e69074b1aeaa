# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module doctor_report: see plugins/modules/doctor_report.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.diagnosis.cluster_view import ClusterView
from ..plugin_utils.reports import doctor, files
from ..plugin_utils.values.printable import all_printable
from ..plugin_utils.values.terminal import show

_NAMES = ("node_join_node_name", "kubernetes_node_hostname")
"""Variables that may contain a node's name. If none of them is set, the node is named after its host."""


class ActionModule(ControllerAction):
    """Prints the results of node_diagnosis for all hosts, and writes them to two files. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "results_var": {"type": "str", "required": True},
        "cluster": {"type": "dict", "default": {}},
        "path": {"type": "path", "required": True},
        "page": {"type": "path", "required": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        view = ClusterView.of(options["cluster"])
        names = [registered(variables, name) for name in _NAMES]
        hosts = {
            host: all_printable(doctor.entry(host, result, view, [str(one[host] or host) for one in names]))
            for host, result in registered(variables, options["results_var"]).items()
        }
        lines, fixes, total = doctor.table(hosts), doctor.fixes(hosts), doctor.total(hosts)
        unknown = doctor.cluster_problem(hosts)
        for line in (*lines, "", *fixes, *([""] if fixes else []), total):
            show(line)
        if unknown:
            show(f"The cluster was not queried, so its view of the nodes is unknown: {unknown}")
        if not self._task.check_mode:
            now = datetime.datetime.now(datetime.UTC)
            document = doctor.document(hosts, time=f"{now:%Y-%m-%dT%H:%M:%SZ}")
            files.write_result("path", options["path"], document)
            html = doctor.page(hosts, written=f"Checked {now:%Y-%m-%d %H:%M} UTC")
            files.write_result("page", options["page"], html)
        return {
            "changed": False,
            "table": lines,
            "total": total,
            "problems": {host: doctor.problem(one) for host, one in hosts.items()},
            **doctor.counts(hosts),
            "path": options["path"],
            "page": options["page"],
        }
