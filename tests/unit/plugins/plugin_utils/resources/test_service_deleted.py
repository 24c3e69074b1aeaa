# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A service that is created while another one with its name is still being deleted."""

from __future__ import annotations

import typing as t

import pytest
from unit.fake_settings import World, converge

from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from simulator.machine.objects import ProgramResult


@pytest.mark.parametrize(("times", "made"), [(0, True), (2, True), (20, False)])
def test_a_name_that_is_marked_for_deletion_is_waited_for(times: int, made: bool) -> None:
    # A program such as services.msc still has a handle to the deleted service.
    asked: list[list[str]] = []

    def sc(call: dict[str, t.Any]) -> ProgramResult:
        asked.append(call["arguments"])
        if len(asked) <= times:
            return ProgramResult(1072, "[SC] CreateService FAILED 1072:\r\n", "")
        return ProgramResult()

    (service,) = load([{"type": "Service", "name": "kubelet", "path": "C:\\k\\kubelet.exe"}])
    outcome, _ = converge(World(more={"sc.exe": sc}), service)
    assert (outcome.failures == []) is made
    assert {call[0] for call in asked} == {"create"}
    assert len(asked) == (times + 1 if made else 6)
