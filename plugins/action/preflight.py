# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module preflight: see plugins/modules/preflight.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.node_resources.own_templates import compiled
from ..plugin_utils.preflight import variables as checks
from ..plugin_utils.preflight.host_check import HostCheck
from ..plugin_utils.preflight.shared_names import shared_names
from ..plugin_utils.role_variables.roles import ROLES

checks.roles(), compiled(), shared_names()  # read once for all hosts


class ActionModule(ControllerAction):
    """Checks a host's Ansible variables. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "kubernetes_version": {"type": "str"},
        "containerd_version": {"type": "str"},
        "container_runtime": {"type": "str", "default": "containerd"},
        "join": {"type": "bool", "default": False},
        "drain": {"type": "bool", "default": True},
        "fail": {"type": "bool", "default": True},
        "roles": {"type": "list", "elements": "str", "choices": sorted(ROLES), "default": []},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Check the variables of the host, and return the problems, one sentence each, or warnings if there are none.

        If there are problems, the task fails unless the option `fail` is false.
        """
        check = HostCheck(variables, self._templar.template, self._task.connection)
        roles = options["roles"]
        problems, warnings = check.run_for_roles(roles) if roles else check.run(options)
        if problems:
            host = variables.get("inventory_hostname")
            lines = "\n".join(f"- {problem}" for problem in problems)
            untouched = "nothing was changed" if roles else "no node was touched"
            message = f"{host}: {untouched}, because of its variables:\n{lines}"
            return {"problems": problems, "refused": True, "failed": options["fail"], "msg": message}
        # Ansible prints a warning only once if it is the same for all hosts.
        return {"problems": [], "warnings": warnings}
