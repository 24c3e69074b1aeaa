# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module bundle_facts: see plugins/modules/bundle_facts.yml."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..plugin_utils import bundle_use
from ..plugin_utils._link import plain
from ..plugin_utils.bundle_index import Entry


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Returns what leads a host's roles to the bundle; no node is contacted.

    In a result as any other: facts that a module returns go into Ansible's fact cache (plugins/strategy/__init__.py,
    set_host_facts), where address and token would outlive the play.
    """

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        self._task.args = plain(self._task.args)
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec(
            {"server": {"type": "dict", "required": True}, "pushed": {"type": "bool", "default": False}}
        )
        server = options["server"]
        entries = [Entry(**{**item, "windows": tuple(item["windows"])}) for item in server["entries"]]
        folder = bundle_use.file_url(bundle_use.PUSHED)
        url = folder if options["pushed"] else server["urls"][(task_vars or {})["inventory_hostname"]]
        found: dict[str, t.Any] = {
            "bundle_sites": [bundle_use.site(url, entries)],
            "bundle_images": bundle_use.images(entries, url),
            # Files of patches are pushed by the action that installs them.
            "bundle_patches": bundle_use.patches(entries, server["path"] if options["pushed"] else url),
            "bundle_pushed": bundle_use.PUSHED if options["pushed"] else "",
        }
        result.update(changed=False, _ansible_no_log=True, **found)
        return result
