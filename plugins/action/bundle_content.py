# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module bundle_content: see plugins/modules/bundle_content.yml."""

from __future__ import annotations

import functools
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, controller_file
from ..plugin_utils.bundle import content
from ..plugin_utils.bundle.index import BundleError
from ..plugin_utils.patches.input import read_patches
from ..plugin_utils.resources.load import load
from ..plugin_utils.values.errors import ResourceError, refusal
from ..plugin_utils.windows import windows_versions


class ActionModule(ControllerAction):
    """Returns the content that a bundle must have for a host. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "resources": {"type": "list", "elements": "dict", "default": []},
        "patches": {"type": "list", "elements": "raw", "default": []},
        "patch_source": {"type": "str", "default": ""},
        "windows": {
            "type": "list",
            "elements": "str",
            "choices": list(windows_versions.NAMES),
            "default": ["2022", "2025"],
        },
        "registries": {"type": "dict", "default": {}, "no_log": True},
        "proxy": {"type": "str", "no_log": True},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        windows = options["windows"]
        try:
            if not windows:
                expected = f"expected at least one of {', '.join(windows_versions.NAMES)}"
                raise BundleError(refusal("bundle_windows", [], expected))
            find = functools.partial(controller_file, self)
            patches = read_patches(options["patches"], options["patch_source"], find)
            requested = content.of_resources(load(options["resources"]), windows, options["registries"]).joined(
                content.of_patches(patches, windows, options["proxy"], tuple(options["no_proxy"]))
            )
        except (BundleError, ResourceError) as error:
            host = variables.get("inventory_hostname")
            return {"failed": True, "msg": f"{host}: nothing was fetched, because of its variables: {error}"}
        # The content contains signatures of URLs, and credentials of proxies and registries.
        return {"changed": False, "_ansible_no_log": True, "content": content.to_data(requested)}
