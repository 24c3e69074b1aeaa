# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_publication: see plugins/modules/image_publication.yml."""

from __future__ import annotations

import typing as t

from ansible.plugins.loader import module_loader

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.release_notes.publication import MODULES, OLDEST, Publication
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Checks how an image will be published in Azure, and shows the steps. Sends no requests."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "release": {"type": "str", "required": True},
        "number": {"type": "int", "default": 0},
        "vhd": {"type": "dict", "default": {}},
        "managed_image": {"type": "dict", "default": {}},
        "copy": {"type": "dict", "default": {}},
        "gallery": {"type": "dict", "default": {}},
        "endpoint_suffix": {"type": "str", "default": "core.windows.net"},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        publication = Publication.of(options)
        missing = [name for name in MODULES if not module_loader.find_plugin_with_context(name).resolved]
        if missing and not self._task.check_mode:
            return {
                "changed": False,
                "failed": True,
                "msg": f"publish_image.yml needs the module {missing[0]}, which is not installed. Install the "
                f"collection azure.azcollection {OLDEST} or newer "
                f"(ansible-galaxy collection install 'azure.azcollection:>={OLDEST}') and the Python packages in its "
                "requirements.txt",
            }
        steps = publication.steps()
        for line in (f"release {publication.release}:", *(f"- {step}" for step in steps)):
            show(line)
        return {"changed": False, "steps": steps, **publication.to_result()}
