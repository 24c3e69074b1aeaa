# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module domain_join: see plugins/modules/domain_join.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.active_directory import join
from ..plugin_utils.active_directory.join import DomainJoin, DomainRequest
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Joins a machine to an Active Directory domain, and reboots it."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "domain": {"type": "str", "required": True},
        "user": {"type": "str", "default": ""},
        "password": {"type": "str", "default": "", "no_log": True},
        "offline_blob": {"type": "str", "default": "", "no_log": True},
        "ou": {"type": "str", "default": ""},
        "domain_controller": {"type": "str", "default": ""},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        if not options["reboot"]:
            raise ResourceError("reboot", False, "expected true, because a domain join takes effect at the next boot")
        if not options["offline_blob"] and not (options["user"] and options["password"]):
            expected = "expected an account with its password, or offline_blob"
            raise ResourceError("user", options["user"] or None, expected)
        join.check_installed()
        request = DomainRequest(
            domain=options["domain"],
            user=options["user"],
            password=options["password"],
            blob=options["offline_blob"],
            unit=options["ou"],
            controller=options["domain_controller"],
        )
        why = DomainJoin(session, request).run(check_mode=bool(self._task.check_mode))
        if not why:
            return session.report()
        change = {"type": "Domain", "name": request.domain, "action": "create", "why": why}
        return session.report(changed=True, changes=[change])
