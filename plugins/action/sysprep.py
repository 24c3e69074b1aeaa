# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module sysprep: see plugins/modules/sysprep.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import image_proxies
from ..plugin_utils.lifecycle.generalization import Generalization, GeneralizationOptions
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.windows import node_paths


class ActionModule(NodeAction):
    """Generalizes a machine and shuts it down."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "unattend": {"type": "str"},
        "clean_paths": {"type": "list", "elements": "str", "default": []},
        "reset_winrm": {"type": "bool", "default": True},
        "shutdown": {"type": "bool", "default": True},
        "cloudbase_init": {"type": "bool", "default": True},
        "registry_credentials": {"type": "str", "choices": ["remove", "keep"], "default": "remove"},
        "registry_config_dir": {"type": "str", "default": node_paths.CONTAINERD_REGISTRIES},
        "proxy_credentials": {"type": "str", "choices": ["refuse", "remove", "keep"], "default": "refuse"},
        "docker_configuration_file": {"type": "str", "default": image_proxies.DOCKER_CONFIGURATION},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        address, port = (self._connection.get_option(name) for name in ("remote_addr", "port"))
        work = Generalization(session, GeneralizationOptions.of(options), (str(address), int(port or 5986)))
        machine, removals = work.inspect()
        if self._task.check_mode:
            return session.report(changed=True)
        return session.report(**work.run(machine, removals))
