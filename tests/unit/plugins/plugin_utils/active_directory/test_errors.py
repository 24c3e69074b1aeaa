# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The error code of a join is read from the module's message or from Windows' log, and explained."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.active_directory import errors
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallResult

OFFLINE = "Failed to perform offline domain join (0x{}): The parameter is incorrect"


def log(*codes: str) -> CallResult:
    lines = [f"11/26/2026 00:17:29:000 NetpDoDomainJoin: status: 0x{code}" for code in codes]
    return CallResult(ok=True, output=("NetpJoinDomainOnDs: Function exits with status of: 0x5", *lines))


@pytest.mark.parametrize(
    ("message", "seen", "code"),
    [
        ("Der Benutzername oder das Kennwort ist falsch.", log("52e"), 1326),
        # The last attempt counts.
        ("", log("54b", "0", "aac"), 2732),
        ("", log("0"), None),
        ("", log(), None),
        ("", log("8007052E"), 1326),
        ("", log("216d"), 8557),
        ("", CallResult(ok=False), None),
        (OFFLINE.format("00000057"), log("52e"), 87),
        (OFFLINE.format("80070057"), CallResult(ok=False), 87),
    ],
)
def test_where_the_code_is_found(message: str, seen: CallResult, code: int | None) -> None:
    assert errors.code_of(message, seen) == code


def test_a_known_code_has_a_cause_and_a_fix() -> None:
    assert errors.explained("Zugriff verweigert", 5) == (
        "the account may not create the computer account (error 5, ERROR_ACCESS_DENIED). Delegate the right to create "
        "computer objects in the organizational unit (node_join_domain_ou) to the account of node_join_domain_user. "
        "Windows reports: Zugriff verweigert"
    )


@pytest.mark.parametrize(("code", "number"), [(4711, " (error 4711)"), (None, "")])
def test_an_unknown_code_refers_to_the_log(code: int | None, number: str) -> None:
    expected = f"it failed{number}. C:\\Windows\\debug\\NetSetup.LOG on the machine describes each step of the join"
    assert errors.explained("it failed", code) == expected
