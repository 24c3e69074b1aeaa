# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The session with a node: checking its version of Windows, and lines of progress."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.resource_answers import SERVER_2022, failure

from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession, UnsupportedWindows
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_info

SERVER_23H2 = dataclasses.replace(SERVER_2022, build=25398)


class NamedNode:
    name = "win-1"


def session(**options: t.Any) -> NodeSession:
    return NodeSession(t.cast("t.Any", NamedNode()), **options)


def test_a_supported_windows_is_accepted_without_a_warning() -> None:
    one = session()
    one.check_windows(SERVER_2022)
    assert (one.windows, one.version_warning) == (SERVER_2022, "")


def test_an_unsupported_windows_is_refused_but_known() -> None:
    one = session()
    with pytest.raises(UnsupportedWindows, match=r"win-1: .*build 25398.*allow_unsupported_windows: true"):
        one.check_windows(SERVER_23H2)
    assert one.windows == SERVER_23H2


def test_an_unsupported_windows_that_is_allowed_is_warned_of() -> None:
    one = session(allow_unsupported_windows=True)
    assert one.version_warning == ""
    one.check_windows(SERVER_23H2)
    expected = "Windows Server 2022 Datacenter (build 25398, Server Core) is not supported; it is treated as Windows"
    assert one.version_warning == f"{expected} Server 23H2"


@pytest.mark.parametrize("calls", [{}, {windows_info.CALL_ID: failure("PermissionDenied", "no")}])
def test_a_node_that_does_not_return_its_version_is_an_error_of_the_step(calls: t.Any) -> None:
    with pytest.raises(NodeError, match=r"win-1: observe: "):
        session().read_windows(calls, step="observe")


def test_progress_has_the_nodes_name() -> None:
    said: list[str] = []
    session(notify=said.append).report_progress("rebooting")
    session().report_progress("rebooting")
    assert said == ["win-1: rebooting"]
