# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module node_logs: see plugins/modules/node_logs.yml."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.redaction.texts import Redaction
from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.logs import catalogue
from ..plugin_utils.logs.collection import Collection
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Collects the logs of a node in one archive."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "directory": {"type": "path", "required": True},
        "since": {"type": "str", "default": "3d"},
        "limit_mb": {"type": "int", "default": 50},
        "sources": {"type": "list", "elements": "str", "default": []},
        "namespaces": {"type": "list", "elements": "str", "default": list(catalogue.NAMESPACES)},
        "paths": {"type": "list", "elements": "str", "default": []},
        "hns_timeout": {"type": "float", "default": 20.0},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        requested_logs, redaction = catalogue.requested_logs(options), Redaction(self.passwords())
        work = Collection(session, requested_logs, pathlib.Path(options["directory"]), redaction)
        failure: dict[str, t.Any] = {}
        try:
            if self._task.check_mode:
                work.preview()
            else:
                work.collect()
        except NodeError as error:
            failure = {"failed": True, "msg": str(error)}
        except AnsibleConnectionFailure as error:
            # The index page also shows what was known before the connection was lost.
            failure = {"unreachable": True, "msg": str(error)}
        plan = work.outcome.plan() if self._task.check_mode else {}
        result = session.report(**work.outcome.to_result(), **plan, **failure)
        return t.cast("dict[str, t.Any]", redaction.value(result))
