# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module cached_versions: see plugins/modules/cached_versions.yml."""

from __future__ import annotations

import itertools
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.lifecycle.sysprep import cleaning_calls
from ..plugin_utils.lifecycle.version_storage import VersionStorage
from ..plugin_utils.node_resources.variables import MissingVariableError, Variables
from ..plugin_utils.node_resources.version_variants import variants
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.role_decisions import table
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Stores several versions of programs in an image, so that machines created from it can install any of them."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "clean_paths": {"type": "list", "elements": "str", "default": []},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        try:
            listed = variants(self._host_variables({}), self._host_variables)
        except (MissingVariableError, ResourceError, ValueError) as error:
            raise NodeError(f"{session.name}: {error}") from None
        storage = VersionStorage(session, listed.components, listed.installed, listed.variants)
        plan = storage.observe()
        for reason in (*listed.refused, *plan.refused):
            session.warn(reason)
        if plan.pending:
            problem = f"expected a prepared machine, got one on which these differ: {', '.join(plan.pending)}"
            if not self._task.check_mode:
                raise NodeError(f"{session.name}: {problem}. Run the playbook again without --tags")
            session.warn(problem)
            return session.report(changed=True, versions={})
        dry = bool(self._task.check_mode)
        clean_up = cleaning_calls(options["clean_paths"]) if options["clean_paths"] else ()
        changed = storage.changes if dry else storage.write(clean_up)
        by_component = itertools.groupby(plan.versions, lambda one: one.component.kind)
        versions = {kind: [one.version for one in own] for kind, own in by_component}
        return session.report(changed=changed, versions=versions, cleaned=changed and bool(clean_up) and not dry)

    def _host_variables(self, changes: t.Mapping[str, str]) -> Variables:
        """Return the host's variables, overridden by the given changes."""
        values = {**self.task_vars, **changes}
        templar = self._templar.copy_with_new_env(available_variables=values)
        return table.of_host(values, templar.template)
