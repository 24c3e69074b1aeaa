# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module bundle_push: see plugins/modules/bundle_push.yml."""

from __future__ import annotations

import pathlib
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.bundle import push as bundle_push
from ..plugin_utils.bundle.index import BundleError, IndexEntry
from ..plugin_utils.bundle.verify import Bundle
from ..plugin_utils.engine.converge import Convergence
from ..plugin_utils.engine.planned import Planned
from ..plugin_utils.engine.resource import Resource
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.resources.artifact import Artifact
from ..plugin_utils.resources.container_image import ContainerImage
from ..plugin_utils.resources.directory import Directory
from ..plugin_utils.resources.load import load


class ActionModule(NodeAction):
    """Uploads the bundle files that a node lacks."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "server": {"type": "dict", "required": True},
        "resources": {"type": "list", "elements": "dict", "required": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        entries = [IndexEntry(**{**item, "windows": tuple(item["windows"])}) for item in options["server"]["entries"]]
        bundle = Bundle(
            directory=pathlib.Path(options["server"]["path"]), entries={entry.path: entry for entry in entries}
        )
        kinds = (Artifact, ContainerImage, Directory)
        resources = [item for item in load(options["resources"]) if isinstance(item, kinds)]
        work = Convergence(session, resources, check_mode=True)
        missing = _missing(resources, work.observe_and_plan())
        version = session.windows.nearest_version if session.windows is not None else ""
        files = bundle_push.needed_entries(missing, bundle.entries, version)
        push = bundle_push.Push(session, bundle)
        if not self._task.check_mode:
            try:
                push.run(files)
            except BundleError as error:
                raise NodeError(f"{session.name}: {error}") from error
        pushed = [entry.path for entry in files] if self._task.check_mode else push.pushed
        return session.report(changed=bool(pushed), pushed=pushed)


def _missing(resources: t.Sequence[Resource], planned: t.Sequence[Planned]) -> list[Resource]:
    """Return the resources that the node lacks.

    They include artifacts in untrusted folders, because the run moves these folders away.
    """
    lacking = [one.resource for one in planned if _is_missing(one)]
    untrusted = tuple(str(path).casefold() for one in planned for path in one.change.before.get("untrusted") or ())
    return [
        item
        for item in resources
        if item in lacking or (isinstance(item, Artifact) and item.path.casefold().startswith(untrusted))
    ]


def _is_missing(planned: Planned) -> bool:
    """Return whether a planned change needs a file of the bundle.

    A change that only writes a manifest or pins a container image needs no files.
    """
    return any(call.long for call in planned.change.calls)
