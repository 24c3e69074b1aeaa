# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module bundle_content: see plugins/modules/bundle_content.yml."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ..plugin_utils import bundle_content
from ..plugin_utils._link import plain
from ..plugin_utils.bundle_images import BUILDS
from ..plugin_utils.bundle_index import BundleError
from ..plugin_utils.patches_input import read_patches
from ..plugin_utils.resources._base import ResourceError
from ..plugin_utils.resources._load import load


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible ships no type information
    """Tells what a bundle has to hold for a host; no node is contacted."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        self._task.args = plain(self._task.args)
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        dummy, options = self.validate_argument_spec(
            {
                "resources": {"type": "list", "elements": "dict", "default": []},
                "patches": {"type": "list", "elements": "raw", "default": []},
                "patch_source": {"type": "str", "default": ""},
                "windows": {"type": "list", "elements": "str", "choices": list(BUILDS), "default": ["2022", "2025"]},
                "registries": {"type": "dict", "default": {}, "no_log": True},
                "proxy": {"type": "str", "no_log": True},
                "no_proxy": {"type": "list", "elements": "str", "default": []},
            }
        )
        windows = options["windows"]
        try:
            if not windows:
                raise BundleError(f"bundle_windows is empty; accepted are some of {', '.join(BUILDS)}")
            patches = read_patches(options["patches"], options["patch_source"], self._find)
            wanted = bundle_content.of_resources(load(options["resources"]), windows, options["registries"]).joined(
                bundle_content.of_patches(patches, windows, options["proxy"], tuple(options["no_proxy"]))
            )
        except (BundleError, ResourceError) as error:
            host = (task_vars or {}).get("inventory_hostname")
            result.update(failed=True, msg=f"{host}: nothing was fetched, because of its variables: {error}")
            return result
        # Signatures of URLs, credentials of proxies and registries.
        result.update(changed=False, _ansible_no_log=True, content=bundle_content.to_data(wanted))
        return result

    def _find(self, name: str) -> str:
        """A file beside the playbook or role, as Ansible looks for them.

        Raises:
            ResourceError: there is none.
        """
        try:
            return str(self._find_needle("files", name))
        except AnsibleError:
            accepted = "there is no such file on the controller; wanted a path, or patch_source"
            raise ResourceError("file", name, accepted) from None
