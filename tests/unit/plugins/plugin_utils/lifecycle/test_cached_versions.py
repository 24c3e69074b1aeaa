# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Calls that can run again, and versions that a machine cannot install by itself.

tests/integration/test_cached_versions.py runs the batches on simulated machines.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from unit.resource_answers import one

from ansible_collections.winkube.node.plugins.plugin_utils.engine.planned import Planned
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Change, ServiceInterruption
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import cached_versions
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.cached_versions import CannotInstall, repeatable
from ansible_collections.winkube.node.plugins.plugin_utils.windows.path_calls import discard, remove_path
from ansible_collections.winkube.node.plugins.plugin_utils.windows.registry_calls import remove_value
from ansible_collections.winkube.node.plugins.plugin_utils.wire.calls import action, query

FILE = one(type="File", name="C:\\a.txt", content="x")
CONTAINERD = one(type="Service", name="containerd", path="C:\\containerd.exe", state="running")


def planned(position: int = 0, resource: t.Any = FILE, **change: t.Any) -> Planned:
    usual: dict[str, t.Any] = {"why": "differs", "before": {}, "after": {}, "calls": (action("write", "@write-file"),)}
    return Planned(position=position, resource=resource, change=Change(**{**usual, **change}))


def calls_of(*changes: Planned) -> list[dict[str, t.Any]]:
    batch: dict[str, t.Any] = json.loads(cached_versions._batch(changes, [FILE, CONTAINERD]))
    return list(batch["calls"])


def test_what_is_removed_already_is_not_removed_again() -> None:
    calls = [*repeatable([remove_path("C:\\a", "forget"), remove_value("old", "HKLM:\\A", "b")])]
    assert [(call.id, call.command, call.needs) for call in calls] == [
        ("present.forget", "Get-Item", ()),
        ("forget", "Remove-Item", ("present.forget",)),
        ("present.old", "Get-ItemProperty", ()),
        ("old", "Remove-ItemProperty", ("present.old",)),
    ]
    assert dict(calls[0].parameters) == {"LiteralPath": "C:\\a"}
    assert dict(calls[2].parameters) == {"LiteralPath": "HKLM:\\A", "Name": "b"}


def test_other_calls_stay_as_they_are() -> None:
    calls = [discard("C:\\a", "tidy"), action("write", "@write-file"), query("read", "@read-file")]
    assert [*repeatable(calls)] == calls


def test_a_secret_stays_secret() -> None:
    (present, _removal) = repeatable([dataclasses.replace(remove_path("C:\\a"), secret=True)])
    assert present.secret


def test_services_start_after_all_changes() -> None:
    start = action("start-0", "Start-Service", {"Name": ["containerd"]}, retries=1, always=True)
    interruption = ServiceInterruption(service="Containerd", start="start-0")
    calls = calls_of(planned(calls=(start,), interruptions=(interruption,)), planned(1))
    assert [(call["id"], call.get("on_error", "stop")) for call in calls] == [
        ("settled.running.0", "continue"),
        ("settled.0.exists", "continue"),
        ("settled.0", "continue"),
        ("r0.start-0", "continue"),
        ("r1.write", "stop"),
        ("running.0", "stop"),
        ("running.r0.start-0", "stop"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([planned(reboot="always")], "File C:\\a.txt may need a reboot"),
        ([planned(observe_again=True)], "File C:\\a.txt cannot be changed in one step"),
        ([planned(reboot_codes=(3010,))], "File C:\\a.txt may need a reboot"),
        (
            [planned(number, calls=(action("a", "a.exe", stdin=600_000 * "x"),)) for number in range(2)],
            "its changes do not fit into one batch",
        ),
        # A file of the image contains the batch.
        ([planned(calls=(action("a", "a.exe", stdin=600_000 * "x"),))], "its changes do not fit into one batch"),
        ([planned(calls=(action("a", "a.exe", stdin=250_000 * "\\"),))], "its changes do not fit into one batch"),
    ],
)
def test_some_changes_need_a_playbook(changes: list[Planned], reason: str) -> None:
    with pytest.raises(CannotInstall) as error:
        calls_of(*changes)
    assert str(error.value) == reason
