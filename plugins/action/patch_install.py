# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module patch_install: see plugins/modules/patch_install.yml."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ..plugin_utils.actions.controller_action import controller_file
from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.downloads.curl import DownloadRoute
from ..plugin_utils.patches import report
from ..plugin_utils.patches import run as patches_run
from ..plugin_utils.patches.files import FileRules
from ..plugin_utils.patches.input import check_sources, read_patches
from ..plugin_utils.patches.run import PatchOptions, PatchRun
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.windows.signatures import check_signers


class ActionModule(NodeAction):
    """Installs patches on a node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "patches": {"type": "list", "elements": "raw", "required": True},
        "patch_source": {"type": "str", "default": ""},
        "update_server": {
            "type": "str",
            "choices": ["default", "wsus", "windows_update", "none"],
            "default": "default",
        },
        "test_signing": {"type": "bool", "default": True},
        "allowed_signers": {"type": "list", "elements": "str", "default": []},
        "max_reboots": {"type": "int", "default": 3},
        "settle_timeout": {"type": "int", "default": 600},
        "proxy": {"type": "str", "no_log": True},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
        "headers": {"type": "dict", "default": {}, "no_log": True},
        "ignore_revocation": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 7200},
        "contact_timeout": {"type": "int", "default": 10},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        node = session.node
        patches = read_patches(options["patches"], options["patch_source"], functools.partial(controller_file, self))
        check_signers(options["allowed_signers"])
        check_sources(patches, options["update_server"])
        # A poll returns as soon as the batch ends, so long polls only reduce the number of progress lines.
        node.timeouts = dataclasses.replace(
            node.timeouts,
            first_contact=options["contact_timeout"],
            poll=patches_run.FIRST_POLL,
            watched_poll=patches_run.FIRST_POLL,
            longest_poll=patches_run.POLL,
        )
        check_mode = bool(self._task.check_mode)
        run = PatchRun(session, patches, self._options(options, check_mode))
        more: dict[str, t.Any] = {}
        try:
            run.run()
        except NodeError as error:
            more = {"failed": True, "msg": str(error)}
        except AnsibleConnectionFailure as error:
            # The result must contain what was done before the connection was lost.
            more = {"failed": False, "unreachable": True, "msg": str(error)}
        shown = report.result(
            run,
            check_mode=check_mode,
            may_reboot=options["reboot"],
            diff=bool(self._task.diff),
            name=node.name,
        )
        if more and run.seen is not None:
            more["msg"] = f"{more['msg']}\n{report.table(shown['patches'])}"
        return {**shown, **more, "remote_commands": node.remote_commands}

    @staticmethod
    def _options(options: t.Mapping[str, t.Any], check_mode: bool) -> PatchOptions:
        route = DownloadRoute(
            proxy=options["proxy"],
            no_proxy=tuple(options["no_proxy"]),
            headers={str(name): str(value) for name, value in options["headers"].items()},
            ignore_revocation=options["ignore_revocation"],
        )
        rules = FileRules(
            test_signing=options["test_signing"],
            allowed_signers=tuple(options["allowed_signers"]),
            route=route,
            timeout=float(options["timeout"]),
        )
        return PatchOptions(
            rules=rules,
            server=options["update_server"],
            may_reboot=options["reboot"],
            max_reboots=options["max_reboots"],
            settle=float(options["settle_timeout"]),
            check_mode=check_mode,
        )
