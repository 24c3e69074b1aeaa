# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module bundle_info: see plugins/modules/bundle_info.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.bundle import use
from ..plugin_utils.bundle.index import IndexEntry


class ActionModule(ControllerAction):
    """Returns the variables that make the roles install a host from a bundle. Contacts no node.

    The action returns the variables as a normal result, not as facts. Ansible would put facts into its fact cache
    (plugins/strategy/__init__.py, set_host_facts). The variables contain the bundle server's address and its token,
    which must not outlive the play.
    """

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "server": {"type": "dict", "required": True},
        "pushed": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        server = options["server"]
        entries = [IndexEntry(**{**item, "windows": tuple(item["windows"])}) for item in server["entries"]]
        folder = use.file_url(use.PUSHED)
        url = folder if options["pushed"] else server["urls"][variables["inventory_hostname"]]
        return {
            "changed": False,
            "_ansible_no_log": True,
            "bundle_sites": [use.site(url, entries)],
            "bundle_images": use.images(entries, url),
            # If the bundle is pushed, patch_install uploads the files of patches from the controller.
            "bundle_patches": use.patches(entries, server["path"] if options["pushed"] else url),
            "bundle_pushed": use.PUSHED if options["pushed"] else "",
        }
