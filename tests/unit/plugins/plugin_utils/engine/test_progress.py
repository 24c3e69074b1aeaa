# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The progress messages while a long batch runs."""

from __future__ import annotations

import types
import typing as t

from unit.fake_settings import Setting

from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.progress import ProgressReporter
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Progress, RunningCall

CHANGES = [
    Planned(
        position=position, resource=Setting(name=name), change=Change(why="", before={}, after={}, calls=())
    )
    for position, name in enumerate(["kubernetes 1.37.1", "containerd 2.3.7", "flannel 0.28", "pause"])
]  # fmt: skip
MB = 10**6


def running(**sizes: int | None) -> Progress:
    calls = tuple(RunningCall(id=f"{name}.get", size=size) for name, size in sizes.items())
    return Progress(id=calls[0].id if calls else "r0.get", done=1, total=9, running=calls)


def session(say: t.Callable[[str], object] | None) -> NodeSession:
    return NodeSession(t.cast("t.Any", types.SimpleNamespace(name="win-a")), notify=say)


def test_growing_files_are_reported_with_their_total() -> None:
    messages: list[str] = []
    reporter = ProgressReporter(session(messages.append))
    reporter.sizes = {"Setting kubernetes 1.37.1": 120 * MB, "Setting containerd 2.3.7": 2300 * MB}
    reporter.report(running(r0=45 * MB, r1=12 * MB, r2=3 * MB, r3=None), CHANGES)
    reporter.report(running(r0=45 * MB, r1=12 * MB, r2=3 * MB, r3=None), CHANGES)
    reporter.report(running(r0=119 * MB, r2=20 * MB), CHANGES)
    assert messages == [
        "win-a: kubernetes 1.37.1 45 of 120 MB, containerd 2.3.7 12 MB of 2.3 GB, flannel 0.28 3 MB",
        "win-a: kubernetes 1.37.1 119 of 120 MB, flannel 0.28 20 MB, containerd 2.3.7 ended",
    ]


def test_a_file_larger_than_expected_is_reported_with_its_size() -> None:
    messages: list[str] = []
    reporter = ProgressReporter(session(messages.append))
    reporter.sizes = {"Setting pause": 10}
    reporter.report(running(r3=2 * MB), CHANGES)
    assert messages == ["win-a: pause 2 MB"]


def test_without_files_the_change_is_named() -> None:
    messages: list[str] = []
    reporter = ProgressReporter(session(messages.append))
    reporter.report(running(r2=None), CHANGES)
    reporter.report(Progress(id="r3.x", done=3, total=9), CHANGES)
    reporter.report(Progress(id="restart.0.was", done=8, total=9), CHANGES)
    assert messages == ["win-a: 3/4 Setting flannel 0.28", "win-a: 4/4 Setting pause"]
    ProgressReporter(session(None)).report(running(r0=1), CHANGES)
