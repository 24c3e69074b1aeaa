# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module sysprep: see plugins/modules/sysprep.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle import image_proxies, sealing
from ..plugin_utils.lifecycle.generalization import Generalization, GeneralizationOptions, Link
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.windows import node_paths


class ActionModule(NodeAction):
    """Generalizes a machine and finishes the build of an image."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "unattend": {"type": "str"},
        "clean_paths": {"type": "list", "elements": "str", "default": []},
        "clean_only": {"type": "bool", "default": False},
        "reset_winrm": {"type": "bool", "default": True},
        "end": {"type": "str", "choices": list(t.get_args(sealing.End)), "default": "power_off"},
        "cloudbase_init": {"type": "bool", "default": True},
        "registry_credentials": {"type": "str", "choices": ["remove", "keep"], "default": "remove"},
        "registry_config_dir": {"type": "str", "default": node_paths.CONTAINERD_REGISTRIES},
        "proxy_credentials": {"type": "str", "choices": ["refuse", "remove", "keep"], "default": "refuse"},
        "docker_configuration_file": {"type": "str", "default": image_proxies.DOCKER_CONFIGURATION},
        "user_apps": {"type": "str", "choices": ["remove", "keep"], "default": "remove"},
        "remove_build_account": {"type": "bool", "default": True},
        "remove_accounts": {"type": "list", "elements": "str", "default": []},
        "first_boot_winrm": {"type": "bool", "default": True},
        "disk_limit_gib": {"type": "float", "default": 0.0},
        "max_fill_percent": {"type": "int", "default": 90},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        address, port, user = (self._connection.get_option(name) for name in ("remote_addr", "port", "remote_user"))
        link = Link(str(address), int(port or 5986), str(user or ""))
        work = Generalization(session, GeneralizationOptions.of(options), link)
        if options["clean_only"]:
            return session.report(**self._clean(work))
        inspected = work.inspect()
        if self._task.check_mode:
            return session.report(changed=True)
        return session.report(**work.run(inspected))

    def _clean(self, work: Generalization) -> dict[str, t.Any]:
        if self._task.check_mode:
            work.check_windows()
            return {}
        return work.clean()
