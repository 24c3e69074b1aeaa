# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The session with a node: checking its version of Windows, and lines of progress."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.resource_answers import SERVER_2022, answer, failure

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession, UnsupportedWindows
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_info
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Call, CallResult, Observation

SERVER_23H2 = dataclasses.replace(SERVER_2022, build=25398)


class AnsweringNode:
    """A node with a version of Windows, which records the ids of the calls."""

    name = "win-1"

    def __init__(self, answer: CallResult | None = None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, bool, list[str]]] = []

    def observe(self, calls: t.Sequence[Call], *, step: str, private: bool) -> Observation:
        self.asked.append((step, private, [call.id for call in calls]))
        return Observation(calls={} if self.answer is None else {windows_info.CALL_ID: self.answer})


def version(build: str = "20348") -> CallResult:
    values = [build, 2700, "Windows Server 2022 Datacenter", "Server Core", "WIN-1", "WIN-1", None, None, None]
    return answer(*({"value": value} for value in values))


def session(node: AnsweringNode | None = None, **options: t.Any) -> NodeSession:
    return NodeSession(t.cast("t.Any", node or AnsweringNode(version())), **options)


def test_the_version_is_read_with_every_observation_of_the_session() -> None:
    node = AnsweringNode(version())
    one = session(node)
    assert one.windows is None
    calls = [Call(id=name, command="Get-X") for name in "ab"]
    seen, windows = one.observe(calls[:1], step="find x", private=True, first=calls[1:])
    assert node.asked == [("find x", True, ["b", windows_info.CALL_ID, "a"])]
    assert windows == one.windows == SERVER_2022
    assert list(seen.calls) == [windows_info.CALL_ID]


def test_a_supported_windows_is_accepted_without_a_warning() -> None:
    one = session()
    one.observe((), step="observe")
    one.check_windows()
    assert one.version_warning == ""


def test_an_unsupported_windows_is_refused_but_known() -> None:
    one = session(AnsweringNode(version("25398")))
    one.observe((), step="observe")
    with pytest.raises(UnsupportedWindows, match=r"win-1: .*build 25398.*allow_unsupported_windows: true"):
        one.check_windows()
    assert one.windows == SERVER_23H2


def test_an_unsupported_windows_that_is_allowed_is_warned_of() -> None:
    one = session(AnsweringNode(version("25398")), allow_unsupported_windows=True)
    assert one.version_warning == ""
    one.observe((), step="observe")
    one.check_windows()
    expected = "Windows Server 2022 Datacenter (build 25398, Server Core) is not supported; it is treated as Windows"
    assert one.version_warning == f"{expected} Server 23H2"


@pytest.mark.parametrize(
    ("returned", "why"), [(None, "got 0"), (failure("PermissionDenied", "x", "no"), "no"), (version("x"), "'x'")]
)
def test_a_node_that_does_not_return_its_version_is_an_error_of_the_step(returned: CallResult | None, why: str) -> None:
    with pytest.raises(NodeError, match=rf"win-1: find x: .*{why}$"):
        session(AnsweringNode(returned)).observe((), step="find x")


def test_progress_has_the_nodes_name() -> None:
    messages: list[str] = []
    session(notify=messages.append).report_progress("rebooting")
    session().report_progress("rebooting")
    assert messages == ["win-1: rebooting"]
