# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module node_diagnosis: see plugins/modules/node_diagnosis.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.diagnosis.cluster_view import ClusterView
from ..plugin_utils.diagnosis.diagnose import diagnose
from ..plugin_utils.diagnosis.examination import Examination
from ..plugin_utils.diagnosis.observation import ObservationOptions
from ..plugin_utils.diagnosis.observe import observe
from ..plugin_utils.hns.facts.node_facts import FactsOptions
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Finds out why a node is not Ready, with at most two remote commands. Changes nothing."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "cluster": {"type": "dict", "default": {}},
        "node_name": {"type": "str", "default": ""},
        "install_dir": {"type": "str", "default": "C:\\k"},
        "cni_conf_dir": {"type": "str", "default": "C:\\etc\\cni\\net.d"},
        "cni_bin_dir": {"type": "str", "default": "C:\\opt\\cni\\bin"},
        "clock_skew_limit": {"type": "float", "default": 240.0},
        "hns_timeout": {"type": "float", "default": 30.0},
        "hns_grace": {"type": "float", "default": 2.0},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        places = ObservationOptions(
            install_dir=options["install_dir"],
            conf_dir=options["cni_conf_dir"],
            bin_dir=options["cni_bin_dir"],
            hns=FactsOptions(hns_timeout=options["hns_timeout"], grace=options["hns_grace"]),
        )
        first, second = observe(session, places)
        if warning := session.refused_windows or session.version_warning:
            session.warn(warning)
        node = Examination(
            first=first,
            second=second,
            cluster=ClusterView.of(options["cluster"]),
            options=places,
            expected_name=options["node_name"].lower(),
            clock_skew_limit=options["clock_skew_limit"],
        )
        return session.report(diagnosis=diagnose(node, datetime.datetime.now(datetime.UTC)).to_result())
