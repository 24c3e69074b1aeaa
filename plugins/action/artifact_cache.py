# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module artifact_cache: see plugins/modules/artifact_cache.yml."""

from __future__ import annotations

import dataclasses
import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.artifacts import cache
from ..plugin_utils.artifacts.locations import ArtifactError
from ..plugin_utils.engine.answers import Answers
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.resources import directory
from ..plugin_utils.resources.load import load
from ..plugin_utils.windows import node_paths


class ActionModule(NodeAction):
    """Puts artifacts into a node's cache."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "artifacts": {"type": "dict", "required": True},
        "cache_dir": {"type": "str", "default": f"{node_paths.PROGRAM_DATA}\\cache"},
        "kinds": {"type": "dict", "default": {}},
        "sites": {"type": "list", "elements": "raw", "default": [], "no_log": True},
        "mirror": {"type": "str", "default": ""},
        "upstream": {"type": "bool", "default": True},
        "verify": {"type": "str", "choices": ["warn", "strict"], "default": "warn"},
        "proxy": {"type": "str", "default": "", "no_log": True},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
        "ignore_revocation": {"type": "bool", "default": False},
        "limit_rate": {"type": "str", "default": ""},
        "parallel": {"type": "int", "default": 8},
        "prune": {"type": "bool", "default": False},
        "keep": {"type": "list", "elements": "path", "default": []},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        try:
            artifacts = cache.resources_for_versions(options["artifacts"], **{key: options[key] for key in _TAKEN})
        except ArtifactError as error:
            raise NodeError(f"{session.name}: no node was touched: {error}") from error
        # All users may create folders and files in ProgramData, so restrict access to these folders first.
        folders = [
            *directory.closed([node_paths.PROGRAM_DATA], shallow=True),
            *directory.closed([options["cache_dir"]], content="writable"),
        ]
        resources = load([*folders, *artifacts])
        answers = Answers()
        result, outcome = self.converged(session, resources, options, answers)
        entries = cache.table(resources, answers, outcome.windows.version if outcome.windows else None)
        warnings = [*result.get("warnings", ()), *cache.unverified(artifacts)]
        return {
            **result,
            "artifacts": [dataclasses.asdict(entry) for entry in entries],
            **({"warnings": warnings} if warnings else {}),
        }


_TAKEN = (
    *("cache_dir", "kinds", "sites", "mirror", "upstream", "verify", "proxy", "no_proxy", "ignore_revocation"),
    *("limit_rate", "parallel", "prune", "keep"),
)
"""Options that are passed unchanged to `cache.resources_for_versions`."""
