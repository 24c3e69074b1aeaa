# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""When the module that drains nodes fails, and the options that it passes on."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.drain import DrainOptions
from ansible_collections.winkube.node.plugins.modules import nodes_drain

PARAMS = {
    "nodes": ["a", "b"],
    "owner": "patch_nodes",
    "force": True,
    "delete_emptydir_data": False,
    "grace_period": 0,
    "timeout": 30,
    "check_access": False,
}


class End(Exception):
    """The end of the module, with its result."""


def run(
    monkeypatch: pytest.MonkeyPatch, nodes: dict[str, dict[str, t.Any]], *, check_mode: bool = False
) -> tuple[dict[str, t.Any], DrainOptions]:
    """Return the module's result for this outcome of draining, and the options that were used."""
    seen: list[DrainOptions] = []

    class Fake:
        def __init__(self, **_: t.Any) -> None:
            self.params, self.check_mode = PARAMS, check_mode

        def exit_json(self, **result: t.Any) -> None:
            raise End({"failed": False, **result})

        def fail_json(self, **result: t.Any) -> None:
            raise End({"failed": True, **result})

    def drain(api: object, names: list[str], options: DrainOptions, **_: t.Any) -> dict[str, dict[str, t.Any]]:
        assert names == PARAMS["nodes"]
        seen.append(options)
        return nodes

    monkeypatch.setattr(nodes_drain, "AnsibleModule", Fake)
    monkeypatch.setattr(nodes_drain, "Cluster", lambda _: None)
    monkeypatch.setattr(nodes_drain, "NodeApi", lambda _: None)
    monkeypatch.setattr(nodes_drain, "drain", drain)
    with pytest.raises(End) as end:
        nodes_drain.main()
    return end.value.args[0], seen[0]


@pytest.mark.parametrize(
    ("status", "failed"),
    [("drained", False), ("checked", False), ("refused", True), ("failed", True), ("timeout", True)],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_the_module_fails_unless_all_nodes_are_drained(
    monkeypatch: pytest.MonkeyPatch, status: str, failed: bool, check_mode: bool
) -> None:
    nodes = {
        "a": {"status": "drained", "msg": "", "changed": False},
        "b": {"status": status, "msg": "why", "changed": True},
    }
    result, options = run(monkeypatch, nodes, check_mode=check_mode)
    assert (result["failed"], result["changed"], result["nodes"]) == (failed, True, nodes)
    assert result.get("msg") == ("why" if failed else None)
    assert options.dry is check_mode


def test_the_module_passes_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    result, options = run(monkeypatch, {"a": {"status": "drained", "msg": "", "changed": False}})
    assert not result["changed"]
    assert (options.mark.by, options.timeout, options.force) == ("patch_nodes", 30, True)
    assert (options.delete_emptydir_data, options.grace_period) == (False, 0)
