# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module known_tags: see plugins/modules/known_tags.yml."""

from __future__ import annotations

import difflib
import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.preflight import tags

_COLLECTION = pathlib.Path(__file__).parents[2]


class ActionModule(ControllerAction):
    """Fails if --tags or --skip-tags contains a tag that the playbook does not have. Contacts no node."""

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Compare the tags on the command line with the tags in the playbook's files."""
        # Ansible records here whether the playbook was imported. If so, the tags may belong to the importing playbook.
        if getattr(self._task.get_play(), "_included_path", None) is not None:
            return {"changed": False}
        playbook = pathlib.Path(str(self._task.get_path()).rpartition(":")[0])
        known = tags.known(playbook, _COLLECTION / "roles")
        problems = [
            _problem(f"--{option}", tag, playbook.name, known)
            for option, variable in (("tags", "ansible_run_tags"), ("skip-tags", "ansible_skip_tags"))
            for tag in variables.get(variable) or ()
            if tag not in known | tags.SPECIAL
        ]
        return {"changed": False, "failed": True, "msg": "\n".join(problems)} if problems else {"changed": False}


def _problem(option: str, tag: str, playbook: str, known: t.Collection[str]) -> str:
    own = sorted(set(known) - tags.SPECIAL)
    near = difflib.get_close_matches(tag, own, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    expected = f"a tag of {playbook} ({', '.join(own)})" if own else f"no tags, because {playbook} has none"
    return f"{option}: expected {expected}, got {tag!r}{meant}"
