# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module administrator_password: see plugins/modules/administrator_password.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import administrator_password
from ..plugin_utils.lifecycle.administrator_password import LONGEST, SHORTEST, AdministratorPassword
from ..plugin_utils.lifecycle.password_file import PasswordFile
from ..plugin_utils.remote.other_modules import check_installed
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Gives the built-in administrator a random password."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "file": {"type": "path", "default": ""},
        "length": {"type": "int", "default": 32},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        if not SHORTEST <= options["length"] <= LONGEST:
            raise ResourceError("length", options["length"], f"expected {SHORTEST} to {LONGEST} characters")
        check_installed(administrator_password.MODULE, "node_prepare_administrator_password")
        file = PasswordFile(options["file"], "file") if options["file"] else None
        if file is not None:
            file.check()
        work = AdministratorPassword(session, file, length=options["length"], by_key=self._connects_by_key())
        return session.report(**work.set(check_mode=bool(self._task.check_mode)))

    def _connects_by_key(self) -> bool:
        """Return whether Ansible connects over SSH with a key, and thus keeps its access when the password changes."""
        return str(self._connection.transport).rpartition(".")[2] == "ssh" and not self.passwords()
