# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_release: see plugins/modules/image_release.yml."""

from __future__ import annotations

import datetime
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.release_notes import sbom
from ..plugin_utils.release_notes.release import NO_COMMIT, ImageRelease, commit_of


class ActionModule(ControllerAction):
    """Returns the name of an image's release. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "release": {"type": "str", "default": ""},
        "number": {"type": "int", "default": 0},
        "directory": {"type": "path", "default": "."},
        "sbom": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if options["sbom"] and (problem := sbom.missing_library()):
            return {"changed": False, "failed": True, "msg": problem}
        warning = ""
        if options["release"]:
            release = ImageRelease.parse(options["release"])
        else:
            commit, modified = commit_of(options["directory"])
            release = ImageRelease(date=datetime.datetime.now(datetime.UTC).date(), commit=commit or NO_COMMIT)
            if not commit:
                warning = f"{options['directory']} has no Git commit, so the release is named {release}"
            elif modified:
                warning = f"the files in {options['directory']} differ from commit {commit}"
        return {
            "changed": False,
            "release": str(release),
            "gallery_version": release.gallery_version(options["number"]),
            "tags": {"release": str(release)},
            **({"warnings": [warning]} if warning else {}),
        }
