# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module container_images: see plugins/modules/container_images.yml."""

from __future__ import annotations

import typing as t

from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.container_images import listing
from ..plugin_utils.engine.answers import Answers
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.resources.container_image import ContainerImage
from ..plugin_utils.values.errors import ResourceError


class ActionModule(NodeAction):
    """Puts container images into the image store of a node's container runtime."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "images": {"type": "list", "elements": "raw", "default": []},
        "runtime": {"type": "str", "choices": ["containerd", "docker"], "default": "containerd"},
        "pinned": {"type": "bool", "default": False},
        "prune": {"type": "bool", "default": False},
        "keep": {"type": "list", "elements": "str", "default": []},
        "registries": {"type": "dict", "default": {}, "no_log": True},
        "registry_config_dir": {"type": "str"},
        "parallel": {"type": "int", "default": 4},
        "retries": {"type": "int", "default": 3},
        "delay": {"type": "float", "default": 10.0},
        "environment": {"type": "dict", "default": {}, "no_log": True},
        "ctr": {"type": "str"},
        "crictl": {"type": "str"},
        "cri_endpoint": {"type": "str"},
        "docker": {"type": "str"},
        "docker_config": {"type": "str"},
        "store_dir": {"type": "str"},
        "timeout": {"type": "int", "default": 7200},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        try:
            resources, store = listing.load_options(options), listing.store_of(options)
        except ResourceError as error:
            raise NodeError(f"{session.name}: no node was touched: {error}") from error
        answers = Answers()
        result, outcome = self.converged(session, resources, options, answers)
        seen = answers.to_first(store.list_calls())
        before = after = store.read(seen) if seen else {}
        if outcome.changes and not self._task.check_mode and not result.get("unreachable"):
            after = store.read(session.node.observe(store.list_calls(), step="list the images").calls)
        images = [resource for resource in resources if isinstance(resource, ContainerImage)]
        version = outcome.windows.version if outcome.windows else None
        shown = listing.results(images, before, after, outcome, version)
        return {**result, "images": shown, "remote_commands": session.node.remote_commands}
