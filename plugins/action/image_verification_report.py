# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_verification_report: see plugins/modules/image_verification_report.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.reports import files, junit, verification
from ..plugin_utils.values.each_text import each_text
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.values.printable import printable
from ..plugin_utils.values.terminal import show


def _lines(value: t.Any) -> t.Any:
    """Return the value with each of its strings as one printable line. Some of the strings come from the machine."""
    return each_text(value, lambda text: " ".join(printable(text).split()))


class ActionModule(ControllerAction):
    """Prints the results of verifying an image, and writes them to two files. Contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "image": {"type": "dict", "required": True},
        "result": {"type": "dict", "default": {}},
        "stages": {"type": "list", "elements": "dict", "default": []},
        "path": {"type": "path", "required": True},
        "page": {"type": "path", "required": True},
        "all": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        verified = verification.Verified(
            image=options["image"],
            checks=_lines(options["result"].get("checks", [])),
            stages=[_lines(self._stage(stage)) for stage in options["stages"]],
        )
        lines, total = verification.table(verified, every=options["all"]), verification.total(verified)
        why = verification.problem(verified)
        for line in (*lines, *([""] if lines else []), total, *([f"The image has not passed: {why}"] if why else [])):
            show(line)
        if not self._task.check_mode:
            now = datetime.datetime.now(datetime.UTC)
            data = verification.document(verified, time=f"{now:%Y-%m-%dT%H:%M:%SZ}")
            files.write_result("path", options["path"], data)
            html = verification.page(verified, written=f"Checked {now:%Y-%m-%d %H:%M} UTC")
            files.write_result("page", options["page"], html)
        return {
            "changed": False,
            "table": lines,
            "total": total,
            "problem": why,
            "counts": verification.counts(verified),
            "path": options["path"],
            "page": options["page"],
        }

    @staticmethod
    def _stage(given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return a stage of the verification. If the stage names a folder of JUnit files, include their results."""
        name, folder = str(given.get("name") or ""), str(given.get("junit") or "")
        if not name:
            raise ResourceError("stages", given, "expected a name for each stage")
        stage = {"name": name, "failure": str(given.get("failure") or ""), "junit": folder}
        return {**stage, **(junit.read(pathlib.Path(folder)).to_result() if folder else {})}
