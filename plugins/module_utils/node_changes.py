# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Change several nodes in one run of a module, and report the result for each node."""

from __future__ import annotations

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from .api_error import ApiError

POLL_SECONDS = 1.0

NodeResult = dict[str, t.Any]
"""The result for one node. It contains at least `changed`, `msg` and `failed`."""


def change_nodes(
    module: AnsibleModule,
    names: t.Iterable[str],
    change: t.Callable[[str], NodeResult],
    **failed: t.Any,
) -> None:
    """Change nodes one after the other, and exit the module.

    Each change is tried at least once. A change that fails with a temporary error is repeated until it succeeds, or
    until the module's `timeout` has passed.

    Args:
        module: the running module. It fails if a node could not be changed.
        names: names of the nodes.
        change: changes the node with the given name, and returns the result for this node. It may raise ApiError.
        failed: additional fields in the result for a node that could not be changed because of an ApiError.
    """
    end = time.monotonic() + module.params["timeout"]
    nodes = {name: _with_retries(name, change, end, failed) for name in names}
    result = {"changed": any(node["changed"] for node in nodes.values()), "nodes": nodes}
    messages = [node["msg"] for node in nodes.values() if node["failed"]]
    if messages:
        module.fail_json(msg="\n".join(messages), **result)
    module.exit_json(**result)


def _with_retries(
    name: str, change: t.Callable[[str], NodeResult], end: float, failed: t.Mapping[str, t.Any]
) -> NodeResult:
    """Change a node, and repeat the change after temporary errors until the time is up."""
    while True:
        try:
            return change(name)
        except ApiError as error:
            if not error.is_temporary or time.monotonic() >= end:
                return {"changed": False, **failed, "msg": f"{name}: {error}", "failed": True}
        time.sleep(POLL_SECONDS)
