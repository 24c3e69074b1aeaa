# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module hns_cleanup: see plugins/modules/hns_cleanup.yml."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.hns.cleanup import options as hns_options
from ..plugin_utils.hns.cleanup.cleanup import Cleanup
from ..plugin_utils.hns.cleanup.plan import ScopeError
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession


class ActionModule(NodeAction):
    """Cleans up HNS: removes stale objects, chosen networks, or everything that Kubernetes created."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = hns_options.CLEANUP_OPTIONS

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        try:
            request = hns_options.cleanup_request(options)
        except ScopeError as error:
            raise NodeError(f"{node.name}: hns_cleanup: {error}") from error
        # The connection may be lost until the cleanup ends. The first poll is short, so the progress is known before
        # the connection is lost.
        reconnect_timeout = max(options["timeout"], options["reconnect_timeout"])
        node.timeouts = dataclasses.replace(node.timeouts, reconnect=reconnect_timeout, poll=2, longest_poll=240)
        check_mode = bool(self._task.check_mode)
        how = hns_options.cleanup_options(options)
        work = Cleanup(session, request, how, check_mode=check_mode)
        failure: dict[str, t.Any] = {}
        try:
            work.run()
        except NodeError as error:
            failure = {"failed": True, "msg": str(error)}
        except AnsibleConnectionFailure as error:
            failure = {"failed": False, "unreachable": True, "msg": str(error)}
        result = work.outcome.to_result(
            name=node.name,
            diff=bool(self._task.diff) or check_mode,
            check_mode=check_mode,
            remote_commands=node.remote_commands,
        )
        return {**result, **failure}
