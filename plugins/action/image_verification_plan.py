# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_verification_plan: see plugins/modules/image_verification_plan.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..module_utils.replacement_record import NODE_NAME
from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.lifecycle import new_machine
from ..plugin_utils.release_notes import sections
from ..plugin_utils.release_notes.files import read_notes
from ..plugin_utils.release_notes.release import ImageRelease
from ..plugin_utils.values.errors import ResourceError

_PREFIX = "verify_image"
_HOOKS = ("create_command", "create_tasks", "delete_command", "delete_tasks")


class ActionModule(ControllerAction):
    """Checks the prerequisites for verifying an image, before a machine is created."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "release_notes": {"type": "path", "required": True},
        "name": {"type": "str", "default": ""},
        "create_command": {"type": "list", "elements": "str", "default": []},
        "create_tasks": {"type": "str", "default": ""},
        "delete_command": {"type": "list", "elements": "str", "default": []},
        "delete_tasks": {"type": "str", "default": ""},
        "keep": {"type": "bool", "default": False},
        "e2e_test": {"type": "str", "default": ""},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if limit := variables.get("ansible_limit"):
            # Nothing would be verified, and the run would succeed.
            raise ResourceError("--limit", limit, "expected no limit", "A limit would exclude the new machine.")
        notes = read_notes("release_notes", options["release_notes"], f"{_PREFIX}_release_notes")
        release = ImageRelease.parse(notes.release)
        self._check_hooks(options)
        if options["e2e_test"] and not pathlib.Path(options["e2e_test"]).is_file():
            expected = "expected the path of Kubernetes' e2e.test on the controller"
            raise ResourceError(f"{_PREFIX}_e2e_test", options["e2e_test"], expected)
        name = options["name"] or f"verify-{release.commit[:8].lower()}"
        if not NODE_NAME.fullmatch(name):
            expected = "expected at most 63 lower-case letters, digits and hyphens, without a hyphen at either end"
            raise ResourceError(f"{_PREFIX}_name", name, expected)
        return {
            "changed": False,
            "release": str(release),
            "host": notes.host,
            "runtime": notes.runtime,
            "name": name,
            "summary": sections.summary(notes),
            "started": f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}",
        }

    @staticmethod
    def _check_hooks(options: t.Mapping[str, t.Any]) -> None:
        given = {f"{_PREFIX}_{name}": options[name] for name in _HOOKS}
        problem = new_machine.hooks_problem(given, _PREFIX, must_delete=not options["keep"])
        if problem:
            hint = "" if options["keep"] else f". {_PREFIX}_keep: true keeps the machine"
            raise ValueError(f"{problem}{hint}")
        for name in (f"{_PREFIX}_create_tasks", f"{_PREFIX}_delete_tasks"):
            if given[name] and not pathlib.Path(given[name]).is_file():
                raise ResourceError(name, given[name], "expected the path of a task file on the controller")
